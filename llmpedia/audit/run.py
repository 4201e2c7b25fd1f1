"""``llmpedia audit``: sample a run's articles, then claims, evidence and verdicts wave by wave;
resumes an audit that is there.

An audit is a folder like a run, ``RUN/audits/NAME``: wave 0 commits the sample, each later wave its
share of it. It audits the commits the run had when it began, however far the run has gone since.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from llmpedia.audit.article import AuditStages, look_up, verdict_need
from llmpedia.audit.evidence import Evidence
from llmpedia.audit.providers import cap, names_of
from llmpedia.audit.sampling import Sampled, articles_of, read_titles, sample
from llmpedia.audit.settings import AuditConfig
from llmpedia.audit.worker import AUDIT_ITEMS, AuditWorker, make_helpers
from llmpedia.engines.concurrency.limiter import start_limiter
from llmpedia.engines.preflight import Need
from llmpedia.errors import InputError
from llmpedia.execution.job import Job, OnProgress, Progress, open_job, running_totals, unique_completions
from llmpedia.execution.provenance import described, machine_of
from llmpedia.execution.ray_stream import Row, Work
from llmpedia.execution.session import Session, Sessions
from llmpedia.execution.waves import Waves
from llmpedia.prompts import load_prompt
from llmpedia.store.kinds import RunKind
from llmpedia.store.run_folder import Manifest, RunFolder
from llmpedia.tables import table

# An English word with its space, in characters, for a first check that the longest article fits the
# judge's context.
_CHARS_A_WORD = 6


@dataclass(frozen=True)
class AuditPlan:
    """A wave of the audit. ``items``: rows of the sample; texts are read when the wave is written."""

    wave: int
    items: tuple[Row, ...]
    run: RunFolder

    @property
    def title(self) -> str:
        """What progress calls it."""
        return f"wave {self.wave}"

    def rows(self) -> list[Row]:
        """The articles as the workers take them."""
        texts: dict[int, str] = {}
        wanted = {item["subject_id"] for item in self.items}
        for wave in sorted({item["run_wave"] for item in self.items}):
            read = self.run.read("articles", [wave], ["subject_id", "wikitext"])
            pairs = zip(read["subject_id"].to_pylist(), read["wikitext"].to_pylist(), strict=True)
            texts.update({n: text for n, text in pairs if n in wanted})
        return [
            {"subject_id": i["subject_id"], "name": i["name"], "wikitext": texts[i["subject_id"]]}
            for i in self.items
        ]


def describe_audit(config: AuditConfig, run: RunFolder, providers: dict[str, str]) -> Row:
    """What the audit's ``run.yaml`` holds; ``audited``: the commits of the run it is about;
    ``providers``: of each tier.
    """
    last = run.manifests[-1]
    seeds = sorted(read_titles(config.sample.titles)) if config.sample.titles else []
    prompts = {name: load_prompt(name).sha256 for name in ("audit/claims", "audit/verdict")}
    audited = {"run": run.uri, "waves": len(run.manifests), "last_manifest": last.sha256}
    return described(config, seeds, prompts, kind=RunKind.AUDIT.value, audited=audited, providers=providers)


def audit(
    config: AuditConfig,
    run: RunFolder,
    name: str,
    progress: OnProgress,
    sessions: Sessions = Session,
) -> RunFolder:
    """Audit a run into ``RUN/audits/NAME``; resumes what is already there. ``sessions``: whence it
    has its own.

    Raises: ConfigError, InputError, EngineError: one line; what was committed stays, and the same
        call resumes.
    """
    if not run.totals.get("articles"):
        raise InputError(f"{run.uri}: holds no article yet; materialize first")
    uri = f"{run.uri.rstrip('/')}/audits/{name}"
    AuditStages.of(config)
    providers = names_of(config)
    with open_job(uri, describe_audit(config, run, providers), machine_of(config)) as job:
        waves = _same_run(job.run, run)
        _same_sources(job.run, providers)
        if not _is_finished(config, job.run):
            progress(Progress("starting Ray and the judge", 0))
            with sessions(config, _needs(config, run), embeds=False) as session:
                _Audit(config, run, waves, job, session, progress).run()
    return job.run


def _is_finished(config: AuditConfig, audited: RunFolder) -> bool:
    done = audited.last_wave * config.waves.size
    return audited.last_wave >= 0 and done >= audited.manifests[0].facts["totals"]["sample"]


def _same_run(audited: RunFolder, run: RunFolder) -> int:
    """How many commits of the run the audit is about; the run must still hold them."""
    stored = audited.description()["audited"]
    waves = int(stored["waves"])
    if waves > len(run.manifests) or run.manifests[waves - 1].sha256 != stored["last_manifest"]:
        raise InputError(
            f"{audited.uri}: is an audit of another run than {run.uri} (commit {waves - 1} "
            f"differs); give another --name"
        )
    return waves


def _same_sources(audited: RunFolder, providers: dict[str, str]) -> None:
    """All evidence of an audit comes from one place a tier."""
    for tier, name in audited.description()["providers"].items():
        if providers.get(tier) != name:
            raise InputError(
                f"{audited.uri}: its {tier} evidence comes from {name!r}, now it would from "
                f"{providers.get(tier)!r}; "
                "give the same settings and keys, or another --name"
            )


def _needs(config: AuditConfig, run: RunFolder) -> list[Need]:
    """What both stages take of the judge's context, measured on the run's longest article."""
    longest = max(
        max(run.read("articles", [w], ["words"])["words"].to_pylist(), default=0)
        for w in range(len(run.manifests))
    )
    prompt = len(load_prompt("audit/claims").system)
    claims = Need("claims", longest * _CHARS_A_WORD + prompt, config.stage("claims").max_tokens or 0)
    return [claims, verdict_need(config, config.audit.claims)]


def _plan(drawn: list[Row], size: int, run: RunFolder, wave: int) -> AuditPlan | None:
    """The wave's part of the saved sample; None after its end."""
    rows = drawn[(wave - 1) * size : wave * size]
    return AuditPlan(wave, tuple(rows), run) if rows else None


class _Audit:
    """The loop over waves."""

    def __init__(
        self,
        config: AuditConfig,
        run: RunFolder,
        waves: int,
        job: Job,
        session: Session,
        progress: OnProgress,
    ) -> None:
        self._config = config
        self._run = run
        self._waves = waves
        self._job = job
        self._audited = job.run
        self._session = session
        self._progress = progress
        self._limiters: dict[str, Any] = {"judge": session.limiter}
        self._limiters.update({tier: start_limiter(cap(tier, config)) for tier in config.audit.tiers})

    def run(self) -> None:
        if self._audited.last_wave < 0:
            self._commit_sample()
        waves = Waves[AuditPlan](
            self._config, list(self._limiters.values()), self._work, self._finish, self._tell
        )
        drawn = self._audited.read("sample", [0]).to_pylist()
        size = self._config.waves.size
        waves.run(self._audited.last_wave + 1, lambda w: _plan(drawn, size, self._run, w), lambda _: None)

    def _work(self, plan: AuditPlan) -> Work:
        arguments = (self._config.model_dump_json(), self._audited.uri, plan.wave, self._limiters)
        return Work(AuditWorker, arguments, AUDIT_ITEMS)

    def _tell(self, phase: str) -> None:
        totals = self._audited.totals
        self._progress(Progress(phase, totals["audited"], totals["sample"]))

    def _commit_sample(self) -> None:
        self._progress(Progress("sampling", 0))
        drawn, notes = asyncio.run(self._draw())
        rows = [{**d.article.__dict__, "position": n, "strata": d.strata} for n, d in enumerate(drawn)]
        self._commit({"sample": table("sample", rows)}, {"notes": notes})

    async def _draw(self) -> tuple[list[Sampled], list[str]]:
        """The sample; the frontier asks tier 1, through the journal of wave 0 like everything that
        is asked.
        """
        articles = articles_of(self._run, self._waves)
        if not self._config.sample.frontier:
            return await sample(articles, self._config.sample, _no_look_up)
        settings = self._config.model_copy(
            update={"audit": self._config.audit.model_copy(update={"tiers": ("wikipedia",)})}
        )
        helpers = make_helpers(settings, self._audited.uri, 0, "driver", self._limiters)
        return await sample(articles, self._config.sample, lambda name: look_up("wikipedia", name, helpers))

    def _finish(self, plan: AuditPlan, visits: list[Row]) -> None:
        first_claim = self._audited.totals["claims"]
        self._commit(audit_tables(plan.items, visits, first_claim), {})

    def _commit(self, tables: dict[str, pa.Table], more: Row) -> None:
        self._job.commit(tables, {**facts_of(tables, self._audited.last), **more})


async def _no_look_up(name: str) -> Evidence:
    raise AssertionError("only the frontier looks subjects up before the audit")


def audit_tables(items: tuple[Row, ...], visits: list[Row], first_claim: int) -> dict[str, pa.Table]:
    """Tables of a wave, in order of the sample; claims are numbered from ``first_claim``."""
    rows: dict[str, list[Row]] = {name: [] for name in ("audited", "claims", "evidence", "verdicts")}
    for item, visit in zip(items, visits, strict=True):
        n = item["subject_id"]
        claims = visit["claims"]
        ids = range(first_claim, first_claim + len(claims or ()))
        first_claim = ids.stop
        kept = {k: item[k] for k in ("position", "subject_id", "name", "hop", "strata")}
        fields = {k: visit[k] for k in ("words", "claims_error", "claims_completion")}
        rows["audited"].append({**kept, **fields, "claims": None if claims is None else len(claims)})
        for place, (claim_id, text) in enumerate(zip(ids, claims or (), strict=True)):
            rows["claims"].append({"claim_id": claim_id, "subject_id": n, "position": place, "text": text})
        rows["evidence"] += visit["evidence"]
        for verdict in visit["verdicts"]:
            place = verdict.pop("claim")
            rows["verdicts"].append({"claim_id": ids[place], "subject_id": n, **verdict})
    rows["completions"] = unique_completions(visits)
    return {name: table(name, of_table) for name, of_table in rows.items()}


_COUNTED = ("sample", "audited", "claims", "evidence", "verdicts", "completions")


def facts_of(tables: dict[str, pa.Table], previous: Manifest | None) -> dict[str, Any]:
    """What the manifest says of the wave: counts by outcome and verdict, and running totals."""
    counts: dict[str, Any] = {name: rows.num_rows for name, rows in tables.items()}
    if "audited" in tables:
        errors = tables["audited"]["claims_error"].to_pylist()
        counts["extraction_failed"] = sum(e is not None for e in errors)
        outcomes = zip(
            tables["evidence"]["tier"].to_pylist(), tables["evidence"]["outcome"].to_pylist(), strict=True
        )
        counts["outcomes"] = dict(sorted(Counter(f"{tier}: {outcome}" for tier, outcome in outcomes).items()))
        verdicts = zip(
            tables["verdicts"]["tier"].to_pylist(), tables["verdicts"]["verdict"].to_pylist(), strict=True
        )
        counts["verdicts_by_label"] = dict(
            sorted(Counter(f"{tier}: {label}" for tier, label in verdicts).items())
        )
        counts["coerced"] = sum(tables["verdicts"]["coerced"].to_pylist())
    return {"counts": counts, "totals": running_totals(previous, counts, _COUNTED)}

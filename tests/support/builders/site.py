"""Runs and audits for the tests of the site, committed through the real code."""

from pathlib import Path

from llmpedia.audit.run import audit_tables
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from tests.support.builders.runs import Child, Corpus, Visit

TIERS = ("wikipedia", "web")


def written_run(
    folder: Path, texts: dict[str, str], waves: int = 1, aliases: dict[str, str] | None = None
) -> Corpus:
    """A seed without a word and an article on each subject over ``waves`` commits; ``aliases``:
    other name -> subject.
    """
    corpus = Corpus(folder).seed("Seed")
    corpus.walk(
        Visit("Seed", [Child(name) for name in texts]), damage=lambda rows: _write(rows, {"Seed": ""})
    )
    names = list(texts)
    for number, part in enumerate(names[start::waves] for start in range(waves)):
        other = (
            [Child(alias, "duplicate", name) for alias, name in (aliases or {}).items()]
            if number == waves - 1
            else []
        )
        visits = [Visit(name, other if name == part[0] else []) for name in part]
        corpus.walk(*visits, damage=lambda rows: _write(rows, texts))
    return corpus


def _write(rows, texts) -> None:
    for article in rows["articles"]:
        article["wikitext"] = texts[article["name"]]


def commit_audit(
    run: RunFolder, claims: dict[int, list[str]], name: str = "audit", waves: int = 1, **described
) -> RunFolder:
    """An audit of articles with given claims, each supported on Wikipedia and not adjudicated on
    the web.
    """
    about = {"run": run.uri, "waves": len(run.manifests), "last_manifest": run.manifests[-1].sha256}
    description = {
        "kind": "audit",
        "identity_hash": name,
        "identity": {},
        "seeds": [],
        "prompts": {},
        "audited": about,
    }
    audit = RunFolder.create_or_open(f"{run.uri}/audits/{name}", description | described)
    items = [
        {"position": p, "subject_id": n, "name": f"name {n}", "hop": 0, "strata": ["random"]}
        for p, n in enumerate(claims)
    ]
    first = 0
    with Lease(audit.folder) as lease:
        audit.commit(lease, {}, {"totals": {}})
        for wave in range(waves):
            part = items[wave::waves]
            visits = [_audited(item["subject_id"], claims[item["subject_id"]]) for item in part]
            audit.commit(lease, audit_tables(tuple(part), visits, first), {"totals": {}})
            first += sum(len(claims[item["subject_id"]]) for item in part)
    return audit


def _audited(number: int, claims: list[str]) -> dict:
    none = dict.fromkeys(("error_type", "confidence", "explanation", "reason", "completion"))
    decided = {"wikipedia": "supported", "web": "not_adjudicated"}
    key = f"claims {number}"
    asked = dict.fromkeys(
        ("constraint", "text", "finish_reason", "prompt_tokens", "completion_tokens", "error")
    )
    asked |= dict.fromkeys(("cached_tokens", "fallback"))
    return {
        "words": 10,
        "claims": claims,
        "claims_error": None,
        "claims_completion": key,
        "evidence": [
            {
                "subject_id": number,
                "tier": t,
                "outcome": "found",
                "detail": None,
                "provider": t,
                "sources": [],
                "attempts": [],
            }
            for t in TIERS
        ],
        "verdicts": [
            {**none, "claim": place, "tier": tier, "verdict": decided[tier], "coerced": False}
            for tier in TIERS
            for place in range(len(claims))
        ],
        "completions": [
            {
                **asked,
                "key": key,
                "stage": "claims",
                "subject_id": number,
                "model": "j",
                "messages": "[]",
                "sampling": "{}",
            }
        ],
    }

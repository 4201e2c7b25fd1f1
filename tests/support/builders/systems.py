"""Builders of the tests that compare encyclopedias: imported runs, and audits of them by scripted
judges, by the real code.
"""

import asyncio
import json

from llmpedia.audit.article import AuditHelpers, AuditItem, AuditStages, audit_article
from llmpedia.audit.providers import EvidenceEngine
from llmpedia.audit.run import audit_tables, describe_audit, facts_of
from llmpedia.audit.sampling import articles_of, draw
from llmpedia.entities.keys import canonical_key
from llmpedia.importing.run import ImportSettings, import_texts
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import table
from tests.support.builders.audit import Direct, Pages, ScriptedJudge, audit_config


def make_system(folder, name, texts, form="wikitext"):
    """A run under ``folder/name`` with the articles of a dict."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps({"title": t, "text": text}) + "\n" for t, text in texts.items()))
    return import_texts(ImportSettings(str(path), None, name, form=form), str(folder / name), lambda p: None)


def make_audit(run, wikipedia, titles=None, random=None, web=None, name="audit", judge=None):
    """An audit of a run: ``titles`` a list, ``random`` how many; ``wikipedia`` and ``web``: subject
    -> text.
    """
    config = audit_config()
    if titles is not None:
        path = f"{run.uri}-{name}.txt"
        with open(path, "w") as file:
            file.writelines(f"{t}\n" for t in titles)
        config = audit_config(sample={"random": random or 0, "titles": path})
    pages = {"wikipedia": wikipedia, **({"web": web} if web is not None else {})}
    config = config.model_copy(update={"audit": config.audit.model_copy(update={"tiers": tuple(pages)})})
    strata = {}
    written = articles_of(run, len(run.manifests))
    for article in draw(written, 42, "random")[: random or 0]:
        strata.setdefault(article.subject_id, []).append("random")
    for article in (a for a in written if canonical_key(a.name) in set(map(canonical_key, titles or []))):
        strata.setdefault(article.subject_id, []).append("titles")
    drawn = [a for a in written if a.subject_id in strata]
    rows = [{**a.__dict__, "position": n, "strata": strata[a.subject_id]} for n, a in enumerate(drawn)]
    visits = asyncio.run(_visits(run, drawn, config, pages, judge or ScriptedJudge()))
    audit = RunFolder.create_or_open(f"{run.uri}/audits/{name}", describe_audit(config, run, {}))
    with Lease(audit.folder) as lease:
        first = {"sample": table("sample", rows)}
        audit.commit(lease, first, {**facts_of(first, None), "notes": []})
        made = audit_tables(tuple(rows), visits, 0)
        audit.commit(lease, made, facts_of(made, audit.manifests[-1]))
    return audit


async def _visits(run, drawn, config, pages, judge):
    texts = run.read("articles", columns=["subject_id", "wikitext"]).to_pylist()
    texts = {row["subject_id"]: row["wikitext"] for row in texts}
    evidence = {tier: Direct(EvidenceEngine(Pages(tier, found))) for tier, found in pages.items()}
    helpers = AuditHelpers(judge, evidence, dict.fromkeys(pages, "pages"))
    items = [AuditItem(a.subject_id, a.name, texts[a.subject_id]) for a in drawn]
    return [(await audit_article(item, config, AuditStages.of(config), helpers)).dump() for item in items]

"""Builders of the audit's tests: settings, scripted judges and providers, audits committed through
the real code.
"""

import json
import re

from llmpedia.audit.article import AuditHelpers, AuditItem, AuditStages, audit_article
from llmpedia.audit.evidence import Evidence, Outcome, Source
from llmpedia.audit.providers import EvidenceEngine
from llmpedia.audit.settings import AuditConfig
from llmpedia.config.walk import parse_as
from llmpedia.errors import TransientError
from llmpedia.stages import Completion
from tests.support.builders.runs import OPENAI

WIKIPEDIA = {"contact": "test@example.org"}


def audit_config(**sections) -> AuditConfig:
    data = {"engine": dict(OPENAI), "wikipedia": dict(WIKIPEDIA)}
    for name, section in sections.items():
        data[name] = {**data.get(name, {}), **section}
    return parse_as(AuditConfig, data, "test")


def found(tier, subject, text, outcome=Outcome.FOUND):
    source = Source(f"https://x.org/{subject}", subject, "7", "2026-01-01T00:00:00Z", None, "wikitext", text)
    return Evidence(tier, subject, outcome, (source,))


class Pages:
    """A provider over a dict; None: missing; an exception is raised."""

    name = "pages"

    def __init__(self, tier, pages):
        self.tier = tier
        self.pages = pages
        self.asked = []

    async def find(self, subject):
        self.asked.append(subject)
        page = self.pages.get(subject)
        if isinstance(page, Exception):
            raise page
        if isinstance(page, Evidence):
            return page
        return (
            Evidence(self.tier, subject, Outcome.MISSING) if page is None else found(self.tier, subject, page)
        )

    async def close(self):
        pass


class Direct:
    """An engine as a completer: one try, a failure becomes the completion's error."""

    def __init__(self, engine):
        self.engine = engine
        self.asked = []

    async def complete(self, request):
        self.asked.append(request)
        try:
            return await self.engine.generate(request)
        except TransientError as e:
            return Completion(error=f"engine: failed 5 times, last: {e}")


class ScriptedJudge:
    """Claims: the article's sentences. Verdicts: supported where the evidence holds the claim, else
    insufficient.

    ``spoil``: claim -> what its verdict's row becomes (None: left out), in the first answer only.
    """

    def __init__(self, spoil=None, claims=None, silent=False):
        self.spoil = spoil or {}
        self.claims = claims
        self.silent = silent
        self.asked = []

    async def complete(self, request):
        self.asked.append(request)
        user = next(text for _, text in request.messages if text.startswith("Subject: "))
        if request.stage == "claims":
            article = re.search(r"<article>\n(.*)\n</article>", user, re.S).group(1)
            text = (
                self.claims
                if self.claims is not None
                else json.dumps({"claims": re.findall(r"[^.]+\.", article)})
            )
            return Completion(text, "stop", 10, 5)
        if self.silent:
            return Completion(error="engine: failed 5 times")
        claims = re.findall(
            r"^\d+\. (.*)$", re.search(r"<claims>\n(.*)\n</claims>", user, re.S).group(1), re.M
        )
        evidence = re.search(r"<evidence>\n(.*)\n</evidence>", user, re.S).group(1)
        rows = [self._row(i, claim, evidence) for i, claim in enumerate(claims, 1)]
        return Completion(json.dumps({"verdicts": [r for r in rows if r is not None]}), "stop", 20, 9)

    def _row(self, idx, claim, evidence):
        if claim in self.spoil:
            return self.spoil.pop(claim)
        label = "supported" if claim in evidence else "insufficient"
        return {
            "idx": idx,
            "verdict": label,
            "error_type": None,
            "confidence": 1.0,
            "explanation": "as it says",
        }


async def audited(wikitext, wikipedia=None, web=None, judge=None, name="Ada", **sections):
    """What ``audit_article`` makes of one article; providers are :class:`Pages` over the given
    texts.
    """
    providers = {"wikipedia": Pages("wikipedia", {name: wikipedia}), "web": Pages("web", {name: web})}
    evidence = {tier: Direct(EvidenceEngine(p)) for tier, p in providers.items()}
    config = audit_config(**sections)
    helpers = AuditHelpers(
        judge or ScriptedJudge(), evidence, {tier: p.name for tier, p in providers.items()}
    )
    return await audit_article(AuditItem(1, name, wikitext), config, AuditStages.of(config), helpers)

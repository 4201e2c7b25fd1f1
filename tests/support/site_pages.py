"""The site over given runs as a client has it, its pages as a reader does, and an audit of one
article.
"""

from html.parser import HTMLParser

from starlette.testclient import TestClient

from llmpedia.site.app.app import create_app
from llmpedia.site.data.run_reader import open_runs
from llmpedia.site.search.search import PageHit
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import TABLES, table

EVIL = "<script>alert(1)</script> \"' onmouseover=x <img src=x onerror=alert(2)> \x02b\x03"


class FoundPage(HTMLParser):
    """Tags, links, ids and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict]] = []
        self.words: list[str] = []
        self.feed(text)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def hrefs(self) -> list[str]:
        return [a[name] for _, a in self.tags for name in ("href", "action", "src") if a.get(name)]

    @property
    def ids(self) -> list[str]:
        return [a["id"] for _, a in self.tags if "id" in a]

    def link(self, label: str) -> dict:
        """Attributes of the first link to an address that holds these words."""
        return next(a for tag, a in self.tags if tag == "a" and label in (a.get("href") or ""))


class Finder:
    """Titles that hold the query."""

    note = None

    def __init__(self, run) -> None:
        self.run = run
        self.refreshed = 0

    def find(self, query, most):
        found, _ = self.run.listed(None, None, 0, 1000)
        return [
            PageHit(e.id, e.name, f"on \x02{query}\x03 here", e.hop)
            for e in found
            if query.casefold() in e.name.casefold()
        ][:most]

    def refresh(self):
        self.refreshed += 1


def opened(*folders):
    runs = open_runs([str(f) for f in folders])
    return runs, TestClient(
        create_app(runs, {run.name: Finder(run) for run in runs}),
        base_url="http://127.0.0.1:8080",
        follow_redirects=False,
    )


def get(client, path, status=200):
    answer = client.get(path)
    assert answer.status_code == status, (path, answer.status_code, answer.text[:300])
    return FoundPage(answer.text)


def with_texts(texts):
    """A damage to a wave: other wikitext for some articles."""

    def change(rows):
        for article in rows["articles"]:
            article["wikitext"] = texts.get(article["name"], article["wikitext"])

    return change


def add_audit(uri, claims, verdict="refuted", url="https://en.wikipedia.org/wiki/Root", name="check"):
    """An audit of the first article, through the real store."""
    run = RunFolder.open(uri)
    about = {"run": uri, "waves": len(run.manifests), "last_manifest": run.manifests[-1].sha256}
    described = {
        "format": 1,
        "kind": "audit",
        "identity_hash": name,
        "identity": {},
        "audited": about,
        "seeds": [],
        "prompts": {},
    }
    audit = RunFolder.create_or_open(f"{uri}/audits/{name}", described)
    subject = {"subject_id": 0, "name": "Root", "hop": 0, "strata": ["random"], "position": 0}
    source = {
        "url": url,
        "title": "Source <b>",
        "revision": "77",
        "fetched_at": "2026-01-02T03:04:05Z",
        "score": None,
    }
    source |= {
        "how": "wikitext",
        "text": "Nothing of it.\n\nThe root was laid in 1900 by masons.\n\nOther words.",
    }
    completion = dict.fromkeys(TABLES["completions"].names) | {
        "model": "judge",
        "subject_id": 0,
        "text": "it is said",
    }
    rows = {
        "audited": [
            subject | {"words": 9, "claims": len(claims), "claims_error": None, "claims_completion": "k1"}
        ],
        "claims": [
            {"claim_id": n, "subject_id": 0, "position": n, "text": text} for n, text in enumerate(claims)
        ],
        "evidence": [
            {
                "subject_id": 0,
                "tier": "wikipedia",
                "outcome": "found",
                "detail": None,
                "provider": "p",
                "sources": [source],
                "attempts": [],
            }
        ],
        "verdicts": [
            {
                "claim_id": n,
                "subject_id": 0,
                "tier": "wikipedia",
                "verdict": verdict,
                "error_type": None,
                "confidence": 0.5,
            }
            | {"explanation": "so it says", "coerced": False, "reason": None, "completion": "k2"}
            for n in range(len(claims))
        ],
        "completions": [
            completion | {"key": key, "stage": stage} for key, stage in (("k1", "claims"), ("k2", "verdict"))
        ],
    }
    with Lease(audit.folder) as lease:
        audit.commit(lease, {"sample": table("sample", [subject | {"run_wave": 1}])}, {})
        audit.commit(lease, {name: table(name, r) for name, r in rows.items()}, {})

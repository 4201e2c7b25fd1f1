"""The planted corpus: documents that can be read, that say what is planted and differ from each
other but for planned copies.
"""

import json
import zlib
from collections import Counter
from itertools import combinations, pairwise
from urllib.parse import urlsplit

import pytest

from llmpedia.cli.main import main
from llmpedia.probe.documents import sentences
from llmpedia.rehearsal.planted.corpus import documents, planted_documents, true_relation, truth
from llmpedia.rehearsal.planted.disagreements import planted
from llmpedia.rehearsal.planted.document_reader import compatible, read
from llmpedia.rehearsal.settings import load_settings
from llmpedia.rehearsal.world.world import World

SETTINGS = [
    "entities=3000",
    "disagreements.near_copies=0.1",
    "disagreements.traps=0.3",
    "disagreements.compatible=0.4",
]


@pytest.fixture(scope="module")
def world():
    return World(load_settings(SETTINGS, seed=5))


@pytest.fixture(scope="module")
def corpus(world):
    return planted_documents(world)


def shingles(text):
    words = text.split()
    return {tuple(words[i : i + 5]) for i in range(len(words) - 4)}


def alike(a, b):
    return len(a & b) / len(a | b)


def test_each_account_has_its_documents_and_every_role_occurs(world, corpus):
    told = Counter(
        (d.fact, d.account) for d in corpus if d.role in ("account", "agreeing") and d.copy_of is None
    )
    assert told == {(f.number, i): a.documents for f in planted(world) for i, a in enumerate(f.accounts)}
    roles = Counter(d.role for d in corpus if d.copy_of is None)
    assert set(roles) == {"account", "agreeing", "compatible", "context", "trap", "noise"}
    assert roles["noise"] == 200
    assert 0.05 < sum(d.copy_of is not None for d in corpus) / len(corpus) < 0.15


def test_addresses_and_hosts_differ_and_the_order_tells_nothing(corpus):
    assert len({d.url for d in corpus}) == len({urlsplit(d.url).hostname for d in corpus}) == len(corpus)
    facts = [d.fact for d in corpus if d.fact is not None]
    assert sum(a == b for a, b in pairwise(facts)) < len(facts) / 10


def test_documents_have_the_length_of_a_short_page(corpus):
    for d in corpus:
        assert 5 <= len(sentences(d.text)) <= 12
        assert 60 <= len(d.text.split()) <= 220


def test_documents_say_what_is_planted_and_nothing_else_of_it(world, corpus):
    facts = planted(world)
    for d in corpus:
        found = read(d.text)
        assert found is not None
        if d.fact is None:
            assert len(found.stated) <= 1
            continue
        fact = facts[d.fact]
        subject = fact.trap if d.role == "trap" else fact.subject
        about = found.about
        assert (about.name, about.noun, about.region, about.mark) == (
            subject.name,
            subject.noun,
            subject.region,
            subject.mark,
        )
        (stated,) = found.stated
        assert stated.slot.name == fact.slot.name
        assert stated.context == (fact.elsewhere if d.role == "context" else fact.context)
        gives = [i for i, a in enumerate(fact.accounts) if compatible(fact.slot.value, stated.value, a.value)]
        assert gives == ([] if d.account is None else [d.account])
        assert stated.sentence in [d.text[a:b] for a, b in sentences(d.text)]


def test_only_planned_copies_are_alike(corpus):
    """At 0.8 of 5-word shingles a corpus is cleared of near duplicates: none but the copies may go,
    and these must.
    """
    by_url = {d.url: shingles(d.text) for d in corpus}
    copies = {frozenset((d.url, d.copy_of)) for d in corpus if d.copy_of}
    assert copies
    assert all(alike(*(by_url[u] for u in pair)) > 0.9 for pair in copies)
    others = (
        p
        for p in combinations(by_url, 2)
        if frozenset(p) not in copies and len(by_url[p[0]] & by_url[p[1]]) > 8
    )
    assert max(alike(by_url[a], by_url[b]) for a, b in others) < 0.5


def test_relation_of_any_two_documents_follows_from_their_facts(corpus):
    by_role = {}
    for d in corpus:
        by_role.setdefault((d.role, d.account), []).append(d)
    first = by_role["account", 0][0]
    second = None
    second = next(d for d in by_role["account", 1] if d.fact == first.fact)
    assert true_relation(first, second) == true_relation(second, first) == "conflict"
    other = next(d for d in by_role["account", 0] if d.fact != first.fact)
    assert true_relation(first, other) == "none"
    for (role, account), wanted in {
        ("trap", None): "none",
        ("context", None): "none",
        ("compatible", 0): "support",
    }.items():
        some = by_role[role, account][0]
        fellow = next(
            d for d in corpus if d.fact == some.fact and d.role in ("account", "agreeing") and d.account == 0
        )
        assert true_relation(some, fellow) == wanted, role
    assert true_relation(by_role["noise", None][0], by_role["noise", None][1]) == "none"


def test_truth_knows_every_document_by_its_address(world, corpus):
    there = truth(world)
    assert [there[d["url"]].text for d in documents(world)] == [d.text for d in corpus]


def test_the_command_writes_the_same_bytes_twice(tmp_path, capsys):
    for name in ("a", "b"):
        assert (
            main(["rehearse", "corpus", "--seed", "5", "--out", str(tmp_path / name), *set_(SETTINGS)]) == 0
        )
    a, b = ((tmp_path / name / "documents.jsonl.gz").read_bytes() for name in ("a", "b"))
    assert a == b
    assert capsys.readouterr().out.count("documents.jsonl.gz") == 2
    lines = zlib.decompress(a, 31).decode().splitlines()
    assert [set(json.loads(line)) for line in lines] == [{"url", "text"}] * len(lines)
    assert len(lines) > 800


def set_(settings):
    return [part for s in settings for part in ("--set", s)]


@pytest.mark.real
def test_the_default_tagger_finds_the_subject_in_the_sentence_that_states_the_fact(world, corpus):
    """Sentences are worded so that a small tagger finds invented names; a fact it misses is no loss
    of the build's making.
    """
    from llmpedia.probe.candidates.mentions import key_of, make_tagger
    from llmpedia.probe.settings.build import MentionsSection

    tagger = make_tagger(MentionsSection())
    facts = planted(world)
    told = [d for d in corpus if d.role in ("account", "compatible", "agreeing") and d.copy_of is None]
    hits = 0
    for d, mentions in zip(told, tagger.mentions([d.text for d in told]), strict=True):
        sentence = read(d.text).stated[0].sentence
        start = d.text.index(sentence)
        key = key_of(facts[d.fact].subject.name)
        hits += any(m.key == key and start <= m.start < start + len(sentence) for m in mentions)
    assert hits / len(told) > 0.97

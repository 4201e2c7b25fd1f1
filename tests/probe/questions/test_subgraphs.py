"""Subgraphs from edges: which documents stand behind which account, and which conflicts are the
same one.
"""

from llmpedia.entities.keys import canonical_key
from llmpedia.probe.questions.subgraphs import facts_of, subgraphs
from llmpedia.probe.settings.build import SubgraphsSection


def edges(*told, slot="population"):
    """(a, b, relation, value_a, value_b) as rows of pairs and relations."""
    pairs = []
    relations = []
    for n, (a, b, relation, *values) in enumerate(told):
        value_a, value_b = values or (f"v{a}", f"v{b}")
        pairs.append({"pair_id": n, "a": a, "b": b, "subject": "ashton", "slot": slot})
        relations.append(
            {"relation": relation, "attribute": "Head count", "value_a": value_a, "value_b": value_b}
        )
    return pairs, relations


def grown(*told, slot="population", **settings):
    return subgraphs(facts_of(*edges(*told, slot=slot)), SubgraphsSection(**settings))


def documents(row):
    return [side["documents"] for side in row["sides"]]


def test_accounts_grow_over_support_edges_from_both_ends():
    rows = grown((0, 1, "conflict"), (0, 2, "support"), (2, 3, "support"), (1, 4, "support"))
    assert documents(rows[0]) == [[0, 2, 3], [1, 4]]
    assert (rows[0]["n_maj"], rows[0]["n_min"]) == (3, 2)


def test_none_and_failed_relations_are_no_edges():
    rows = grown((0, 1, "conflict"), (0, 2, "none"), (0, 3, None))
    assert documents(rows[0]) == [[0], [1]]


def test_a_document_as_near_to_both_accounts_belongs_to_none():
    rows = grown((0, 1, "conflict"), (0, 2, "support"), (1, 2, "support"), (0, 3, "support"))
    assert documents(rows[0]) == [[0, 3], [1]]


def test_one_wrong_support_edge_does_not_join_the_accounts():
    # 2 and 3 stand on different sides, one step from their ends; the edge between them is a
    # mistake.
    rows = grown((0, 1, "conflict"), (0, 2, "support"), (1, 3, "support"), (2, 3, "support"))
    assert documents(rows[0]) == [[0, 2], [1, 3]]


def test_a_document_against_all_accounts_is_a_further_one_and_grows_too():
    rows = grown((0, 1, "conflict"), (0, 5, "conflict"), (1, 5, "conflict"), (5, 6, "support"))
    assert sorted(documents(rows[0])) == [[0], [1], [5, 6]]
    assert [r["fate"] for r in rows] == ["kept", "duplicate", "duplicate"]


def test_a_document_in_conflict_with_one_account_alone_is_a_further_one_too():
    rows = grown((0, 1, "conflict"), (0, 5, "conflict"))
    assert sorted(documents(rows[0])) == [[0], [1], [5]]
    assert [r["fate"] for r in rows] == ["kept", "duplicate"]


def test_but_where_it_gives_the_value_of_another_account_it_joins_that():
    rows = grown((0, 1, "conflict", "1871", "1,874"), (0, 5, "conflict", "1871", "1874"))
    assert documents(rows[0]) == [[0], [1, 5]]


def test_a_document_does_not_join_the_side_that_it_contradicts():
    # The support between 2 and 5 is a mistake: 5 stands against 0, the head of that side.
    told = [(0, 1, "conflict"), (0, 2, "support"), (2, 5, "support"), (0, 5, "conflict"), (1, 5, "conflict")]
    rows = grown(*told)
    assert documents(rows[0]) == [[0, 2], [1], [5]]


def test_what_contradicts_its_own_value_belongs_to_nobody():
    told = [(0, 1, "conflict", "1871", "1874"), (0, 5, "conflict", "1871", "1871")]
    assert documents(grown(*told)[0]) == [[0], [1]]


def test_conflicts_between_the_same_accounts_are_one():
    rows = grown((0, 1, "conflict"), (0, 3, "support"), (1, 2, "support"), (2, 3, "conflict"))
    assert [r["fate"] for r in rows] == ["kept", "duplicate"]
    assert [r["subgraph_id"] for r in rows] == [0, 1]


def test_the_better_supported_weaker_side_comes_first_and_the_cap_counts_kept_ones():
    told = [(0, 1, "conflict"), (0, 2, "support")]
    more = [(10, 11, "conflict"), (10, 12, "support"), (11, 13, "support")]
    pairs, relations = edges(*told, *more)
    for pair in pairs[2:]:
        pair["subject"] = "brook"
    rows = subgraphs(facts_of(pairs, relations), SubgraphsSection(seeds=1))
    assert [(r["subject"], r["n_min"], r["fate"]) for r in rows] == [
        ("brook", 2, "kept"),
        ("ashton", 1, "cap"),
    ]


def test_an_account_with_too_few_documents_is_told():
    assert grown((0, 1, "conflict"), (0, 2, "support"), least_support=2)[0]["fate"] == "low_support"


def test_a_further_account_with_too_few_documents_spoils_the_question_too():
    told = [(0, 1, "conflict"), (0, 2, "support"), (1, 3, "support"), (0, 5, "conflict"), (1, 5, "conflict")]
    (row, *_) = grown(*told, least_support=2)
    assert (row["fate"], len(row["sides"])) == ("low_support", 3)


def test_a_fact_of_many_documents_is_grown_once():
    many = [(0, n, "support", "a", "a") for n in range(2, 400, 2)] + [
        (1, n, "support", "b", "b") for n in range(3, 400, 2)
    ]
    rows = grown(
        (0, 1, "conflict", "a", "b"), *many, *((n, n + 1, "conflict", "a", "b") for n in range(2, 398, 2))
    )
    assert [r["fate"] for r in rows].count("kept") == 1
    assert sum(len(side["documents"]) for r in rows for side in r["sides"]) == 400


def test_facts_are_kept_apart_by_slot_and_without_one_by_the_attribute():
    pairs, relations = edges((0, 1, "conflict"), (0, 2, "support"))
    pairs[1]["slot"] = "area"
    rows = subgraphs(facts_of(pairs, relations), SubgraphsSection())
    assert documents(rows[0]) == [[0], [1]]
    assert grown((0, 1, "conflict"), slot=None)[0]["slot"] == canonical_key("Head count")


def test_an_account_is_called_what_most_edges_call_it():
    rows = grown(
        (0, 1, "conflict", "1871", "1874"),
        (0, 2, "support", "in 1871", "1871"),
        (2, 3, "support", "1871", "1871"),
    )
    assert [side["value"] for side in rows[0]["sides"]] == ["1871", "1874"]


def test_the_order_of_a_fact_does_not_depend_on_the_order_of_its_documents():
    rows = grown((1, 5, "conflict"), (0, 5, "conflict"), (0, 1, "support"))
    assert documents(rows[0])[0] == [0, 1]
    assert [r["seed_pair"] for r in rows] == [0, 1]

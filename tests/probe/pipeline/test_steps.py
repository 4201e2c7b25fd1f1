"""What the steps of a build hand to their models."""

from llmpedia.probe.pipeline.steps import shown_documents

LENGTHS = {1: 50, 2: 10, 3: 30, 4: 20, 5: 400, 6: 40}


def shown(*accounts, budget):
    return shown_documents([list(a) for a in accounts], LENGTHS.__getitem__, budget)


def test_the_shortest_documents_of_an_account_are_shown_in_order():
    assert shown((1, 2, 3, 4), (6,), budget=1000) == [[2, 3, 4], [6]]


def test_accounts_take_turns_while_the_budget_lasts():
    assert shown((2, 4, 3), (6, 1), budget=120) == [[2, 4], [1, 6]]


def test_no_account_is_left_without_a_document():
    assert shown((5,), (2, 4), budget=100) == [[5], [2]]

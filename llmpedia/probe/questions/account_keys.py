"""Answers that decide account by account: under one key for each, its number from 1, so that none
can be left out.
"""

from collections.abc import Sequence
from typing import Any

from llmpedia.stages import AnswerError, Pairs, neutral, one_line


def listed(accounts: Sequence[str]) -> str:
    """The accounts as prompts show them."""
    return "\n".join(f"{i}. {neutral(one_line(a))}" for i, a in enumerate(accounts, 1))


def keys(accounts: Sequence[str]) -> list[str]:
    """Keys of the decisions."""
    return [str(i) for i in range(1, len(accounts) + 1)]


def decisions(answer: Any, accounts: Sequence[str]) -> list[Any]:
    """The decisions in order of the accounts.

    Raises:
        AnswerError: there is not exactly one on each.
    """
    wanted = keys(accounts)
    if not isinstance(answer, Pairs) or sorted(key for key, _ in answer.pairs) != sorted(wanted):
        raise AnswerError(
            f"accounts must have one decision under each of the keys {', '.join(wanted)} and no other"
        )
    return [answer[key] for key in wanted]

"""Prompts: one YAML file each, and the personas.

A file has ``system`` and ``user`` texts and, for weak models, one ``example`` (a user and an
assistant turn, sent when ``run.examples`` is on). ``{placeholder}`` names follow the paper's
appendix L. A value is never scanned for placeholders again, so model text inside a prompt stays
text.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from llmpedia.errors import ConfigError

_FOLDER = Path(__file__).parent
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")

PLACEHOLDERS = frozenset(
    {
        "subject_name",
        "root_subject",
        "avg_words_per_article",
        "outline_block",
        "phrases_block",
        "persona_block",
        "facts_block",
        "min_sections",
        "max_sections",
        "candidate_block",
        "known_block",
        "answer_block",
        "article_block",
        "most_claims",
        "claims_block",
        "evidence_source",
        "evidence_block",
        "count",
        "question",
        "accounts_block",
        "response_block",
        "taxonomy_block",
        "most_share",
        "document_block",
        "documents_block",
        "document_a",
        "document_b",
        "attribute",
        "second_question",
        "searches_left",
        "pages_left",
        "steps_left",
        "log_block",
    }
)


@dataclass(frozen=True)
class Prompt:
    """A prompt's texts with their placeholders, and the hash of its file."""

    name: str
    system: str
    user: str
    example: tuple[str, str] | None
    sha256: str

    def render(self, values: dict[str, str], with_example: bool) -> list[tuple[str, str]]:
        """(role, content) turns with every placeholder filled; a missing value is a ``KeyError``."""
        turns = [("system", fill(self.system, values))]
        if with_example and self.example:
            turns += [("user", self.example[0]), ("assistant", self.example[1])]
        return [*turns, ("user", fill(self.user, values))]


def fill(template: str, values: dict[str, str]) -> str:
    """The template with each placeholder replaced once."""
    return _PLACEHOLDER.sub(lambda m: values[m.group(1)], template).strip()


@cache
def load_prompt(name: str) -> Prompt:
    """The prompt in ``prompts/NAME.yaml``, for example ``general/article.baseline``.

    Raises:
        ConfigError: no such prompt, or one with an unknown placeholder.
    """
    path = _FOLDER / f"{name}.yaml"
    if not path.is_file():
        raise ConfigError(f"prompt {name}: no file {path}")
    raw = path.read_bytes()
    data: dict[str, Any] = yaml.safe_load(raw)
    unknown = set(_PLACEHOLDER.findall(data["system"] + data["user"])) - PLACEHOLDERS
    if unknown:
        raise ConfigError(
            f"prompt {name}: unknown placeholders {sorted(unknown)}; use {sorted(PLACEHOLDERS)}"
        )
    example = data.get("example")
    turns = (example["user"].strip(), example["assistant"].strip()) if example else None
    return Prompt(name, data["system"], data["user"], turns, hashlib.sha256(raw).hexdigest())


@cache
def personas() -> dict[str, str]:
    """Name -> instruction text."""
    data: dict[str, str] = yaml.safe_load((_FOLDER / "personas.yaml").read_text(encoding="utf-8"))
    return {name: " ".join(text.split()) for name, text in data.items()}


def persona_text(name: str) -> str:
    """The instruction of a persona.

    Raises:
        ConfigError: no such persona.
    """
    if name not in personas():
        raise ConfigError(f"run.persona = {name!r}: unknown persona; choose one of {', '.join(personas())}")
    return personas()[name]

"""A setting that is one of several sections, told apart by their key ``kind``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Union

from pydantic import Discriminator, GetCoreSchemaHandler, Tag
from pydantic_core import CoreSchema

from llmpedia.config.base import Section

WRONG_KIND = "wrong_kind"
"""Type of pydantic's error where ``kind`` names none of the sections; its message is the rule."""
TAG = "kind="
"""How pydantic names a section in the path of an error: this, and the kind."""


@dataclass(frozen=True)
class ByKind:
    """Marks a setting that holds one of several sections of one base class.

    Args:
        sections: that it takes, in the order in which they are named to the user.
        default: the one that is meant where ``kind`` is left out.
        rule: what is told where ``kind`` is none of these; empty: that the job takes one of them.
    """

    sections: tuple[type[Section], ...]
    default: type[Section]
    rule: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The union of the sections, as pydantic checks and writes it."""
        choices = tuple(Annotated[section, Tag(_tag(section))] for section in self.sections)
        kinds = ", ".join(kind_of(section) for section in self.sections)
        union: Any = Union[choices]  # noqa: UP007 (made at run time)
        rule = self.rule or f"this job takes one of {kinds}; change it"
        return handler.generate_schema(
            Annotated[
                union,
                Discriminator(self._tag_of, custom_error_type=WRONG_KIND, custom_error_message=rule),
            ]
        )

    def section(self, tag: int | str) -> type[Section] | None:
        """The section of that name in the path of an error."""
        return next((section for section in self.sections if _tag(section) == tag), None)

    def _tag_of(self, value: Any) -> str:
        """The name of the section that a value is, or is to become."""
        if isinstance(value, Section):
            return f"{TAG}{getattr(value, 'kind', None)}"
        if isinstance(value, Mapping) and "kind" in value:
            return f"{TAG}{value['kind']}"
        return _tag(self.default)  # which also refuses what is no section at all


def kind_of(section: type[Section]) -> str:
    """The ``kind`` of a section."""
    return str(section.model_fields["kind"].default)


def _tag(section: type[Section]) -> str:
    return f"{TAG}{kind_of(section)}"

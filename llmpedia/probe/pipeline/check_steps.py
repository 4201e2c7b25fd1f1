"""The checks of a build that a model makes: accounts against the documents in full, and against
independent pages.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from llmpedia.engines.preflight import Need
from llmpedia.probe.pipeline.state import BuildState
from llmpedia.probe.pipeline.steps import Row, Step, StepHelpers, StepVisit
from llmpedia.probe.questions.read_check import Checked, Proof, ReadCheck, ReadVerdict, verdict_row
from llmpedia.probe.questions.web_check import Group, WebCheck, web_check, web_check_need
from llmpedia.stages import Reply, ask


def group_item(row: Row) -> Row:
    """A group whose questions are to be checked, as an item without texts."""
    fields = {k: row[k] for k in ("group_id", "named_entity", "clue_based")}
    return {
        "subject_id": row["subgraph_id"],
        **fields,
        "accounts": [answer["value"] for answer in row["answers"]],
    }


def passed(state: BuildState, check: str) -> set[str]:
    """Ids of the groups that passed a check."""
    return {
        row["group_id"] for row in state.rows("checks") if row["check"] == check and row["fate"] == "kept"
    }


class ReadStep(Step):
    """Each account against all documents of the subgraph; as many calls as it takes to show them in
    full.
    """

    name = "read"
    tables = ("checks",)

    def items(self, state: BuildState) -> list[Row]:
        """See :class:`Step`."""
        return [group_item(row) for row in state.questions]

    def loaded(self, item: Row, state: BuildState) -> Row:
        """See :class:`Step`."""
        documents = state.documents_of(item["subject_id"])
        return {**item, "documents": [[n, state.texts.url(n), state.texts.text(n)] for n in documents]}

    def need(self) -> Need:
        """See :class:`Step`."""
        stage = self._stage
        return Need(stage.name, self.budget + len(stage.prompt.system), stage.settings.max_tokens or 0)

    @cached_property
    def _stage(self) -> ReadCheck:
        return ReadCheck(self.config)

    async def visit(self, item: Row, helpers: StepHelpers) -> StepVisit:
        """See :class:`Step`."""
        whole: Reply[ReadVerdict] | None = None
        for documents in self._parts(item["documents"]):
            question = Checked(item["named_entity"], item["clue_based"], tuple(item["accounts"]), documents)
            reply = await ask(helpers.model, self._stage, question)
            whole = reply if whole is None else _joined(whole, reply)
        assert whole is not None  # a subgraph has documents
        urls = {n: url for n, url, _ in item["documents"]}
        return StepVisit({"checks": [verdict_row(item["group_id"], whole, urls)]}, whole.completions)

    def _parts(self, documents: list[list[Any]]) -> Iterator[tuple[tuple[int, str], ...]]:
        part: list[tuple[int, str]] = []
        chars = 0
        for number, _, text in documents:
            if part and chars + len(text) > self.budget:
                yield tuple(part)
                part = []
                chars = 0
            part.append((number, text))
            chars += len(text)
        yield tuple(part)


def _joined(one: Reply[ReadVerdict], other: Reply[ReadVerdict]) -> Reply[ReadVerdict]:
    """Two parts of one check: an account is supported where either part supports it; what failed in
    either has failed.
    """
    completions = [*one.completions, *other.completions]
    if one.value is None or other.value is None:
        return Reply(None, one.error or other.error, completions)
    proofs: tuple[Proof, ...] = tuple(
        a if a.supported else b for a, b in zip(one.value.proofs, other.value.proofs, strict=True)
    )
    doubts = [v.reason for v in (one.value, other.value) if not v.questions_fit]
    return Reply(
        ReadVerdict(proofs, not doubts, doubts[0] if doubts else one.value.reason), None, completions
    )


class WebStep(Step):
    """Each account against pages that have nothing to do with the subgraph's documents, found by an
    agent.
    """

    name = "web"
    tables = ("checks",)

    def items(self, state: BuildState) -> list[Row]:
        """See :class:`Step`: of the groups that passed the check before, where there is one."""
        before = passed(state, "read") if self.config.validation.read else None
        return [group_item(row) for row in state.questions if before is None or row["group_id"] in before]

    def loaded(self, item: Row, state: BuildState) -> Row:
        """See :class:`Step`."""
        documents = state.documents_of(item["subject_id"])
        return {
            **item,
            "urls": [state.texts.url(n) for n in documents],
            "texts": [state.texts.text(n) for n in documents],
        }

    def need(self) -> Need:
        """See :class:`Step`."""
        return web_check_need(self.config)

    @cached_property
    def _stage(self) -> WebCheck:
        return WebCheck(self.config)

    async def visit(self, item: Row, helpers: StepHelpers) -> StepVisit:
        """See :class:`Step`."""
        assert helpers.web is not None  # made for this step
        accounts, urls, texts = (tuple(item[name]) for name in ("accounts", "urls", "texts"))
        group = Group(item["group_id"], item["named_entity"], accounts, urls, texts)
        done = await web_check(group, helpers.web, helpers.model, self._stage, self.config.validation)
        return StepVisit({"checks": [done.row]}, done.completions)

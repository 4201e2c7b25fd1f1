"""Answers' log-probabilities by transformers: logits where answers stand and nowhere else, in fp32.

What sequences have in common is computed once: the head that all contexts share as a key-value
cache, the rest of a question once for all its answers, which follow it side by side under a mask
that keeps them apart (a tree in one row). That needs a model whose every layer is plain causal
attention, so it is tried against one row an answer before it is used.
"""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from llmpedia.perplexity.backend import Ids, Logprobs, Task

# Nats a token by which two ways of computing values may differ on the mean; a wrong mask moves them
# by whole nats.
_TOLERANCE = {"float32": 1e-3, "float64": 1e-3}
_HALF_TOLERANCE = 0.25
_LOGIT_ROWS = 512  # rows of fp32 logits at once: 300 MB at a vocabulary of 150,000


@dataclass(frozen=True)
class _Row:
    """One row of a forward pass: ``ids`` after the head, ``asked`` (position in the row, token that
    follows, answer).
    """

    task: int
    ids: Ids
    positions: tuple[int, ...]
    segments: tuple[int, ...]  # 0: context; n: the nth answer
    asked: tuple[tuple[int, int, int], ...]


class TorchBackend:
    """A model in this process. Needs torch and transformers alone."""

    def __init__(self, model: Any, head: Ids, batch_tokens: int, share_prefix: bool) -> None:
        """``model``: of transformers, on its device; ``head``: tokens that contexts begin with.

        ``batch_tokens``: of one forward pass, padding included; ``share_prefix``: where the model's
        attention allows it.
        """
        import torch

        self._model = model.eval()
        self._batch_tokens = batch_tokens
        self._head = head
        self._device = next(model.parameters()).device
        self._dtype = str(model.dtype).removeprefix("torch.")
        self._lock = threading.Lock()
        self._window = _short_window(model.config)
        self._stretched = _stretched_at(model.config)
        self._cache: list[tuple[Any, Any]] | None = None
        with torch.inference_mode():
            self._shares = share_prefix and self._stretched is None and self._agrees()

    def describe(self) -> dict[str, Any]:
        """What decides the values."""
        return {
            "backend": "torch",
            "dtype": self._dtype,
            "device": self._device.type,
            "share_prefix": self._shares,
        }

    async def logprobs(self, tasks: Sequence[Task]) -> list[Logprobs | str]:
        """See :class:`~llmpedia.perplexity.backend.Backend`; one call at a time computes."""
        return list(await asyncio.to_thread(self.compute, tasks))

    async def ready(self) -> None:
        """It is, once it is loaded."""

    async def check_health(self) -> None:
        """It lives as long as this process."""

    def compute(self, tasks: Sequence[Task]) -> list[Logprobs]:
        """The same, blocking."""
        with self._lock:
            return self._compute(tasks, self._shares)

    def _compute(self, tasks: Sequence[Task], shared: bool) -> list[Logprobs]:
        import torch

        logprobs: list[Logprobs] = [[[] for _ in task.answers] for task in tasks]
        trees = [n for n, t in enumerate(tasks) if shared and self._fits(t)]
        plain = sorted(set(range(len(tasks))) - set(trees))
        with torch.inference_mode():
            for begins in (True, False):
                head = len(self._head) if begins else 0
                some = [n for n in trees if self._begins(tasks[n]) is begins]
                for batch in _batches(
                    [row for n in some for row in self._grown(n, tasks[n], head)], self._batch_tokens
                ):
                    self._trees(batch, head, logprobs)
            for batch in self._apart(
                [_row(n, tasks[n], 0, (a,)) for n in plain for a in range(len(tasks[n].answers))]
            ):
                self._plain(batch, logprobs)
        return logprobs

    def _begins(self, task: Task) -> bool:
        cached = self._cache is not None
        return (
            cached and len(task.context) > len(self._head) and task.context[: len(self._head)] == self._head
        )

    def _fits(self, task: Task) -> bool:
        """Whether no layer's window ends within it; a tree's mask knows no windows."""
        return self._window is None or len(task.context) + max(map(len, task.answers)) <= self._window

    def _grown(self, number: int, task: Task, head: int) -> Iterator[_Row]:
        """Trees of a task: as many answers in each as ``batch_tokens`` holds, at least one."""
        some: list[int] = []
        room = self._batch_tokens - (len(task.context) - head)
        for n, answer in enumerate(task.answers):
            if some and sum(len(task.answers[k]) for k in some) + len(answer) > room:
                yield _row(number, task, head, some)
                some = []
            some.append(n)
        yield _row(number, task, head, some)

    def _apart(self, rows: list[_Row]) -> Iterator[list[_Row]]:
        """Batches; where positions stretch with the longest row, a row past that point is alone."""
        limit = self._stretched
        long = [row for row in rows if limit is not None and len(row.ids) > limit]
        yield from ([row] for row in long)
        yield from _batches(
            [row for row in rows if limit is None or len(row.ids) <= limit], self._batch_tokens
        )

    def _trees(self, rows: list[_Row], head: int, logprobs: list[Logprobs]) -> None:
        """One forward pass of rows that hold all answers of a task."""
        cache = self._expanded(len(rows)) if head else None
        mask = _mask(self._padded([row.segments for row in rows], -1), head)
        positions = self._padded([row.positions for row in rows], 0)
        self._read(
            rows,
            logprobs,
            position_ids=positions,
            attention_mask=mask,
            past_key_values=cache,
            use_cache=cache is not None,
        )

    def _plain(self, rows: list[_Row], logprobs: list[Logprobs]) -> None:
        """One forward pass of the model as it is; what pads a row comes after it, where no causal
        model looks.
        """
        self._read(rows, logprobs, use_cache=False)

    def _padded(self, rows: list[Ids], value: int) -> Any:
        import torch

        length = max(map(len, rows))
        return torch.tensor([row + (value,) * (length - len(row)) for row in rows], device=self._device)

    def _read(self, rows: list[_Row], logprobs: list[Logprobs], **inputs: Any) -> None:
        """Run the model and take the values that are asked out of its logits."""
        import torch

        asked = [(n, at, token) for n, row in enumerate(rows) for at, token, _ in row.asked]
        which, at, token = (torch.tensor(column, device=self._device) for column in zip(*asked, strict=True))
        logits = self._logits(which, at, {"input_ids": self._padded([row.ids for row in rows], 0), **inputs})
        values: list[float] = []
        for i in range(0, len(asked), _LOGIT_ROWS):
            scores = torch.log_softmax(logits[i : i + _LOGIT_ROWS].float(), dim=-1)
            values += scores.gather(1, token[i : i + _LOGIT_ROWS, None]).squeeze(1).tolist()
        of = [(row.task, answer) for row in rows for _, _, answer in row.asked]
        for (task, answer), value in zip(of, values, strict=True):
            logprobs[task][answer].append(value)

    def _logits(self, which: Any, at: Any, inputs: dict[str, Any]) -> Any:
        """[asked, vocabulary]. The model's last matrix sees the asked places alone; what it does
        after that it still does.
        """
        last = self._model.get_output_embeddings()
        hook = (
            last.register_forward_pre_hook(lambda _, hidden: (hidden[0][which, at],))
            if last is not None
            else None
        )
        try:
            logits = self._model(**inputs).logits
        finally:
            if hook is not None:
                hook.remove()
        return logits if logits.dim() == 2 else logits[which, at]

    def _head_cache(self) -> list[tuple[Any, Any]]:
        import torch

        out = self._model(
            input_ids=torch.tensor([self._head], device=self._device), use_cache=True, logits_to_keep=1
        )
        return [
            (layer.keys, layer.values)
            for layer in out.past_key_values.layers
            if getattr(layer, "keys", None) is not None
        ]

    def _expanded(self, rows: int) -> Any:
        from transformers import DynamicCache

        assert self._cache is not None
        return DynamicCache(
            [(k.expand(rows, -1, -1, -1), v.expand(rows, -1, -1, -1)) for k, v in self._cache]
        )

    def _agrees(self) -> bool:
        """Whether a tree gives what one row an answer gives; not so with recurrent layers or a
        short attention window.
        """
        import torch

        size = int(self._model.get_input_embeddings().weight.shape[0])
        draw = torch.Generator().manual_seed(0)

        def some(n: int) -> Ids:
            return tuple(torch.randint(size, (n,), generator=draw).tolist())

        tasks = [Task(self._head + some(n), (some(5), some(9), some(1))) for n in (40, 13)]
        try:
            self._cache = self._head_cache() if self._head else None
            pairs = zip(self._compute(tasks, True), self._compute(tasks, False), strict=True)
        except (
            RuntimeError,
            ValueError,
            TypeError,
            IndexError,
            AttributeError,
        ):  # what models say to a mask or cache they lack
            return False
        differences = [
            abs(a - b) for x, y in pairs for p, q in zip(x, y, strict=True) for a, b in zip(p, q, strict=True)
        ]
        return sum(differences) / len(differences) <= _TOLERANCE.get(self._dtype, _HALF_TOLERANCE)


def _short_window(config: Any) -> int | None:
    """Tokens that the layer which looks back least sees; null: all see everything."""
    text = config.get_text_config()
    windows = [getattr(text, name, None) for name in ("sliding_window", "attention_chunk_size")]
    return min((w for w in windows if isinstance(w, int) and w > 0), default=None)


def _stretched_at(config: Any) -> int | None:
    """Length from which positions are encoded by the longest row of the batch; null: they are the
    same in any.
    """
    text = config.get_text_config()
    rope = getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None) or {}
    kinds = [r for r in (rope, *rope.values()) if isinstance(r, dict)]  # per kind of layer in some models
    stretched = [r for r in kinds if r.get("rope_type", r.get("type")) in ("longrope", "dynamic")]
    if not stretched:
        return None
    original_lengths = [r.get("original_max_position_embeddings") for r in stretched]
    original_lengths.append(getattr(text, "original_max_position_embeddings", None))
    return min((n for n in original_lengths if isinstance(n, int)), default=int(text.max_position_embeddings))


def _row(number: int, task: Task, head: int, answers: Sequence[int]) -> _Row:
    """The context after the head, then each answer but for its last token, which predicts nothing
    that is asked.
    """
    ids = list(task.context[head:])
    asked = []
    positions = list(range(head, len(task.context)))
    segments = [0] * len(ids)
    last = len(ids) - 1
    for n in answers:
        tokens = task.answers[n]
        asked.append((last, tokens[0], n))
        asked += [(len(ids) + i, token, n) for i, token in enumerate(tokens[1:])]
        ids += tokens[:-1]
        positions += range(len(task.context), len(task.context) + len(tokens) - 1)
        segments += [n + 1] * (len(tokens) - 1)
    return _Row(number, tuple(ids), tuple(positions), tuple(segments), tuple(asked))


def _batches(rows: list[_Row], tokens: int) -> Iterator[list[_Row]]:
    """Rows by length, the longest first, so many at a time that the padded batch holds at most
    ``tokens`` (at least one row).
    """
    ordered = sorted(rows, key=lambda row: (-len(row.ids), row.task, row.asked))
    batch: list[_Row] = []
    for row in ordered:
        if batch and (len(batch) + 1) * len(batch[0].ids) > tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _mask(segments: Any, head: int) -> Any:
    """[rows, 1, length, head + length], true where a token may look: the head, its context, its own
    answer, never ahead.

    A padded place looks at itself, so that no row of the softmax is empty.
    """
    import torch

    length = segments.shape[1]
    before = torch.ones(length, length, dtype=torch.bool, device=segments.device).tril()
    mine = segments[:, :, None]
    theirs = segments[:, None, :]
    seen = before & (theirs >= 0) & ((theirs == 0) | (theirs == mine))
    seen = seen | torch.eye(length, dtype=torch.bool, device=segments.device)
    if head:
        seen = torch.cat(
            [torch.ones(len(segments), length, head, dtype=torch.bool, device=segments.device), seen], dim=2
        )
    return seen[:, None]

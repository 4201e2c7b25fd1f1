"""Embeddings of entity names. An embedding is a request like any other, so that it shares retries
and journal with completions.

Batches are cut in a fixed order and size: a vector's last bits depend on its batch, and the corpus
must not depend on workers.
"""

import asyncio
import base64
import json
from typing import Any

import numpy as np
import numpy.typing as npt

from llmpedia.config.walk import JobConfig
from llmpedia.engines.base import Engine
from llmpedia.engines.packaged_weights import resolve_model
from llmpedia.errors import TransientError
from llmpedia.http import Endpoint, error_message
from llmpedia.stages import Completer, Completion, Request

Vectors = npt.NDArray[np.float32]


class EndpointEmbedding:
    """The ``embeddings`` route of an OpenAI-compatible endpoint."""

    def __init__(self, config: JobConfig) -> None:
        assert config.embedding.base_url is not None  # config refuses it
        timeout = config.engine.request_timeout_s
        self.endpoint = Endpoint(config.embedding.base_url, config.embedding.api_key_env, timeout)

    async def generate(self, request: Request) -> Completion:
        """See :class:`~llmpedia.engines.base.Engine`."""
        names = [text for _, text in request.messages]
        body = {"model": request.model, "input": names, "encoding_format": "base64"}
        status, data = await self.endpoint.post("embeddings", body)
        if status >= 400:
            return Completion(error=f"embedding: HTTP {status}: {error_message(data)}")
        try:
            rows = sorted(data["data"], key=lambda row: row["index"])
            vectors = np.array([_vector(row["embedding"]) for row in rows], dtype=np.float32)
        except (KeyError, TypeError, ValueError) as e:
            raise TransientError(f"answer without embeddings ({type(e).__name__})") from e
        if vectors.ndim != 2 or len(vectors) != len(names) or not np.isfinite(vectors).all():
            raise TransientError(f"embeddings of shape {vectors.shape} for {len(names)} texts")
        return Completion(text=_pack(vectors), finish_reason="stop")

    async def close(self) -> None:
        """Let the session go."""
        await self.endpoint.close()


class NameEncoder:
    """A sentence-transformers model; one Ray actor holds it."""

    def __init__(self, model: str) -> None:
        from sentence_transformers import SentenceTransformer

        self._model = SentenceTransformer(resolve_model(model))

    def encode(self, names: list[str]) -> str:
        """The vectors of one batch, packed."""
        return _pack(
            np.asarray(
                self._model.encode(names, batch_size=len(names), show_progress_bar=False), dtype=np.float32
            )
        )


class ActorEmbedding:
    """An :class:`NameEncoder` actor as an engine; Ray restarts the actor if it dies."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def generate(self, request: Request) -> Completion:
        """See :class:`~llmpedia.engines.base.Engine`."""
        from ray.exceptions import RayError

        try:
            packed = await self._actor.encode.remote([text for _, text in request.messages])
        except RayError as e:
            raise TransientError(f"{type(e).__name__}: {str(e).splitlines()[0]}") from e
        return Completion(text=packed, finish_reason="stop")

    async def close(self) -> None:
        """Nothing to let go."""


def embedding_engine(config: JobConfig) -> Engine:
    """The engine that ``config.embedding`` asks for. Ray must be up for kind sentence_transformers."""
    if config.embedding.kind == "openai":
        return EndpointEmbedding(config)
    import ray

    encoder = ray.remote(num_cpus=0.1, num_gpus=config.ray.embedding_gpus, max_restarts=-1)(NameEncoder)
    return ActorEmbedding(encoder.remote(config.embedding.model))


async def embed(
    client: Completer, config: JobConfig, names: list[str]
) -> tuple[list[Vectors | None], list[str | None]]:
    """Unit vectors of names, and for each that has none its error.

    Returns:
        two lists as long as ``names``; a vector is float32 [d].
    """
    size = config.embedding.batch
    batches = [tuple(("input", n) for n in names[i : i + size]) for i in range(0, len(names), size)]
    sampling = json.dumps({"batch": size})
    requests = [Request("embedding", config.embedding.model, batch, None, sampling) for batch in batches]
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(request: Request) -> Completion:
        async with gate:
            return await client.complete(request)

    vectors: list[Vectors | None] = []
    errors: list[str | None] = []
    for request, completion in zip(requests, await asyncio.gather(*map(one, requests)), strict=True):
        n = len(request.messages)
        vectors += [None] * n if completion.error else list(_unit(_unpack(completion.text, n)))
        errors += [completion.error] * n
    return vectors, errors


_AT_ONCE = 16


def _vector(embedding: str | list[float]) -> Vectors:
    """base64 was asked for, which is twenty times faster to read; some endpoints send numbers all
    the same.
    """
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding), dtype="<f4")
    return np.asarray(embedding, dtype=np.float32)


def _pack(vectors: Vectors) -> str:
    return base64.b64encode(np.ascontiguousarray(vectors, dtype="<f4").tobytes()).decode()


def _unpack(text: str, rows: int) -> Vectors:
    return np.frombuffer(base64.b64decode(text), dtype="<f4").reshape(rows, -1)


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return unit

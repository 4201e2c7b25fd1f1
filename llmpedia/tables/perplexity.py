"""Tables of a scoring job."""

import pyarrow as pa

from llmpedia.tables.schema import ID, INT, STRING, documented_schema

PPL_QUESTIONS = documented_schema(
    {
        "item": (ID, "running number of the item in its source, from 0"),
        "item_id": (STRING, "the source's own; null: it has none"),
        "question": (STRING, "null: it could not be read"),
        "answers": (INT, "rows of ppl_answers"),
        "ppl": (pa.float64(), "exp of the mean of its answers' nll; null: see error"),
        "best_ppl": (pa.float64(), "of the answer the model finds likeliest"),
        "worst_ppl": (pa.float64(), "of the one it finds least likely"),
        "error": (STRING, "why it has no numbers; null: it has"),
    }
)

PPL_ANSWERS = documented_schema(
    {
        "item": (ID, "as in ppl_questions"),
        "position": (INT, "order of the answer, from 0"),
        "answer": (STRING, ""),
        "context_tokens": (INT, "tokens before the answer"),
        "tokens": (INT, "tokens of the answer"),
        "bytes": (INT, "of the answer in UTF-8"),
        "total_nll": (pa.float64(), "negative log-probability of the answer, nats"),
        "nll": (pa.float64(), "total_nll / tokens"),
        "ppl": (pa.float64(), "exp(nll)"),
        "bits_per_byte": (pa.float64(), "total_nll / ln 2 / bytes"),
        "boundary_merge": (
            pa.bool_(),
            "tokenized alone, since the tokenizer would join it with the end of the prompt",
        ),
        "logprobs": (pa.list_(pa.float64()), "of each token, nats; null unless scorer.per_token"),
        "key": (STRING, "sha256 of model, precision, backend, context and answer"),
        "error": (STRING, "kind and reason; null: scored"),
    }
)

"""Recall by field of knowledge (ElephantBench paper, section 5.2): the middle level of a question's
path.
"""

from collections import defaultdict

from llmpedia.analysis.output.formats import TableRows
from llmpedia.analysis.probe.data import ALL_MODELS, ProbeData, shares
from llmpedia.probe.candidates.taxonomy import field_of

FEW = 30
"""Below so many questions a field's shares are marked: the 95% interval of a share of one half is
then wider than 34 points.
"""


def fields(data: ProbeData, strict: bool) -> TableRows:
    """A row a field and model, those of all models together first; fields with more questions
    first.

    ``field`` is null for questions that have no path with a middle level. ``few``: fewer than 30
    questions.
    """
    questions: defaultdict[tuple[str | None, str | None], list[str]] = defaultdict(list)
    for question, item in data.items.items():
        path = item.path or ()
        questions[(path[0], field_of(path)) if len(path) > 1 else (None, None)].append(question)
    outcomes_of = {model: data.outcomes(model, strict) for model in sorted(data.models)}
    rows: TableRows = []
    for field, asked in sorted(questions.items(), key=lambda pair: (-len(pair[1]), str(pair[0]))):
        named = {"discipline": field[0], "field": field[1]}
        given = {model: [outcomes[q] for q in asked] for model, outcomes in outcomes_of.items()}
        given = (
            {ALL_MODELS: [outcome for one in given.values() for outcome in one], **given} if given else given
        )
        rows += [
            {**named, "model": model, "questions": len(asked), "few": len(asked) < FEW, **shares(outcomes)}
            for model, outcomes in given.items()
        ]
    return rows

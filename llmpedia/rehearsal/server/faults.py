"""What goes wrong, and how long an answer takes: decided by (seed, body, how often it was seen), so
that a retry can succeed.
"""

import json
import math
from statistics import NormalDist

from llmpedia.rehearsal.settings import REQUEST_FAULTS, SOURCE_FAULTS, WorldSettings
from llmpedia.rehearsal.world.seeded_random import share

REFUSAL = "I'm sorry, but I can't help with that."
_OF_COMPLETIONS = frozenset({"malformed", "truncated"})
_OF_STAGES = {"omitted": ("ner",), "verdict_syntax": ("verdict", "grade")}
_TINY = 1e-9


def fault_of(settings: WorldSettings, stage: str, body: int, seen: int) -> str | None:
    """The fault of a request, None for none.

    Args:
        stage: of the request; embeddings never get faults of completions, only NER answers get
            ``omitted``, only verdict answers and grades ``verdict_syntax``; no closed-book answer,
            being free text, is ``malformed``.
        body: hash of the request's body.
        seen: how often this body came before.
    """
    u = share(settings.seed, "fault", body, seen)
    for name in REQUEST_FAULTS:
        u -= getattr(settings.faults, name)
        if u < 0:
            allowed = stage in _OF_STAGES.get(name, (stage,)) and not (
                name in _OF_COMPLETIONS and stage == "embedding"
            )
            allowed = allowed and not (name == "malformed" and stage == "closed_book")
            return name if allowed else None
    return None


def source_fault_of(settings: WorldSettings, request: int, seen: int, may_lag: bool) -> str | None:
    """The fault of a request to a source, None for none.

    Args:
        request: hash of its path, query and form.
        seen: how often it came before.
        may_lag: it can be refused for a lag: a MediaWiki request with ``maxlag``.
    """
    u = share(settings.seed, "source fault", request, seen)
    for name in SOURCE_FAULTS:
        u -= getattr(settings.sources, name)
        if u < 0:
            return name if name != "lagging" or may_lag else None
    return None


def spoiled(fault: str, stage: str, text: str, u: float) -> tuple[str, str]:
    """(text, finish_reason) of an answer with a fault of completions; ``u`` in [0, 1) says where it
    breaks.
    """
    if fault == "truncated":
        return text[: int(len(text) * (0.2 + 0.7 * u))], "length"
    if fault == "omitted":
        return _without_rows(text, u), "stop"
    if fault == "verdict_syntax":
        return (_with_bad_decision if stage == "grade" else _with_bad_verdict)(text, u), "stop"
    if stage == "article":
        return REFUSAL, "stop"
    return text[: max(1, int(len(text) * (0.3 + 0.5 * u)))].replace("}", ""), "stop"


def _without_rows(text: str, u: float) -> str:
    """An NER answer that leaves 1 to 3 of its phrases out."""
    answer = json.loads(text)
    rows = answer.get("phrases")
    whole = rows if isinstance(rows, list) else list(answer.items())
    gone = min(len(whole), 1 + int(3 * u))
    at = int(u * 7919) % (len(whole) - gone + 1)
    kept = whole[:at] + whole[at + gone :]
    return json.dumps({"phrases": kept} if isinstance(rows, list) else dict(kept), ensure_ascii=False)


def _with_bad_verdict(text: str, u: float) -> str:
    """A verdict answer in which one entry is missing, has a label of its own or the number of no
    claim.
    """
    verdicts = json.loads(text)["verdicts"]
    at = int(u * 7919) % max(len(verdicts), 1)
    way = int(u * 3)
    if way == 0:
        del verdicts[at : at + 1]
    elif verdicts:
        verdicts[at] |= {"verdict": "partly supported"} if way == 1 else {"idx": len(verdicts) + 1}
    return json.dumps({"verdicts": verdicts}, ensure_ascii=False)


def _with_bad_decision(text: str, u: float) -> str:
    """A grade in which one decision is missing or no boolean, or that decides on an account too
    many.
    """
    answer = json.loads(text)
    decisions = answer["accounts"]
    way = int(u * 3)
    if not decisions:
        return text
    number = list(decisions)[int(u * 7919) % len(decisions)]
    if way == 0:
        del decisions[number]
    elif way == 1:
        decisions[number] |= {"covered": str(decisions[number]["covered"]).lower()}
    else:
        decisions[str(len(decisions) + 1)] = decisions[number]
    return json.dumps(answer, ensure_ascii=False)


def latency_s(settings: WorldSettings, body: int, seen: int) -> float:
    """Seconds until the answer is sent."""
    latency = settings.latency
    if latency.kind == "none":
        return 0.0
    if latency.kind == "constant":
        return latency.mean_s
    u = min(max(share(settings.seed, "latency", body, seen), _TINY), 1 - _TINY)
    return latency.mean_s * math.exp(latency.sigma * NormalDist().inv_cdf(u) - latency.sigma**2 / 2)

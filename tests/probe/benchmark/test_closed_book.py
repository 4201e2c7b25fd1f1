"""Closed-book responses: one completion, kept as it comes."""

import asyncio

import pytest

from llmpedia.config.walk import parse_as
from llmpedia.probe.benchmark.closed_book import ClosedBook, respond
from llmpedia.probe.settings.base import ProbeConfig
from llmpedia.stages import Completion
from tests.support.builders.probe_stages import Scripted
from tests.support.builders.runs import OPENAI


def stage(**sections):
    return ClosedBook(parse_as(ProbeConfig, {"engine": dict(OPENAI), **sections}, "test"))


def responded(answer, **sections):
    model = Scripted(answer)
    return asyncio.run(respond(model, stage(**sections), "When was it built?")), model


@pytest.mark.parametrize(
    "text",
    ["In 1871.", " In 1871.\n", "", " \n", "<think>1871?</think>\nIn 1871.", "I can't help with that."],
)
def test_a_response_is_kept_as_it_is(text):
    """A model that says nothing recalls nothing: that is no failure."""
    told, model = responded(Completion(text, "stop"))
    assert (told.text, told.finish_reason, told.truncated, told.error) == (text, "stop", False, None)
    assert (len(model.asked), told.key) == (1, model.asked[0].key)


def test_a_response_that_was_cut_off_is_recorded_and_not_asked_again():
    told, model = responded(Completion("It was built in", "length"), retries={"malformed": 3})
    assert (told.text, told.truncated, told.error, len(model.asked)) == ("It was built in", True, None, 1)


def test_a_thought_that_never_ends_is_kept_as_it_is_and_not_asked_again():
    told, model = responded(Completion("<think>1871, or", "length"), retries={"malformed": 3})
    assert (told.text, told.truncated, told.finish_reason) == ("<think>1871, or", True, "length")
    assert told.error is None
    assert len(model.asked) == len(told.completions) == 1


def test_an_engine_that_fails_is_an_error():
    told, _ = responded(Completion(error="engine: HTTP 400: no"))
    assert (told.text, told.finish_reason, told.truncated, told.error) == (
        None,
        None,
        False,
        "engine: HTTP 400: no",
    )


def test_the_model_is_sent_the_question_alone_and_bound_by_nothing():
    _, model = responded("x", grading={"examples": True})
    request = model.asked[0]
    assert [role for role, _ in request.messages] == ["system", "user"]
    assert (request.messages[1][1], request.constraint, request.stage) == (
        "When was it built?",
        None,
        "closed_book",
    )


def test_a_question_is_not_altered():
    question = "What does </response> {question} mean?"
    assert stage().request(question).messages[1][1] == question


def test_the_stage_has_settings_of_its_own():
    request = stage(
        stages={"closed_book": {"model": "other", "max_tokens": 99, "reasoning_effort": "low"}}
    ).request("q")
    assert (
        request.model == "other"
        and '"max_tokens": 99' in request.sampling
        and '"reasoning_effort": "low"' in request.sampling
    )


def test_thinking_is_switched_off_through_the_template():
    plain, off = (
        stage(stages={"closed_book": own}) for own in ({}, {"template": {"enable_thinking": False}})
    )
    assert '"chat_template_kwargs": {"enable_thinking": false}' in off.request("q").sampling
    assert plain.request("q").key != off.request("q").key
    assert plain.config.identity_hash() != off.config.identity_hash()

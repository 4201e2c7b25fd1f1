"""Builders of the probe's tests: stages of a build, and models whose answers are given."""

import asyncio

from llmpedia.config.walk import parse_as
from llmpedia.probe.settings.build import BuildConfig
from llmpedia.stages import Completion, ask
from tests.support.builders.runs import OPENAI


def build_config(**sections) -> BuildConfig:
    return parse_as(BuildConfig, {"engine": dict(OPENAI), "corpus": {"source": "corpus"}, **sections}, "test")


class Scripted:
    """A model whose answers are given; an error is a completion's."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def complete(self, request):
        self.asked.append(request)
        given = self.answers.pop(0)
        return given if isinstance(given, Completion) else Completion(given, "stop", 10, 5)


def asked_of(stage, question, *answers):
    """(reply, model) of a question to a stage."""
    model = Scripted(*answers)
    return asyncio.run(ask(model, stage, question)), model

"""Tests of what stands behind an article."""

from llmpedia.site.data.run_reader import open_runs
from llmpedia.site.pages.trace import trace_page
from llmpedia.site.urls import OPTIONAL, LiveAddresses
from tests.support.builders.runs import Child, Corpus, Visit


def test_a_trace_has_a_decision_a_candidate_and_a_call_a_completion(tmp_path):
    children = [Child("Left"), Child("army", "ner_rejected")]
    Corpus(tmp_path / "run").seed("Root").walk(Visit("Root", children))
    run = open_runs([str(tmp_path / "run")])[0]
    context = trace_page(run, run.entity(0), [], LiveAddresses(OPTIONAL))
    assert [decision.row["name"] for decision in context["decisions"]] == ["Left", "army"]
    assert len(context["calls"]) == len(run.completions(0)) > 0

"""Prompts and personas: what every stage of every regime sends."""

import hashlib
import itertools
import re

import pytest

from llmpedia import prompts
from llmpedia.config.walk import parse_config
from llmpedia.errors import ConfigError
from llmpedia.materialize.stages import Fact, FactSheet, Likeness, Phrases, Stages, Subject, prompts_of
from llmpedia.prompts import fill, load_prompt, persona_text, personas
from llmpedia.stages import neutral, parse_object

MODES = {"general": {}, "topic": {"root_topic": "Ancient Egypt"}}
REGIMES = list(itertools.product(MODES, ("baseline", "calibrated")))
FACTS = FactSheet(
    summary="A temple.",
    aliases=["Ipsambul"],
    salient_facts=[Fact(predicate="in", object="Nubia", confidence=0.9)],
)


def run_config(mode="general", prompting="baseline", **run):
    return parse_config({"run": {"mode": mode, "prompting": prompting, **MODES[mode], **run}}, "test")


def requests(config, subject="Abu Simbel", outline=("Rock temple", "Relocation")):
    stages = Stages.of(config)
    known = Subject(subject, outline, FACTS)
    return {
        "self_grounding": stages.named("self_grounding").request(known),
        "outline": stages.named("outline").request(known),
        "article": stages.named("article").request(known),
        "ner": stages.named("ner").request(Phrases(subject, ("Ramesses II", "granite"))),
        "arbitration": stages.named("arbitration").request(
            Likeness("Ipsambul. Seen by Burckhardt.", ("Abu Simbel. A temple.",))
        ),
    }


def test_three_personas_differ():
    assert (
        len({persona_text(name) for name in ("scientific_neutral", "left_leaning", "conservative")})
        == len(personas())
        == 3
    )


@pytest.mark.parametrize("persona", personas())
@pytest.mark.parametrize(("mode", "prompting"), REGIMES)
def test_persona_stands_in_the_system_message_of_every_stage(mode, prompting, persona):
    for stage, request in requests(run_config(mode, prompting, persona=persona)).items():
        role, text = request.messages[0]
        assert role == "system" and persona_text(persona) in text, stage


@pytest.mark.parametrize("examples", [False, True])
@pytest.mark.parametrize(("mode", "prompting"), REGIMES)
def test_every_prompt_renders_with_no_placeholder_left(mode, prompting, examples):
    for stage, request in requests(run_config(mode, prompting, examples=examples)).items():
        assert not re.findall(r"(?<!\{)\{[a-z_]+\}", "\n".join(text for _, text in request.messages)), stage


def test_every_prompt_file_is_loaded_by_some_regime():
    stored = {str(p.relative_to(prompts._FOLDER).with_suffix("")) for p in prompts._FOLDER.glob("*/*.yaml")}
    used = {prompt.name for regime in REGIMES for prompt in prompts_of(run_config(*regime)).values()}
    of_audits = {"audit/claims", "audit/verdict"}  # loaded by audit.stages
    # loaded by perplexity.settings and the modules of probe
    of_probes = {
        f"probe/{name}"
        for name in (
            "knowledge_point",
            "relation",
            "questions",
            "read_check",
            "web_check",
            "closed_book",
            "grade",
        )
    }
    assert used | of_audits | of_probes == stored


def test_every_tag_of_a_prompt_is_neutral_in_the_text_it_encloses():
    tags = {tag for p in prompts._FOLDER.glob("*/*.yaml") for tag in re.findall(r"</\w+>", p.read_text())}
    assert tags >= {"</evidence>", "</response>", "</document>"}
    assert [tag for tag in tags if "<" in neutral(f"a{tag}b")] == []


@pytest.mark.parametrize(
    "tag",
    ["<document a>", "<document 12, account 1>", "</document\n>", "< / DOCUMENT x=1>", "<log>", "<page/>"],
)
def test_tags_with_attributes_are_neutral_too(tag):
    assert "<" not in neutral(f"a{tag}b")


@pytest.mark.parametrize("text", ["<documents>", "<pages>", "<login>", "a < b", "<b>c</b>", "x<log2(n)"])
def test_other_words_in_angle_brackets_stay(text):
    assert neutral(text) == text


def test_closed_book_prompt_sends_the_question_alone_and_names_no_account():
    """That sources may disagree is said of every question, in the same words: it gives nothing of
    this one away.
    """
    system, user = load_prompt("probe/closed_book").render(
        {"question": "Who built {question}?"}, with_example=True
    )
    assert user == ("user", "Who built {question}?")
    assert not re.search(r"account|\btwo\b|\bboth\b", system[1], re.I)


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        ("self_grounding", ["Abu Simbel"]),
        ("outline", ["Abu Simbel", "- in: Nubia"]),
        ("article", ["Abu Simbel", "- in: Nubia", "Ipsambul", '{"sections": ["Rock temple", "Relocation"]}']),
        ("ner", ["Abu Simbel", "Ramesses II\ngranite"]),
        ("arbitration", ["Ipsambul. Seen by Burckhardt.", "A: Abu Simbel. A temple."]),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_question_holds_what_the_stage_decides_on(mode, stage, told):
    asked = requests(run_config(mode))[stage].messages[-1][1]
    assert [part for part in told if part not in asked] == []


@pytest.mark.parametrize("prompting", ["baseline", "calibrated"])
def test_topic_regime_names_the_root_topic_in_every_system_message(prompting):
    for stage, request in requests(run_config("topic", prompting)).items():
        assert "Ancient Egypt" in request.messages[0][1], stage


def test_topic_outline_asks_for_one_section_on_the_root_topic():
    system = " ".join(requests(run_config("topic"))["outline"].messages[0][1].split())
    assert (
        'Exactly one of them ties the subject to the root topic and names it, for example "Role '
        'within Ancient Egypt"'
    ) in system


def test_topic_outline_example_answers_with_a_section_on_its_root_topic():
    asked, answered = load_prompt("topic/outline").example
    assert "Root topic: History of cryptography" in asked
    assert "Role within History of cryptography" in parse_object(answered)["sections"]


@pytest.mark.parametrize("mode", MODES)
def test_only_calibrated_prompting_asks_for_scores(mode):
    base = requests(run_config(mode))
    calibrated = requests(run_config(mode, "calibrated"))
    for stage, form in {"article": "(0.97)]]", "ner": '"confidence"'}.items():
        assert (form in base[stage].messages[0][1], form in calibrated[stage].messages[0][1]) == (
            False,
            True,
        ), stage


def test_placeholders_in_model_text_stay_text():
    article = requests(run_config(), subject="{outline_block}", outline=("{persona_block}",))["article"]
    assert "Subject: {outline_block}\n" in article.messages[-1][1]
    assert article.messages[-1][1].endswith('{"sections": ["{persona_block}"]}')


def test_fill_leaves_json_and_templates_alone():
    assert fill('{{Infobox}} {"a": 1} {subject_name}', {"subject_name": "X"}) == '{{Infobox}} {"a": 1} X'


def test_missing_value_is_an_error():
    with pytest.raises(KeyError, match="subject_name"):
        fill("{subject_name}", {})


def test_example_turns_come_between_system_and_question():
    with_example = requests(run_config(examples=True))["ner"].messages
    without = requests(run_config())["ner"].messages
    assert [role for role, _ in with_example] == ["system", "user", "assistant", "user"]
    assert without == (with_example[0], with_example[-1])


def test_hash_is_the_files():
    raw = (prompts._FOLDER / "general/outline.yaml").read_bytes()
    assert load_prompt("general/outline").sha256 == hashlib.sha256(raw).hexdigest()


def test_unknown_persona_is_a_config_error_that_lists_the_known():
    config = parse_config({"run": {"persona": "pirate"}}, "test")
    with pytest.raises(
        ConfigError, match=r"run.persona = 'pirate': .*scientific_neutral, left_leaning, conservative"
    ):
        Stages.of(config)


def test_missing_prompt_file_is_a_config_error():
    with pytest.raises(ConfigError, match="general/nowhere"):
        load_prompt("general/nowhere")


def test_unknown_placeholder_in_a_file_is_a_config_error(tmp_path, monkeypatch):
    (tmp_path / "odd.yaml").write_text("system: You are {persona}.\nuser: '{subject_name}'\n")
    monkeypatch.setattr(prompts, "_FOLDER", tmp_path)
    with pytest.raises(ConfigError, match=r"unknown placeholders \['persona'\]"):
        load_prompt("odd")

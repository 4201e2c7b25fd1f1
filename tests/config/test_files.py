"""llmpedia/config/walk.py: a setting at fault is one line; nothing is started."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from llmpedia.audit.settings import load_audit_config
from llmpedia.config.walk import IDENTITY, Config, load_config
from llmpedia.errors import ConfigError
from llmpedia.grid.settings import load_grid_config
from llmpedia.materialize.run import materialize
from llmpedia.perplexity.settings import load_perplexity_config
from llmpedia.probe.settings.build import load_build_config
from llmpedia.probe.settings.run import load_run_config
from serving.settings import load_serve_config
from tests.support.builders.runs import make_config, one_line

# But for the one that Ray Serve reads.
CONFIGS = sorted(
    p for p in (Path(__file__).parents[2] / "configs").glob("**/*.yaml") if p.name != "serve-deploy.yaml"
)

# text, --set overrides, what the one line holds: dotted path, value, rule or way out
FAULTS = {
    "unknown key, close": (
        "caps: {artcles: 3}",
        [],
        ["caps.artcles", "3", "unknown key", "did you mean articles?"],
    ),
    "unknown key, far": (
        "caps: {zzz: 3}",
        [],
        ["caps.zzz", "unknown key", "known keys: depth, subjects, articles"],
    ),
    "unknown section": ("engin: {}", [], ["engin = {}", "unknown key", "did you mean engine?"]),
    "unknown key of a stage": (
        "stages: {ner: {max_token: 9}}",
        [],
        ["stages.ner.max_token", "9", "did you mean max_tokens?"],
    ),
    "unknown stage": (
        "stages: {outlin: {}}",
        [],
        ["stages.outlin = 'outlin'", "'self_grounding', 'outline', 'article'"],
    ),
    "wrong type": ("caps: {articles: '5'}", [], ["caps.articles", "'5'", "valid integer"]),
    "fraction": ("caps: {articles: 1.5}", [], ["caps.articles", "1.5", "valid integer"]),
    "section is a number": ("waves: 7", [], ["waves = 7", "valid dictionary"]),
    "section is null": ("caps: null", [], ["caps = None", "valid dictionary"]),
    "null where a number is needed": ("waves: {size: null}", [], ["waves.size = None", "valid integer"]),
    "cap of zero": ("caps: {articles: 0}", [], ["caps.articles = 0", "greater than or equal to 1"]),
    "share over one": (
        "entities: {similarity_threshold: 1.5}",
        [],
        ["similarity_threshold = 1.5", "than or equal to 1"],
    ),
    "infinite": ("retries: {max_wait_s: .inf}", [], ["retries.max_wait_s = inf", "finite number"]),
    "infinite, of a bounded one": (
        "stages: {ner: {temperature: .inf}}",
        [],
        ["stages.ner.temperature = inf"],
    ),
    "infinite below": (
        "stages: {ner: {frequency_penalty: -.inf}}",
        [],
        ["stages.ner.frequency_penalty = -inf"],
    ),
    "no number": ("retries: {first_wait_s: .nan}", [], ["retries.first_wait_s = nan", "finite number"]),
    "no number where a share is asked": (
        "{}",
        ["entities.min_confidence=.nan"],
        ["entities.min_confidence = nan"],
    ),
    "not a choice": ("run: {mode: both}", [], ["run.mode = 'both'", "'general', 'topic' or 'titles'"]),
    "sections reversed": ("article: {sections: [7, 6]}", [], ["article.sections", "[7, 6]", "swap them"]),
    "replicas reversed": (
        "engine: {replicas: [3, 1]}",
        [],
        ["engine.replicas", "[3, 1]", "smaller number first"],
    ),
    "topic without topic": ("run: {mode: topic}", [], ["run.root_topic", "null", "set run.root_topic"]),
    "topic in another mode": (
        "run: {root_topic: Dune}",
        [],
        ["run.root_topic", "'Dune'", "set run.mode to topic"],
    ),
    "no seed": ("run: {seed: ' '}", [], ["run.seed", "set run.seed or run.titles"]),
    "openai without address": ("engine: {kind: openai}", [], ["engine.base_url", "null", "http://host/v1"]),
    "batches without address": (
        "engine: {kind: openai_batch}",
        ["waves.workers=1"],
        ["engine.base_url", "null", "openai_batch"],
    ),
    "batches of several workers": (
        "engine: {kind: openai_batch, base_url: http://h/v1}",
        ["waves.workers=3"],
        ["waves.workers", "3", "its own batches", "set waves.workers to 1"],
    ),
    "more requests than the service takes": (
        "batch: {most_requests: 50001}",
        [],
        ["batch.most_requests = 50001", "50000"],
    ),
    "embedding without address": (
        "embedding: {kind: openai}",
        [],
        ["embedding.base_url", "null", "set embedding.base_url"],
    ),
    "model of a stage": ("stages: {ner: {model: x}}", [], ["stages.ner.model", "'x'", "use openai"]),
    "titles missing": (
        "run: {titles: none.txt}",
        [],
        ["run.titles", "'none.txt'", "no such file", "one title a line"],
    ),
    "not YAML": ("run: [", [], ["not valid YAML", "line 1", "correct the file"]),
    "not a mapping": ("- run", [], ["list", "must hold sections"]),
    "not UTF-8": (b"run: {seed: \xff}", [], ["UTF-8"]),
    "set without value": (
        "{}",
        ["caps.articles"],
        ["--set caps.articles", "section.key=value", "for example"],
    ),
    "set without key": ("{}", ["=3"], ["--set =3", "section.key=value"]),
    "set with an empty key": ("{}", ["caps..articles=3"], ["--set caps..articles=3", "section.key=value"]),
    "set below a value": (
        "run: {seed: x}",
        ["run.seed.y=3"],
        ["--set run.seed.y=3", "seed is not a section"],
    ),
    "set to no YAML": ("{}", ["caps.articles=["], ["--set caps.articles=[", "'['", "quote it"]),
    "set to a wrong type": ("{}", ["caps.articles=ten"], ["caps.articles = 'ten'", "valid integer"]),
    "set an unknown key": ("{}", ["caps.article=3"], ["caps.article = 3", "did you mean articles?"]),
}


def write(folder, text) -> Path:
    path = folder / "config.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(("text", "overrides", "parts"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_one_line_with_path_value_and_way_out(tmp_path, text, overrides, parts):
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, text), overrides)
    one_line(caught, *parts)


@pytest.mark.parametrize("kind", ["missing", "folder"])
def test_a_config_that_cannot_be_read_is_named(tmp_path, kind):
    path = tmp_path if kind == "folder" else tmp_path / "none.yaml"
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    one_line(caught, path, "cannot be read", "configs/demo.yaml")


@pytest.mark.parametrize("cap", ["depth", "subjects", "articles"])
def test_null_is_no_cap(tmp_path, cap):
    path = write(tmp_path, yaml.safe_dump({"caps": {"depth": 1, "subjects": 1, "articles": 1}}))
    assert getattr(load_config(path, [f"caps.{cap}=null"]).caps, cap) is None


def test_set_reaches_a_section_that_the_file_lacks(tmp_path):
    assert load_config(write(tmp_path, "{}"), ["stages.ner.max_tokens=9"]).stages["ner"].max_tokens == 9


@pytest.mark.parametrize(
    "text", ["caps:", "caps: null", "caps: {}", "caps: {articles: 9}", "caps: {articles: null, depth: 1}"]
)
def test_set_reaches_a_section_that_the_file_leaves_empty(tmp_path, text):
    assert load_config(write(tmp_path, text), ["caps.articles=3"]).caps.articles == 3


def test_set_reaches_below_a_stage_that_the_file_leaves_empty(tmp_path):
    assert (
        load_config(write(tmp_path, "stages:\n  ner:\n"), ["stages.ner.max_tokens=9"])
        .stages["ner"]
        .max_tokens
        == 9
    )


def test_titles_beside_the_config_are_found_from_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "titles.txt").write_text("One\n")
    config = load_config(write(tmp_path, "run: {mode: titles, titles: titles.txt}"))
    monkeypatch.chdir("/")
    assert Path(config.run.titles).read_text() == "One\n"


def test_the_path_of_the_titles_is_no_identity(tmp_path):
    """A run could not be resumed from another machine; the titles themselves are compared
    (test_runfolder).
    """
    hashes = set()
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        (folder / "titles.txt").write_text("One\n")
        hashes.add(load_config(write(folder, "run: {titles: titles.txt}")).identity_hash())
    assert len(hashes) == 1


def load(path):
    """With the class that its kind of job has."""
    kind = path.name.partition("-")[0].removesuffix(".yaml")
    if path.parent.name == "topics" or kind in ("ablation", "topics"):
        return load_grid_config(path)
    if kind == "audit":
        return load_audit_config(path, ["wikipedia.contact=me@x.org"])
    if kind == "serve":
        return load_serve_config({"config": str(path)})
    if kind == "probe":
        return (load_run_config if path.stem.startswith("probe-run") else load_build_config)(path)
    return load_perplexity_config(path) if kind == "ppl" else load_config(path)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.name)
def test_every_config_of_the_project_loads(path):
    load(path)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.name)
def test_a_config_survives_the_way_to_a_worker(path):
    config = load(path)
    assert type(config).model_validate_json(config.model_dump_json()) == config


def test_a_stage_takes_from_the_run_what_it_leaves_open():
    config = Config.model_validate({"engine": {"model": "m"}, "stages": {"ner": {"temperature": 0.5}}})
    ner = config.stage("ner")
    assert (ner.model, ner.temperature, ner.max_tokens) == ("m", 0.5, 2048)


def test_online_and_batch_are_the_same_identity():
    online, batch = (
        make_config(engine={"kind": k}, waves={"workers": 1}) for k in ("openai", "openai_batch")
    )
    assert online.identity_hash() == batch.identity_hash()


def test_how_batches_are_cut_is_no_identity():
    assert make_config(batch={"settle_s": 9.0}).identity_hash() == make_config().identity_hash()


def test_identity_names_settings_that_exist():
    settings = Config().model_dump()
    assert [(s, k) for s, keys in IDENTITY.items() for k in keys if k not in settings[s]] == []


@pytest.mark.parametrize(
    ("override", "same"),
    [
        ("caps.articles=9", True),
        ("engine.tensor_parallel=4", True),
        ("retries.attempts=9", True),
        ("waves.workers=9", True),
        ("waves.size=9", False),
        ("run.seed=Other", False),
        ("article.words=9", False),
        ("entities.neighbours=9", False),
        ("stages.ner.max_tokens=9", False),
        ("engine.seed=9", False),
        ("embedding.batch=9", False),
    ],
)
def test_only_what_decides_the_content_is_identity(tmp_path, override, same):
    path = write(tmp_path, "{}")
    assert (load_config(path).identity_hash() == load_config(path, [override]).identity_hash()) is same


def test_an_unknown_persona_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ConfigError) as caught:
        materialize(make_config(run={"persona": "pirate"}), str(tmp_path / "run"), lambda progress: None)
    one_line(caught, "run.persona", "'pirate'", "choose one of", "scientific_neutral")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "part"),
    [("caps: {artcles: 3}", "caps.artcles"), ("run: [", "YAML"), ("run: {titles: no.txt}", "run.titles")],
)
def test_the_command_ends_with_2_and_one_line_and_starts_nothing(tmp_path, text, part):
    program = (
        "import sys; from llmpedia.cli.main import main; code = main(sys.argv[1:]);"
        "assert not {'ray', 'vllm', 'torch'} & set(sys.modules); sys.exit(code)"
    )
    command = [
        sys.executable,
        "-c",
        program,
        "materialize",
        str(write(tmp_path, text)),
        "--run",
        str(tmp_path / "run"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert part in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["config.yaml"]

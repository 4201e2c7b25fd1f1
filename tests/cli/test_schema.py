"""llmpedia/cli/schema.py: schemas of configurations, and the page that tells all settings."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from llmpedia.cli.main import main
from llmpedia.cli.schema import KINDS, MISSING, configuration_page, schema_text, settings

ROOT = Path(__file__).parents[2]
# But for the one that Ray Serve reads.
CONFIGS = sorted(path for path in (ROOT / "configs").glob("**/*.yaml") if path.name != "serve-deploy.yaml")
ANEW = "python -m llmpedia.cli.schema writes it anew"


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_of_the_checkout_are_those_of_the_settings(kind):
    assert (ROOT / "configs" / "schemas" / f"{kind}.json").read_text() == schema_text(kind), ANEW


def test_the_page_is_that_of_the_settings():
    assert (ROOT / "docs" / "configuration.md").read_text() == configuration_page(), ANEW


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_shipped_configuration_names_its_schema_and_fits_it(path):
    first = path.read_text().splitlines()[0]
    name = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)[1]
    schema = json.loads((path.parent / name).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(yaml.safe_load(path.read_text()))


def test_a_schema_refuses_what_the_settings_refuse():
    schema = json.loads(schema_text("walk"))
    for wrong in ({"caps": {"artcles": 3}}, {"waves": {"size": 0}}, {"run": {"mode": "both"}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_the_command_prints_the_schema(capsys):
    assert main(["schema", "audit"]) == 0
    assert json.loads(capsys.readouterr().out)["additionalProperties"] is False


def test_settings_have_the_defaults_of_the_section_that_holds_them():
    described = {setting.key: setting for setting in settings("walk")}
    assert described["run.seed"].default == '`"Vannevar Bush"`'
    assert described["run.mode"].type == "`general`, `topic`, `titles`"
    assert described["stages.NAME.max_tokens"].type == "integer (≥ 1) or null"
    served = {setting.key: setting for setting in settings("serve")}
    assert (served["perplexity.engine.kind"].default, served["judge.engine.kind"].default) == (
        '`"torch"`',
        '`"vllm"`',
    )
    assert described["waves.size"].type == "integer (≥ 1)"


def test_every_setting_says_what_it_means():
    missing = {(kind, setting.key) for kind in KINDS for setting in settings(kind) if not setting.description}
    assert missing == set()
    assert MISSING not in configuration_page()

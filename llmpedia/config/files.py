"""YAML files as checked settings: reading, ``a.b=c`` overrides, and one line for whatever is at
fault.

A :class:`ConfigError` names the dotted path, the value, the rule and the way out.
"""

import difflib
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from llmpedia.config.kinds import TAG, WRONG_KIND, ByKind
from llmpedia.errors import ConfigError

AnyModel = TypeVar("AnyModel", bound=BaseModel)

_NO_KEYS = ("function-", TAG)
"""How parts of an error's path begin that are pydantic's and no keys of the user's."""


def load_mapping(path: str | Path, overrides: list[str] | None = None) -> dict[str, Any]:
    """The sections of a YAML file with ``a.b=c`` overrides applied; not yet checked.

    Raises:
        ConfigError: the file cannot be read, or an override is malformed.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as e:
        raise ConfigError(
            f"{path}: cannot be read ({e.strerror}); give the path of a YAML file such as configs/demo.yaml"
        ) from e
    except UnicodeDecodeError as e:
        raise ConfigError(f"{path}: not UTF-8 text (byte {e.start}); save the file as UTF-8") from e
    try:
        data = yaml.safe_load(text) or {}
    except yaml.YAMLError as e:
        raise ConfigError(f"{path}: not valid YAML ({' '.join(str(e).split())}); correct the file") from e
    if not isinstance(data, dict):
        raise ConfigError(
            f"{path}: {type(data).__name__}: the file must hold sections such as run: and engine:"
        )
    for override in overrides or []:
        _apply(data, override)
    return data


def parse_as(kind: type[AnyModel], data: dict[str, Any], source: str) -> AnyModel:
    """The same for settings of any kind.

    Raises:
        ConfigError: naming the first setting at fault.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as e:
        raise ConfigError(f"{source}: {_one_line(e, kind)}") from e


def _apply(data: dict[str, Any], override: str) -> None:
    path, eq, value = override.partition("=")
    keys = path.strip().split(".")
    if not eq or not all(keys):
        raise ConfigError(
            f"--set {override}: must read section.key=value, for example --set caps.articles=100"
        )
    node = data
    for key in keys[:-1]:
        if node.get(key) is None:
            node[key] = {}
        node = node[key]
        if not isinstance(node, dict):
            raise ConfigError(f"--set {override}: {key} is not a section; name a section and a key of it")
    try:
        node[keys[-1]] = yaml.safe_load(value)
    except yaml.YAMLError as e:
        raise ConfigError(f"--set {override}: {value!r} is not a YAML value; quote it") from e


def _one_line(error: ValidationError, kind: type[BaseModel]) -> str:
    first = error.errors(include_url=False)[0]
    path = ".".join(str(p) for p in first["loc"] if p != "[key]" and not str(p).startswith(_NO_KEYS))
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "value_error":
        return f"{path}.{message}" if path else message
    if first["type"] == WRONG_KIND:
        return f"{path}.kind: {_kind(first['input'])!r}: {message}"
    if first["type"] == "extra_forbidden":
        return f"{path} = {first['input']!r}: unknown key; {_known_keys(first['loc'], kind)}"
    if first["type"] == "missing":
        return f"{path}: missing; set it (complete files are in configs/)"
    rule = message[0].lower() + message[1:]
    return f"{path} = {first['input']!r}: {rule}; change this value"


def _kind(section: Any) -> Any:
    return section.get("kind") if isinstance(section, Mapping) else getattr(section, "kind", None)


def _known_keys(loc: tuple[int | str, ...], model: type[BaseModel]) -> str:
    for part, after in pairwise(loc):
        field = model.model_fields.get(str(part))
        if field is not None:  # else a name in a mapping of sections
            model = _section_of(field, after, model)
    known = list(model.model_fields)
    close = difflib.get_close_matches(str(loc[-1]), known, n=1)
    return f"did you mean {close[0]}?" if close else f"known keys: {', '.join(known)}"


def _section_of(field: FieldInfo, after: int | str, default: type[BaseModel]) -> type[BaseModel]:
    """The section that a field holds, be it null or not, one of several, or a mapping of such.

    Args:
        field: of a section.
        after: what comes after it in the path of an error, which tells the one of several.
        default: where it holds none.
    """
    several = next((mark for mark in field.metadata if isinstance(mark, ByKind)), None)
    section = several.section(after) if several else None
    if section is not None:
        return section
    kinds = (field.annotation, *get_args(field.annotation))
    return next((k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)), default)


def found_file(name: str, source: Path, setting: str, way_out: str) -> str:
    """The absolute path of a file that a setting names, relative to this process's folder, else to
    the configuration's.

    Raises:
        ConfigError: there is none.
    """
    path = Path(name)
    if not path.is_absolute() and not path.exists():
        path = source.parent / path
    if not path.is_file():
        raise ConfigError(f"{setting} = {name!r}: no such file; {way_out}")
    return str(path.resolve())

"""Hydra's and OmegaConf's errors in one line: the key, what was got, what is allowed."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dse.base.errors import excerpt, unknown
from dse.base.plain_data import yaml_problem
from dse.studies.config.own_files import is_own_file
from dse.studies.config.schema import ConfigSchema

_WORDS = {
    int: ("an integer", "integers such as [1,2,4]"),
    float: ("a number", "numbers such as [1.5,2]"),
    bool: ("true or false", "true and false"),
    str: ("a text", "texts such as [a,b]"),
}
_QUOTE = "'\""
_WRONG_VALUE = re.compile(
    r"Value '(.*)' (?:of type '.*' could not be converted to (Integer|Float)|is not a valid (bool) \(.*\))"
)
_KINDS = {"Integer": int, "Float": float, "bool": bool}


def one_line(
    error: Exception,
    overrides: Sequence[str],
    folder: Path | None = None,
    files: Mapping[str, Path] = MappingProxyType({}),
) -> str:
    """Return the message of an error that Hydra or OmegaConf raised for conf/ and these overrides.

    `folder` and `files` (by group and name) are the user's own, see `compose_config`.
    """
    choice = re.match(r"In '(.+?)': \w+ raised while composing", str(error))
    where = f"{_file(choice[1], folder, files)}: " if choice else ""
    return where + _message(error, overrides)


def _file(choice: str, folder: Path | None, files: Mapping[str, Path]) -> str:
    if choice in files:
        return str(files[choice])
    if folder is not None and (folder / f"{choice}.yaml").is_file():
        return str(folder / f"{choice}.yaml")
    return f"conf/{choice}.yaml"


def _message(error: Exception, overrides: Sequence[str]) -> str:
    from hydra.errors import MissingConfigException
    from omegaconf.errors import (
        ConfigAttributeError,
        ConfigKeyError,
        InterpolationResolutionError,
        MissingMandatoryValue,
        OmegaConfBaseException,
        ValidationError,
    )
    from yaml import MarkedYAMLError

    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        return _unknown_choice(error.missing_cfg_file, error.options or [])
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        return f"{mark.name if mark else 'a file of conf/'}: {yaml_problem(error)}"
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OmegaConfBaseException):
        cause = cause.__cause__ or cause.__context__
    if cause is None or not cause.full_key:
        if odd := next(filter(None, map(_odd_override, overrides)), None):
            return odd
        # Without Hydra's advice for its own command line (append, multirun).
        said = re.sub(r"\n(3\. To sweep|To append).*", "", str(error))
        text = " ".join(said.split())
        named = any(override and override in text for override in overrides)
        return text if named else f"{text} (overrides: {excerpt(' '.join(overrides), 400)})"
    for override in overrides:
        name, assigned, value = override.partition("=")
        axis = name.removeprefix("+").removeprefix("space.axes.")
        if assigned and name.endswith(
            f"space.axes.{axis}"
        ):  # a dot opens a group, but keys of axes have dots
            return f"override '{override}' names no key; write space.axes={{{axis}:{value}}}"
    key = re.sub(r"\[(\w+)\]", r".\1", str(cause.full_key))
    got = _got(key, overrides)
    if isinstance(cause, (ConfigAttributeError, ConfigKeyError)):
        return _unknown_key(key, cause.object_type)
    if isinstance(cause, InterpolationResolutionError):
        return f"{key}: {re.sub(r'^.*resolving interpolation: ', '', _first_line(cause)).strip(_QUOTE)}"
    if isinstance(cause, MissingMandatoryValue):
        return f"{key} has no value; it must be {_expected(key)}"
    if isinstance(cause, ValidationError) and isinstance(cause.parent_node, Sequence) and cause.value == {}:
        entries = len(cause.parent_node)
        return f"{key} does not exist: {key.rpartition('.')[0]} has {entries} entries, 0 to {entries - 1}"
    if got is None and (wrong := _WRONG_VALUE.fullmatch(_first_line(cause))):
        found = _schema(key)
        allowed = _expected(key) if found is not None else _WORDS[_KINDS[wrong[2] or wrong[3]]][0]
        return f"{key} is '{excerpt(wrong[1])}'; it must be {allowed}"
    if got is None:
        return f"{key}: {_first_line(cause)}; it must be {_expected(key)}"
    return f"{key} is {got}; it must be {_expected(key)}"


def _odd_override(override: str) -> str | None:
    """Return what is wrong with an override that Hydra refuses without naming a key, or None."""
    name, _, value = override.partition("=")
    name = name.lstrip("+")
    if name.isidentifier() and _schema(name) is None:  # a folder of conf/ that no configuration chooses from
        return _unknown_key(name, ConfigSchema)
    if dataclasses.is_dataclass(_schema(name)) and "." not in name:
        number = re.fullmatch(r"[0-9.+-]+|true|false|null|\{.*|\[.*", value)
        return f"{name} is {value}; it must be the name of a file of conf/{name}" if number else None
    parent = ""
    for part in name.split("."):
        if typing.get_origin(_schema(parent)) is list and not part.isdigit():
            return f"{parent}.{part} does not exist: the entries of {parent} are numbered, {parent}.0, …"
        parent = f"{parent}.{part}".lstrip(".")
    return None


def _unknown_choice(file: str, options: Sequence[str]) -> str:
    group, _, choice = file.rpartition("/")
    options = [option for option in options if not is_own_file(option)]
    if not group:
        return f"configuration file {file}.yaml is missing"
    if not options:
        return (
            f"unknown key {group}/{choice}; groups are model, system, space, search, executor, simulator, …"
        )
    problem = f"{group} '{excerpt(choice)}' is unknown"
    return unknown(problem, choice, options, f"available are {', '.join(options)}")


def _unknown_key(key: str, schema: Any) -> str:
    parent, _, name = key.rpartition(".")
    known = [] if key.startswith("hydra.") else _fields(schema)
    where = f"keys of {parent} are" if parent else "known keys are"
    problem = f"unknown key {excerpt(key, 200)}"
    owners = [] if parent else [f"{group}.{name}" for group in known if name in _fields(_schema(group))]
    if owners:
        return f"{problem}; did you mean {' or '.join(owners)}?"
    return unknown(problem, name, known, f"{where} {', '.join(known)}") if known else problem


def _got(key: str, overrides: Sequence[str]) -> str | None:
    """Return the value of the last override of the key, or of what contains it."""
    for override in reversed(overrides):
        name, assigned, value = override.partition("=")
        name = name.lstrip("+~")
        chooses_group = "." not in name and dataclasses.is_dataclass(_schema(name))
        if key == name or (key.startswith(f"{name}.") and not chooses_group):
            return f"'{excerpt(value)}'" if key == name and assigned else f"wrong in '{excerpt(override)}'"
    return None


def _expected(key: str) -> str:
    expected = _schema(key)
    optional = ""
    if typing.get_origin(expected) in (typing.Union, types.UnionType):
        expected = next(part for part in typing.get_args(expected) if part is not type(None))
        optional = " or null"
    if typing.get_origin(expected) is list:
        (item,) = typing.get_args(expected)
        if item in _WORDS:
            return f"a list of {_WORDS[item][1]}"
        if not dataclasses.is_dataclass(item):
            return "a list"
        return f"a list of entries with the keys {_names(item)}"
    if typing.get_origin(expected) is dict:
        if typing.get_args(expected)[1] is Any:
            return "values by key such as {speed:2}"
        return "lists by key such as {strategy.tp:[1,2],model.seq_len:[1024,2048]}"
    if dataclasses.is_dataclass(expected):
        return f"a group with the keys {_names(expected)}"
    return _WORDS[expected][0] + optional if expected in _WORDS else "another value"


def _schema(key: str) -> Any:
    """Return the type that the schema gives to a key, or None for an unknown key."""
    found: Any = ConfigSchema
    for part in key.split(".") if key else []:
        if typing.get_origin(found) is types.UnionType:
            found = typing.get_args(found)[0]
        if typing.get_origin(found) is list:
            (found,) = typing.get_args(found)
        elif dataclasses.is_dataclass(found):
            found = typing.get_type_hints(found).get(part)
        elif typing.get_origin(found) is dict:
            return typing.get_args(found)[1]  # its keys may have dots: the rest is one of them
        else:
            return None
    return found


def _names(schema: Any) -> str:
    return ", ".join(_fields(schema))


def _fields(schema: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(schema)] if dataclasses.is_dataclass(schema) else []


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]

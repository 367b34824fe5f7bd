"""Models and systems as canonical JSON, and back: what keys are made of, and what a row is rebuilt from."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

from dse.errors import InputError
from dse.files import read_bytes
from dse.models import ModelSpec
from dse.systems import SystemSpec

_FILE_KEYS = ("file", "routes")  # of a dimension: what is in the file counts, not only its name
_UNUSED_KEYS = ("omitted_keys",)  # of a system: changes no result, only how files are written

_Spec = TypeVar("_Spec")


def canonical_json(value: Any) -> str:
    """Return the one JSON text of plain data: sorted keys, no blanks."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def model_json(model: ModelSpec) -> str:
    """Return a model as canonical JSON."""
    return canonical_json(_plain(model, ModelSpec))


def system_json(system: SystemSpec) -> str:
    """Return a system as canonical JSON; beside the name of a file stands the digest of its content.

    Raises:
        InputError: a file cannot be read.
    """
    values = _plain(system, SystemSpec)
    for key in _UNUSED_KEYS:
        del values[key]
    for dimension in values["network"]:
        for key in _FILE_KEYS:
            if dimension[key] is not None:
                dimension[f"{key}_sha256"] = _file_digest(dimension[key])
    return canonical_json(values)


def model_of_json(text: str) -> ModelSpec:
    """Return the model that `model_json` wrote.

    Raises:
        InputError: the text is not that of a model of this version.
    """
    return _built(ModelSpec, _parsed(text, "model"), "model")


def system_of_json(text: str) -> SystemSpec:
    """Return the system that `system_json` wrote.

    Raises:
        InputError: the text is not that of a system of this version, or a file that it names has changed.
    """
    values = _parsed(text, "system")
    for dimension in values.get("network", []):
        for key in _FILE_KEYS:
            digest = dimension.pop(f"{key}_sha256", None)
            if digest is not None and digest != _file_digest(dimension[key]):
                raise InputError(
                    f"{dimension[key]} has changed since the point was stored: "
                    "restore the file, or sweep again"
                )
    return _built(SystemSpec, values, "system")


@functools.cache
def engine_version() -> str:
    """Return the version of this package, which is raised whenever a result may change."""
    from importlib.metadata import version

    return version("dse")


def _file_digest(path: str) -> str:
    return hashlib.sha256(read_bytes(Path(path))).hexdigest()


def _plain(value: Any, hint: Any) -> Any:
    """Plain data; numbers have the type that their field declares, so that 100 and 100.0 are one input."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        hints = _hints(type(value))
        return {name: _plain(getattr(value, name), hint) for name, hint in hints.items()}
    if isinstance(value, tuple | list):
        item, *_ = [*typing.get_args(hint), Any]
        return [_plain(entry, item) for entry in value]
    if isinstance(value, int) and not isinstance(value, bool) and hint is float:
        return float(value)
    return value


def _built(spec: type[_Spec], values: dict[str, Any], what: str) -> _Spec:
    try:
        return typing.cast(_Spec, _typed(values, spec))
    except (TypeError, KeyError, AttributeError) as error:
        raise InputError(f"a stored {what} is not one of this version ({error}): sweep again") from None


def _typed(value: Any, hint: Any) -> Any:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        if value is None:
            return None
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        hints = _hints(hint)
        return hint(**{name: _typed(entry, hints[name]) for name, entry in value.items()})
    if isinstance(value, list):
        arguments = typing.get_args(hint)
        if len(arguments) == 2 and arguments[1] is not Ellipsis:
            return tuple(_typed(entry, part) for entry, part in zip(value, arguments, strict=True))
        item = arguments[0] if arguments else Any
        return tuple(_typed(entry, item) for entry in value)
    return value


def _parsed(text: str, what: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except ValueError as error:
        raise InputError(f"a stored {what} is not JSON ({error}): sweep again") from None
    if not isinstance(values, dict):
        raise InputError(f"a stored {what} is not a JSON object: sweep again")
    return values


@functools.cache
def _hints(spec: type) -> dict[str, Any]:
    return typing.get_type_hints(spec)

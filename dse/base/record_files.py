"""A frozen record in a YAML file: read, converted, and its mistakes named with the file."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from dse.base.errors import InputError
from dse.base.plain_data import read_yaml
from dse.base.records import converted, unknown_field

_Record = TypeVar("_Record")


def yaml_values(path: Path, what: str) -> dict[Any, Any]:
    """Return the keys and values that a file like those of conf/`what` holds.

    Raises:
        InputError: the file is unreadable, no YAML, or holds something else.
    """
    values = read_yaml(path)
    if not isinstance(values, dict):
        raise InputError(f"{path}: must hold keys and values, as the files of conf/{what} do")
    return values


def yaml_record(
    path: Path, record: type[_Record], what: str, values: dict[Any, Any] | None = None
) -> _Record:
    """Return the record that a file like those of conf/`what` holds; its name is that of the file by default.

    `values` are those of the file, changed by the caller.

    Raises:
        InputError: the file is unreadable or no YAML, or has an unknown, missing or impossible key.
    """
    values = yaml_values(path, what) if values is None else values
    known = [field.name for field in fields(record)]  # type: ignore[arg-type]
    for name in values:
        if name not in known:
            raise InputError(f"{path}: {unknown_field(str(name), str(name), known)}")
    values.setdefault("name", path.stem)
    try:
        found: _Record = converted(values, record, what)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return found

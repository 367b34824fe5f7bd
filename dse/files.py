"""Strict reading of JSON and YAML files, and files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NoReturn

import yaml

from dse.errors import InputError
from dse.suggestions import did_you_mean


def load_json_object(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file.

    Raises:
        InputError: unreadable or malformed file, no object, a key that occurs twice, NaN or Infinity.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for key, value in pairs:
            if key in content:
                raise InputError(f"{file}: {key} occurs twice; every key is allowed once")
            content[key] = value
        return content

    def refuse(constant: str) -> NoReturn:
        raise InputError(f"{file}: {constant} is not a JSON number; numbers must be finite")

    try:
        content = json.loads(_read(file), object_pairs_hook=unique, parse_constant=refuse)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{file}: malformed JSON at {place}: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: malformed JSON: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"{file}: holds a {type(content).__name__}; it must hold a JSON object {{...}}")
    return content


def load_yaml_mapping(file: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file, its scalars as the texts that stand there.

    Raises:
        InputError: unreadable or malformed file, no mapping, or a key that occurs twice.
    """
    try:
        node = yaml.compose(_read(file), Loader=yaml.BaseLoader)
        if not isinstance(node, yaml.MappingNode):
            raise InputError(f"{file}: must hold a YAML mapping of keys to lists")
        keys = [str(key.value) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise InputError(f"{file}: {key} occurs twice; every key is allowed once")
        content = yaml.BaseLoader("").construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise InputError(f"{file}: malformed YAML{place}: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{file}: malformed YAML: {error}") from None
    return {str(key): value for key, value in content.items()}


def check_keys(file: Path, keys: Collection[str], known: Collection[str]) -> None:
    """Refuse unknown keys.

    Raises:
        InputError: names the file and the key, and the known key nearest to it or all known keys.
    """
    for key in keys:
        if key not in known:
            hint = did_you_mean(key, known) or f"; known keys are {', '.join(known)}"
            raise InputError(f"{file}: unknown key {key}{hint}")


@contextlib.contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Turn an OSError (read-only, disk full …) into an InputError that names the path and the cause."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror or error}; "
            "free or unlock the folder, or choose another one"
        ) from error


def read_bytes(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def make_folder(folder: Path) -> None:
    """Make a folder and its parents; an existing one is left as it is.

    Raises:
        InputError: the folder cannot be made.
    """
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)


def write_atomically(path: Path, data: bytes | memoryview) -> None:
    """Write `data` to `path`: a crash or an error at any moment leaves the old file or the new one.

    The temporary file is in the same folder. Its name begins with a dot and does not end like that of a data
    file, so that neither we nor pandas nor DuckDB read it after a crash.

    Raises:
        InputError: the folder cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    with writing_to(path):
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)  # noqa: PTH105 (atomic, overwrites, and patched by the crash tests)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def write_output(path: Path, data: bytes, key: str) -> None:
    """Write a file that the user named with the option `key`: whole or not at all; links and devices stay.

    Raises:
        InputError: the name is empty or that of a folder, or the file cannot be written.
    """
    if not path.name or path.is_dir():
        raise InputError(f"{key} is '{path}'; it must name a file")
    if path.exists() and not path.is_file():  # such as /dev/stdout: nothing to take the place of
        with writing_to(path), path.open("wb") as device:
            device.write(data)
        return
    write_atomically(path.resolve() if path.is_symlink() else path, data)


def sync_folder(folder: Path) -> None:
    """Make renames and removals in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not UTF-8 text (byte {error.start})") from None

"""Configuration files of frameworks: JSON as Hjson has it, with comments, YAML and TOML, as plain data."""

from __future__ import annotations

import importlib
import posixpath
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.files import is_file, read_bytes
from dse.base.plain_data import json_data, yaml_data
from dse.prediction.frameworks.reading.values import ask, missing_in, readable, scalar

MOST_BYTES = 1_000_000
_MOST_NODES = 100_000
_MOST_DOTS = 100
"""Of a key of TOML: Python reads one of n names in time n^2."""

_TEXT = r'"(?:[^"\\\n]|\\.)*(?:"|\n|\\?\Z)'
_COMMENT = re.compile(rf"{_TEXT}|//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_TEXT}|,(?=\s*[\]}}])", re.DOTALL)
"""Every alternative ends at the end of the text too: a search takes time in proportion to it."""

_KEY = re.compile(r"""[ \t]*(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')[ \t]*""", re.ASCII)
SUFFIXES = (".json", ".yaml", ".yml", ".toml")


class Written(dict[str, str]):
    """Texts that a script writes, by their paths; another path finds the only file with its last name."""

    def __init__(self, files: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._named: dict[str, str] = {}  # the path of each last name, empty where several have it
        for path, text in (files or {}).items():
            self[path] = text

    def __setitem__(self, path: str, text: str) -> None:
        """Keep a text by its path."""
        last = path.rpartition("/")[2]
        if self._named.setdefault(last, path) != path:
            self._named[last] = ""
        super().__setitem__(path, text)

    def __contains__(self, path: object) -> bool:
        """Whether a path finds a file."""
        return isinstance(path, str) and bool(self.path_of(path))

    def __missing__(self, path: str) -> str:
        """Return the text that another path finds."""
        found = self.path_of(path)
        if not found:
            raise KeyError(path)
        return self[found]

    def path_of(self, path: str) -> str:
        """Return the path under which a file was written; an empty one if none or several may be meant."""
        path = posixpath.normpath(path)
        return path if self.get(path) is not None else self._named.get(path.rpartition("/")[2], "")


@dataclass(frozen=True)
class Folder:
    """A folder where files are looked for; `written` are texts of a script's own files, by their paths."""

    path: Path = field(default_factory=Path)
    written: Mapping[str, str] = field(default_factory=dict)

    def find(self, name: str) -> Path:
        """Return a file that a command names: next to the script, or else where the command runs.

        Raises:
            InputError: it is no name of a file.
        """
        if not name or "\0" in name:
            raise InputError(
                f"{readable(name) or 'a file'} is no name of a file that can be read; write set=NAME=VALUE"
            )
        path = Path(name)
        is_written = self.written.get(posixpath.normpath(name)) is not None
        is_there = not is_written and is_file(path) and not is_file(self.path / path)
        return path if path.is_absolute() or is_there else self.path / path

    def has(self, path: Path) -> bool:
        """Whether a file is there, or the script writes it."""
        return bool(self._written_as(path)) or is_file(path)

    def text(self, path: Path) -> str | None:
        """Return the text of a file that the script writes; None for others.

        Raises:
            InputError: a variable in it has no value.
        """
        text = self.written.get(self._written_as(path))
        if text is not None and missing_in(text):
            raise ask(text, str(path), "the file")
        return text

    def _written_as(self, path: Path) -> str:
        """The path under which the script wrote a file; one that is there is no other of the same name."""
        own = path.relative_to(self.path) if path.is_relative_to(self.path) else path
        for name in (posixpath.normpath(own), posixpath.normpath(path)):
            if self.written.get(name) is not None:
                return name
        return "" if is_file(path) else self._by_name.path_of(str(own))

    @cached_property
    def _by_name(self) -> Written:
        return Written(self.written)


def text_of(path: Path) -> str:
    """Return the text of a configuration file of at most 1 MB.

    Raises:
        InputError: it cannot be read, is larger, or is not UTF-8.
    """
    try:
        return read_bytes(path, MOST_BYTES).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start})") from None


def data_of(path: Path, text: str | None = None) -> Any:
    """Return what a JSON, YAML or TOML file holds; its suffix says which it is, `text` its text where read.

    Raises:
        InputError: it cannot be read, is malformed, or is out of bounds.
    """
    text, where = text_of(path) if text is None else text, str(path)
    suffix = path.suffix.lower()
    if suffix == ".json":
        return json_data(_LAST_COMMA.sub(_blank, _COMMENT.sub(_blank, text)), where)
    if suffix == ".toml":
        return toml_data(text, where)
    return _with_numbers(yaml_data(text, where, _MOST_NODES))


def toml_data(text: str, where: str) -> dict[str, Any]:
    """Return what a TOML text holds.

    Raises:
        InputError: it is malformed or too deep; Python 3.10 has no reader for TOML, and none is installed.
    """
    name = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    try:
        reader = importlib.import_module(name)
    except ImportError:
        raise InputError(
            f"{where}: Python 3.10 reads no TOML; install the package tomli, or use a newer Python"
        ) from None
    _check_dots(text, where)
    try:
        data: dict[str, Any] = reader.loads(text)
    except RecursionError:
        raise InputError(f"{where}: is nested too deeply for TOML") from None
    except (ValueError, TypeError, ArithmeticError) as error:
        raise InputError(f"{where}: malformed TOML: {excerpt(error, 200)}") from None
    return data


def _check_dots(text: str, where: str) -> None:
    run = 0
    for piece in text.split("."):
        run = run + 1 if _KEY.fullmatch(piece) else 0
        if run > _MOST_DOTS:
            raise InputError(
                f"{where}: a key has more than {_MOST_DOTS} names with dots between, the most allowed"
            )


def _blank(found: re.Match[str]) -> str:
    """Keep texts; of comments keep the line breaks, so that messages count lines rightly."""
    return found[0] if found[0].startswith('"') else "\n" * found[0].count("\n")


def _with_numbers(data: Any) -> Any:
    """YAML 1.1 takes 5e8 for a text; frameworks mean the number."""
    if isinstance(data, dict):
        return {key: _with_numbers(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_with_numbers(value) for value in data]
    if isinstance(data, str) and "e" in data.lower() and isinstance(scalar(data), float):
        return scalar(data)
    return data

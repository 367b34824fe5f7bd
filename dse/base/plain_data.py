"""YAML and JSON of others as plain data, bounded: size, depth, nodes with aliases expanded, numbers.

The bounds are checked before the data exist. Libyaml ends the process at 100,000 brackets, nine lines of
aliases stand for 10^9 nodes, and Python refuses whole numbers of more than 4,300 digits.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, NoReturn

from dse.base.errors import InputError, excerpt
from dse.base.files import read_text
from dse.base.lazy import yaml

MOST_DEPTH = 100
MOST_NODES = 5_000_000
MOST_CHARACTERS = 250
"""Of a number: 250 hexadecimal digits still fit a float, which holds less than 2^1024."""

_NUMBERS: tuple[tuple[str, type], ...] = (("parse_int", int), ("parse_float", float))
_TOO_DEEP = f"is nested deeper than {MOST_DEPTH} levels, the most allowed"
_LARGE_NUMBER = re.compile(rf"[0-9.]{{{MOST_CHARACTERS + 1}}}|[eE]\+?[0-9]{{3}}", re.ASCII)


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds.

    Raises:
        InputError: the file cannot be read, or as `yaml_data`.
    """
    return yaml_data(read_text(path), str(path))


def yaml_data(text: str, where: str, most_nodes: int = MOST_NODES) -> Any:
    """Return what a YAML text holds; `where` is how messages call it.

    Raises:
        InputError: it is malformed, or as `check_yaml`.
    """
    check_yaml(text, where, most_nodes)
    try:
        return yaml.load(text, _loader())
    except yaml.YAMLError as error:
        raise InputError(f"{where}: {yaml_problem(error)}") from None
    except (ValueError, ArithmeticError, LookupError, AttributeError, TypeError) as error:
        # what constructors of PyYAML raise, such as for !!int "" or the 40th of May
        raise InputError(f"{where}: malformed YAML: {excerpt(error)}") from None


def yaml_text(data: Any, width: int) -> str:
    """Return plain data as YAML, keys in their order, in lines of up to `width` characters where it can."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return yaml.dump(data, Dumper=dumper, sort_keys=False, allow_unicode=True, width=width)


def check_yaml(text: str, where: str, most_nodes: int = MOST_NODES) -> None:
    """Check that a YAML text is within bounds; an alias counts as the nodes that it stands for.

    Raises:
        InputError: it is malformed, too deep or too large, contains itself, or has a number that is too long.
    """
    nodes, sizes = 0, dict[str, int | None]()  # None while not complete
    opened: list[tuple[str | None, int]] = []
    try:
        for event in yaml.parse(text, _loader()):
            if isinstance(event, yaml.CollectionEndEvent):
                anchor, before = opened.pop()
                if anchor is not None:
                    sizes[anchor] = nodes - before
                continue
            if not isinstance(event, yaml.NodeEvent):
                continue
            mark = event.start_mark
            place = f"{where}: line {1 + (mark.line if mark else 0)}"
            size = 1
            if isinstance(event, yaml.AliasEvent):
                known = sizes.get(event.anchor or "", 1)  # what reads the text names one that is missing
                if known is None:
                    raise InputError(f"{place}: *{excerpt(event.anchor)} contains itself")
                size = known
            elif isinstance(event, yaml.CollectionStartEvent):
                opened.append((event.anchor, nodes))
                if len(opened) > MOST_DEPTH:
                    raise InputError(f"{place}: {_TOO_DEEP}")
            elif isinstance(event, yaml.ScalarEvent) and len(event.value) > MOST_CHARACTERS:
                _check_number(event, place)
            if event.anchor is not None and not isinstance(event, yaml.AliasEvent):
                sizes[event.anchor] = None if isinstance(event, yaml.CollectionStartEvent) else 1
            nodes += size
            if nodes > most_nodes:
                raise InputError(
                    f"{place}: holds more than {most_nodes} values, the most allowed; an alias such as *name "
                    "counts as all that it stands for"
                )
    except yaml.YAMLError as error:
        raise InputError(f"{where}: {yaml_problem(error)}") from None
    except ValueError as error:  # a lone surrogate, which no UTF-8 has
        raise InputError(f"{where}: malformed YAML: {excerpt(error)}") from None


def yaml_problem(error: Any) -> str:
    """Return what is wrong in a YAML text, and where."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    problem = getattr(error, "problem", None) or " ".join(str(error).split())
    return f"malformed YAML{place}: {excerpt(problem, 200)}"


def load_json_object(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file.

    Raises:
        InputError: unreadable file, no object, or as `json_data`.
    """
    content = json_data(read_text(file), str(file))
    if not isinstance(content, dict):
        raise InputError(f"{file}: holds a {type(content).__name__}; it must hold a JSON object {{...}}")
    return content


def json_data(text: str, where: str, *, is_finite: bool = True) -> Any:
    """Return what a JSON text holds; `where` is how messages call it.

    NaN and Infinity, which JSON does not have, are read if numbers need not be finite.

    Raises:
        InputError: malformed, a key that occurs twice, nested too deeply, or a number that is too large.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for key, value in pairs:
            if key in content:
                raise InputError(f"{where}: {excerpt(key)} occurs twice; every key is allowed once")
            content[key] = value
        return content

    def refuse(constant: str) -> NoReturn:
        raise InputError(f"{where}: {constant} is not a JSON number; numbers must be finite")

    def bounded(number: str) -> str:
        if problem := _problem_of(number):
            line = text.count("\n", 0, text.index(number)) + 1
            raise InputError(f"{where}: line {line}: {problem}")
        return number

    hooks: dict[str, Any] = {"object_pairs_hook": unique}
    if is_finite:
        hooks["parse_constant"] = refuse
    if _LARGE_NUMBER.search(text):  # hooks cost time: a large file of small numbers needs none
        hooks |= {kind: lambda number, read=read: read(bounded(number)) for kind, read in _NUMBERS}
    try:
        content = json.loads(text, **hooks)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{where}: malformed JSON at {place}: {error.msg}") from None
    except RecursionError:
        raise InputError(f"{where}: {_TOO_DEEP}") from None
    _check_depth(content, where)
    return content


def _check_depth(content: Any, where: str) -> None:
    """Go down a level at a time: lists and groups that hold lists or groups."""
    level = [content]
    for _ in range(MOST_DEPTH):
        level = [
            child
            for node in level
            if type(node) in (dict, list)
            for child in (node.values() if type(node) is dict else node)
            if type(child) in (dict, list)
        ]
        if not level:
            return
    raise InputError(f"{where}: {_TOO_DEEP}")


def _check_number(event: Any, place: str) -> None:
    kinds = [event.tag] if event.tag else []
    if event.implicit[0]:  # a plain scalar: its form says what it is
        resolvers = yaml.SafeLoader.yaml_implicit_resolvers.get(event.value[0], [])
        kinds += [tag for tag, form in resolvers if form.match(event.value)]
    if any(tag.endswith((":int", ":float")) for tag in kinds):
        raise InputError(f"{place}: {_problem_of(event.value)}")


def _problem_of(number: str) -> str:
    if len(number) > MOST_CHARACTERS:
        return (
            f"the number {excerpt(number, 20)} has {len(number)} characters; at most {MOST_CHARACTERS} are "
            "allowed"
        )
    if math.isinf(float(number)):
        return f"{number} is too large; numbers must be finite, below 1.8e308"
    return ""


def _loader() -> Any:
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)

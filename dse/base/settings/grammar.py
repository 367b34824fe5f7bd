"""Overrides such as system.nodes=8, by the grammar of Hydra, which is imported only when it is needed.

Overrides such as model.d_ff=1024 or space.tp=[1,2], which need no grammar; others are left to Hydra's.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dse.base.errors import InputError, excerpt
from dse.base.numbers import whole_number

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

_KEY = re.compile(r"(\+\+?|~)?[A-Za-z_$][\w$-]*([./][\w$-]+)*(@[\w.$-]*)?", re.ASCII)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_UNUSUAL = re.compile(r"[^A-Za-z0-9_ \t/\-\\+.$%*@?|()\[\]{}:=,'\"]")  # what needs quotes
_CALL = re.compile(r"while evaluating '(.*?)':", re.DOTALL)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_LONG = 200
_MOST_DEPTH = 50
_HOW = "write key=value; lists are [1,2], groups {key:value}, and other texts stand in quotes"


def parsed(override: str) -> Override:
    """Return an override as the grammar reads it; its fault is said in plain words.

    Raises:
        InputError: it cannot be read, has no key, or removes one.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    depth = itertools.accumulate((letter in "[{(") - (letter in "]})") for letter in override)
    if max(depth, default=0) > _MOST_DEPTH:  # the grammar takes seconds to find that out
        raise InputError(f"{called(override)} is nested deeper than {_MOST_DEPTH}")
    try:
        (found,) = OverridesParser.create().parse_overrides([override])
    except HydraException as error:
        raise InputError(parse_problem(error, override)) from None
    except (ValueError, RecursionError):  # Python reads no whole number of more than 4,300 digits
        raise InputError(
            f"{called(override)} is nested too deeply, or has a number with too many digits"
        ) from None
    key = found.key_or_group
    if not key or "@" in override.partition("=")[0]:
        raise InputError(f"{called(override)} names no key; write key=value, such as model.d_ff=1024")
    if found.is_delete():
        raise InputError(f"{called(override)}: {key} cannot be removed; write {key}=VALUE")
    return found


def change(values: dict[str, Any], overrides: Sequence[str], files: str) -> None:
    """Set the values of overrides such as cluster.nodes.0.count=8 in the content of one of `files`.

    The first part of a key is the group. New keys of a group may be added.

    Raises:
        InputError: an override that cannot be read, or a key that leads nowhere.
    """
    for word in overrides:
        override = parsed(word)
        if override.is_sweep_override():
            raise InputError(f"{called(word)} lists several values; write one")
        _set(values, override.key_or_group, override.value(), files)


def _set(values: dict[str, Any], key: str, value: Any, files: str) -> None:
    *parents, last = key.split(".")[1:]
    place: Any = values
    for depth, part in enumerate([*parents, last]):
        if isinstance(place, list):
            chosen: Any = whole_number(part)
            if chosen is None or chosen >= len(place):
                where = ".".join(key.split(".")[: depth + 1])
                raise InputError(f"{key}: {where} has entries 0 to {len(place) - 1}, not '{excerpt(part)}'")
        elif isinstance(place, dict):
            chosen = part
        else:
            raise InputError(f"{key} leads into a value; see {files}")
        if depth == len(parents):
            place[chosen] = value
            return
        if isinstance(place, dict) and chosen not in place:
            raise InputError(f"unknown key {key}; there is {', '.join(map(str, place))}")
        place = place[chosen]


def called(override: object) -> str:
    """Return how messages call an override."""
    return f"override '{excerpt(override, 200)}'"


def parse_problem(error: Exception, override: str) -> str:
    """Return the message for an override that cannot be parsed."""
    key, assigned, value = override.partition("=")
    return f"{called(override)} cannot be parsed: {_problem(str(error), key, bool(assigned), value)}"


def _problem(error: str, key: str, is_assigned: bool, value: str) -> str:
    if not is_assigned and not key.startswith("~"):
        return "it has no '='; write key=value"
    if not _KEY.fullmatch(key):
        entry = ", an entry of a list system.network.0.npus" if "[" in key else ""
        return f"'{excerpt(key)}' is no key; write key=value, where a key is a name such as model.d_ff{entry}"
    if call := _CALL.search(error):
        return (
            f"{call[1]} has no value; functions are those of Hydra, such as range(1,9), int, float, str and "
            "bool, and any other text with parentheses stands in quotes"
        )
    bare = _QUOTED.sub("", value)
    if "'" in bare or '"' in bare:
        return f"a quote is not closed; {_HOW}"
    if unusual := _UNUSUAL.search(bare):
        character = f"the character {unusual[0]!r}"
        if re.search(r"[\[\]{}()'\"]", value):
            return f"{character} must stand in quotes; {_HOW}"
        quoted = shlex.quote(f'{key}="{value}"')
        how = f"write {quoted}" if len(quoted) <= _LONG else _HOW
        return f"{character} must stand in quotes; {how}"
    return f"{_brackets(bare)}{_HOW}"


def _brackets(text: str) -> str:
    opened = ""
    for character in text:
        if character in _PAIRS.values():
            opened += character
        elif character in _PAIRS:
            if not opened.endswith(_PAIRS[character]):
                return f"'{character}' closes nothing; "
            opened = opened[:-1]
    return f"'{opened[-1]}' is not closed; " if opened else ""


_LINE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)=(.*)", re.ASCII | re.DOTALL)
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}", re.ASCII)
_TEXT = re.compile(r"[A-Za-z_/](?:[\w./-]*\w)?", re.ASCII)
_NAMED = {"true": True, "false": False, "null": None}
_NO_TEXTS = {*_NAMED, "nan", "inf"}


@dataclass(frozen=True)
class PlainWord:
    """An override of one value, with the names that an override of Hydra has."""

    key: str
    given: Any
    input_line: str

    @property
    def key_or_group(self) -> str:
        """The key, as a user wrote it."""
        return self.key

    def value(self) -> Any:
        """Return the value."""
        return self.given


_NOTHING = object()


def plain_word(line: str) -> PlainWord | None:
    """Return an override that sets a key to a plain value or a list of some; None for others."""
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    key, text = found.groups()
    if text.startswith("[") and text.endswith("]") and len(text) > 2:
        entries = [_value(entry) for entry in text[1:-1].split(",")]
        value: Any = _NOTHING if _NOTHING in entries else entries
    else:
        value = _value(text)
    return None if value is _NOTHING else PlainWord(key, value, line)


def _value(text: str) -> Any:
    """Return a single value; `_NOTHING` for what is none of the plain ones."""
    if text in _NAMED:
        return _NAMED[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return text if _TEXT.fullmatch(text) and text.lower() not in _NO_TEXTS else _NOTHING

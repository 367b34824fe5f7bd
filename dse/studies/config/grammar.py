"""The fault of an override that Hydra's grammar refuses, in plain words."""

from __future__ import annotations

import re
import shlex

from dse.base.texts import excerpt

_KEY = re.compile(r"(\+\+?|~)?[A-Za-z_$][\w$-]*([./][\w$-]+)*(@[\w.$-]*)?", re.ASCII)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_UNUSUAL = re.compile(r"[^A-Za-z0-9_ \t/\-\\+.$%*@?|()\[\]{}:=,'\"]")  # what needs quotes
_CALL = re.compile(r"while evaluating '(.*?)':", re.DOTALL)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_LONG = 200
_HOW = "write key=value; lists are [1,2], groups {key:value}, and other texts stand in quotes"


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

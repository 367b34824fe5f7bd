"""Values that words of a command line stand for.

A script leaves some of them open: they are marks in words, asked for only where they matter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from dse.base.errors import InputError, excerpt

_INTEGER = re.compile(r"[-+]?[0-9]{1,250}", re.ASCII)
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,100}\.?[0-9]{0,100}|\.[0-9]{1,100})(?:[eE][-+]?[0-9]{1,3})?", re.ASCII)
_MOST_NOTES = 100
_SWITCHES = {"true": True, "false": False}
_NOTHING = frozenset({"None", "null", "~"})


def scalar(text: str, *, has_none: bool = True) -> Any:
    """Return the number, switch, None or text that a word stands for; infinite numbers stay texts."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    if text in ("true", "True", "false", "False"):
        return _SWITCHES[text.lower()]
    return None if has_none and text in _NOTHING else text


def is_number(text: str) -> bool:
    """Whether a word that begins with a dash is a number, not an option."""
    return bool(_NUMBER.fullmatch(text))


def settled(key: str, text: str, where: str, notes: list[str], frameworks: Sequence[str]) -> str:
    """Return a text without marks of open values; they stay as $NAME where no fact of a framework needs it.

    Raises:
        InputError: another key needs the value.
    """
    if not missing_in(text):
        return text
    if _states_a_fact(key, frameworks):
        raise ask(text, where, excerpt(key))
    note = f"{excerpt(key)} is {readable(text)}, which has no value and changes no prediction"
    if len(notes) < _MOST_NOTES and note not in notes:
        notes.append(note)
    return readable(text)


def _states_a_fact(key: str, frameworks: Sequence[str]) -> bool:
    """Whether a key of one of the frameworks states a fact of a job."""
    from dse.prediction.frameworks.table import TABLES, table_of

    known = [table_of(name) for name in frameworks if (TABLES / f"{name}.yaml").is_file()]
    return any(key in table.by_key for table in known)


OUTPUT = "…"
"""The name of what a command would write, where no variable holds it."""
_MARK = re.compile("\0([^\0]*)\0")


def mark(name: str, *, is_computed: bool = False) -> str:
    """Return the mark of a variable without a value; a shell would run a command for `is_computed` ones."""
    return f"\0{'!' if is_computed else ''}{name}\0"


def missing_in(text: str) -> str:
    """Return the name of the first variable without a value in a text, or an empty string."""
    found = _MARK.search(text)
    return found[1].lstrip("!") if found else ""


def is_open(text: str) -> bool:
    """Whether a text is nothing but a variable without a value."""
    return _MARK.fullmatch(text) is not None


def without_unset(text: str) -> str:
    """Return a text as a shell has it: an unset variable is empty; computed ones keep their marks."""
    return _MARK.sub(lambda found: found[0] if found[1].startswith("!") else "", text)


def readable(text: str) -> str:
    """Return a text with marks as a person writes them: $NAME."""
    return _MARK.sub(lambda found: f"${found[1].lstrip('!')}", text).replace(f"${OUTPUT}", "$(...)")


def ask(text: str, where: str, purpose: str) -> InputError:
    """Return the error that asks for the first open value in a text."""
    name = excerpt(missing_in(text))
    if name == OUTPUT:
        return InputError(
            f"{where}: {purpose} is what a command writes, and none is run; write its value there"
        )
    if name.isdigit():
        return InputError(
            f"{where}: {purpose} needs ${name}; write the arguments of the script behind its name"
        )
    return InputError(f"{where}: {purpose} needs {name}, which has no value; write set={name}=VALUE")

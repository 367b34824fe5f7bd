"""Values that a script leaves open: marks in words, asked for only where they matter."""

from __future__ import annotations

import re

from dse.base.errors import InputError
from dse.base.texts import excerpt

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

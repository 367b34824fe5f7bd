"""Overrides such as model.d_ff=1024 or space.tp=[1,2], which need no grammar; others are left to Hydra's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

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

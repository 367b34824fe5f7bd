"""Arguments of Python functions as the words of a command line: `gbs=512` becomes "gbs=512"."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias, Union

from dse.base.errors import InputError
from dse.base.settings.checks import described

Value: TypeAlias = Union[
    str, int, float, bool, "os.PathLike[str]", Sequence["Value"], Mapping[Any, "Value"], None
]
"""A value of a key: a text as on the command line, or the Python value that it means; None leaves it out."""

_MOST_WHOLE = 2**53
_KINDS = "a text, a number, True or False, a path, a list or a mapping"


def words_of(
    function: str, overrides: Sequence[str], keys: Mapping[str, Value], groups: Sequence[str] | None = None
) -> list[str]:
    """Return the words of a command line: `overrides` as they are, then KEY=VALUE of each keyword.

    A mapping for one of `groups` (None means any key) changes keys below it: `strategy={"dp": 4}` is
    `strategy.dp=4`. For other keys it is written in braces.

    Raises:
        InputError: an argument has a type that no key has. The message names the argument, its type and
            what is allowed.
    """
    return [*checked_overrides(function, overrides), *_words(function, "", keys, groups)]


def checked_overrides(function: str, overrides: Sequence[str]) -> Sequence[str]:
    """Return overrides that are a list of texts.

    Raises:
        InputError: they are something else.
    """
    is_list = isinstance(overrides, Sequence) and not isinstance(overrides, str | bytes)
    wrong = [word for word in overrides if not isinstance(word, str)] if is_list else [overrides]
    if wrong:
        what = "overrides has" if is_list else "overrides is"
        raise InputError(
            f'{function}: {what} {described(wrong[0])}; it must be a list such as ["model=tiny"]'
        )
    return overrides


def _words(
    function: str, above: str, keys: Mapping[str, Value], groups: Sequence[str] | None
) -> Iterator[str]:
    for name, value in keys.items():
        key = f"{above}{name}"
        value = _plain(value)
        if value is None:
            continue
        if isinstance(value, Mapping) and (groups is None or key.partition(".")[0] in groups):
            yield from _words(function, f"{key}.", value, groups)
        else:
            yield f"{key}={_text(function, key, value)}"


def _plain(value: Any) -> Any:
    """The fields of a record, the Python values of numpy and pandas, and other values as they are."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    is_foreign = hasattr(value, "dtype") and callable(getattr(value, "tolist", None))
    return value.tolist() if is_foreign else value


def _text(function: str, key: str, value: Any) -> str:
    value = _plain(value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        number = float(value)  # pandas makes whole numbers of a column with gaps floating-point ones
        return str(int(number)) if number.is_integer() and abs(number) < _MOST_WHOLE else repr(number)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, Mapping):
        pairs = (f"{name}:{_text(function, key, entry)}" for name, entry in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return f"[{','.join(_text(function, key, entry) for entry in value)}]"
    raise InputError(f"{function}: {key} is {described(value)}; it must be {_KINDS}")

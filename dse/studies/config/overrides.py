"""Overrides by the grammar of Hydra, which is imported only when it is needed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.base.errors import InputError, excerpt
from dse.base.settings.grammar import PlainWord, called, parsed, plain_word
from dse.studies.config.own_files import GROUPS, REFERENCE

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

_PLAIN = (str, int, float, bool, list, dict, type(None))
_MAX_LISTED = 1000
_KEY_REFERENCE = re.compile(r"\$\{\.*[A-Za-z_][A-Za-z0-9_.\[\]-]*\}")


def choices_of(override: Override | PlainWord) -> list[str]:
    """Return the overrides, one for each value that an override lists."""
    if isinstance(override, PlainWord) or not override.is_sweep_override():
        return [str(override.input_line)]
    from hydra.core.override_parser.types import ChoiceSweep, RangeSweep

    values = override.value()
    if not isinstance(values, ChoiceSweep | RangeSweep) or (
        isinstance(values, ChoiceSweep) and not all(isinstance(entry, _PLAIN) for entry in values.list)
    ):
        raise InputError(
            f"{called(override.input_line)} is no list of values; write KEY=A,B,C or KEY=range(1,9)"
        )
    return [f"{override.get_key_element()}={value}" for value in _listed(override)]


def _holds_sweep(value: object) -> bool:
    from hydra.core.override_parser.types import Sweep

    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(each, Sweep) or _holds_sweep(each) for each in inside)


def _listed(override: Override) -> list[str]:
    from hydra.errors import HydraException

    try:
        values = list(itertools.islice(override.sweep_string_iterator(), _MAX_LISTED + 1))
    except (HydraException, NotImplementedError, ValueError, ArithmeticError):  # glob(*), a step of 0
        values = []
    if not 0 < len(values) <= _MAX_LISTED:
        raise InputError(f"{called(override.input_line)} must list 1 to {_MAX_LISTED} values, as A,B,C")
    return values


def in_one_study(override: Override) -> str:
    """Return how one study goes over the values that an override lists; empty if none can."""
    key = override.key_or_group
    if key.partition(".")[0] not in ("model", "system", "strategy", "space"):
        return ""
    try:
        values = ",".join(_listed(override))
    except InputError:
        values = "…"
    if key.startswith("space."):
        return f"; one study over all of them is {key}=[{values}]"
    return f"; one study over all of them is an axis, space.axes={{{key}:[{values}]}}"


def parsed_overrides(overrides: Sequence[str]) -> list[Override | PlainWord]:
    """Return overrides as the grammar of Hydra reads them.

    Raises:
        InputError: one that cannot be read, or asks for what overrides do not do here.
    """
    found = [plain_word(override) or parsed(override) for override in overrides]
    for override, one in zip(overrides, found, strict=True):
        key = one.key_or_group
        if key in ("hydra.searchpath", "hydra/searchpath"):
            raise InputError(f"unknown key {key}; for a folder of your own write --config-dir DIR")
        if key in GROUPS and not override.startswith(key):
            raise InputError(f"{called(override)}: {key} needs no +; write {override.lstrip('+')}")
        if key.startswith("system.accelerator."):
            raise InputError(
                f"{called(override)}: an accelerator is chosen whole, by its name or a file; "
                f"a sweep changes a figure of it as an axis, 'space.axes={{{excerpt(key)}:[VALUE]}}'; for a "
                "point copy its file of conf/accelerator, change it, and write system.accelerator=FILE.yaml"
            )
        if REFERENCE in _KEY_REFERENCE.sub("", override):
            raise InputError(
                f"{called(override)}: ${{…}} may hold a key only, as in ${{model.d_model}}; "
                "the shell puts in variables of the environment, written as $NAME"
            )
        if not isinstance(one, PlainWord) and _holds_sweep(one.value()):
            raise InputError(
                f"{called(override)} has range(…), choice(…) or the like inside of a list or braces; write "
                "the values themselves, as [1,2,3]"
            )
        if re.match(r"hydra\b", key):
            raise InputError(f"unknown key {key}; of Hydra only the grammar of overrides is used")
    return found

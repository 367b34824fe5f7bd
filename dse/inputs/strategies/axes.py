"""The axes of strategies: all that is known of each besides its name has its home here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field, fields
from typing import Any, Literal, NamedTuple, TypeAlias

Kind = Literal["degree", "flag", "count", "choice"]
AxisValue: TypeAlias = "int | str"  # a flag is an int too

_TYPES: dict[str, type] = {"degree": int, "flag": bool, "count": int, "choice": str}
_MAX_NUMBER = 2**31 - 1
_LISTED = 12  # choices that a message names


class StrategyAxis(NamedTuple):
    """A degree, whose product over all degrees is the number of NPUs; a flag, a count, or one of some texts.

    `word` is what a label says: before the value of a degree or count, for a flag that is not as by default,
    and around the text of a choice, which stands for the braces. `heading` are two lines above a column of a
    table. The ranks along a degree with `has_groups` form communicator groups, whose traffic follows their
    order; without, they are pipeline stages. `in_traces` says that workloads of traces know the axis; only
    the predictor knows the others (`dse.prediction.steps`). `since` is the schema version of studies that
    added the axis: where it is above 1, older points are taken to have the default, and labels and tables
    mention the axis only where it is not that. Numbers are from `least` to `most`. A choice with a `pattern`
    may be any other text that matches it, too; `further` says what that is. `installed` returns the
    choices that installed packages add.
    """

    name: str
    kind: Kind
    word: str
    heading: tuple[str, str]
    meaning: str
    default: AxisValue
    has_groups: bool = False
    in_traces: bool = True
    since: int = 1
    choices: tuple[str, ...] = ()
    pattern: str = ""
    further: str = ""
    installed: Callable[[], Sequence[str]] = tuple
    least: int = 1
    most: int = _MAX_NUMBER

    @property
    def is_degree(self) -> bool:
        """Whether it is a degree."""
        return self.kind == "degree"

    @property
    def names(self) -> tuple[str, ...]:
        """The choices of this package, then those of installed packages."""
        return (*self.choices, *self.installed())

    @property
    def is_open(self) -> bool:
        """Whether texts beyond `choices` may be its values, so that stored rows may have any."""
        return bool(self.pattern) or self.installed is not tuple

    @property
    def unit(self) -> str:
        """The unit of its values: "1" for a count, "none" for a flag or a text."""
        return "1" if self.kind in ("degree", "count") else "none"

    @property
    def type(self) -> type:
        """The type of its values."""
        return _TYPES[self.kind]

    def allowed(self, *, plural: bool = False) -> str:
        """Say which values it may have."""
        if self.kind == "flag":
            return "true or false"
        if self.kind != "choice":
            return f"{'integers' if plural else 'an integer'} from {self.least} to {self.most}"
        names = self.names
        more = ", …" if len(names) > _LISTED else ""
        or_else = f", or {self.further}" if self.pattern else ""
        return f"one of {', '.join(names[:_LISTED])}{more}{or_else}"

    def accepts(self, value: object) -> bool:
        """Whether this is one of its values."""
        if self.kind == "flag":
            return isinstance(value, bool)
        if self.kind == "choice":
            return self.has_name(value) or self._matches(value)
        if isinstance(value, bool) or not isinstance(value, int):
            return False
        return self.least <= value <= self.most

    def has_name(self, value: object) -> bool:
        """Whether it is a choice by name. Other packages are looked through only for unknown names."""
        return value in self.choices or value in self.installed()

    def _matches(self, value: object) -> bool:
        return bool(self.pattern) and isinstance(value, str) and bool(re.fullmatch(self.pattern, value))

    def cell(self, value: AxisValue) -> str:
        """Return a value as a table shows it."""
        return ("yes" if value else "no") if self.kind == "flag" else str(value)

    def in_label(self, value: AxisValue) -> str:
        """Return what a label says of a value; empty for what goes without saying."""
        return label_word(self.kind, self.word, self.default, self.since, value)


def label_word(kind: str, word: str, default: AxisValue, since: int, value: AxisValue) -> str:
    """Return `StrategyAxis.in_label`; a page has this function, too."""
    if value == default and (since > 1 or kind == "flag"):
        return ""
    if kind == "choice":
        return word.format(value)
    return word if kind == "flag" else f"{word}{value}"


def degree(meaning: str, *, has_groups: bool = True, in_traces: bool = True, since: int = 1) -> Any:
    """Return a field that is a degree, named in labels as it is called."""
    about = {"kind": "degree", "meaning": meaning, "has_groups": has_groups, "in_traces": in_traces}
    return field(default=1, metadata={**about, "since": since}, kw_only=since > 1)


def flag(
    word: str,
    meaning: str,
    *,
    default: bool = False,
    heading: tuple[str, str] | None = None,
    in_traces: bool = True,
    since: int = 1,
) -> Any:
    """Return a field that is a flag; `word` stands in labels, and above columns without a `heading`."""
    about = {"kind": "flag", "meaning": meaning, "word": word, "in_traces": in_traces, "since": since}
    metadata = {**about, "heading": heading or (word, "")}
    return field(default=default, metadata=metadata, kw_only=since > 1)


def count(
    word: str,
    meaning: str,
    default: int = 1,
    *,
    since: int,
    least: int = 1,
    most: int = _MAX_NUMBER,
    heading: tuple[str, str] | None = None,
) -> Any:
    """Return a field that only predictions know, a count from `least` to `most`."""
    about = {"kind": "count", "meaning": meaning, "word": word, "in_traces": False, "since": since}
    bounds = {"least": least, "most": most}
    metadata = {**about, **bounds, "heading": heading or (word, "")}
    return field(default=default, metadata=metadata, kw_only=True)


def choice(
    choices: Sequence[str],
    meaning: str,
    *,
    since: int,
    word: str = "{}",
    heading: tuple[str, str],
    default: str | None = None,
    pattern: str = "",
    further: str = "",
    installed: Callable[[], Sequence[str]] = tuple,
) -> Any:
    """Return a field that only predictions know, one of some texts, by default the first.

    Texts that match `pattern` are values, too; `further` says in messages what they are. `installed` returns
    the values that installed packages add.
    """
    about = {"kind": "choice", "meaning": meaning, "word": word, "in_traces": False, "since": since}
    others = {"pattern": pattern, "further": further, "installed": installed}
    metadata = {**about, **others, "choices": tuple(choices), "heading": heading}
    return field(default=default or choices[0], metadata=metadata, kw_only=True)


def axes_of(strategy: type) -> tuple[StrategyAxis, ...]:
    """Return the axes that the fields of a dataclass are, in their order: degrees, then the others.

    Raises:
        TypeError: another axis stands before a degree.
    """
    found = []
    for entry in fields(strategy):
        default: Any = entry.default
        about = {"word": entry.name, "heading": (entry.name, ""), **entry.metadata}
        found.append(StrategyAxis(name=entry.name, default=default, **about))
    if found != sorted(found, key=lambda axis: axis.is_degree, reverse=True):
        raise TypeError(f"{strategy.__name__} has another axis before a degree: degrees come first")
    return tuple(found)

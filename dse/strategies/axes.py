"""What is known of an axis of strategies besides its name: all that is derived from it asks here."""

from __future__ import annotations

from dataclasses import field, fields
from typing import Any, Literal, NamedTuple


class StrategyAxis(NamedTuple):
    """A degree, whose product over all degrees is the number of NPUs, or a flag.

    `word` is what a label says: before the value of a degree, and for a flag that is set. `heading` are two
    lines above a column of a table. The ranks along a degree with `has_groups` form communicator groups,
    whose traffic follows their order; without, they are pipeline stages. `since` is the schema version of
    studies that added the axis: where it is above 1, older points are taken to have the default.
    """

    name: str
    kind: Literal["degree", "flag"]
    word: str
    heading: tuple[str, str]
    meaning: str
    default: int | bool
    has_groups: bool = False
    since: int = 1

    @property
    def is_degree(self) -> bool:
        """Whether it is a degree."""
        return self.kind == "degree"

    @property
    def unit(self) -> str:
        """The unit of its values: "1" for a count, "none" for a flag."""
        return "1" if self.is_degree else "none"

    def cell(self, value: int) -> str:
        """Return a value as a table shows it."""
        return str(value) if self.is_degree else "yes" if value else "no"

    def in_label(self, value: int) -> str:
        """Return what a label says of a value; empty for a flag that is not set."""
        if self.is_degree:
            return f"{self.word}{value}"
        return self.word if value else ""


def degree(meaning: str, *, has_groups: bool = True, since: int = 1) -> Any:
    """Return a field that is a degree, named in labels as it is called."""
    return field(default=1, metadata={"meaning": meaning, "has_groups": has_groups, "since": since})


def flag(word: str, meaning: str, *, heading: tuple[str, str] | None = None, since: int = 1) -> Any:
    """Return a field that is a flag; `word` stands in labels, and above columns without a `heading`."""
    metadata = {"meaning": meaning, "word": word, "heading": heading or (word, ""), "since": since}
    return field(default=False, metadata=metadata)


def axes_of(strategy: type) -> tuple[StrategyAxis, ...]:
    """Return the axes that the fields of a dataclass are, in their order: degrees, then flags.

    Raises:
        TypeError: a flag stands before a degree.
    """
    found = []
    for entry in fields(strategy):
        default: Any = entry.default
        about = {"word": entry.name, "heading": (entry.name, ""), **entry.metadata}
        kind: Literal["degree", "flag"] = "flag" if default is False else "degree"
        found.append(StrategyAxis(name=entry.name, kind=kind, default=default, **about))
    if found != sorted(found, key=lambda axis: axis.is_degree, reverse=True):
        raise TypeError(f"{strategy.__name__} has a flag before a degree: degrees come first")
    return tuple(found)

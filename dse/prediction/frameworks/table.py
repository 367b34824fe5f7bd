"""The table of a dialect: which keys state which facts, their defaults, and the rules of the framework."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dse.base.errors import InputError
from dse.base.plain_data import read_yaml
from dse.base.records import converted, shown
from dse.prediction.frameworks.rules import Rule

TABLES = Path(__file__).parent / "tables"
KINDS = ("int", "number", "flag", "off", "text", "list")
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


@dataclass(frozen=True)
class Key:
    """A key of a framework that states a fact.

    `key` is written; `older` are read, too. Each of `means` is a flag that stands for the value it has
    here, unless another key states one.
    `kind` off is an option whose presence makes the fact false.
    `default` is what the framework takes where the key is absent; None: nothing, or it follows from others.
    One that is `read_only` is an argument of many programs, but not of all, so that none is written.
    """

    key: str
    kind: str = "int"
    default: Any = None
    older: tuple[str, ...] = ()
    means: Mapping[str, Any] = field(default_factory=dict)
    read_only: bool = False

    def value_of(self, value: Any, where: str, key: str = "", spelled: str = "") -> Any:
        """Return the fact that a value states which `key` has, one of these; messages call it `spelled`.

        One of `means` that is off states none.

        Raises:
            InputError: the value is of another kind.
        """
        name = spelled or key or self.key
        if value is None:
            return None
        if self.kind in ("flag", "off") or key in self.means:
            is_on = _switch(value)
            if is_on is None:
                raise InputError(f"{where}: {name} is {shown(value)}; it must be true or false")
            if key in self.means:
                return self.means[key] if is_on else None
            return is_on if self.kind == "flag" else not is_on
        if self.kind in ("int", "number"):
            return self._number(value, where, name)
        if self.kind == "list":
            return tuple(value) if isinstance(value, list | tuple) else tuple(str(value).split(","))
        return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

    def _number(self, value: Any, where: str, name: str) -> int | float:
        try:
            number = float(value) if not isinstance(value, bool) else None
        except (TypeError, ValueError):
            number = None
        if number is None or not abs(number) < 2**63 or (self.kind == "int" and number != int(number)):
            wanted = "an integer" if self.kind == "int" else "a number"
            hint = _AUTO if value == "auto" else ""
            raise InputError(f"{where}: {name} is {shown(value)}; it must be {wanted}{hint}")
        return int(number) if self.kind == "int" else number

    def written(self, value: Any) -> Any:
        """Return the value to write for a fact."""
        return not value if self.kind == "off" else list(value) if self.kind == "list" else value


_AUTO = ", as the Trainer puts it there from its own arguments: write the value"


def _switch(value: Any) -> bool | None:
    text = str(value).lower()
    return True if text in _TRUE else False if text in _FALSE else None


@dataclass(frozen=True)
class Table:
    """The keys and rules of a dialect.

    `version` is the release that is written, and that is taken where a document names none. `matters` are
    keys that state no fact although they change time or memory of a step, so that answers name them.
    `reshapes` are keys that make a model which no other key describes, unless they have one of some values.
    """

    framework: str
    version: str
    keys: Mapping[str, Key]
    rules: Mapping[str, Rule]
    sources: tuple[str, ...] = ()
    matters: tuple[str, ...] = ()
    reshapes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    by_key: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Index the facts by the keys that state them."""
        index: dict[str, str] = {}
        for fact, entry in self.keys.items():
            if entry.kind not in KINDS:
                raise InputError(f"{self.framework}: {fact} is of kind {entry.kind}")
            index |= dict.fromkeys((entry.key, *entry.older, *entry.means), fact)
        object.__setattr__(self, "by_key", index)

    @property
    def defaults(self) -> dict[str, Any]:
        """The facts that hold where a document states none."""
        return {fact: entry.default for fact, entry in self.keys.items() if entry.default is not None}


@functools.cache
def table_of(name: str) -> Table:
    """Return the table of a dialect.

    One that is `like` another has its rules, too; it may change entries of a rule, and drop an empty one.

    Raises:
        InputError: the file has an unknown or impossible entry.
    """
    path = TABLES / f"{name}.yaml"
    values = read_yaml(path)
    base = TABLES / f"{values.pop('like')}.yaml" if "like" in values else None
    if base is not None:
        own, shared = values.get("rules", {}), read_yaml(base)["rules"]
        dropped = [key for key, rule in own.items() if not rule]
        values["rules"] = {key: {**shared.get(key, {}), **own.get(key, {})} for key in {**shared, **own}}
        values["rules"] = {key: rule for key, rule in values["rules"].items() if key not in dropped}
    values["rules"] = {key: {"id": key, **rule} for key, rule in values["rules"].items()}
    found: Table = converted({"framework": name, **values}, Table, str(path.name))
    return found

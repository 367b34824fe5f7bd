"""The choices of a noun by name: ours, and those that installed packages add as entry points."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from dse.base.errors import InputError
from dse.base.settings.checks import check_choice


@dataclass(frozen=True)
class Choices:
    """The names that a configuration group such as `simulator` allows: what makes each choice, by name.

    `own` is the table of built-in choices, as `module:function`. Other names are looked for among entry
    points of the group `entry_points`, as `dse.simulators`, which are written the same way. Ours are no entry
    points, so that a source tree that is not installed has them too, and no built-in name can be taken.
    """

    group: str
    entry_points: str
    own: Mapping[str, str]

    def installed(self) -> dict[str, metadata.EntryPoint]:
        """The choices of installed packages by name; it looks through all of them, some 20 ms.

        Raises:
            InputError: two packages have the same name for a choice.
        """
        found: dict[str, metadata.EntryPoint] = {}
        for entry in metadata.entry_points(group=self.entry_points):
            if entry.name in self.own:
                continue
            if found.setdefault(entry.name, entry).value != entry.value:
                raise InputError(
                    f"{self.group} '{entry.name}' is both {found[entry.name].value} and {entry.value}; "
                    f"uninstall one of the two packages"
                )
        return found

    def check(self, name: str) -> None:
        """Refuse a name that is no choice.

        Raises:
            InputError: says which ones are.
        """
        if name not in self.own:
            check_choice(f"{self.group}.name", name, (*self.own, *self.installed()))

    def load(self, name: str) -> Any:
        """Return the function that makes a choice.

        Raises:
            InputError: no such choice, or the package that adds it cannot be imported.
        """
        self.check(name)
        if name in self.own:
            module, _, function = self.own[name].partition(":")
            return getattr(importlib.import_module(module), function)
        entry = self.installed()[name]
        try:
            return entry.load()
        except (ImportError, AttributeError) as error:
            raise InputError(f"{self.group} '{name}' cannot be loaded from {entry.value}: {error}") from None

    def is_foreign(self, name: str) -> bool:
        """Whether the choice is not built in."""
        return name not in self.own

    def refuse_options(self, values: Any) -> None:
        """Refuse options of a built-in choice.

        Raises:
            InputError: there are some.
        """
        if values.options and not self.is_foreign(values.name):
            key = next(iter(values.options))
            raise InputError(
                f"{self.group}.options.{key} is '{values.options[key]}', but {self.group} is {values.name}, "
                "which has no options; they are for choices that other packages add"
            )

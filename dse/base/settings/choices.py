"""The choices of a noun by name: ours, and those that installed packages add as entry points."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dse.base.errors import InputError
from dse.base.settings.checks import check_choice

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@dataclass(frozen=True)
class Accepted:
    """A name that works though no help lists it: an older one, or the name that another program has.

    `made_by` is `module:function`; `what` completes the sentence that a command prints: "fast is the same".
    """

    made_by: str
    what: str


@dataclass(frozen=True)
class Choices:
    """The names that a configuration group such as `simulator` allows: what makes each choice, by name.

    `own` is the table of built-in choices, as `module:function`. Other names are looked for among entry
    points of the group `entry_points`, as `dse.simulators`, which are written the same way. Ours are no entry
    points, so that a source tree that is not installed has them too, and no built-in name can be taken.
    An empty `entry_points` means that packages cannot add any.
    `accepted` names work too, but no help and no message lists them. `key` is what messages call the choice;
    None means `GROUP.name`.
    """

    group: str
    entry_points: str
    own: Mapping[str, str]
    accepted: Mapping[str, Accepted] = field(default_factory=dict)
    key: str | None = None

    def listed(self) -> tuple[str, ...]:
        """The names that help and messages list: ours, then those of installed packages."""
        return (*self.own, *self.installed())

    def notes(self, *names: str) -> list[str]:
        """A line for each name that is accepted only: what it is."""
        key = self.key or self.group
        return [f"{key}={name} {self.accepted[name].what}" for name in names if name in self.accepted]

    def installed(self) -> dict[str, EntryPoint]:
        """The choices of installed packages by name; it looks through all of them, some 20 ms.

        Raises:
            InputError: two packages have the same name for a choice.
        """
        from importlib import metadata

        found: dict[str, EntryPoint] = {}
        if not self.entry_points:
            return found
        for entry in metadata.entry_points(group=self.entry_points):
            if self._made_by(entry.name):
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
        if not self._made_by(name):
            check_choice(self.key or f"{self.group}.name", name, self.listed())

    def load(self, name: str) -> Any:
        """Return the function that makes a choice.

        Raises:
            InputError: no such choice, or the package that adds it cannot be imported.
        """
        self.check(name)
        if made_by := self._made_by(name):
            module, _, function = made_by.partition(":")
            return getattr(importlib.import_module(module), function)
        entry = self.installed()[name]
        try:
            return entry.load()
        except (ImportError, AttributeError) as error:
            raise InputError(f"{self.group} '{name}' cannot be loaded from {entry.value}: {error}") from None

    def is_foreign(self, name: str) -> bool:
        """Whether the choice is not built in."""
        return not self._made_by(name)

    def _made_by(self, name: str) -> str | None:
        """The maker of a built-in choice, listed or not; None means that there is none."""
        return self.accepted[name].made_by if name in self.accepted else self.own.get(name)

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

"""How a field of a schema says what it means, and who uses it; docs/reference.md is made of that."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

MISSING: Any = "???"  # OmegaConf's mark of a mandatory value, without importing OmegaConf


def key(
    meaning: str,
    default: Any = MISSING,
    *,
    factory: Callable[[], Any] | None = None,
    astrasim: str = "",
    only: str = "",
    instead: str = "",
) -> Any:
    """A field with its meaning, in Markdown with links as from docs/, and its name in ASTRA-sim's files.

    `only` are the commands that use the key, with blanks between (none: all do); the others refuse it and say
    `instead`, in which {name} is the last part of the key and {value} what the user gave it.
    """
    metadata = {"meaning": meaning, "astrasim": astrasim, "only": only, "instead": instead}
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


def group(schema: Callable[[], Any], *, only: str = "", instead: str = "") -> Any:
    """A field that is a group of keys; `only` and `instead` are those of its keys without their own."""
    return field(default_factory=schema, metadata={"only": only, "instead": instead})


@dataclass(frozen=True)
class mapping:  # noqa: N801 (called as a function is)
    """Makes an empty group that takes any key, from the command line without Hydra's `+` too.

    `element` is the type of its values.
    """

    element: Any

    def __call__(self) -> Any:
        """Return the group as OmegaConf has it."""
        from omegaconf import DictConfig

        element = self.element
        named: Any = dict[str, element]  # type: ignore[valid-type]
        return DictConfig(
            {}, ref_type=named, key_type=str, element_type=element, is_optional=False, flags={"struct": False}
        )


def plain_defaults(schema: Any) -> dict[str, Any]:
    """Return the defaults of a schema as plain data, without OmegaConf."""
    found = {}
    for each in fields(schema):
        make = each.default_factory
        if make is dataclasses.MISSING:
            found[each.name] = each.default
        elif isinstance(make, mapping):
            found[each.name] = {}
        else:
            found[each.name] = plain_defaults(make) if is_dataclass(make) else make()
    return found


def options(group: str) -> Any:
    """The field for the keys of a choice that another package adds."""
    return key(
        f"keys of a choice of [another package](extending/{group}.md)",
        factory=mapping(Any),
    )

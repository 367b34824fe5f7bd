"""Names that are loaded when they are asked for, so that settings load no engine; packages of the extras."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from dse.base.errors import InputError


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package: `homes` are its names, parted by blanks, by module.

    For type checkers the package imports the same names under TYPE_CHECKING. A module must not have the name
    of what it exports: it would take its place.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{home_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


def is_installed(package: str) -> bool:
    """Whether a top-level package can be imported.

    Python takes any folder of that name on its path for a package without code; such a one does not count.
    """
    spec = importlib.util.find_spec(package)
    return spec is not None and spec.origin is not None


def extra(package: str, missing: str) -> ModuleType:
    """Import a package that comes with one of the extras.

    Raises:
        InputError: with the text `missing`, if it is not installed or cannot be imported.
    """
    if not is_installed(package):
        raise InputError(missing)
    try:
        return importlib.import_module(package)
    except ImportError:
        raise InputError(missing) from None

"""Names and libraries that are loaded when they are used, so that settings load none; packages of the extras.

`from dse.base.lazy import np, pa` is for modules that commands import before they know what they will do.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dse.base.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    import torch
    import torch.distributed as dist
    import yaml
    from numpy.typing import NDArray

    from dse.base import solvers
    from dse.native import _engine

__all__ = ["extra", "is_installed", "lazily"]
__all__ += ["NDArray", "_engine", "dist", "np", "pa", "pc", "pd", "pq", "solvers", "torch", "yaml"]


class _Library(ModuleType):
    """A module that is imported when something of it is first used, and has all its names from then on."""

    def __getattr__(self, name: str) -> Any:
        """Load the module, and return what it has under this name."""
        __import__(self.__name__)  # as a statement does: hooks of audits see it, too
        module = sys.modules[self.__name__]
        self.__dict__.update(vars(module))
        return getattr(module, name)


if not TYPE_CHECKING:
    np, pd, yaml = _Library("numpy"), _Library("pandas"), _Library("yaml")
    pa, pc, pq = _Library("pyarrow"), _Library("pyarrow.compute"), _Library("pyarrow.parquet")
    torch, dist = _Library("torch"), _Library("torch.distributed")
    _engine, solvers = _Library("dse.native._engine"), _Library("dse.base.solvers")

    class NDArray:
        """Stands in annotations for the type of numpy.typing, which would load NumPy."""

        def __class_getitem__(cls, item: Any) -> Any:
            """Return something for `NDArray[np.int64]`."""
            return cls


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

"""Pipeline schedules by name: every module of `kinds` has one, and installed packages add others."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import cast

from dse.base.errors import InputError, did_you_mean
from dse.base.settings.choices import Choices
from dse.inputs.strategies.schedules import kinds
from dse.inputs.strategies.schedules.schedule import Schedule

ENTRY_POINTS = "dse.pipeline_schedules"
"""The group of entry points of the schedules that other packages add; each names a `Schedule`."""


def find_schedules() -> dict[str, Schedule]:
    """Return the schedules of the modules of `kinds`, in the order of their names."""
    modules = [
        importlib.import_module(f"{kinds.__name__}.{m.name}") for m in pkgutil.iter_modules(kinds.__path__)
    ]
    found = {module.SCHEDULE.name: module.SCHEDULE for module in modules}
    return dict(sorted(found.items()))


SCHEDULES = find_schedules()
"""The schedules of this package."""


@functools.cache
def installed_schedules() -> tuple[str, ...]:
    """Return the names of the schedules that installed packages add.

    Raises:
        InputError: two packages have the same name for a schedule.
    """
    return tuple(_installed().installed())


@functools.cache
def schedule_named(name: str) -> Schedule:
    """Return a schedule.

    Raises:
        InputError: there is none of this name, or the package that adds it cannot be imported.
    """
    if name in SCHEDULES:
        return SCHEDULES[name]
    if name in installed_schedules():
        return cast(Schedule, _installed().load(name))
    names = (*SCHEDULES, *installed_schedules())
    raise InputError(f"schedule is '{name}'; it must be one of {', '.join(names)}{did_you_mean(name, names)}")


def _installed() -> Choices:
    return Choices("schedule", ENTRY_POINTS, own=dict.fromkeys(SCHEDULES, ""))

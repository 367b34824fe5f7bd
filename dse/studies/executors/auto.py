"""The choice of an executor: the configured one, or a choice by the named cluster and the expected work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from dse.base.lazy import is_installed
from dse.base.machine import usable_cores
from dse.studies.evaluator import Evaluator
from dse.studies.executors.base import Executor
from dse.studies.executors.settings import EXECUTORS, ExecutorSettings

AUTO_RAY_THRESHOLD_S = 1800.0
"""Estimated seconds on all cores of this machine from which `executor=auto` takes Ray.

Below, a start of seconds and a process for each core buy nothing; above, a point that ends its process, or
never ends, would cost more than that.
"""

SAID_FROM_S = 60.0
"""Estimated seconds from which a sweep says where it runs."""


@dataclass(frozen=True)
class AutoChoice:
    """An executor, and one sentence for people."""

    name: str
    reason: str
    matters: bool = True
    """Whether a sweep says so: processes elsewhere, or a run so long that one would like to know."""


def choose(
    *,
    address: str | None,
    estimated_s: float | None,
    is_ray_installed: bool,
) -> AutoChoice:
    """Choose by a configured cluster, then by the estimated seconds on this machine (None if not known)."""
    if address is not None:
        return AutoChoice("ray", f"executor: ray, since executor.address is {address}")
    if estimated_s is None:
        return AutoChoice("local", "executor: local; how much work it is, is not known", matters=False)
    work = f"about {_duration(estimated_s)} of work on this machine with its cores free"
    if estimated_s <= AUTO_RAY_THRESHOLD_S:
        return AutoChoice("local", f"executor: local, {work}", matters=estimated_s >= SAID_FROM_S)
    if not is_ray_installed:
        return AutoChoice("local", f"executor: local, {work}; with ray installed, a cluster could share it")
    return AutoChoice("ray", f"executor: ray on this machine, since it is {work}")


def make_executor(
    settings: ExecutorSettings,
    estimate: Callable[[], float | None] = lambda: None,
    evaluator: Evaluator[Any, Any] | None = None,
) -> tuple[Executor, AutoChoice]:
    """Return the executor that the configuration names or `auto` chooses, and which and why.

    `estimate` returns the seconds that the work takes on all cores of this machine, or None where that is not
    known. It is called only if the choice depends on it. With an `evaluator` of other cases than points, only
    `local` and `ray` can be made.
    """
    choice = _choice(settings, estimate)
    make = EXECUTORS.load(choice.name)
    return cast("Executor", make(settings) if evaluator is None else make(settings, evaluator)), choice


def make(settings: ExecutorSettings) -> Executor:
    """Return the executor that `executor=auto` chooses where how much work it is, is not known."""
    return make_executor(settings)[0]


def _choice(settings: ExecutorSettings, estimate: Callable[[], float | None]) -> AutoChoice:
    if settings.name == "local":
        threads = settings.threads or usable_cores()
        text = f"executor: local, {threads} thread{'s' if threads > 1 else ''}"
        return AutoChoice("local", text, matters=False)
    if settings.name == "ray":
        return AutoChoice("ray", f"executor: ray, {settings.address or 'on this machine'}")
    if settings.name != "auto":
        return AutoChoice(settings.name, f"executor: {settings.name}", matters=False)
    return choose(
        address=settings.address,
        estimated_s=estimate() if settings.address is None else None,
        is_ray_installed=is_installed("ray"),
    )


def _duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"

"""Which executor: the configured one, or a choice by the named cluster and the expected work."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dse.executors.base import Executor
from dse.executors.local import LocalExecutor, usable_cores
from dse.executors.ray_cluster import RayExecutor

if TYPE_CHECKING:
    from dse.config.settings import ExecutorSettings

AUTO_RAY_THRESHOLD_S = 1800.0
"""Estimated seconds on all cores of this machine from which `executor=auto` takes Ray.

Below, a start of seconds and a process for each core buy nothing; above, a point that ends its process, or
never ends, would cost more than that.
"""


@dataclass(frozen=True)
class AutoChoice:
    """An executor, and one sentence for people."""

    name: Literal["local", "ray"]
    reason: str


def choose(
    *,
    address: str | None,
    estimated_s: float | None,
    is_ray_installed: bool,
    threshold_s: float = AUTO_RAY_THRESHOLD_S,
) -> AutoChoice:
    """Choose by a configured cluster, then by the estimated seconds on this machine (None: not known)."""
    if address is not None:
        return AutoChoice("ray", f"executor: ray, for executor.address is {address}")
    if estimated_s is None:
        return AutoChoice(
            "local", "executor: local, for the work is not known and no executor.address is set"
        )
    work = f"about {_duration(estimated_s)} of work on this machine"
    if estimated_s <= threshold_s:
        return AutoChoice("local", f"executor: local, for {work} is at most {_duration(threshold_s)}")
    if not is_ray_installed:
        return AutoChoice(
            "local", f"executor: local, for ray is not installed; {work}, which a cluster would share"
        )
    return AutoChoice("ray", f"executor: ray on this machine, for {work} is above {_duration(threshold_s)}")


def make_executor(
    settings: ExecutorSettings, estimate: Callable[[], float | None] = lambda: None
) -> tuple[Executor, str]:
    """Return the executor that the configuration names or `auto` chooses, and a sentence that says which.

    `estimate` returns the seconds that the work takes on all cores of this machine, or None where that is not
    known; it is called only if the choice depends on it.
    """
    choice = _choice(settings, estimate)
    if choice.name == "local":
        return LocalExecutor(settings.threads), choice.reason
    return RayExecutor(settings.address, settings.workers, settings.point_timeout_s), choice.reason


def _choice(settings: ExecutorSettings, estimate: Callable[[], float | None]) -> AutoChoice:
    if settings.name == "local":
        threads = settings.threads or usable_cores()
        return AutoChoice("local", f"executor: local, {threads} thread{'s' if threads > 1 else ''}")
    if settings.name == "ray":
        return AutoChoice("ray", f"executor: ray, {settings.address or 'on this machine'}")
    return choose(
        address=settings.address,
        estimated_s=estimate() if settings.address is None else None,
        is_ray_installed=importlib.util.find_spec("ray") is not None,
    )


def _duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"

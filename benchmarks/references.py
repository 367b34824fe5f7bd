"""The references' CPU seconds, from references.yaml."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.cases import Case


@dataclass(frozen=True)
class ReferenceTime:
    """CPU seconds of STAGE and of ASTRA-sim; `origin` is recorded, lower bound, or none (no times)."""

    origin: str
    generate_s: float | None = None
    simulate_s: float | None = None

    @property
    def total_s(self) -> float | None:
        """Both together."""
        if self.generate_s is None or self.simulate_s is None:
            return None
        return self.generate_s + self.simulate_s


def tracked(case: Case) -> ReferenceTime:
    """Return the time with the memory tracker: that of the point, else the lower bound of its pair."""
    for origin, key in (("recorded", "recorded"), ("lower bound", "lower_bounds")):
        for entry in _entries()[key]:
            if _matches(entry, case):
                return ReferenceTime(origin, entry["stage_s"], entry["astrasim_s"])
    return ReferenceTime("none")


def untracked(case: Case) -> tuple[float | None, int | None]:
    """Return seconds of ASTRA-sim without its memory tracker, and its events, where they are known."""
    for entry in _entries()["untracked"]:
        if _matches(entry, case):
            return entry["astrasim_s"], entry["events"]
    return None, None


@dataclass(frozen=True)
class TacosFigure:
    """CPU time of one run of TACOS in units of a loop of Python, and the time of its schedule."""

    units: float
    time_us: float


def tacos_figures() -> dict[str, TacosFigure]:
    """Return the recorded figures by the name of the network."""
    return {
        entry["name"]: TacosFigure(entry["cpu_s"] / entry["loop_s"], entry["time_us"])
        for entry in _entries()["tacos"]
    }


def planner_units() -> dict[tuple[str, str], float]:
    """Return the recorded CPU time of searches by name and planner, in units of a loop of Python."""
    return {
        (entry["name"], entry["planner"]): entry["cpu_s"] / entry["loop_s"]
        for entry in _entries()["planners"]
    }


def _matches(entry: Mapping[str, Any], case: Case) -> bool:
    strategy = case.strategy
    if (entry["model"], entry["system"]) != (case.model.name, case.system.name):
        return False
    if strategy.pp != 1 or strategy.weight_sharded:
        return False
    return all(
        entry[key] == getattr(strategy, key)
        for key in ("dp", "tp", "sp", "activation_recompute")
        if key in entry
    )


@functools.cache
def _entries() -> dict[str, list[dict[str, Any]]]:
    entries: dict[str, list[dict[str, Any]]] = yaml.safe_load(
        Path(__file__).with_name("references.yaml").read_text("utf-8")
    )
    return entries

"""Points for the engine in a page: scenarios with strategies, and what the package says of them."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from simulation.simulators.random_points import Point, seeded_points
from studies.points.result_points import MODELS, STRATEGIES, SYSTEMS

from dse.inputs.strategies import TRACED, Strategy
from dse.native import _explorer
from dse.studies.config import compose_config
from dse.studies.points import DesignPoint, Scenario, evaluate, scenario_of
from dse.studies.points.inputs import model_json, system_json

PAIRS = (("system1", "llama70b"), ("system2", "gpt175b"))
STATUSES = ("ok", "infeasible", "deadlock", "failed")
FIGURES = (
    *("wall_time_ns", "gpu_time_ns", "comm_time_ns", "exposed_comm_ns", "compute_bound_pct"),
    *("compute_utilization_pct", "memory_utilization_pct", "operation_intensity", "peak_memory_bytes"),
    *("rank0_wall_time_ns", "rank0_peak_memory_bytes", "last_rank", "rank_classes", "mfu_pct"),
    "tokens_per_s",
)


class Group(NamedTuple):
    """Strategies of one scenario."""

    scenario: Scenario
    strategies: Sequence[Strategy]


def lab(system: str, model: str) -> Group:
    """The 56 points of a pair of the lab."""
    config = compose_config([f"system={system}", f"model={model}"])
    return Group(scenario_of(config), config.space.strategies(config.model, config.system))


def fixed() -> Iterator[Group]:
    """All small systems with models by turns, and all small models on some systems."""
    models = itertools.cycle(MODELS.values())
    pairs = [(next(models), system) for system in SYSTEMS.values()]
    pairs += [(model, SYSTEMS[name]) for model in MODELS.values() for name in ("Ring", "2 x 2 x 2")]
    for model, system in pairs:
        yield Group(Scenario("fixed", model, system), STRATEGIES)


def group_of(point: Point, divisibility: Any = None) -> Group:
    """A random point alone."""
    return Group(Scenario("random", point.model, point.system, divisibility), [point.strategy])


def drawn(seed: int, count: int) -> list[Group]:
    """The same random points on every machine."""
    return [group_of(point) for point in seeded_points(seed, count)]


def scenario_json(scenario: Scenario) -> dict[str, Any]:
    """A scenario as a page has it."""
    return {
        "model": json.loads(model_json(scenario.model)),
        "system": json.loads(system_json(scenario.system)),
        "divisibility": scenario.resolved_divisibility,
    }


def strategies_json(strategies: Sequence[Strategy]) -> list[dict[str, Any]]:
    """Strategies as a page has them."""
    return [{key: getattr(strategy, key) for key in TRACED} for strategy in strategies]


def request(group: Group) -> str:
    """What the engine reads."""
    return json.dumps(
        {**scenario_json(group.scenario), "strategies": strategies_json(group.strategies), "method": "auto"}
    )


def expected(group: Group) -> list[dict[str, Any]]:
    """The rows of the package, by the names of a page's columns."""
    rows = [evaluate(DesignPoint(group.scenario, strategy)) for strategy in group.strategies]
    columns = ("status", "reason", "fractional", "understated_comm", "impossible_split", *FIGURES)
    return [{name: getattr(row, name) for name in columns} for row in rows]


def found(group: Group) -> list[dict[str, Any]]:
    """The same from the engine's reading of JSON."""
    rows = []
    for figures, (reason, understated, split) in _explorer.explorer_rows(request(group)):
        assert len(figures) == 17
        values = {
            name: None if math.isnan(value) else value
            for name, value in zip(FIGURES, figures[1:16], strict=True)
        }
        rows.append(
            {
                "status": STATUSES[int(figures[0])],
                "reason": reason,
                "fractional": figures[16] == 1,
                "understated_comm": understated or None,
                "impossible_split": split or None,
                **values,
            }
        )
    return rows

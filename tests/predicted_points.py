"""Points on a cluster that the predictor answers, for tests."""

from __future__ import annotations

import functools

from dse.inputs.strategies import Strategy
from dse.studies.config import compose_config
from dse.studies.points import DesignPoint, Scenario, scenario_of

TWO_NODES = ("system=dgx_h100", "system.nodes=2")
SMALL = (
    "model=llama70b",
    "model.num_layers=8",
    "model.d_model=4096",
    "model.d_ff=14336",
    "model.num_heads=32",
    "model.batch_size=64",
    "model.seq_len=4096",
    "model.fidelity=realistic",
)
"""The width of a model of 8 billion weights, and a quarter of its layers."""


@functools.cache
def predicted_scenario(*overrides: str) -> Scenario:
    """Two nodes of 8 H100, and `SMALL`."""
    return scenario_of(compose_config([*TWO_NODES, *SMALL, *overrides]))


def predicted_point(strategy: Strategy, *overrides: str) -> DesignPoint:
    """A point of `predicted_scenario`."""
    return DesignPoint(predicted_scenario(*overrides), strategy)

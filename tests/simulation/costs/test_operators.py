"""Costs of operators: literal ones of a small model, and their sums are those of the generated workload."""

import dataclasses

import pytest
from simulation.simulators.random_points import seeded_points

from dse.base.errors import InputError
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy, indivisible
from dse.simulation.costs.operators import OperatorCost, operators
from dse.simulation.workloads import generate

SMALL = ModelSpec("small", 64, 32, 16, 32, 4, 8, 4, 3)


def named(costs: list[OperatorCost], block: str, name: str) -> OperatorCost:
    return next(cost for cost in costs if (cost.block, cost.name) == (block, name))


def total(costs: list[OperatorCost], of: str) -> float:
    """The sum over all blocks and times."""
    return sum(cost.blocks * cost.times * getattr(cost, of) for cost in costs)


def test_a_product_and_an_update() -> None:
    costs = operators(SMALL, Strategy(dp=2, tp=2))
    # 2 x 8 tokens of width 64 by half of 16 columns
    product = OperatorCost("input_embedding", 1, "y", False, 1, 8192, 1664, 0)
    assert named(costs, "input_embedding", "y") == product
    update = OperatorCost("feed_forward", 3, "w1", True, 1, 256, 768, 256)
    assert named([cost for cost in costs if cost.is_update], "feed_forward", "w1") == update


def test_parameters_are_those_of_a_rank() -> None:
    layer = 3 * 16 * 16 + 2 * 16 * 32
    whole = 64 * 16 + 16 * 32 + 3 * layer
    for tp in (1, 2):
        costs = operators(SMALL, Strategy(tp=tp))
        assert sum(cost.blocks * cost.parameter_bytes for cost in costs) == whole / tp


@pytest.mark.parametrize("fidelity", ["stage", "realistic"])
def test_totals_are_those_of_the_workload(fidelity: str) -> None:
    compared = 0
    for point in seeded_points(7, 200):
        model = dataclasses.replace(point.model, fidelity=fidelity)  # type: ignore[arg-type]
        if point.strategy.pp > 1 or indivisible(model, point.strategy):
            continue
        counts = generate(model, point.strategy).counts(0)
        costs = operators(model, point.strategy)
        found = (total(costs, "operations"), total(costs, "bytes"))
        assert found == (counts.num_ops, counts.tensor_size), point
        compared += 1
    assert compared > 20


def test_no_workload_no_costs() -> None:
    with pytest.raises(InputError, match="dp"):
        operators(SMALL, Strategy(dp=0))

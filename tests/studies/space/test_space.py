"""The design space: which points, in which order, and what is refused."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from two_rings import TINY, rings

from dse.base.errors import InputError
from dse.inputs.strategies import Strategy
from dse.studies.space import DesignSpace, sample

POWERS = (1, 2, 4, 8, 16, 32, 64)
LAB = DesignSpace(
    "lab",
    {"dp": POWERS, "tp": POWERS, "sp": POWERS, "activation_recompute": (True, False)},
    ("dp * tp * sp * pp == npus",),
)


def test_a_strategy_multiplies_its_degrees_and_labels_itself() -> None:
    assert Strategy(2, 3, 5, 7).npus == 210
    assert Strategy(8, 1, 8, 1, activation_recompute=True).label() == "dp8 tp1 sp8 pp1 recompute"
    assert Strategy(1, 2, 3, 4, True, True).label() == "dp1 tp2 sp3 pp4 fsdp recompute"
    assert Strategy().label() == "dp1 tp1 sp1 pp1"


def test_the_first_axis_varies_slowest() -> None:
    space = replace(LAB, choices={**LAB.choices, "dp": (1, 2), "tp": (2, 1), "sp": (1, 2)})
    assert [point.label() for point in space.strategies(TINY, rings(2))] == [
        "dp1 tp2 sp1 pp1 recompute",
        "dp1 tp2 sp1 pp1",
        "dp1 tp1 sp2 pp1 recompute",
        "dp1 tp1 sp2 pp1",
        "dp2 tp1 sp1 pp1 recompute",
        "dp2 tp1 sp1 pp1",
    ]


@pytest.mark.parametrize(("npus", "count"), [(2, 6), (16, 30), (64, 56), (512, 74)])
def test_the_lab_space_has_every_split_of_the_npus(npus: int, count: int) -> None:
    points = LAB.strategies(TINY, rings(npus))
    assert len(points) == len(set(points)) == count
    assert {point.npus for point in points} == {npus}


def test_constraints_may_use_the_dimensions_of_the_model() -> None:
    space = replace(LAB, constraints=(*LAB.constraints, "num_heads % tp == 0", "dp <= batch_size // 2"))
    points = space.strategies(TINY, rings(64))
    assert {point.tp for point in points} == {1, 2, 4, 8, 16}
    assert max(point.dp for point in points) == 16


def test_without_constraints_all_combinations_are_points() -> None:
    assert len(replace(LAB, constraints=()).strategies(TINY, rings(64))) == 686


def test_an_empty_space_names_constraints_on_inputs_that_leave_points() -> None:
    """On 16 NPUs only dp 16 has one sequence a replica, and 24 is no multiple of 16."""
    wanted = "dp == 16"
    space = replace(LAB, constraints=(*LAB.constraints, wanted, "batch_size % dp == 0", "seq_len > 1"))
    with pytest.raises(InputError) as caught:
        space.strategies(replace(TINY, batch_size=24), rings(16))
    count = len(replace(LAB, constraints=(*LAB.constraints, wanted)).strategies(TINY, rings(16)))
    assert count > 0
    assert f"; without 'batch_size % dp == 0' it has {count} points; space.constraints=" in str(caught.value)
    assert "without 'seq_len" not in str(caught.value)
    assert f"without '{wanted}'" not in str(caught.value)
    assert "; model.batch_size=16 or 32 gives points; without 'batch_size" in str(caught.value)


def test_an_empty_space_names_no_batch_that_leaves_it_empty() -> None:
    constraints = (*LAB.constraints, "batch_size % dp == 0", "dp == 16", "tp == 2")
    with pytest.raises(InputError) as caught:
        replace(LAB, constraints=constraints).strategies(replace(TINY, batch_size=24), rings(16))
    assert "model.batch_size=" not in str(caught.value)


def test_an_empty_space_names_the_constraint_and_the_npus() -> None:
    with pytest.raises(InputError) as caught:
        LAB.strategies(TINY, rings(60))
    assert str(caught.value) == (
        "space 'lab' is empty: space.constraints.0 'dp * tp * sp * pp == npus' removes the last 686 of 686 "
        "combinations; the network has 60 NPUs, the model is tiny; space.constraints=[...] replaces all"
    )
    with pytest.raises(InputError, match=r"space\.constraints\.1 'dp > 64' removes the last 56 of 686"):
        replace(LAB, constraints=(*LAB.constraints, "dp > 64")).strategies(TINY, rings(64))


@pytest.mark.parametrize("axis", ["dp", "tp", "sp", "pp"])
@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ((), "is empty"),
        ((1, 0), "lists 0; its values must be integers from 1"),
        ((-2,), "lists -2; its values must be integers from 1"),
        ((2, True), "lists True; its values must be integers from 1"),
        ((1.0,), "lists 1.0; its values must be integers from 1"),
        ((1, 2, 1), "lists 1 more than once"),
    ],
)
def test_a_bad_axis_is_named(axis: str, values: tuple[int, ...], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        replace(LAB, choices={**LAB.choices, axis: values})  # type: ignore[dict-item]
    assert str(caught.value).startswith(f"space.{axis} {problem}")


@pytest.mark.parametrize("axis", ["weight_sharded", "activation_recompute"])
@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ((), "is empty"),
        ((0,), "lists 0; its values must be true or false"),
        ((False, False), "lists false more than once"),
    ],
)
def test_a_bad_switch_is_named(axis: str, values: tuple[bool, ...], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        replace(LAB, choices={**LAB.choices, axis: values})  # type: ignore[dict-item]
    assert str(caught.value).startswith(f"space.{axis} {problem}")


def test_a_bad_constraint_is_refused_with_the_space_not_at_a_point() -> None:
    with pytest.raises(InputError, match=r"space\.constraints\.1 'dq == 1', column 1: unknown name 'dq'"):
        replace(LAB, constraints=("dp == 1", "dq == 1"))


@given(st.lists(st.integers(), unique=True, max_size=40), st.integers(1, 50), st.integers())
def test_a_sample_is_reproducible_without_repeats_and_in_order(
    points: Sequence[int], count: int, seed: int
) -> None:
    chosen = sample(points, count, seed)
    assert chosen == sample(points, count, seed)
    assert len(chosen) == min(count, len(points))
    positions = [points.index(point) for point in chosen]
    assert positions == sorted(set(positions))


def test_a_seed_draws_the_same_points_on_every_machine() -> None:
    assert sample(range(56), 5, seed=0) == (2, 24, 26, 48, 54)
    assert sample(range(56), 5, seed=1) == (8, 36, 48, 51, 54)


@pytest.mark.parametrize("count", [0, -1])
def test_a_sample_has_at_least_one_point(count: int) -> None:
    with pytest.raises(InputError, match=rf"search\.samples is {count}; it must be at least 1"):
        sample([1, 2], count, 0)

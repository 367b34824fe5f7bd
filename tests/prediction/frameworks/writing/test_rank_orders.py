"""Orders of axes: groups as Megatron's generator of ranks has them, host files that permute ranks."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.prediction.frameworks.writing.ranks import (
    host_file,
    node_order,
    orders_of,
    own_order,
    slots,
    strides,
)

AXES = ("tp", "cp", "ep", "dp", "pp")
TWICE = {"tp": 2, "cp": 2, "dp": 2, "pp": 2}
FIRST, SECOND = orders_of("megatron-lm")


def orders() -> st.SearchStrategy[str]:
    return st.permutations(AXES).map("-".join)


def degrees() -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries({axis: st.integers(1, 4) for axis in AXES})


def groups(order: str, axis: str, degrees: dict[str, int]) -> list[tuple[int, ...]]:
    """The ranks that differ in one axis only, group by group, by their first rank."""
    stride, degree = strides(order, degrees)[axis], degrees.get(axis, 1)
    firsts = [rank for rank in range(math.prod(degrees.values())) if rank // stride % degree == 0]
    return [tuple(first + stride * place for place in range(degree)) for first in firsts]


@pytest.mark.parametrize(
    ("order", "axis", "first"),
    [
        (FIRST, "tp", (0, 1)),
        (FIRST, "cp", (0, 2)),
        (FIRST, "dp", (0, 4)),
        (FIRST, "pp", (0, 8)),
        (SECOND, "dp", (0, 8)),
        (SECOND, "pp", (0, 4)),
    ],
)
def test_groups_are_those_of_megatron(order: str, axis: str, first: tuple[int, int]) -> None:
    """Checked with its own generator on 16 ranks."""
    assert groups(order, axis, TWICE)[0] == first


@given(orders(), degrees())
def test_groups_have_the_stride_of_the_order(order: str, counts: dict[str, int]) -> None:
    """And each rank is in one group of each axis."""
    inner = 1
    for axis in order.split("-"):
        found = groups(order, axis, counts)
        assert sorted(rank for group in found for rank in group) == list(range(math.prod(counts.values())))
        assert strides(order, counts)[axis] == inner
        for group in found:
            assert group == tuple(range(group[0], group[0] + inner * counts[axis], inner))
        inner *= counts[axis]


@given(orders(), orders(), degrees())
def test_slots_are_a_permutation_that_brings_groups_together(
    wanted: str, own: str, counts: dict[str, int]
) -> None:
    place = slots(wanted, own, counts)
    assert sorted(place) == list(range(math.prod(counts.values())))
    for axis in AXES:
        moved = {tuple(place[rank] for rank in group) for group in groups(own, axis, counts)}
        assert moved == set(groups(wanted, axis, counts))
    assert (place == tuple(range(len(place)))) == (
        [axis for axis in wanted.split("-") if counts[axis] > 1]
        == [axis for axis in own.split("-") if counts[axis] > 1]
    )


def test_frameworks_have_orders_of_their_own() -> None:
    assert own_order("megatron-lm", SECOND, TWICE) == SECOND
    assert own_order("torchtitan", SECOND, TWICE) is None
    assert own_order("torchtitan", SECOND, {**TWICE, "pp": 1}) == FIRST
    assert own_order("megatron-bridge", "pp-tp-cp-ep-dp", TWICE) is None
    assert own_order("maxtext", "tp-cp-ep-dp-pp", TWICE) == "ep-tp-cp-dp-pp"
    assert own_order("maxtext", "tp-cp-ep-dp-pp", {"tp": 2, "ep": 2}) is None


def test_host_file_has_a_line_for_each_rank() -> None:
    """Stages innermost, for a framework that has them outermost: 4 ranks of 2 stages on 2 nodes."""
    place = slots("pp-tp-cp-ep-dp", FIRST, {"dp": 2, "pp": 2})
    assert place == (0, 2, 1, 3)
    assert host_file(place, 2) == "NODE0\nNODE1\nNODE0\nNODE1\n"
    assert host_file(place, 2, ["b", "a.example"]) == "b\na.example\nb\na.example\n"


def test_nodes_may_be_permuted_whole() -> None:
    counts = {"tp": 2, "dp": 2, "pp": 2}
    assert node_order(slots("tp-cp-ep-pp-dp", FIRST, counts), 2) == (0, 2, 1, 3)
    assert node_order(slots("tp-cp-ep-pp-dp", FIRST, counts), 4) is None
    assert node_order(slots("dp-tp-cp-ep-pp", FIRST, counts), 4) == (0, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: orders_of("megatron"), "framework is 'megatron'; did you mean 'megatron-lm'"),
        (lambda: strides("tp-cp-ep-dp", {}), "must have each of tp, cp, ep, dp, pp once"),
        (lambda: strides(FIRST, {"tp": 0}), "tp is 0; it must be at least 1"),
        (lambda: host_file((0, 1), 1, ["a"]), "hosts has 1 names; it must have 2, one a node"),
        (lambda: host_file((0,), 1, ["a b"]), "hosts has 'a b'; a name has letters"),
        (lambda: host_file((0,), 1, ["$(id)"]), "a name has letters"),
        (lambda: host_file((0,), 1, ["-a"]), "a name has letters"),
    ],
)
def test_wrong_orders_and_names_are_refused(call: object, message: str) -> None:
    with pytest.raises(InputError) as error:
        call()  # type: ignore[operator]
    assert message in str(error.value)

"""Groups and their links, against ranks enumerated one by one."""

import itertools
import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.inputs.accelerators.accelerator import Accelerator
from dse.inputs.accelerators.cluster import Cluster, Nics, Tier
from dse.inputs.accelerators.efficiency import Efficiency
from tests.references.prediction.placement import (
    Group,
    Span,
    far_rate_gbps,
    placement,
    ring_bandwidth_gbps,
    span,
)

NPU = Accelerator("npu", {"bf16": 100.0}, 80 * 10**9, 2000.0, Efficiency(1, 1, 1, 1, 1, 0))
DEGREES = st.fixed_dictionaries({axis: st.integers(1, 4) for axis in ("tp", "cp", "dp", "pp")})
ORDERS = st.permutations(["tp", "cp", "ep", "dp", "pp"]).map("-".join)


def of_units(*units: int) -> Cluster:
    return Cluster("test", NPU, tuple(Tier(f"t{i}", unit, 100.0 / 2**i, 1.0) for i, unit in enumerate(units)))


def coordinates(order: list[str], degrees: dict[str, int]) -> list[dict[str, int]]:
    """Of every rank, by counting: the first axis runs fastest."""
    counts = itertools.product(*(range(degrees[axis]) for axis in reversed(order)))
    return [dict(zip(reversed(order), count, strict=True)) for count in counts]


def groups_of(axes: set[str], order: list[str], degrees: dict[str, int]) -> set[tuple[int, ...]]:
    found: dict[tuple[int, ...], list[int]] = {}
    for rank, coordinate in enumerate(coordinates(order, degrees)):
        found.setdefault(tuple(coordinate[axis] for axis in order if axis not in axes), []).append(rank)
    return {tuple(ranks) for ranks in found.values()}


def as_set(group: Group) -> set[tuple[int, ...]]:
    return {tuple(ranks) for ranks in group.all_ranks().tolist()}


@given(ORDERS, DEGREES)
def test_dense_groups_are_those_of_ranks_counted_in_mixed_radix(order: str, degrees: dict[str, int]) -> None:
    degrees["ep"] = 1
    groups = placement(order, degrees | {"expert_tp": 1})
    names = order.split("-")
    for axis in ("tp", "cp", "dp", "pp"):
        assert as_set(groups[axis]) == groups_of({axis}, names, degrees)
        assert groups[axis].size == degrees[axis]
    assert as_set(groups["dp_cp"]) == groups_of({"dp", "cp"}, names, degrees)


@given(DEGREES, st.integers(1, 64), st.integers(1, 8))
def test_expert_groups_take_consecutive_ranks_of_a_stage(
    degrees: dict[str, int], ep: int, expert_tp: int
) -> None:
    stage = degrees["tp"] * degrees["cp"] * degrees["dp"]
    if stage % (ep * expert_tp):
        with pytest.raises(InputError, match="must divide tp x cp x dp"):
            placement("tp-cp-ep-dp-pp", {**degrees, "ep": ep, "expert_tp": expert_tp})
        return
    groups = placement("tp-cp-ep-dp-pp", {**degrees, "ep": ep, "expert_tp": expert_tp})
    order = ["tp", "ep", "dp", "pp"]
    experts = {"tp": expert_tp, "ep": ep, "dp": stage // ep // expert_tp, "pp": degrees["pp"]}
    assert as_set(groups["expert_tp"]) == groups_of({"tp"}, order, experts)
    assert as_set(groups["ep"]) == groups_of({"ep"}, order, experts)
    assert as_set(groups["expert_dp"]) == groups_of({"dp"}, order, experts)
    assert as_set(groups["pp"]) == groups_of({"pp"}, order, experts)


def test_strides_of_the_default_order() -> None:
    groups = placement("tp-cp-ep-dp-pp", {"tp": 8, "cp": 2, "dp": 16, "pp": 4, "ep": 8, "expert_tp": 1})
    assert {name: (group.size, group.stride) for name, group in groups.items()} == {
        "tp": (8, 1),
        "cp": (2, 8),
        "dp": (16, 16),
        "pp": (4, 256),
        "dp_cp": (32, 8),
        "ep": (8, 1),
        "expert_tp": (1, 1),
        "expert_dp": (32, 8),
    }
    assert all(group.ranks == 1024 for group in groups.values())


def test_experts_keep_the_tensor_degree_unless_told() -> None:
    groups = placement("tp-cp-ep-dp-pp", {"tp": 4, "dp": 8, "ep": 8})
    assert (groups["expert_tp"].size, groups["ep"].stride, groups["expert_dp"].size) == (4, 4, 1)


def test_gradients_over_two_axes_that_are_apart_come_in_runs() -> None:
    group = placement("cp-pp-dp-tp-ep", {"cp": 2, "pp": 3, "dp": 2})["dp_cp"]
    assert group == Group(4, 1, run=2, jump=6, ranks=12)
    assert as_set(group) == {(0, 1, 6, 7), (2, 3, 8, 9), (4, 5, 10, 11)}


def brute_spans(groups: list[list[int]], units: list[int]) -> list[Span]:
    """By the definitions of the fields, hop by hop."""
    found = []
    for tier, unit in enumerate(units):
        below = units[tier - 1] if tier else 1
        counts = [
            [sum(rank // unit == u for rank in ranks) for u in {r // unit for r in ranks}] for ranks in groups
        ]
        joins = [
            len({rank // below for rank in ranks if rank // unit == u})
            for ranks in groups
            for u in {r // unit for r in ranks}
        ]
        senders: dict[int, int] = {}
        for ranks in groups:
            for index, rank in enumerate(ranks):
                after = ranks[(index + 1) % len(ranks)]
                if rank // below != after // below and rank // unit == after // unit:
                    senders[rank // below] = senders.get(rank // below, 0) + 1
        found.append(
            Span(
                members=max(itertools.chain(*counts)),
                fewest=min(itertools.chain(*counts)),
                units=max(map(len, counts)),
                joins=max(joins),
                senders=max(senders.values(), default=0),
            )
        )
    return found


@given(ORDERS, DEGREES, st.lists(st.integers(1, 4), min_size=1, max_size=2))
def test_spans_are_what_enumerating_the_ranks_finds(
    order: str, degrees: dict[str, int], factors: list[int]
) -> None:
    ranks = math.prod(degrees.values())
    units = [*itertools.accumulate(factors, int.__mul__)]
    units = [unit for unit in units if unit < ranks] + [ranks]  # the last unit below may be filled in part
    for group in placement(order, degrees | {"expert_tp": 1}).values():
        assert list(span(group, of_units(*units))) == brute_spans(group.all_ranks().tolist(), units)


def test_a_group_within_a_node_uses_the_node_only() -> None:
    inside, across = span(placement("tp-cp-ep-dp-pp", {"tp": 8, "dp": 4})["tp"], of_units(8, 32))
    assert inside == Span(members=8, fewest=8, units=1, joins=8, senders=1)
    assert (across.joins, across.senders) == (1, 0)


def test_a_spanning_group_shares_the_nics_of_a_node_with_the_other_groups() -> None:
    cluster = of_units(8, 32)  # 100 GB/s inside, 50 GB/s a NIC
    groups = placement("tp-cp-ep-dp-pp", {"tp": 4, "dp": 8, "ep": 2, "expert_tp": 8})
    inside, across = span(groups["dp"], cluster)
    assert inside == Span(members=2, fewest=2, units=4, joins=2, senders=1)
    assert across == Span(members=8, fewest=8, units=1, joins=4, senders=4)
    assert ring_bandwidth_gbps(groups["tp"], cluster) == 100.0  # NVLink
    assert ring_bandwidth_gbps(groups["dp"], cluster) == 8 * 50.0 / 4  # 4 groups share 8 NICs
    assert ring_bandwidth_gbps(groups["ep"], cluster) == 50.0  # 8 groups share 8 NICs
    assert ring_bandwidth_gbps(groups["pp"], cluster) == math.inf


@pytest.mark.parametrize(
    ("degrees", "axis", "by_nics"),  # of 12.5 GB/s an NPU: with 8, 4, 2 and 1 of them
    [
        ({"dp": 32}, "dp", [None, None, None, None]),  # all NPUs of a node: two are next to each NIC
        ({"tp": 2, "dp": 16}, "dp", [None, 50.0, 50.0, 50.0]),  # 0, 2, 4, 6: no two are next to one
        ({"tp": 4, "dp": 8}, "dp", [None, 25.0, 25.0, 25.0]),  # 0 and 4
        ({"tp": 8, "dp": 4}, "dp", [None, None, 12.5, 12.5]),  # one receives and sends, if a NIC is near
        ({"tp": 4, "dp": 8}, "tp", [None, None, None, None]),
        ({"tp": 4, "cp": 2, "dp": 4}, "dp_cp", [None, 25.0, 25.0, 25.0]),
        ({"tp": 2, "pp": 2, "dp": 8}, "pp", [None, None, 12.5, 12.5]),
        ({"tp": 2, "pp": 4, "dp": 8}, "dp", [None, 50.0, 50.0, 50.0]),
        ({"tp": 3, "dp": 8}, "dp", [None, None, None, None]),  # nodes have different numbers of a group
    ],
)
def test_rings_are_far_from_nics_where_no_two_members_are_next_to_one(
    degrees: dict[str, int], axis: str, by_nics: list[float | None]
) -> None:
    group = placement("tp-cp-ep-dp-pp", degrees)[axis]
    plain = of_units(8, math.prod(degrees.values()))
    found = [replace(plain, nics=Nics(1, each, 12.5)) for each in (1, 2, 4, 8)]
    assert [far_rate_gbps(group, one) for one in found] == by_nics
    assert far_rate_gbps(group, plain) is None


def test_rings_pass_the_nics_from_their_tier_on() -> None:
    """Racks of 16 by a bus, NICs between racks: a ring within a rack is not concerned."""
    group = placement("tp-cp-ep-dp-pp", {"tp": 4, "dp": 4})["dp"]
    wide = placement("tp-cp-ep-dp-pp", {"tp": 4, "dp": 8})["dp"]
    racks = replace(of_units(8, 16, 32), nics=Nics(2, 2, 12.5))
    assert far_rate_gbps(replace(group, ranks=32), racks) is None
    assert far_rate_gbps(wide, racks) == 25.0


def test_groups_that_straddle_nodes_show_their_most_and_their_fewest() -> None:
    inside, across = span(placement("tp-cp-ep-dp-pp", {"tp": 6, "dp": 4})["tp"], of_units(8, 24))
    assert inside == Span(members=6, fewest=2, units=2, joins=6, senders=1)
    assert across == Span(members=6, fewest=6, units=1, joins=2, senders=2)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("tp-cp-ep-dp", "must have each of tp, cp, ep, dp, pp once"),
        ("tp-tp-cp-ep-dp-pp", "must have each of tp, cp, ep, dp, pp once"),
        ("tp-cp-ep-ddp-pp", "has 'ddp'; allowed are tp, cp, ep, dp, pp; did you mean 'dp'?"),
    ],
)
def test_orders_that_are_no_permutation_are_refused(order: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        placement(order, {})


def test_orders_that_part_experts_from_their_stage_are_refused() -> None:
    with pytest.raises(InputError, match="write pp last"):
        placement("tp-pp-cp-ep-dp", {"tp": 4, "pp": 2, "dp": 4, "ep": 4, "expert_tp": 1})

"""Rules in which ASTRA-sim of March 2026 differs from that of April 2025, on hand-made traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from dse.base.errors import InputError, SimulationError
from dse.inputs.systems import CustomCollectives, SystemSpec
from dse.native import _engine
from dse.simulation.simulators import NativeSimulator, Outcome, SimulatorSettings, make_simulator
from dse.simulation.simulators.settings import SimulatorSchema, simulator_settings
from dse.simulation.workloads import DEFAULT_REFERENCE, Reference, Workload, workload_of
from dse.testing.builders import (
    ALL_REDUCE,
    ALL_TO_ALL,
    BOOLS,
    Node,
    coll,
    comp,
    encode,
    recv,
    send,
    system,
)

NEW: Reference = "astra-sim-2026-03"
MIB = 1 << 20
EIGHT = "FullyConnected 8 @50/500"
HALVES = {"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]}


def _system(network: str = EIGHT, algorithms: str = "direct", **changes: Any) -> SystemSpec:
    return system(
        network, algorithms, memory_bandwidth_gbps=1600, collective_optimization="baseline", **changes
    )


def _read(
    *ranks: list[Node], groups: dict[str, list[int]] | None = None, reference: Reference = NEW
) -> Workload:
    return workload_of([encode(nodes) for nodes in ranks], groups, reference=reference)


def _run(
    *ranks: list[Node],
    on: SystemSpec,
    groups: dict[str, list[int]] | None = None,
    reference: Reference = NEW,
) -> Outcome:
    work = _read(*ranks, groups=groups, reference=reference)
    return NativeSimulator(reference=reference).simulate(work, on)


def _finished(outcome: Outcome) -> list[int | None]:
    ranks = (outcome.rank(rank) for rank in range(outcome.rank_count))
    return [metrics and metrics.finish_ns for metrics in ranks]


def _involved(node: Node, *entries: bool) -> Node:
    node["attributes"]["involved_dim"] = (BOOLS, list(entries))
    return node


def _halves(kind: int = ALL_REDUCE) -> list[list[Node]]:
    return [[coll(1, kind, MIB, group="1" if rank < 4 else "2")] for rank in range(8)]


def test_the_names_are_those_of_the_engine() -> None:
    assert tuple(_engine.reference_names()) == get_args(Reference)
    assert _engine.reference_names()[0] == DEFAULT_REFERENCE


@pytest.mark.parametrize(("algorithms", "old", "new"), [("direct", 33_829, 11_772), ("ring", 33_829, 33_829)])
def test_a_group_runs_the_one_algorithm_of_its_list(algorithms: str, old: int, new: int) -> None:
    on = _system(algorithms=algorithms)
    assert _finished(_run(*_halves(), on=on, groups=HALVES, reference=DEFAULT_REFERENCE)) == [old] * 8
    assert _finished(_run(*_halves(), on=on, groups=HALVES)) == [new] * 8


def test_a_list_of_two_algorithms_is_a_ring_in_groups() -> None:
    two = _run(*_halves(), on=_system("Ring 4 @50/500,Ring 2 @50/500", "direct direct"), groups=HALVES)
    one = _run(*_halves(), on=_system("Ring 4 @50/500,Ring 2 @50/500", "direct"), groups=HALVES)
    assert _finished(two) == [33_829] * 8
    assert _finished(one) == [12_772] * 8


@pytest.mark.parametrize(
    ("algorithms", "kind", "problem"),
    [
        ("doubleBinaryTree", ALL_REDUCE, "doubleBinaryTree in a group crashes astra-sim-2026-03"),
        ("halvingDoubling", ALL_TO_ALL, "halvingDoubling has no all-to-all"),
    ],
)
def test_what_no_group_can_run_is_an_error(algorithms: str, kind: int, problem: str) -> None:
    with pytest.raises(SimulationError, match=problem):
        _run(*_halves(kind), on=_system(algorithms=algorithms), groups=HALVES)


def test_groups_number_their_streams_apart() -> None:
    """In 2025 the first all-reduce of each group meets the other one: same pair, same size."""
    both = {"1": [0, 1], "2": [1, 0]}
    ranks = [
        [
            comp(1, micros=1),
            coll(2, ALL_REDUCE, MIB, group=first, after=[1]),
            coll(3, ALL_REDUCE, MIB, group=second, after=[2]),
        ]
        for first, second in (("1", "2"), ("2", "1"))
    ]
    on = _system("FullyConnected 3 @50/500", "ring", roofline_enabled=False)
    programs = [*ranks, [comp(1, micros=1)]]
    assert _run(*programs, on=on, groups=both, reference=DEFAULT_REFERENCE).status == "ok"
    assert _run(*programs, on=on, groups=both).status == "deadlock"


def test_a_collective_of_all_ranks_is_numbered_by_all_streams_of_its_rank() -> None:
    everyone = coll(2, ALL_REDUCE, MIB, after=[1])
    ranks = [
        [*nodes, everyone] if rank < 4 else [coll(2, ALL_REDUCE, MIB)] for rank, nodes in enumerate(_halves())
    ]
    on = _system("Ring 4 @50/500,Ring 2 @50/500", "ring ring")
    assert _run(*ranks, on=on, groups=HALVES, reference=DEFAULT_REFERENCE).status == "ok"
    assert _run(*ranks, on=on, groups=HALVES).status == "deadlock"


@pytest.mark.parametrize("name", [None, "", "0"])
def test_three_names_mean_all_ranks(name: str | None) -> None:
    assert _finished(_run(*[[coll(1, ALL_REDUCE, MIB, group=name)]] * 8, on=_system())) == [6_155] * 8


@pytest.mark.parametrize("name", ["0", "-1", "tp", "1.0", " 1", "2147483648"])
def test_a_name_of_a_group_that_is_no_number_is_refused_even_if_unused(name: str) -> None:
    ranks = [[comp(1)]] * 8
    with pytest.raises(
        InputError, match=f"group '{name}': names of groups must be integers from 1 to 2147483647"
    ):
        _run(*ranks, on=_system(), groups={name: [0, 1]})
    assert _run(*ranks, on=_system(), groups={name: [0, 1]}, reference=DEFAULT_REFERENCE).status == "ok"


def test_dimensions_have_another_attribute_that_a_group_outweighs() -> None:
    on = _system("Ring 4 @50/500,Ring 2 @50/500", "ring ring")
    rows = {"1": [0, 1, 2, 3, 4, 5, 6, 7]}
    old = [coll(1, ALL_REDUCE, MIB, dims=[True, False])]
    new = [_involved(coll(1, ALL_REDUCE, MIB), True, False)]
    grouped = [_involved(coll(1, ALL_REDUCE, MIB, group="1"), True, False)]
    assert _finished(_run(*[old] * 8, on=on)) == [55_370] * 8
    assert _finished(_run(*[new] * 8, on=on)) == [33_829] * 8
    assert _finished(_run(*[new] * 8, on=on, reference=DEFAULT_REFERENCE)) == [55_370] * 8
    assert _finished(_run(*[grouped] * 8, on=on, groups=rows)) == [55_370] * 8


def test_traces_that_the_two_read_differently_are_not_simulated_as_the_other() -> None:
    work = _read(*[[_involved(coll(1, ALL_REDUCE, MIB), True)]] * 8, reference=DEFAULT_REFERENCE)
    with pytest.raises(InputError, match="the traces were read as astra-sim-2025-04 reads them"):
        NativeSimulator(reference=NEW).simulate(work, _system())
    alike = _read(*_halves(), groups=HALVES, reference=DEFAULT_REFERENCE)
    assert _finished(NativeSimulator(reference=NEW).simulate(alike, _system())) == [11_772] * 8


def test_five_dimensions_need_a_group() -> None:
    on = _system(",".join(["Ring 2 @50/500"] * 5), " ".join(["ring"] * 5))
    with pytest.raises(InputError, match="the network has 5 dimensions; astra-sim-2026-03 knows 4 then"):
        _run(*[[coll(1, ALL_REDUCE, MIB)]] * 32, on=on)
    everyone = {"7": list(range(32))}
    assert (
        _finished(_run(*[[coll(1, ALL_REDUCE, MIB, group="7")]] * 32, on=on, groups=everyone))
        == [107_705] * 32
    )


@pytest.mark.parametrize(("reference", "peak"), [(DEFAULT_REFERENCE, 10), (NEW, 710)])
def test_tensors_without_bytes_are_not_mentioned(reference: Reference, peak: int) -> None:
    nodes = [comp(1, writes={"a": 0}), comp(2, after=[1], reads={"a": 700}, writes={"b": 10})]
    on = _system(track_local_memory=True)
    work = _read(*[nodes] * 8, reference=reference)
    simulator = NativeSimulator(reference=reference)
    metrics = simulator.simulate(work, on).rank(0)
    assert metrics is not None
    assert metrics.peak_memory_bytes == peak
    tensors = {tensor.name: tensor for tensor in simulator.record(work, on).ranks[0].tensors}
    assert tensors["a"].is_external is (reference == NEW)


def _custom(folder: Path, *places: list[Node], **fields: Any) -> SystemSpec:
    """A system whose all-reduces are the traces of places."""
    for place, nodes in enumerate(places):
        (folder / f"mine.{place}.et").write_bytes(encode(nodes))
    custom = CustomCollectives(str(folder), **{"prefixes": (("all_reduce", "mine"),), **fields})
    return _system("FullyConnected 4 @50/500", "ring", custom_collectives=custom)


def _ping() -> list[list[Node]]:
    """The first place computes 7 us and sends 1 MiB; the second one answers with 1 KiB."""
    return [
        [comp(1, micros=7), send(2, to=1, size=MIB, after=[1]), recv(3, source=1, size=1024, tag=3)],
        [recv(1, source=0, size=MIB), send(2, to=0, size=1024, tag=3, after=[1])],
    ]


WIRE = 500 + int(MIB / (50 * 2**30 / 1e9))
ANSWER = 500 + int(1024 / (50 * 2**30 / 1e9))


def test_traces_define_a_collective_in_every_group(tmp_path: Path) -> None:
    on = _custom(tmp_path, *_ping())
    ranks = [[coll(5, ALL_REDUCE, 1, group=name)] for name in ("1", "1", "9", "9")]
    done = 7_000 + WIRE + ANSWER
    assert _finished(_run(*ranks, on=on, groups={"1": [0, 1], "9": [2, 3]})) == [done] * 4


def test_a_node_chooses_before_its_type_and_a_group_keeps_the_choice(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text("6: mine\n")
    on = _custom(tmp_path, *_ping(), prefixes=(), of_nodes="nodes.yaml")
    ring = _finished(
        _run(*[[coll(5, ALL_REDUCE, MIB, group="1")]] * 2, [comp(1)], [comp(1)], on=on, groups={"1": [0, 1]})
    )[0]
    custom = 7_000 + WIRE + ANSWER
    groups = {"1": [0, 1], "2": [2, 3]}

    def ends(first: int, second: int) -> int | None:
        nodes = {
            name: [
                coll(first, ALL_REDUCE, MIB, group=name),
                coll(second, ALL_REDUCE, MIB, group=name, after=[first]),
            ]
            for name in groups
        }
        return _finished(_run(nodes["1"], nodes["1"], nodes["2"], nodes["2"], on=on, groups=groups))[0]

    assert ring is not None
    assert ends(5, 6) == 2 * ring
    assert ends(6, 7) == 2 * custom


def test_a_collective_whose_traces_wait_for_ever_is_named(tmp_path: Path) -> None:
    on = _custom(tmp_path, [recv(1, source=1, size=8)], [comp(1, micros=1)])
    ranks = [[coll(5, ALL_REDUCE, 1, group="1")], [coll(5, ALL_REDUCE, 1, group="1")], [comp(1)], [comp(1)]]
    outcome = _run(*ranks, on=on, groups={"1": [0, 1]})
    assert [(node.rank, node.node_id, node.peers) for node in outcome.blocked] == [(0, 5, (1,))]


@pytest.mark.parametrize(
    ("members", "places", "problem"),
    [
        (
            [1, 0],
            _ping(),
            "group '1' runs the custom collective mine, which needs its ranks in ascending order",
        ),
        ([0, 1], _ping()[:1], r"mine.1.et"),
        ([0, 1], [[send(1, to=2, size=8)], [comp(1)]], "comm_dst is 2; it must be another rank below 2"),
        ([0, 1], [[coll(1, ALL_REDUCE, 8)], [comp(1)]], "has sends, receives and compute nodes only"),
    ],
)
def test_traces_that_are_no_collective_are_refused(
    members: list[int], places: list[list[Node]], problem: str, tmp_path: Path
) -> None:
    on = _custom(tmp_path, *places)
    ranks = [[coll(5, ALL_REDUCE, 1, group="1")]] * 2
    with pytest.raises(InputError, match=problem):
        _run(*ranks, [comp(1)], [comp(1)], on=on, groups={"1": members})


def test_custom_collectives_are_not_those_of_2025(tmp_path: Path) -> None:
    on = _custom(tmp_path, *_ping())
    with pytest.raises(InputError, match="custom collectives, which astra-sim-2025-04 ignores: write"):
        _run(*[[comp(1)]] * 4, on=on, reference=DEFAULT_REFERENCE)


def test_the_reference_is_a_setting_of_the_native_engine_alone() -> None:
    settings = simulator_settings(SimulatorSchema(name="native", engine="auto", reference=NEW))
    assert settings == SimulatorSettings("native", "auto", NEW)
    assert make_simulator(settings).identity() == {"name": "native", "reference": NEW}
    assert NativeSimulator().identity() == {"name": "native"}
    with pytest.raises(
        InputError, match=r"simulator.reference is 'astra-sim-2024'; allowed are astra-sim-2025-04"
    ):
        simulator_settings(SimulatorSchema(name="native", engine="auto", reference="astra-sim-2024"))
    with pytest.raises(InputError, match=r"simulator.reference"):
        simulator_settings(SimulatorSchema(name="astrasim", binary="x", timeout_s=1.0, reference=NEW))

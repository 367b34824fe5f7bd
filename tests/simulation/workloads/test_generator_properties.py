"""What holds for the traces of every strategy and every model."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter, defaultdict

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.simulation.workloads import GeneratedWorkload, generate
from dse.testing.builders import COLL, COMP, RECV, SEND, Node, attribute, parse

PROPERTY = settings(
    max_examples=40, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
MOST_RANKS = 18
AXES = ("dp", "tp", "sp")
ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER = 0, 2, 7


@st.composite
def models(draw: st.DrawFn, *, dividing: bool) -> ModelSpec:
    """Models with 2 to 4 layers; `dividing`: degrees from 1 to 3 (and products of two) divide every size."""

    def size(unit: int) -> int:
        return unit * draw(st.integers(1, 3)) if dividing else draw(st.integers(1, 5000))

    heads = size(6)
    d_model = heads * size(6) if dividing else draw(st.integers(1, 5000))
    return ModelSpec(
        "small",
        input_dim=size(36),
        output_dim=size(36),
        d_model=d_model,
        d_ff=size(6),
        num_heads=heads,
        seq_len=size(6),
        batch_size=size(6),
        num_layers=draw(st.integers(2, 4)),
    )


@st.composite
def cases(draw: st.DrawFn, *, dividing: bool = False) -> tuple[ModelSpec, Strategy]:
    model = draw(models(dividing=dividing))
    degree = st.integers(1, 3)
    strategy = Strategy(
        dp=draw(degree),
        tp=draw(degree),
        sp=draw(degree),
        pp=draw(st.integers(1, 5)),
        weight_sharded=draw(st.booleans()),
        activation_recompute=draw(st.booleans()),
    )
    assume(strategy.npus <= MOST_RANKS and strategy.pp <= model.num_layers + 2)
    return model, strategy


def _lanes(strategy: Strategy) -> int:
    return strategy.dp * strategy.tp * strategy.sp


def _messages(ranks: list[list[Node]], kind: int, peer: str) -> Counter[tuple[int, int, int, int]]:
    """(tag, bytes, this rank, other rank) of every send or receive."""
    return Counter(
        (attribute(node, "comm_tag"), attribute(node, "comm_size"), rank, attribute(node, peer))
        for rank, nodes in enumerate(ranks)
        for node in nodes
        if node["type"] == kind
    )


@PROPERTY
@given(cases())
def test_ids_are_unique_over_all_ranks(case: tuple[ModelSpec, Strategy]) -> None:
    ids = [node["id"] for nodes in parse(generate(*case)) for node in nodes]
    assert len(set(ids)) == len(ids)
    assert min(ids) >= 1


@PROPERTY
@given(cases())
def test_dependencies_stay_in_the_file_and_have_no_cycle(case: tuple[ModelSpec, Strategy]) -> None:
    for nodes in parse(generate(*case)):
        waits = {node["id"]: {*node["data_deps"], *node["ctrl_deps"]} for node in nodes}
        assert set().union(*waits.values()) <= waits.keys()
        done: set[int] = set()
        while len(done) < len(waits):
            runnable = {node for node, deps in waits.items() if node not in done and deps <= done}
            assert runnable, f"a cycle among {sorted(waits.keys() - done)}"
            done |= runnable


@PROPERTY
@given(cases())
def test_every_send_has_one_receive_at_the_same_place_of_another_stage(
    case: tuple[ModelSpec, Strategy],
) -> None:
    model, strategy = case
    ranks = parse(generate(model, strategy))
    sends = _messages(ranks, SEND, "comm_dst")
    receives = _messages(ranks, RECV, "comm_src")
    assert sends == Counter({(tag, size, to, at): n for (tag, size, at, to), n in receives.items()})
    assert len({tag for tag, *_ in sends}) == sends.total()
    lanes = _lanes(strategy)
    assert all(at != to and at % lanes == to % lanes for _, _, at, to in sends)
    crossings = 2 * (model.num_layers + 1) if strategy.pp > 1 else 0
    assert sends.total() == crossings * lanes


@PROPERTY
@given(cases())
def test_collectives_run_on_the_rank_s_group_of_an_active_axis(case: tuple[ModelSpec, Strategy]) -> None:
    _, strategy = case
    work = generate(*case)
    groups = {int(name): members for name, members in json.loads(work.groups_json()).items()}
    counts = {axis: strategy.npus // getattr(strategy, axis) for axis in AXES}
    assert list(groups) == list(range(1, sum(counts.values()) + 1))
    assert work.communicator_group_count == len(groups)
    first_tp = counts["dp"] + 1
    first_sp = first_tp + counts["tp"]
    stride = {"dp": 1, "tp": strategy.dp, "sp": strategy.dp * strategy.tp}
    allowed = {
        "dp": {REDUCE_SCATTER, ALL_GATHER} if strategy.weight_sharded else {ALL_REDUCE},
        "tp": {ALL_GATHER, REDUCE_SCATTER},
        "sp": {ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE},
    }
    for rank, nodes in enumerate(parse(work)):
        for node in nodes:
            if node["type"] != COLL:
                continue
            number = int(attribute(node, "pg_name"))
            axis = "dp" if number < first_tp else "tp" if number < first_sp else "sp"
            degree = getattr(strategy, axis)
            place = rank // stride[axis] % degree
            start = rank - place * stride[axis]
            assert degree > 1
            assert groups[number] == [start + i * stride[axis] for i in range(degree)]
            assert attribute(node, "comm_type") in allowed[axis]


@PROPERTY
@given(cases())
def test_every_rank_is_in_one_group_an_axis(case: tuple[ModelSpec, Strategy]) -> None:
    _, strategy = case
    members = [rank for group in json.loads(generate(*case).groups_json()).values() for rank in group]
    assert Counter(members) == Counter(dict.fromkeys(range(strategy.npus), 3))


def _operations(work: GeneratedWorkload) -> dict[str, int]:
    """Operations of every compute node, summed over all ranks."""
    total: dict[str, int] = defaultdict(int)
    for nodes in parse(work):
        for node in nodes:
            if node["type"] == COMP:
                total[node["name"]] += attribute(node, "num_ops")
    return dict(total)


@PROPERTY
@given(cases(dividing=True))
def test_ranks_share_the_operations_of_one_npu_and_only_repeat_unsharded_updates(
    case: tuple[ModelSpec, Strategy],
) -> None:
    # Every operator of section 4 is sharded by dp, tp and sp exactly once (d*h is Dmodel/tp), so its sum over
    # the ranks is what one NPU does. An update works on the stored weight, which without weight sharding
    # every rank along dp and sp repeats.
    model, strategy = case
    repeated = 1 if strategy.weight_sharded else strategy.dp * strategy.sp
    alone = Strategy(activation_recompute=strategy.activation_recompute)
    expected = {
        name: count * (repeated if name.endswith("@1_COMP") else 1)
        for name, count in _operations(generate(model, alone)).items()
    }
    work = generate(model, strategy)
    assert not work.is_fractional
    assert _operations(work) == expected


def _shapes(work: GeneratedWorkload) -> Counter[tuple[object, ...]]:
    return Counter(
        (rank, node["name"], *(node["attributes"].get(key) for key in ("num_ops", "comm_type", "comm_size")))
        for rank, nodes in enumerate(parse(work))
        for node in nodes
    )


@PROPERTY
@given(cases())
def test_recompute_only_adds_nodes_of_recomputed_operators(case: tuple[ModelSpec, Strategy]) -> None:
    model, strategy = case
    without = _shapes(generate(model, dataclasses.replace(strategy, activation_recompute=False)))
    with_it = _shapes(generate(model, dataclasses.replace(strategy, activation_recompute=True)))
    assert not without - with_it
    added = with_it - without
    assert all("_recomp@0_" in str(name) for _, name, *_ in added)
    compute = Counter(str(name) for _, name, *_ in added if str(name).endswith("_COMP"))
    assert compute.total() == 5 * model.num_layers * _lanes(strategy)


@PROPERTY
@given(cases())
def test_ranks_of_a_stage_differ_only_in_ids_groups_peers_and_tags(case: tuple[ModelSpec, Strategy]) -> None:
    _, strategy = case
    ranks = parse(generate(*case))
    own = ("pg_name", "comm_tag", "comm_src", "comm_dst")
    plain = []
    for nodes in ranks:
        place = {node["id"]: i for i, node in enumerate(nodes)}
        plain.append(
            [
                (
                    node["name"],
                    [place[dep] for dep in node["data_deps"]],
                    [place[dep] for dep in node["ctrl_deps"]],
                    {key: value for key, value in node["attributes"].items() if key not in own},
                )
                for node in nodes
            ]
        )
    lanes = _lanes(strategy)
    assert all(plain[rank] == plain[rank - rank % lanes] for rank in range(len(plain)))


@PROPERTY
@given(cases())
def test_trace_counts_are_those_of_the_written_files(case: tuple[ModelSpec, Strategy]) -> None:
    work = generate(*case)
    for rank, nodes in enumerate(parse(work)):

        def total(name: str, nodes: list[Node] = nodes) -> int:
            return sum(attribute(node, name) for node in nodes if name in node["attributes"])

        kinds = Counter(node["type"] for node in nodes)
        assert dataclasses.asdict(work.counts(rank)) == {
            "nodes": len(nodes),
            "comp": kinds[COMP],
            "coll": kinds[COLL],
            "send": kinds[SEND],
            "recv": kinds[RECV],
            "num_ops": total("num_ops"),
            "tensor_size": total("tensor_size"),
            "comm_bytes": total("comm_size"),
            "data_deps": sum(len(node["data_deps"]) for node in nodes),
            "ctrl_deps": sum(len(node["ctrl_deps"]) for node in nodes),
        }


@PROPERTY
@given(cases())
def test_traces_in_memory_are_one_a_stage_whatever_the_number_of_ranks(
    case: tuple[ModelSpec, Strategy],
) -> None:
    work = generate(*case)
    assert work.rank_count == case[1].npus
    assert work.native.trace_count <= case[1].pp

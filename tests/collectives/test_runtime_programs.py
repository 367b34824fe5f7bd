"""Schedules become programs of MSCCL and MSCCL++ that are fused, joined, replicated, and right."""

from __future__ import annotations

import json
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import link_graphs
import numpy as np
import pytest
from link_graphs import star
from ring_schedules import (
    direct_all_to_all,
    fully_connected,
    problem,
    ring_all_gather,
    ring_all_reduce,
    ring_all_to_all,
    ring_broadcast,
)
from schedules import MIB, all_gather, all_reduce_of, greedy, on_switch, random_graph, torus

from dse.base.errors import InputError
from dse.collectives import Collective, Problem, Schedule
from dse.collectives.check.checker import check
from dse.collectives.files.messages import messages_of
from dse.collectives.files.msccl import MscclOptions, schedule_msccl
from dse.collectives.files.mscclpp import can_be_in_place, schedule_plan
from dse.collectives.files.mscclpp_workers import PlanOptions
from dse.collectives.interpret.msccl import interpret_msccl
from dse.collectives.interpret.mscclpp import interpret_plan
from dse.collectives.problem.collective import Part
from dse.collectives.question import question_of, synthesized
from dse.collectives.search.settings import effort_of, synthesizer_of
from dse.collectives.search.synthesis import synthesize
from dse.inputs.networks import LinkGraph

GOLDEN = Path(__file__).parents[1] / "golden" / "topologies"
RUNTIMES = ("msccl-executor", "rccl", "msccl")
CALLED = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast", "reduce")


def made(topology: str, collective: str, per_npu: int = 1) -> Schedule:
    asked = {"topology": topology, "collective": collective, "chunks_per_npu": str(per_npu), "trials": "1"}
    return synthesized(question_of(asked, None)).schedule


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("per_npu", [1, 3])
@pytest.mark.parametrize("collective", [*CALLED, "gather", "scatter"])
def test_every_collective_runs_on_every_runtime(collective: str, per_npu: int, runtime: str) -> None:
    schedule = made("torus__dim=[2,3]__alpha=500__beta=50", collective, per_npu)
    text = schedule_msccl(schedule, "torus", MscclOptions(runtime))
    found = interpret_msccl(text, limits=runtime)
    assert found.problems == ()
    assert found.coll == collective.replace("_to_", "to").replace("_", "")


@pytest.mark.parametrize("is_in_place", [False, True])
@pytest.mark.parametrize("options", [PlanOptions(), PlanOptions(3), PlanOptions(protocol="LL")])
@pytest.mark.parametrize("collective", CALLED)
def test_every_collective_is_a_plan(collective: str, options: PlanOptions, is_in_place: bool) -> None:
    schedule = made("torus__dim=[2,3]__alpha=500__beta=50", collective, 2)
    if is_in_place and not can_be_in_place(schedule.problem.collective):
        assert collective == "all_to_all"
        return
    text = schedule_plan(schedule, "torus", options, is_in_place=is_in_place)
    assert interpret_plan(text).problems == ()
    plan = json.loads(text)
    kinds = {channel["channel_type"] for gpu in plan["gpus"] for channel in gpu["channels"]}
    assert kinds == ({"memory", "port"} if options.npus_per_node else {"memory"})
    names = set(re.findall(r'"name":"([a-z_]+)"', text))
    assert {"ppkt"} <= names if options.protocol == "LL" else {"signal", "wait", "rlxsignal"} <= names


def test_a_ring_is_one_block_a_gpu_that_passes_on_what_it_gets() -> None:
    text = schedule_msccl(ring_all_reduce(4), "ring")
    assert text.count("<tb ") == 4
    kinds = re.findall(r'<tb id="0" send="3".*?</tb>', text, re.DOTALL)[0]
    assert re.findall(r'type="(\w+)"', kinds) == ["s", "rrcs", "rrcs", "rrcs", "rcs", "rcs", "r"]


def test_sums_that_are_only_passed_on_are_not_stored() -> None:
    reduce = made("ring__dim=[5]__alpha=500__beta=50", "reduce")
    assert 'type="rrs"' in schedule_msccl(reduce, "reduce")


def test_chunks_side_by_side_are_one_message_where_nothing_waits() -> None:
    text = schedule_msccl(direct_all_to_all(3, 4), "direct")
    assert set(re.findall(r'type="s".*cnt="(\d+)"', text)) == {"4"}
    passed_on = schedule_msccl(ring_broadcast(4, 3), "broadcast")
    assert set(re.findall(r'type="(?:s|rcs|r)".*cnt="(\d+)"', passed_on)) == {"1"}


def test_instances_work_on_parts_of_all_chunks_in_channels_of_their_own() -> None:
    one = schedule_msccl(ring_all_gather(4), "ring")
    four = schedule_msccl(ring_all_gather(4), "ring", MscclOptions(instances=4))
    assert 'nchannels="1" nchunksperloop="4"' in one
    assert 'nchannels="4" nchunksperloop="16"' in four
    assert four.count("<tb ") == 4 * one.count("<tb ")


def test_many_sends_of_a_link_are_several_channels() -> None:
    schedule = ring_all_reduce(4, 30)
    text = schedule_msccl(schedule, "long")
    steps = [block.count("<step") for block in text.split("<tb ")[1:]]
    assert max(steps) <= 64 < sum(steps) / 4
    assert schedule_msccl(schedule, "long", MscclOptions("msccl")).count("<tb ") < text.count("<tb ")


@pytest.mark.parametrize("seed", range(12))
def test_random_networks(seed: int) -> None:
    base = greedy(all_gather(random_graph(6, 8, seed), 1 + seed % 3), seed)
    for schedule in (base,):
        assert interpret_msccl(schedule_msccl(schedule, "random")).problems == ()
        assert interpret_plan(schedule_plan(schedule, "random", PlanOptions())).problems == ()
    sums = all_reduce_of(greedy(all_gather(torus(3, 2 + seed % 3)), seed))
    assert interpret_msccl(schedule_msccl(sums, "sums")).problems == ()
    assert interpret_plan(schedule_plan(sums, "sums", PlanOptions())).problems == ()


@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_to_all", "broadcast"])
def test_messages_over_a_switch_come_from_the_npu_that_sent_them(collective: str) -> None:
    graph = star(4)
    asked = Problem(graph, Collective(collective, 4), Fraction(1 << 20))
    schedule = synthesize(asked, synthesizer_of({}), effort_of({"trials": "1"})).schedule
    messages = messages_of(schedule)
    assert {message.source for message in messages} | {message.target for message in messages} <= set(
        range(4)
    )
    assert interpret_msccl(schedule_msccl(schedule, "star")).problems == ()
    assert interpret_plan(schedule_plan(schedule, "star", PlanOptions())).problems == ()


def test_a_switch_that_adds_is_replaced_by_all_that_it_adds() -> None:
    graph = star(3)
    link, chunk, start, adds = [], [], [], []
    into, out = ([graph.number_of[ends] for ends in row] for row in (
        [(n, 3) for n in range(3)], [(3, n) for n in range(3)]))  # fmt: skip
    hop = int(Problem(graph, Collective("all_reduce", 3), Fraction(1 << 20)).arrival_ps[0])
    for turn in range(3):
        for npu in range(3):
            link += [into[npu], out[npu]]
            chunk += [turn, turn]
            start += [turn * hop, (turn + 1) * hop]
            adds += [True, False]
    asked = Problem(graph, Collective("all_reduce", 3), Fraction(1 << 20))
    columns = (np.array(link, np.int32), np.array(chunk, np.int32), np.array(start, np.int64))
    schedule = Schedule.of(asked, *columns, np.array(adds))
    assert len(messages_of(schedule)) == 18
    assert interpret_msccl(schedule_msccl(schedule, "star")).problems == ()
    assert interpret_plan(schedule_plan(schedule, "star", PlanOptions())).problems == ()


def test_refusals_say_why() -> None:
    own = Collective("custom", 3, preconditions=((0, 0),), postconditions=((1, 0),))
    empty = (np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64))
    custom = Schedule.of(Problem(fully_connected(3), own, Fraction(8)), *empty)
    with pytest.raises(InputError, match="MSCCL has no collective like custom"):
        schedule_msccl(custom, "own")
    some = Collective("custom", 3, parts=(Part("all_reduce", (0, 1), 1, 0),))
    with pytest.raises(InputError, match="has collectives of all NPUs, not of groups: leave"):
        schedule_plan(
            Schedule.of(Problem(fully_connected(3), some, Fraction(8)), *empty), "own", PlanOptions()
        )
    with pytest.raises(InputError, match="checked: take fewer chunks_per_npu, leave protocol out, or"):
        schedule_plan(on_switch(32, "all_reduce", 4), "wide", PlanOptions(protocol="LL"))
    with pytest.raises(InputError, match="nothing calls gather"):
        schedule_plan(Schedule.of(problem(fully_connected(3), "gather"), *empty), "own", PlanOptions())
    with pytest.raises(InputError, match="blocks; rccl takes 64"):
        schedule_msccl(direct_all_to_all(12), "wide", MscclOptions("rccl", instances=4))
    with pytest.raises(InputError, match="nchannels is"):
        schedule_msccl(ring_all_gather(4), "wide", MscclOptions(instances=33))


def test_queues_of_several_blocks_pass_on_too() -> None:
    sums = all_reduce_of(greedy(all_gather(torus(2, 3), 20)))
    text = schedule_msccl(sums, "sums")
    assert max(int(channel) for channel in re.findall(r'chan="(\d+)"', text)) > 0
    assert 'type="rcs"' in text


def operations_of(text: str) -> Counter[str]:
    """How often a plan has each operation."""
    return Counter(re.findall(r'"name":"([a-z_]+)"', text.split('"gpus"')[1]))


@pytest.mark.parametrize(("is_in_place", "places"), [(False, "io"), (True, "ii")])
def test_a_switch_that_adds_and_copies_is_an_operation_of_the_owner_of_each_chunk(
    is_in_place: bool, places: str
) -> None:
    text = schedule_plan(on_switch(8, "all_reduce"), "star", PlanOptions(), is_in_place=is_in_place)
    found = operations_of(text)
    assert (found["glres"], found["put"], found["re"], sum(found.values())) == (8, 0, 0, 64)
    (first,) = (
        op
        for block in json.loads(text)["gpus"][3]["threadblocks"]
        for op in block["ops"]
        if op["name"] == "glres"
    )
    assert first["src_buff"][0]["index"] == first["dst_buff"][0]["index"] == 3
    switches = [each for each in json.loads(text)["gpus"][0]["channels"] if each["channel_type"] == "switch"]
    assert {each["buffer_type"] for each in switches} == set(places)
    assert switches[0]["rank_groups"] == [{"size": 8, "ranks": list(range(8))}]


@pytest.mark.parametrize("protocol", ["Simple", "LL"])
def test_an_all_gather_past_a_switch_that_copies_is_one_store_a_gpu(protocol: str) -> None:
    text = schedule_plan(on_switch(8, "all_gather", 3), "star", PlanOptions(protocol=protocol))
    found = operations_of(text)
    assert found["gstore" if protocol == "Simple" else "gstorepkt"] == 8
    assert found["put"] == found["ppkt"] == 0
    assert found["copy"] == (0 if protocol == "Simple" else 8)  # packets bring the owner nothing


def test_a_switch_of_several_nodes_has_direct_messages() -> None:
    found = operations_of(schedule_plan(on_switch(4, "all_reduce"), "star", PlanOptions(npus_per_node=2)))
    assert found["glres"] == found["gstore"] == 0 < found["put"] < found["put"] + found["pws"]


@pytest.mark.parametrize("collective", ["all_reduce", "all_gather", "broadcast"])
@pytest.mark.parametrize("npus", [17, 18, 40])
def test_blocks_of_a_large_group_share_its_channels(collective: str, npus: int) -> None:
    for is_in_place in (False, True):
        text = schedule_plan(on_switch(npus, collective), "star", PlanOptions(), is_in_place=is_in_place)
        found = operations_of(text)
        assert found["glres"] + found["gstore"] == (1 if collective == "broadcast" else npus)
        assert found["put"] == 0
        blocks = max(len(gpu["threadblocks"]) for gpu in json.loads(text)["gpus"])
        assert blocks <= 2 * -(-npus // 16)


@pytest.mark.parametrize("per_npu", [1, 3])
@pytest.mark.parametrize("collective", ["all_reduce", "all_gather", "broadcast"])
def test_sums_in_nodes_go_on_between_nodes(collective: str, per_npu: int) -> None:
    links = [ends for n in range(8) for ends in ((n, 8 + n // 4, 500, 50), (8 + n // 4, n, 500, 50))]
    links += [ends for n in range(4) for ends in ((n, n + 4, 500, 25), (n + 4, n, 500, 25))]
    asked = Problem(LinkGraph.of(8, 10, links), Collective(collective, 8, chunks_per_npu=per_npu), MIB)
    schedule = synthesize(asked, synthesizer_of({}), effort_of({"trials": "1"})).schedule
    for is_in_place in (False, True):
        for options in (PlanOptions(), PlanOptions(npus_per_node=4), PlanOptions(protocol="LL")):
            text = schedule_plan(schedule, "nodes", options, is_in_place=is_in_place)
            assert operations_of(text)["gstorepkt" if options.protocol == "LL" else "gstore"] > 0
            assert interpret_plan(text, npus_per_node=options.npus_per_node).problems == ()


def test_a_message_into_a_place_that_is_still_read_waits_for_its_receiver() -> None:
    """A GPU whose input another message still carries away gets a sum that did not come of that message."""
    graph = link_graphs.random_graph(63, 7, 3)
    asked = Problem(graph, Collective("all_reduce", graph.npus, chunks_per_npu=2), MIB)
    schedule = synthesize(asked, synthesizer_of({}), effort_of({"trials": "1"})).schedule
    for is_in_place in (False, True):
        text = schedule_plan(schedule, "mixed", PlanOptions(), is_in_place=is_in_place)
        assert interpret_plan(text).problems == ()


@pytest.mark.parametrize("is_in_place", [False, True])
def test_a_copy_into_a_place_that_is_still_read_waits_for_that_member(is_in_place: bool) -> None:
    """NPU 3 is not round the switch. The sum of NPU 1 does not say that others have sent NPU 3 theirs."""
    pairs = [*((n, 4) for n in range(3)), *((n, 3) for n in range(3)), (0, 1), (2, 1)]
    graph = LinkGraph.of(4, 5, [ends for u, v in pairs for ends in ((u, v, 500, 50), (v, u, 500, 50))])
    asked = Problem(graph, Collective("all_reduce", 4), MIB)
    hop = int(asked.arrival_ps[0])
    turns = [((0, 3), 0, True), ((1, 3), 0, True), ((2, 3), 0, True), ((0, 1), 0, True), ((2, 1), 0, True),
             ((3, 1), 0, True), ((1, 4), 1, False), ((4, 0), 2, False), ((4, 2), 2, False)]  # fmt: skip
    rows = [
        (graph.number_of[ends], chunk, (3 * chunk + turn) * hop, adds)
        for chunk in range(4)
        for ends, turn, adds in turns
    ]
    link, chunk, start, adds = (np.array(column) for column in zip(*rows, strict=True))
    schedule = Schedule.of(asked, link.astype(np.int32), chunk.astype(np.int32), start, adds)
    assert check(schedule).violations == ()
    found = operations_of(schedule_plan(schedule, "star", PlanOptions(), is_in_place=is_in_place))
    assert (found["gstore"], found["put"]) == (4, 24)


def test_a_block_passes_packets_on_without_another_one() -> None:
    options = PlanOptions(protocol="LL")
    assert operations_of(schedule_plan(ring_all_gather(5), "ring", options)) == {
        "ppkt": 5, "upkt": 20, "rppkt": 15, "copy": 5
    }  # fmt: skip
    relayed = operations_of(schedule_plan(ring_all_to_all(4), "ring", options))
    assert (relayed["upkt"], relayed["sem_acquire"]) == (12, 0)  # what only passes through is not unpacked
    assert relayed["rppkt"] > 0
    assert operations_of(schedule_plan(ring_all_reduce(4), "ring", options))["respkt"] == 12


def test_packets_of_all_others_are_added_at_once() -> None:
    text = schedule_plan(on_switch(8, "all_reduce"), "star", PlanOptions(protocol="LL"))
    assert operations_of(text) == {"ppkt": 448, "repkt": 64}
    many = operations_of(schedule_plan(on_switch(11, "all_reduce"), "star", PlanOptions(protocol="LL")))
    assert many["repkt"] == 2 * 11 * 11  # an operation adds eight at most


def test_packets_stay_in_a_node() -> None:
    with pytest.raises(InputError, match="packets, which stay in a node of npus_per_node=2, but there are 4"):
        schedule_plan(ring_all_gather(4), "ring", PlanOptions(npus_per_node=2, protocol="LL"))


def test_packets_do_not_run_ahead_of_a_gpu_that_says_nothing() -> None:
    """The root of a broadcast waits until the next GPU has begun, which has then read the last packets."""
    found = operations_of(schedule_plan(ring_broadcast(4, 3), "ring", PlanOptions(protocol="LL")))
    assert found["rlxwait"] == found["rlxsignal"] > 0
    assert (
        operations_of(schedule_plan(ring_all_gather(4), "ring", PlanOptions(protocol="LL")))["rlxwait"] == 0
    )

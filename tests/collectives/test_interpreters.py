"""Interpreters of runtime files find corrupted files, planted races and deadlocks; right files pass."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from exported_plans import PACKETS, PLANS, RELAYED, SCHEDULES, SWITCHED, operations
from ring_schedules import ring_all_gather

from dse.base.errors import InputError
from dse.collectives.files.msccl import schedule_msccl
from dse.collectives.files.mscclpp import schedule_plan
from dse.collectives.files.mscclpp_workers import PlanOptions
from dse.collectives.interpret.limits import MSCCL_LIMITS, PLAN_LIMITS
from dse.collectives.interpret.msccl import interpret_msccl
from dse.collectives.interpret.mscclpp import interpret_plan

XML = {name: schedule_msccl(schedule, name) for name, schedule in SCHEDULES.items()}
PORTS = schedule_plan(SCHEDULES["sums"], "ports", PlanOptions(npus_per_node=3))
Lines = list[str]


def problems_of(text: str) -> tuple[str, ...]:
    """What is wrong with an XML or a plan; a text that no runtime reads is wrong too."""
    try:
        found = interpret_plan(text) if text.lstrip().startswith("{") else interpret_msccl(text)
    except InputError as error:
        return (str(error),)
    return found.problems


@pytest.mark.parametrize(
    "text", [*XML.values(), *PLANS.values(), *SWITCHED.values(), PACKETS, RELAYED, PORTS]
)
def test_exported_files_are_right(text: str) -> None:
    assert problems_of(text) == ()


def change(lines: Lines, chosen: random.Random, pattern: str, new: Callable[[re.Match[str]], str]) -> bool:
    """Replace the match of a pattern in one of the lines that have it; say whether there is one."""
    fitting = [number for number, line in enumerate(lines) if re.search(pattern, line)]
    if not fitting:
        return False
    number = chosen.choice(fitting)
    lines[number] = re.sub(pattern, new, lines[number], count=1)
    return True


def other_offset(found: re.Match[str]) -> str:
    return f"{found[1]}{int(found[2]) + 1}{found[3]}"


CHANGES: dict[str, tuple[str, Callable[[re.Match[str]], str]]] = {
    "goes to another place": (r'(type="(?:r|rcs|rrc|cpy)".*dstoff=")(\d+)(")', other_offset),
    "comes from another place": (r'(type="(?:s|rrc|cpy)".*srcoff=")(\d+)(")', other_offset),
    "one chunk more": (r'(type="(?:s|r)".*cnt=")(\d+)(")', other_offset),
    "another channel": (r'(<tb .*send="\d+".*chan=")(\d+)(")', other_offset),
    "another block number": (r'(<tb id=")(\d+)(")', other_offset),
    "another step number": (r'(step s=")(\d+)(")', other_offset),
    "another input": (r'(i_chunks=")(\d+)(")', other_offset),
    "another output": (r'(o_chunks=")(\d+)(")', other_offset),
    "another loop": (r'(nchunksperloop=")(\d+)(")', other_offset),
    "a channel more": (r'(nchannels=")(\d+)(")', other_offset),
    "a GPU more": (r'(ngpus=")(\d+)(")', other_offset),
    "no flag": (r'hasdep="1"', lambda _: 'hasdep="0"'),
    "adds instead": (r'type="r"', lambda _: 'type="rrc"'),
    "keeps instead": (r'type="rrc"', lambda _: 'type="r"'),
    "waits for itself": (r'depid="-1" deps="-1" hasdep="0"', lambda _: 'depid="0" deps="70" hasdep="0"'),
    "passes nothing on": (r'type="rcs"', lambda _: 'type="r"'),
    "sends to itself": (r'gpu id="0"', lambda _: 'gpu id="1"'),
    "of no buffer": (r'srcbuf="i"', lambda _: 'srcbuf="x"'),
    "of no case": (r'inplace="1" outofplace="1"', lambda _: 'inplace="0" outofplace="0"'),
    "a tab": (r"  <gpu", lambda _: "\t<gpu"),
    "two spaces": (r"<step s", lambda _: "<step  s"),
    "a space at the end": (r'"/>', lambda _: '" />'),
    "a prologue": (r"^<algo", lambda _: '<?xml version="1.0"?><algo'),
    "a key less": (r' cnt="\d+"', lambda _: ""),
    "not closed": (r"</tb>", lambda _: ""),
    "a text": (r"</gpu>", lambda _: "x</gpu>"),
    "a long name": (r'name="', lambda _: 'name="' + "x" * 255),
    "another protocol": (r'proto="Simple"', lambda _: 'proto="Eager"'),
}


def corrupted(seed: int) -> tuple[str, str]:
    """A file with one change, and the words for it."""
    chosen = random.Random(seed)
    while True:
        name, kind = chosen.choice(sorted(XML)), chosen.choice(sorted(CHANGES))
        lines = XML[name].splitlines()
        if change(lines, chosen, *CHANGES[kind]):
            return f"{name}: {kind}", "\n".join(lines)


@pytest.mark.parametrize("seed", range(120))
def test_a_corrupted_xml_is_found(seed: int) -> None:
    words, text = corrupted(seed)
    assert problems_of(text), words


Change = Callable[[dict[str, Any], random.Random], bool]


def without(*names: str) -> Change:
    def changed(plan: dict[str, Any], chosen: random.Random) -> bool:
        found = operations(plan, *names)
        if found:
            row, number = chosen.choice(found)
            del row[number]
        return bool(found)

    return changed


def moved(key: str, *names: str) -> Change:
    def changed(plan: dict[str, Any], chosen: random.Random) -> bool:
        found = [(row, n) for row, n in operations(plan, *names) if row[n].get(key)]
        if found:
            row, number = chosen.choice(found)
            row[number][key][0]["index"] += 1
        return bool(found)

    return changed


def renamed(old: str, new: str) -> Change:
    def changed(plan: dict[str, Any], chosen: random.Random) -> bool:
        found = operations(plan, old)
        if found:
            row, number = chosen.choice(found)
            row[number]["name"] = new
        return bool(found)

    return changed


def all_renamed(old: str, new: str) -> Change:
    def changed(plan: dict[str, Any], chosen: random.Random) -> bool:
        found = operations(plan, old)
        for row, number in found:
            row[number]["name"] = new
        return bool(found) and chosen is not None

    return changed


def set_of_gpu(key: str, value: Any) -> Change:
    def changed(plan: dict[str, Any], chosen: random.Random) -> bool:
        found = [gpu for gpu in plan["gpus"] if gpu[key]]
        if found:
            chosen.choice(found)[key] = value
        return bool(found)

    return changed


def of_a_group(changes: Callable[[dict[str, Any]], object]) -> Change:
    def changed(plan: dict[str, Any], chosen: random.Random) -> bool:
        found = [
            group
            for gpu in plan["gpus"]
            for channel in gpu["channels"]
            for group in channel.get("rank_groups", ())
        ]
        if found:
            changes(chosen.choice(found))
        return bool(found)

    return changed


def set_of_plan(which: str, **values: Any) -> Change:
    def changed(plan: dict[str, Any], chosen: random.Random) -> bool:
        is_fitting = plan["protocol"] == which and bool(plan["gpus"])
        plan |= values if is_fitting else {}
        return is_fitting and chosen is not None

    return changed


PLAN_CHANGES: dict[str, Change] = {
    "no put": without("put", "pws", "ppkt"),
    "no signal": without("signal"),
    "no wait": without("wait"),
    "no handshake": without("rlxwait"),
    "nobody is ready": without("rlxsignal"),
    "no sum": without("re", "repkt"),
    "no semaphore taken": without("sem_acquire"),
    "no semaphore given": without("sem_release"),
    "no copy": without("copy"),
    "no packet read": without("upkt"),
    "put elsewhere": moved("dst_buff", "put", "pws", "ppkt"),
    "put something else": moved("src_buff", "put", "pws"),
    "sum elsewhere": moved("dst_buff", "re"),
    "relaxed": all_renamed("signal", "rlxsignal"),
    "waits relaxed": all_renamed("wait", "rlxwait"),
    "signals instead": renamed("wait", "signal"),
    "puts without signal": renamed("pws", "put"),
    "unknown": renamed("put", "push"),
    "no channels": set_of_gpu("channels", []),
    "no buffers": set_of_gpu("remote_buffers", []),
    "no inputs": set_of_gpu("input_chunks", 0),
    "semaphores taken": set_of_gpu("semaphores", [{"init_value": 1}] * 99),
    "no scratch": set_of_gpu("scratch_chunks", -1),
    "no store to a switch": without("glres", "gstore", "gstorepkt"),
    "stores elsewhere": moved("dst_buff", "glres", "gstore", "gstorepkt"),
    "loads elsewhere": moved("src_buff", "glres", "gstore", "gstorepkt"),
    "copies what it must add": renamed("glres", "gstore"),
    "no packet passed on": without("rppkt"),
    "no sum passed on": without("respkt"),
    "passes on elsewhere": moved("dst_buff", "rppkt"),
    "passes on something else": moved("src_buff", "rppkt", "respkt"),
    "keeps the sum": renamed("respkt", "repkt"),
    "stores no packets": renamed("gstorepkt", "gstore"),
    "sends its packets on": renamed("ppkt", "rppkt"),
    "keeps its packets": renamed("ppkt", "cpkt"),
    "reads no packets": renamed("upkt", "copy"),
    "a group without a GPU": of_a_group(lambda group: group["ranks"].pop()),
    "a group with a GPU twice": of_a_group(lambda group: group["ranks"].append(group["ranks"][0])),
    "a group in another order": of_a_group(lambda group: group["ranks"].reverse()),
    "a group of fewer chunks": of_a_group(lambda group: group.update(size=group["size"] - 1)),
    "a group of more chunks": of_a_group(lambda group: group.update(size=group["size"] + 99)),
    "packets without flags": set_of_plan("LL", protocol="Simple"),
    "packets in one half": set_of_plan("LL", use_double_scratch_buffer=False),
}


def corrupted_plan(seed: int) -> tuple[str, str]:
    chosen = random.Random(seed)
    files = {**PLANS, **SWITCHED, "packets": PACKETS, "relayed packets": RELAYED, "ports": PORTS}
    while True:
        name, kind = chosen.choice(sorted(files)), chosen.choice(sorted(PLAN_CHANGES))
        plan = json.loads(files[name])
        if PLAN_CHANGES[kind](plan, chosen):
            return f"{name}: {kind}", json.dumps(plan)


@pytest.mark.parametrize("seed", range(240))
def test_a_corrupted_plan_is_found(seed: int) -> None:
    words, text = corrupted_plan(seed)
    assert problems_of(text), words


def test_the_published_limits_of_every_runtime() -> None:
    assert {name: (each.steps, each.blocks) for name, each in MSCCL_LIMITS.items()} == {
        "msccl-executor": (64, 1024),
        "rccl": (64, 64),
        "msccl": (256, 216),
    }
    first = MSCCL_LIMITS["msccl-executor"]
    assert (first.nodes, first.children, first.channels, first.blocks_of_channel) == (4096, 1024, 32, 32)
    assert (first.chunks_of_step, first.awaited_block) == (71, 127)
    assert PLAN_LIMITS[:7] == (64, 16, 16, 8, 16, 16, 1024)


@pytest.mark.parametrize(("limits", "most"), [("msccl-executor", 64), ("rccl", 64), ("msccl", 256)])
def test_a_block_of_too_many_steps_is_found(limits: str, most: int) -> None:
    def pair(steps: int) -> str:
        def block(kind: str, peer: str, own: str) -> str:
            places = 'srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"'
            lines = "".join(f'<step s="{n}" type="{kind}" {places}/>' for n in range(steps))
            return f'<tb id="0" {peer} chan="0">{lines}</tb><!-- {own} -->'

        gpus = (
            '<gpu id="0" i_chunks="1" o_chunks="1" s_chunks="0">'
            + block("s", 'send="1" recv="-1"', "root")
            + '<tb id="1" send="-1" recv="-1" chan="0"><step s="0" type="cpy" srcbuf="i" srcoff="0" '
            'dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb></gpu>'
            '<gpu id="1" i_chunks="1" o_chunks="1" s_chunks="0">'
            + block("r", 'send="-1" recv="0"', "other")
            + "</gpu>"
        )
        return (
            '<algo name="x" proto="LL" nchannels="1" nchunksperloop="1" ngpus="2" coll="broadcast" '
            f'inplace="0" outofplace="1" minBytes="0" maxBytes="0">{gpus}</algo>'
        )

    assert interpret_msccl(pair(most), limits=limits).problems == ()
    found = interpret_msccl(pair(most + 1), limits=limits).problems
    assert found[0] == f"GPU 0, block 0 has {most + 1} steps; {limits} takes {most}"


def test_two_that_send_first_end_with_a_slot_and_not_at_a_rendezvous() -> None:
    text = schedule_msccl(ring_all_gather(2), "pair").replace('name="pair"', 'name="two"')
    assert not interpret_msccl(text).problems
    assert interpret_msccl(XML["all_reduce"]).needs_a_slot
    assert not interpret_msccl(XML["broadcast"]).needs_a_slot


def test_the_root_is_that_of_the_name_or_the_one_given() -> None:
    text = XML["broadcast"]
    assert interpret_msccl(text).problems == ()
    assert interpret_msccl(text, root=1).problems
    assert interpret_msccl(text.replace("root-0", "root-2")).problems


@pytest.mark.parametrize("other", ['depid="-7" deps="-1"', 'depid="-1" deps="0"'])
def test_a_step_waits_for_a_step_or_for_none(other: str) -> None:
    text = XML["broadcast"].replace('depid="-1" deps="-1"', other, 1)
    assert "which is not there or lacks hasdep" in interpret_msccl(text).problems[0]


def test_an_input_that_is_written_out_of_place_is_found() -> None:
    text = XML["all_reduce"].replace('dstbuf="o"', 'dstbuf="i"').replace('srcbuf="o"', 'srcbuf="i"')
    assert "writes the input" in interpret_msccl(text).problems[0]
    in_place_only = text.replace('outofplace="1"', 'outofplace="0"')
    assert interpret_msccl(in_place_only).problems == ()


def test_an_alltoall_in_place_overwrites_what_is_still_to_be_sent() -> None:
    text = XML["all_to_all"].replace('inplace="0"', 'inplace="1"')
    assert any("race" in each or "ends with" in each for each in interpret_msccl(text).problems)


def test_sizes_beyond_all_files_are_refused_before_anything_runs() -> None:
    huge = re.sub(r'cnt="\d+"', 'cnt="123456789012345"', XML["all_gather"], count=1)
    assert any("cnt 123456789012345; it must be 1 to 71" in problem for problem in problems_of(huge))
    per_loop = re.sub(r'nchunksperloop="\d+"', 'nchunksperloop="1000000000000"', XML["all_reduce"])
    assert any("nchunksperloop is 1000000000000" in problem for problem in problems_of(per_loop))


def test_a_semaphore_that_one_operation_takes_twice_needs_two_releases() -> None:
    plan = json.loads(PLANS["all_reduce"])
    gpu = plan["gpus"][0]
    gpu["semaphores"] = [*gpu.get("semaphores", []), {"init_value": 1}]
    last = len(gpu["semaphores"]) - 1
    gpu["threadblocks"][0]["ops"].append({"name": "sem_acquire", "semaphore_ids": [last, last]})
    assert any(problem.startswith("deadlock") for problem in problems_of(json.dumps(plan)))

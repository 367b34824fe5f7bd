"""Planted faults: waits, orders and nops that are left out, switches and packets whose place is not free."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from exported_plans import PACKETS, PLANS, RELAYED, SCHEDULES, SWITCHED, operations

from dse.collectives.files.msccl import MscclOptions, schedule_msccl
from dse.collectives.interpret.msccl import interpret_msccl
from dse.collectives.interpret.mscclpp import interpret_plan


@pytest.mark.parametrize("seed", range(20))
def test_a_wait_that_is_left_out_is_a_race(seed: int) -> None:
    chosen = random.Random(seed)
    name = chosen.choice(["reduce_scatter", "torus", "sums"])
    lines = schedule_msccl(SCHEDULES[name], name, MscclOptions("msccl")).splitlines()
    waits = [
        number
        for number, line in enumerate(lines)
        if re.search(r'type="s".*depid="\d', line) and 'type="nop"' not in lines[number - 1]
    ]
    number = chosen.choice(waits)
    lines[number] = re.sub(r'depid="\d+" deps="\d+"', 'depid="-1" deps="-1"', lines[number])
    found = interpret_msccl("\n".join(lines), limits="msccl").problems
    assert found
    assert any("data race" in each or "nothing has been written" in each for each in found), found


@pytest.mark.parametrize("seed", range(20))
def test_a_nop_or_an_order_that_is_left_out_of_a_plan_is_a_race(seed: int) -> None:
    chosen = random.Random(seed)
    plan = json.loads(PLANS[chosen.choice(["reduce_scatter", "relayed", "torus", "sums"])])
    needed = {("sem_acquire", "put"), ("wait", "re"), ("rlxwait", "put")}
    rows = [
        (row, n)
        for row, n in operations(plan, "nop")
        if (row[n - 1]["name"], row[min(n + 1, len(row) - 1)]["name"]) in needed
        or [each["name"] for each in row[n - 1 :]] == ["put", "nop", "signal"]
    ]
    row, number = chosen.choice(rows)
    del row[number]
    found = interpret_plan(json.dumps(plan)).problems
    words = ("race", "without a nop", "may end before", "may not have begun", "nothing has been written")
    assert any(word in each for each in found for word in words), found


def block_with(plan: dict[str, Any], chosen: random.Random, name: str) -> list[Any]:
    """The operations of a block that has one of a name."""
    return chosen.choice(
        [
            block["ops"]
            for gpu in plan["gpus"]
            for block in gpu["threadblocks"]
            if any(operation["name"] == name for operation in block["ops"])
        ]
    )


RACES = ("race", "without a nop", "may end before", "may not have begun", "nothing has been written")


@pytest.mark.parametrize("seed", range(40))
def test_an_access_of_any_member_races_with_its_switch(seed: int) -> None:
    """Another block of a random GPU reads or writes a place, or an order between the members is left out."""
    chosen = random.Random(seed)
    name = chosen.choice(
        ["all_reduce on a switch", "all_gather on a switch", "all_reduce on a switch in place"]
    )
    plan = json.loads(SWITCHED[name])
    kind = chosen.choice(["write", "read", "rlxwait", "nop", "wait", "relaxed"])
    if kind in ("write", "read"):
        gpu = chosen.choice(plan["gpus"])
        other, store = chosen.choice(operations(plan, "glres", "gstore"))
        span = other[store]["dst_buff"][0]
        buffer = "i" if name.endswith("in place") else "o"
        place = {"type": buffer, "index": span["index"] + chosen.randrange(span["size"]), "size": 1}
        gpu["scratch_chunks"] = 1
        scratch = {"type": "s", "index": 0, "size": 1}
        own = {"type": "i", "index": 0, "size": 1}
        operation = {"name": "copy", "src_buff": [own], "dst_buff": [place]}
        if kind == "read":
            operation = {"name": "copy", "src_buff": [place], "dst_buff": [scratch]}
        gpu["threadblocks"].append({"id": len(gpu["threadblocks"]), "ops": [operation], "channels": []})
    elif kind == "relaxed":
        row = block_with(plan, chosen, "signal")
        next(each for each in row if each["name"] == "signal")["name"] = "rlxsignal"
    else:
        row = block_with(plan, chosen, "rlxwait" if kind == "nop" else kind)
        number = next(n for n, each in enumerate(row) if each["name"] == kind)
        del row[number]
    found = interpret_plan(json.dumps(plan)).problems
    assert any(word in each for each in found for word in (*RACES, "have no wait")), (name, kind, found)


@pytest.mark.parametrize("seed", range(40))
def test_a_packet_whose_place_or_source_is_not_free_is_found(seed: int) -> None:
    chosen = random.Random(seed)
    plan = json.loads(
        chosen.choice([PACKETS, RELAYED, *(SWITCHED[name] for name in SWITCHED if "packets" in name)])
    )
    kind = chosen.choice(["twice", "early", "plain"])
    senders = operations(plan, "ppkt", "rppkt", "gstorepkt")
    if kind == "twice":  # the flag cannot tell two packets of a launch apart
        row, number = chosen.choice(senders)
        row.insert(number, row[number])
        words: tuple[str, ...] = ("which has one of this launch",)
    elif kind == "early":  # nothing else says that a chunk is there
        rows = [(row, n) for row, n in operations(plan, "sem_acquire") if "pkt" in row[n + 2]["name"]]
        if not rows:
            return
        row, number = chosen.choice(rows)
        del row[number : number + 2]
        words = ("race", "nothing has been written", "not as it began")
    else:
        row, number = chosen.choice(senders)
        target = row[number]["dst_buff"][0]
        gpu = plan["gpus"][chosen.randrange(len(plan["gpus"]))]
        place = {"type": "s", "index": 0, "size": 1}
        operation = {"name": "copy", "src_buff": [{"type": "i", "index": 0, "size": 1}], "dst_buff": [place]}
        gpu["threadblocks"].append({"id": len(gpu["threadblocks"]), "ops": [operation], "channels": []})
        words = ("twice as wide as data", "nothing has been written", "which is not there", "race")
        assert target["size"] >= 1
    found = interpret_plan(json.dumps(plan)).problems
    assert any(word in each for each in found for word in words), (kind, found)

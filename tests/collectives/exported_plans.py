"""Exported programs of every kind, and changes of their operations, for the tests of interpreters."""

from __future__ import annotations

from typing import Any

from ring_schedules import RINGS
from schedules import all_gather, all_reduce_of, greedy, on_switch, torus

from dse.collectives.files.mscclpp import schedule_plan
from dse.collectives.files.mscclpp_workers import PlanOptions

TORUS = greedy(all_gather(torus(3, 3), 2))
SCHEDULES = {**RINGS, "torus": TORUS, "sums": all_reduce_of(TORUS)}
PLANS = {name: schedule_plan(schedule, name, PlanOptions()) for name, schedule in SCHEDULES.items()}
PACKETS = schedule_plan(SCHEDULES["sums"], "packets", PlanOptions(protocol="LL"))
SWITCHED = {
    f"{collective} on a switch{' in place' * is_in_place}{' in packets' * (protocol == 'LL')}": schedule_plan(
        on_switch(4, collective, 2), "star", PlanOptions(protocol=protocol), is_in_place=is_in_place
    )
    for collective in ("all_gather", "all_reduce", "broadcast")
    for protocol in ("Simple", "LL")
    for is_in_place in (False, True)
}
RELAYED = schedule_plan(SCHEDULES["relayed"], "relayed", PlanOptions(protocol="LL"))


def operations(plan: dict[str, Any], *names: str) -> list[tuple[list[Any], int]]:
    """All operations of some names, as a block's list and a position."""
    return [
        (block["ops"], number)
        for gpu in plan["gpus"]
        for block in gpu["threadblocks"]
        for number, operation in enumerate(block["ops"])
        if operation["name"] in names
    ]

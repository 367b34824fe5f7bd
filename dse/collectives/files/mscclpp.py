"""A schedule as an execution plan of MSCCL++: blocks that put chunks into buffers of peers, and signal."""

from __future__ import annotations

import json

from dse.base.errors import InputError
from dse.collectives.files.messages import joined, messages_of
from dse.collectives.files.msccl_buffers import IN_PLACE, Slots, require_known
from dse.collectives.files.mscclpp_blocks import Plan, PlanOptions
from dse.collectives.interpret.mscclpp import interpret_plan
from dse.collectives.problem.collective import Collective
from dse.collectives.problem.schedule import Schedule

MOST_SENDS = 100_000  # more take minutes to check
_ROOMS = (20, 14, 10, 8, 6)  # messages of a block: the most for which its operations fit
_CALLED = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast", "reduce")


def can_be_in_place(collective: Collective) -> bool:
    """Whether there is a plan for an input that is part of the output."""
    return collective.name in IN_PLACE


def schedule_plan(schedule: Schedule, name: str, options: PlanOptions, *, is_in_place: bool = False) -> str:
    """Return the plan as JSON, which its interpreter has run: it ends, has no race, and does what it says.

    Raises:
        InputError: MSCCL++ has no such collective, or its executor cannot take the plan; says why.
    """
    collective = schedule.problem.collective
    require_known(collective, "MSCCL++")
    if collective.name not in _CALLED:
        raise InputError(f"MSCCL++: nothing calls {collective.name}; leave mscclpp out")
    messages = messages_of(schedule)
    if collective.npus != schedule.problem.graph.npus or len(messages) > MOST_SENDS:
        raise InputError(
            f"MSCCL++ needs all NPUs of the network and at most {MOST_SENDS} sends; there are "
            f"{len(messages)}: leave mscclpp out"
        )
    slots = Slots(collective)
    messages = joined(messages, slots.first, 1 << 20)
    first = ""
    for room in _ROOMS:
        plan = Plan(messages, slots.unwritten(), options, room, is_in_place=is_in_place)
        text = json.dumps(plan.data(name), separators=(",", ":")) + "\n"
        problems = interpret_plan(text, name, collective.root).problems
        if not problems:
            return text
        first = first or problems[0]
        if "operations; " not in problems[0]:
            break
    raise InputError(f"MSCCL++: {first}: take fewer chunks_per_npu, or leave mscclpp out")

"""A schedule as an execution plan of MSCCL++: blocks that put chunks into buffers of peers, and signal."""

from __future__ import annotations

import json

from dse.base.errors import InputError
from dse.collectives.files.messages import joined, messages_of
from dse.collectives.files.msccl_buffers import IN_PLACE, Slots, require_known
from dse.collectives.files.mscclpp_blocks import Blocks
from dse.collectives.files.mscclpp_json import plan_data
from dse.collectives.files.mscclpp_workers import PlanOptions
from dse.collectives.files.mscclpp_writers import write
from dse.collectives.files.switch_groups import Moves, moves_of
from dse.collectives.interpret.limits import PLAN_LIMITS
from dse.collectives.interpret.mscclpp import interpret_plan
from dse.collectives.problem.collective import Collective
from dse.collectives.problem.schedule import Schedule

MOST_SENDS = 100_000  # more take minutes to check
_ROOMS = (20, 14, 10, 8, 6, 3)  # messages of a block: the most for which its operations fit
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
    graph = schedule.problem.graph
    is_direct = graph.nodes == graph.npus  # past switches several sends are a message
    if collective.npus != graph.npus or (is_direct and len(schedule) > MOST_SENDS):
        raise InputError(
            f"MSCCL++ needs all NPUs of the network and at most {MOST_SENDS} sends; there are "
            f"{len(schedule)}: leave mscclpp out"
        )
    per_node = options.npus_per_node
    if options.protocol == "LL" and per_node and collective.npus > per_node:
        raise InputError(
            f"MSCCL++: protocol=LL sends packets, which stay in a node of npus_per_node={per_node}, but "
            f"there are {collective.npus} NPUs; leave protocol out"
        )
    moves = moves_of(
        schedule, options.npus_per_node, may_add=options.protocol != "LL", is_in_place=is_in_place
    )
    if moves.groups:
        text, _ = _right_plan(moves, name, options, collective, is_in_place=is_in_place)
        if text:
            return text
    moves = Moves(messages_of(schedule))
    text, problem = _right_plan(moves, name, options, collective, is_in_place=is_in_place)
    if text:
        return text
    unpacked = "leave protocol out, " if options.protocol == "LL" else ""
    raise InputError(f"MSCCL++: {problem}: take fewer chunks_per_npu, {unpacked}or leave mscclpp out")


def _right_plan(
    moves: Moves, name: str, options: PlanOptions, collective: Collective, *, is_in_place: bool
) -> tuple[str, str]:
    """Return a plan in which the interpreter finds nothing wrong, or none and the first problem."""
    if len(moves.messages) > MOST_SENDS:
        return "", f"there are {len(moves.messages)} messages, and at most {MOST_SENDS} are checked"
    slots = Slots(collective)
    kept = {(npu, chunk) for group in moves.groups for npu in group.members for chunk in group.chunks}
    moves = Moves(joined(moves.messages, slots.first, 1 << 20, kept), moves.groups)
    first = ""
    for is_careful in (False, True):
        for room in _ROOMS:
            blocks = Blocks(
                moves, slots.unwritten(), options, room, is_in_place=is_in_place, is_careful=is_careful
            )
            most = write(blocks)
            if most > PLAN_LIMITS.operations:
                first = first or f"a block has {most} operations; {PLAN_LIMITS.operations} are taken"
                continue  # it takes long to write a large plan, and to run it
            text = json.dumps(plan_data(blocks, moves.groups, name), separators=(",", ":")) + "\n"
            problems = interpret_plan(text, name, collective.root, options.npus_per_node).problems
            if not problems:
                return text, ""
            first = first or problems[0]
            break  # such as races, or channels, of which blocks that pass packets on need more
    return "", first

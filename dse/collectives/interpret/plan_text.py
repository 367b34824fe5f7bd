"""Execution plans of MSCCL++: JSON as typed records, with every indirection resolved, and the limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.plain_data import json_data
from dse.collectives.interpret.limits import MOST_CHUNKS, PLAN_LIMITS
from dse.collectives.interpret.plan_groups import domain_problems, group_problems
from dse.collectives.interpret.plan_reader import Reader
from dse.collectives.interpret.plan_records import PACKETS, Plan, PlanBlock
from dse.collectives.interpret.values import COLLECTIVES, chunks_of

Json = dict[str, Any]


def read_plan(text: str, name: str, npus_per_node: int = 0) -> Plan:
    """Return the plan of a text; memory and switch channels stay in a node of so many GPUs (0: any).

    Raises:
        InputError: it is no plan, or has operations that the interpreter does not know; names the place.
    """
    data = json_data(text, name)
    try:
        return _plan(data, name, npus_per_node)
    except KeyError as error:
        raise InputError(f"{name}: is no plan of MSCCL++: {excerpt(str(error))} is missing in it") from None
    except (TypeError, IndexError, AttributeError) as error:
        raise InputError(f"{name}: is no plan of MSCCL++: {excerpt(repr(error))}") from None


def _plan(data: Json, name: str, npus_per_node: int) -> Plan:
    coll, gpus = data["collective"], data["gpus"]
    if coll not in COLLECTIVES:
        raise InputError(f"{name}: collective is '{excerpt(str(coll))}'; known are {', '.join(COLLECTIVES)}")
    if [gpu["id"] for gpu in gpus] != list(range(len(gpus))):
        raise InputError(f"{name}: the ids of gpus are not 0 to {len(gpus) - 1} in order")
    buffers = [
        {
            key: _whole(gpu[f"{word}_chunks"], name)
            for key, word in (("i", "input"), ("o", "output"), ("s", "scratch"))
        }
        for gpu in gpus
    ]
    problems = [
        *_limits(data, buffers),
        *group_problems(gpus, buffers),
        *domain_problems(gpus, npus_per_node),
    ]
    blocks = []
    for number, gpu in enumerate(gpus):
        reader = Reader(gpus, number, buffers, name)
        for position, block in enumerate(gpu["threadblocks"]):
            blocks.append(reader.block(block, position))
        problems += reader.problems
    problems += _packets_without_room(data, blocks)
    chunks = (
        buffers[0]["i"]
        if coll in ("allgather", "allreduce", "broadcast", "reduce")
        else buffers[0]["i"] // len(gpus)
    )
    return Plan(
        coll, chunks, bool(data["inplace"]), bool(data.get("use_double_scratch_buffer", False)), buffers,
        [[_whole(each["init_value"], name) for each in gpu.get("semaphores", [])] for gpu in gpus],
        blocks, problems,
    )  # fmt: skip


def _packets_without_room(data: Json, blocks: list[PlanBlock]) -> Iterator[str]:
    for block in blocks:
        if data["protocol"] != "LL" and any(op.name in PACKETS for op in block.operations):
            yield f"{block.name} has packets, but the protocol is {data['protocol']}; LL makes room for flags"
            return


def _whole(value: Any, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 32:
        raise InputError(f"{name}: '{excerpt(str(value))}' must be a whole number from 0 to 2^32")
    return value


def _is_positive(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _limits(data: Json, buffers: list[dict[str, int]]) -> Iterator[str]:
    limits, gpus = PLAN_LIMITS, data["gpus"]
    if data["protocol"] not in ("Simple", "LL"):
        yield f"protocol is '{data['protocol']}'; it must be Simple or LL"
    if data.get("num_threads_per_block", 1024) > limits.threads:
        yield f"num_threads_per_block is {data['num_threads_per_block']}; at most {limits.threads} run"
    if not _is_positive(data.get("buffer_alignment", 16)):
        yield f"buffer_alignment is {excerpt(str(data['buffer_alignment']))}; it must be a number of bytes"
    if data.get("min_message_size", 0) > data.get("max_message_size", 1 << 64):
        sizes = f"{data['min_message_size']} and max_message_size {data['max_message_size']}"
        yield f"min_message_size is {sizes}; they are no range"
    coll = data["collective"]
    counts = [own[key] for own in buffers for key in "io"]
    counts += [each["init_value"] for gpu in gpus for each in gpu.get("semaphores", [])]
    if max(counts, default=0) > MOST_CHUNKS:
        yield f"chunks or an init_value of a semaphore are {max(counts)}; at most {MOST_CHUNKS} are run"
    for gpu, own in enumerate(buffers):
        of_one = (
            own["i"]
            if coll in ("allgather", "gather")
            else own["o"]
            if coll in ("reducescatter", "scatter")
            else own["i"]
        )
        chunks = of_one // len(gpus) if coll in ("alltoall", "allreduce") else of_one
        wants = chunks_of(coll, len(gpus), gpu, chunks, 0)
        if coll == "allreduce":
            wants = (own["i"], own["i"])
        if (own["i"], own["o"]) != wants:
            yield f"GPU {gpu} has {own['i']} and {own['o']} chunks; {coll} has {wants[0]} and {wants[1]}"
        if len(gpus[gpu]["threadblocks"]) > limits.blocks:
            blocks = len(gpus[gpu]["threadblocks"])
            yield f"GPU {gpu} has {blocks} blocks; at most {limits.blocks} run at once"
    ends: dict[tuple[str, int, int], int] = {}
    for number, gpu in enumerate(gpus):
        for channel in gpu.get("channels", []):
            for peer in channel.get("connected_to", []):
                key = (channel["channel_type"], number, peer)
                ends[key] = ends.get(key, 0) + 1
    for (kind, gpu, peer), count in ends.items():
        if ends.get((kind, peer, gpu)) != count or peer == gpu:
            back = ends.get((kind, peer, gpu), 0)
            yield f"GPU {gpu} has {count} {kind} channels to {peer}, which has {back} back"

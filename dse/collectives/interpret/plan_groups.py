"""Switch channels and packets of an MSCCL++ plan: groups of GPUs, and what an operation may name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dse.collectives.interpret.plan_records import (
    ADDS_PACKETS,
    ON_SWITCHES,
    PACKETS,
    SENDS_PACKETS,
    Group,
    Operation,
    Span,
)

Json = dict[str, Any]
_KEEPS_PACKETS = ("recpkt", "recspkt")


def groups_of(gpu: Json) -> list[Group]:
    """Return the switch channels of a GPU in the order in which its blocks number them."""
    return [
        Group(tuple(group["ranks"]), channel["buffer_type"], group["size"])
        for channel in gpu.get("channels", [])
        if channel["channel_type"] == "switch"
        for group in channel["rank_groups"]
    ]


def group_problems(gpus: Sequence[Json], buffers: Sequence[dict[str, int]]) -> Iterator[str]:
    """Yield what is wrong with switch channels: all members list a group alike, with chunks that all have."""
    groups = [groups_of(gpu) for gpu in gpus]
    for number, own in enumerate(groups):
        for group in own:
            known = [gpu for gpu in group.gpus if isinstance(gpu, int) and 0 <= gpu < len(gpus)]
            shown = f"GPU {number} has a switch channel of GPUs {list(group.gpus)[:9]}"
            if len(group.gpus) < 2 or len({*known}) < len(group.gpus) or number not in known:
                yield f"{shown}; it must name two or more GPUs once each, itself among them"
                continue
            if group.buffer not in ("i", "o", "s"):
                yield f"{shown} for the buffer {group.buffer}; it must be i, o or s"
                continue
            least = min(buffers[gpu][group.buffer] for gpu in known)
            if not isinstance(group.size, int) or not 1 <= group.size <= least:
                yield f"{shown} of {group.size} chunks; it must have 1 to {least}, which all of them have"
            alike = [each for each in own if each.gpus == group.gpus]
            for other in known:
                if [each for each in groups[other] if each.gpus == group.gpus] != alike:
                    yield f"{shown}, which GPU {other} has not in the same order"


def domain_problems(gpus: Sequence[Json], npus_per_node: int) -> Iterator[str]:
    """Yield channels that only GPUs of one node can have; with 0 all GPUs are in one."""
    if not npus_per_node:
        return
    for number, gpu in enumerate(gpus):
        peers = {
            peer
            for channel in gpu.get("channels", [])
            if channel["channel_type"] == "memory"
            for peer in channel["connected_to"]
        }
        for kind, ends in [("memory", peers), *(("switch", set(group.gpus)) for group in groups_of(gpu))]:
            far = sorted(end for end in ends if end // npus_per_node != number // npus_per_node)
            if far:
                yield f"GPU {number} has a {kind} channel to {far[0]}, which is in another node"


def operation_problems(op: Operation, gpu: int, where: str) -> Iterator[str]:
    """Yield what is wrong with the places of an operation on switches or packets."""
    spans = [*op.sources, *op.targets]
    if op.name in ON_SWITCHES:
        yield from _switch_problems(op, gpu, where)
    elif any(len(span.gpus) > 1 for span in spans):
        yield f"{where} is {op.name} on a switch channel, which takes {', '.join(ON_SWITCHES)}"
    if op.name in PACKETS:
        yield from _packet_problems(op, gpu, where)


def _switch_problems(op: Operation, gpu: int, where: str) -> Iterator[str]:
    if len(op.sources) != 1 or len(op.targets) != 1:
        yield f"{where} has {len(op.sources)} sources and {len(op.targets)} targets; {op.name} has one each"
        return
    (source,), (target,) = op.sources, op.targets
    if len(target.gpus) < 2:
        yield f"{where} does not store to a switch channel"
    if op.name == "glres" and source.gpus != target.gpus:
        yield f"{where} loads from GPUs {list(source.gpus)} and stores to {list(target.gpus)}"
    if op.name != "glres" and source.gpus != (gpu,):
        yield f"{where} multicasts what is no buffer of GPU {gpu}"
    if source.size != target.size:
        yield f"{where} moves {source.size} chunks into {target.size}"


def _packet_problems(op: Operation, gpu: int, where: str) -> Iterator[str]:
    kept = 1 + (op.name in _KEEPS_PACKETS) if op.name in ADDS_PACKETS else 0
    read = op.sources[1:] if op.name in ADDS_PACKETS else op.sources if op.name in ("upkt", "rppkt") else []
    sent = op.targets[kept:] if op.name in SENDS_PACKETS else []
    stored = op.targets[1:2] if op.name in _KEEPS_PACKETS else op.targets if op.name == "cpkt" else []
    if op.name == "gstorepkt":
        stored, sent = op.targets, []
    local = [
        *op.sources,
        *(op.targets[:kept] if kept else [] if sent or op.name == "gstorepkt" else op.targets),
    ]
    if any(not _is_scratch(span) for span in (*read, *sent, *stored)):
        yield f"{where} has packets outside of scratch"
    if any(span.gpus != (gpu,) for span in local):
        yield f"{where} is {op.name} with a place of another GPU, which must be of its own"
    if any(span.gpus == (gpu,) for span in sent):
        yield f"{where} sends packets to its own GPU; cpkt stores them there"
    if (op.name in SENDS_PACKETS and not sent) or len(op.targets) < max(kept, 1) or len(op.sources) < 1:
        yield f"{where} is {op.name} with {len(op.sources)} sources and {len(op.targets)} targets: too few"
    elif op.name in ADDS_PACKETS and (not read or (not sent and len(op.targets) > kept)):
        yield f"{where} is {op.name} with {len(op.sources)} sources and {len(op.targets)} targets"
    if op.name in ("ppkt", "rppkt") and len(op.sources) != len(op.targets):
        yield f"{where} sends {len(op.sources)} places to {len(op.targets)}"
    sizes = {span.size for span in (*op.sources, *op.targets)}
    if op.name not in ("ppkt", "rppkt") and len(sizes) > 1:
        yield f"{where} takes spans of {', '.join(map(str, sorted(sizes)))} chunks; all must be of one size"


def _is_scratch(span: Span) -> bool:
    return span.buffer == "s"

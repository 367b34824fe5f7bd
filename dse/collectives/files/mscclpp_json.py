"""Blocks of an MSCCL++ plan as its JSON: channels, buffers and groups by number."""

from __future__ import annotations

from typing import Any

from dse.collectives.files.msccl_buffers import Slot, copies, require_known, sizes
from dse.collectives.files.mscclpp_blocks import Blocks
from dse.collectives.files.mscclpp_workers import Json, Worker
from dse.collectives.files.switch_groups import GroupOp
from dse.collectives.interpret.limits import PLAN_LIMITS

_Switch = tuple[tuple[int, ...], str]


def plan_data(blocks: Blocks, groups: list[GroupOp], name: str) -> Json:
    """Return the plan."""
    options = blocks.options
    switches: dict[_Switch, int] = {}  # per group and buffer the chunks that its operations reach
    for own in blocks.of_gpu:
        for worker in own:
            for key, chunk in _on_switches(worker):
                switches[key] = max(switches.get(key, 0), chunk["index"] + chunk["size"])
    return {
        "name": name,
        "collective": require_known(blocks.collective, "MSCCL++"),
        "protocol": options.protocol,
        "inplace": blocks.in_place,
        "reuse_resources": False,
        "gpus": [_gpu(blocks, groups, switches, npu) for npu in range(blocks.collective.npus)],
        "num_threads_per_block": PLAN_LIMITS.threads,
        "use_double_scratch_buffer": blocks.is_packets,
        "buffer_alignment": 16,
        "min_message_size": options.least_bytes,
        "max_message_size": options.most_bytes or (1 << 64) - 1,
    }


def _on_switches(worker: Worker) -> list[tuple[_Switch, Json]]:
    return [
        ((worker.group, chunk["switch"]), chunk)
        for operation in worker.operations
        for key in ("src_buff", "dst_buff")
        for chunk in operation.get(key, ())
        if "switch" in chunk
    ]


def _gpu(blocks: Blocks, groups: list[GroupOp], switches: dict[_Switch, int], npu: int) -> Json:
    inputs, outputs = sizes(blocks.collective, npu)
    own = blocks.of_gpu[npu]
    busy = [worker for worker in own if worker.operations]
    channels = _channels(blocks, npu)
    buffers: dict[tuple[int, str], set[str]] = {}
    for worker in own:
        for operation in worker.operations:
            for target in operation.get("dst_buff", ()):
                if "buffer_id" in target:
                    buffers.setdefault(target["buffer_id"], set()).add(blocks.kind(worker))
    numbers = {key: number for number, key in enumerate(buffers)}
    own_switches = sorted(key for key in switches if npu in key[0])
    places = _Places(blocks, channels, numbers, {key: i for i, key in enumerate(own_switches)})
    found = [
        {"channel_type": kind, "connected_to": [end.npu for _, end in row]} for kind, row in channels.items()
    ]
    found += [
        {
            "channel_type": "switch",
            "buffer_type": buffer,
            "rank_groups": [{"size": switches[members, buffer], "ranks": list(members)}],
        }
        for members, buffer in own_switches
    ]
    return {
        "id": npu,
        "input_chunks": inputs,
        "output_chunks": outputs,
        "scratch_chunks": blocks.scratch(npu),
        "threadblocks": [
            *(places.block(number, worker) for number, worker in enumerate(busy)),
            *_copies(blocks, groups, npu, len(busy)),
        ],
        "channels": found,
        "remote_buffers": [
            {"rank": peer, "type": buffer, "access_channel_types": sorted(kinds)}
            for (peer, buffer), kinds in buffers.items()
        ],
        "semaphores": [{"init_value": 0} for _ in blocks.semaphores[npu]],
    }


def _channels(blocks: Blocks, npu: int) -> dict[str, list[tuple[Worker, Worker]]]:
    """Per type the blocks at both ends of a GPU's channels: both GPUs list those between them alike."""
    found: dict[str, list[tuple[Worker, Worker]]] = {"memory": [], "port": []}
    number = {id(worker): i for own in blocks.of_gpu for i, worker in enumerate(own)}

    def order(ends: tuple[Worker, Worker]) -> tuple[int, list[tuple[int, int]]]:
        return ends[1].npu, sorted((end.npu, number[id(end)]) for end in ends)

    for ends in sorted(((worker, end) for worker in blocks.of_gpu[npu] for end in worker.ends), key=order):
        found[blocks.kind(ends[0])].append(ends)
    return {kind: row for kind, row in found.items() if row}


class _Places:
    """Numbers of channels, remote buffers and groups of a GPU, and of its blocks."""

    def __init__(
        self,
        blocks: Blocks,
        channels: dict[str, list[tuple[Worker, Worker]]],
        buffers: dict[tuple[int, str], int],
        switches: dict[_Switch, int],
    ) -> None:
        self._blocks, self._buffers, self._switches = blocks, buffers, switches
        self._number = {(id(a), id(b)): i for row in channels.values() for i, (a, b) in enumerate(row)}

    def block(self, number: int, worker: Worker) -> Json:
        kind = self._blocks.kind(worker)
        channels = [self._number[id(worker), id(end)] for end in worker.ends]
        switches = sorted({self._switches[key] for key, _ in _on_switches(worker)})
        remote = sorted(
            {
                self._buffers[chunk["buffer_id"]]
                for operation in worker.operations
                for chunk in operation.get("dst_buff", ())
                if "buffer_id" in chunk
            }
        )

        def placed(chunk: Json) -> Json:
            if "switch" in chunk:
                at = switches.index(self._switches[worker.group, chunk["switch"]])
                return {"switch_channel_id": at, "index": chunk["index"], "size": chunk["size"]}
            if "buffer_id" in chunk:
                return {**chunk, "buffer_id": remote.index(self._buffers[chunk["buffer_id"]])}
            return chunk

        def resolved(operation: Json) -> Json:
            rows = {
                key: [placed(chunk) for chunk in operation[key]]
                for key in ("src_buff", "dst_buff")
                if key in operation
            }
            return operation | rows

        listed: list[tuple[str, list[int]]] = [(kind, channels), ("switch", switches)]
        return {
            "id": number,
            "ops": [resolved(operation) for operation in worker.operations],
            "channels": [{"channel_type": each, "channel_ids": ids} for each, ids in listed if ids],
            "remote_buffer_refs": [{"access_channel_type": kind, "remote_buffer_ids": remote}]
            if remote
            else [],
        }


def _copies(blocks: Blocks, groups: list[GroupOp], npu: int, number: int) -> list[Json]:
    """A block that copies what a GPU has and is to have, unless a switch brings it that too."""
    if blocks.in_place:
        return []
    brought: set[Slot] = set()
    for group in groups if not blocks.is_packets else ():
        if group.owner == npu:
            brought |= {Slot(group.target.buffer, group.target.offset + i) for i in range(len(group.chunks))}
    found = copies(blocks.collective, npu, 1 if brought else 1 << 20)
    operations: list[dict[str, Any]] = [
        {
            "name": "copy",
            "src_buff": [blocks.chunk(npu, source, count)],
            "dst_buff": [blocks.chunk(npu, target, count)],
        }
        for source, target, count in found
        if target not in brought
    ]
    return [{"id": number, "ops": operations, "channels": [], "remote_buffer_refs": []}] if operations else []

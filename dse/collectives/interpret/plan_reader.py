"""Blocks of an MSCCL++ plan: operations whose channels, buffers and groups are resolved and checked."""

from __future__ import annotations

from typing import Any

from dse.base.errors import InputError, excerpt
from dse.collectives.interpret.limits import PLAN_LIMITS
from dse.collectives.interpret.plan_groups import groups_of, operation_problems
from dse.collectives.interpret.plan_records import (
    IN_MEMORY,
    IN_ORDER,
    KNOWN,
    MEMORY,
    ON_CHANNELS,
    ON_SWITCHES,
    PACKETS,
    PORT,
    SWITCH,
    Group,
    Operation,
    PlanBlock,
    Span,
)

Json = dict[str, Any]
_SPARE = {"tbg_info", "reduce_op", "name", "src_buff", "dst_buff", "channel_ids", "channel_type",
          "semaphore_ids", "barrier_id", "num_threadblocks"}  # fmt: skip


class Reader:
    """Resolves what the blocks of a GPU name by position."""

    def __init__(self, gpus: list[Json], gpu: int, buffers: list[dict[str, int]], name: str) -> None:
        self._gpus, self._gpu, self._sizes, self._name = gpus, gpu, buffers, name
        self.problems: list[str] = []
        self._channels: dict[str, list[tuple[str, int, int, int]]] = {MEMORY: [], PORT: []}
        self._groups = groups_of(gpus[gpu])
        for channel in gpus[gpu].get("channels", []):
            kind = channel["channel_type"]
            for peer in channel["connected_to"] if kind != SWITCH else ():
                which = sum(1 for each in self._channels[kind] if each[2] == peer)
                self._channels[kind].append((kind, gpu, peer, which))

    def block(self, block: Json, position: int) -> PlanBlock:
        """Return a thread block; what is wrong with it is added to `problems`."""
        where = f"GPU {self._gpu}, block {position}"
        limits = PLAN_LIMITS
        if block["id"] != position:
            self.problems.append(f"{where} has id {block['id']}; blocks must count from 0")
        if len(block["ops"]) > limits.operations:
            self.problems.append(f"{where} has {len(block['ops'])} operations; {limits.operations} are taken")
        for key, word, most in (
            ("channels", "channel_ids", limits.channels_of_block),
            ("remote_buffer_refs", "remote_buffer_ids", limits.buffers_of_block),
        ):
            for row in block.get(key, []):
                if len(row[word]) > most:
                    self.problems.append(f"{where} has {len(row[word])} {word}; {most} are taken")
        operations = [
            self._operation(op, block, f"{where}, operation {number}")
            for number, op in enumerate(block["ops"])
        ]
        return PlanBlock(self._gpu, position, operations)

    def _operation(self, op: Json, block: Json, where: str) -> Operation:
        name = op["name"]
        if name not in KNOWN:
            raise InputError(f"{self._name}: {where} is '{excerpt(str(name))}'; known are {', '.join(KNOWN)}")
        unknown = set(op) - _SPARE
        if unknown or "tbg_info" in op:
            raise InputError(
                f"{self._name}: {where} has '{excerpt(min(unknown or {'tbg_info'}))}', which is not known"
            )
        channels = self._channels_of(op, block, where) if name in ON_CHANNELS else []
        if name in ON_CHANNELS:
            kind = op["channel_type"]
            if name in ("pws", "pwsf", "flush") and kind != PORT:
                self.problems.append(f"{where} is {name} on a memory channel, which sends no signal")
            if name in IN_MEMORY and kind != MEMORY:
                self.problems.append(f"{where} is {name} on a port")
        if name in ON_SWITCHES and op["channel_type"] != SWITCH:
            self.problems.append(f"{where} is {name} on a {op['channel_type']} channel")
        if len(op.get("channel_ids", ())) > PLAN_LIMITS.channels_of_operation:
            self.problems.append(
                f"{where} has {len(channels)} channels; {PLAN_LIMITS.channels_of_operation} are taken"
            )
        semaphores = [_at(i) for i in op.get("semaphore_ids", [])]
        known = len(self._gpus[self._gpu].get("semaphores", []))
        if len(semaphores) > PLAN_LIMITS.semaphores_of_operation or any(each >= known for each in semaphores):
            self.problems.append(
                f"{where} takes semaphores {semaphores[:3]} …; there are {known}, and 16 are taken"
            )
        for key in ("src_buff", "dst_buff"):
            if len(op.get(key, ())) > PLAN_LIMITS.buffers_of_side:
                self.problems.append(
                    f"{where} has {len(op[key])} of {key}; {PLAN_LIMITS.buffers_of_side} are taken"
                )
        spans = [
            [self._span(each, block, op, channels, i, where) for i, each in enumerate(op.get(key, []))]
            for key in ("src_buff", "dst_buff")
        ]
        barrier = (op["barrier_id"], op["num_threadblocks"]) if name == "barrier" else (-1, 0)
        found = Operation(name, spans[0], spans[1], channels, semaphores, barrier)
        self.problems += operation_problems(found, self._gpu, where)
        return found

    def _channels_of(self, op: Json, block: Json, where: str) -> list[tuple[str, int, int, int]]:
        """The channels of an operation; one of packets may name none, as it only needs the peers' buffers."""
        row = _of_kind(block.get("channels", []), "channel_type", op["channel_type"], "channel_ids")
        places = range(len(row)) if op["name"] in PACKETS and "channel_ids" not in op else op["channel_ids"]
        own = self._channels.get(op["channel_type"], [])
        return [self._picked(own, self._picked(row, i, "channel", where), "channel", where) for i in places]

    def _span(
        self,
        chunk: Json,
        block: Json,
        op: Json,
        channels: list[tuple[str, int, int, int]],
        place: int,
        where: str,
    ) -> Span:
        first, size = _at(chunk["index"]), _at(chunk["size"])
        if "switch_channel_id" in chunk:
            row = _of_kind(block.get("channels", []), "channel_type", SWITCH, "channel_ids")
            which = self._picked(row, chunk["switch_channel_id"], "switch channel", where)
            group: Group = self._picked(self._groups, which, "switch channel", where)
            gpus, buffer = group.gpus, group.buffer
            if first + size > group.size:
                self.problems.append(
                    f"{where} takes {buffer}{first + size - 1} of {group.size} on a switch channel"
                )
        elif "buffer_id" in chunk:
            kind = op["channel_type"]
            row = _of_kind(
                block.get("remote_buffer_refs", []), "access_channel_type", kind, "remote_buffer_ids"
            )
            which = self._picked(row, chunk["buffer_id"], "remote buffer", where)
            remote = self._picked(self._gpus[self._gpu]["remote_buffers"], which, "remote buffer", where)
            gpus, buffer = (remote["rank"],), remote["type"]
            if kind not in remote["access_channel_types"]:
                self.problems.append(f"{where} reaches a buffer over {kind}, which it is not registered for")
            is_in_order = op["name"] in IN_ORDER and "channel_ids" in op
            used = channels[place : place + 1] if is_in_order else channels
            if remote["rank"] not in [channel[2] for channel in used]:
                self.problems.append(f"{where} reaches GPU {remote['rank']} over a channel to another one")
        else:
            gpus, buffer = (self._gpu,), chunk["type"]
        if any(first + size > self._sizes[gpu][buffer] or size < 1 for gpu in gpus if gpu < len(self._sizes)):
            self.problems.append(
                f"{where} takes {buffer}{first} to {buffer}{first + size - 1}, which is not there"
            )
        return Span(gpus, buffer, first, size)

    def _picked(self, row: list[Any], index: Any, what: str, where: str) -> Any:
        if _at(index) >= len(row):
            raise InputError(f"{self._name}: {where} takes {what} {index}; there are {len(row)}")
        return row[index]


def _of_kind(rows: list[Json], key: str, kind: str, what: str) -> list[int]:
    found: list[int] = (
        next(row[what] for row in rows if row[key] == kind) if any(row[key] == kind for row in rows) else []
    )
    return [_at(each) for each in found]


def _at(index: Any) -> int:
    """An index, which must not count from the end."""
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise IndexError(f"index {index}")
    return index

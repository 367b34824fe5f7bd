"""Execution plans of MSCCL++: JSON as typed records, with every indirection resolved, and the limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dse.base.errors import InputError, excerpt
from dse.base.plain_data import json_data
from dse.collectives.interpret.limits import MOST_CHUNKS, PLAN_LIMITS
from dse.collectives.interpret.values import COLLECTIVES, chunks_of

Json = dict[str, Any]
_MEMORY, _PORT = "memory", "port"
_IN_ORDER = ("put", "pws", "pwsf", "get", "ppkt")  # span i goes over channel i
_IN_MEMORY = ("get", "res", "rre", "rres", "ppkt")
_ON_CHANNELS = (*_IN_ORDER, *_IN_MEMORY[1:4], "signal", "wait", "rlxsignal", "rlxwait", "flush")
_KNOWN = (
    *_ON_CHANNELS, "nop", "copy", "re", "upkt", "repkt", "glres", "gstore", "sem_acquire", "sem_release",
    "barrier",
)  # fmt: skip
_SPARE = {"tbg_info", "reduce_op", "name", "src_buff", "dst_buff", "channel_ids", "channel_type",
          "semaphore_ids", "barrier_id", "num_threadblocks"}  # fmt: skip


class Span(NamedTuple):
    """Consecutive chunks of a buffer of some GPUs: one, or a group behind a switch."""

    gpus: tuple[int, ...]
    buffer: str
    first: int
    size: int


class Operation(NamedTuple):
    """An operation with channels as keys of both ends, and semaphores or barrier by number."""

    name: str
    sources: list[Span]
    targets: list[Span]
    channels: list[tuple[str, int, int, int]]  # type, GPU, peer, and which of several
    semaphores: list[int]
    barrier: tuple[int, int]


class PlanBlock(NamedTuple):
    """A thread block of a GPU."""

    gpu: int
    number: int
    operations: list[Operation]

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"GPU {self.gpu}, block {self.number}"


class Plan(NamedTuple):
    """A plan; `chunks` are those of a GPU, `semaphores` and `buffers` per GPU."""

    collective: str
    chunks: int
    in_place: bool
    doubles_scratch: bool
    buffers: list[dict[str, int]]
    semaphores: list[list[int]]
    blocks: list[PlanBlock]
    problems: list[str]


def read_plan(text: str, name: str) -> Plan:
    """Return the plan of a text.

    Raises:
        InputError: it is no plan, or has operations that the interpreter does not know; names the place.
    """
    data = json_data(text, name)
    try:
        return _plan(data, name)
    except KeyError as error:
        raise InputError(f"{name}: is no plan of MSCCL++: {excerpt(str(error))} is missing in it") from None
    except (TypeError, IndexError, AttributeError) as error:
        raise InputError(f"{name}: is no plan of MSCCL++: {excerpt(repr(error))}") from None


def _plan(data: Json, name: str) -> Plan:
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
    problems = list(_limits(data, buffers))
    blocks = []
    for number, gpu in enumerate(gpus):
        reader = _Reader(gpus, number, buffers, name)
        for position, block in enumerate(gpu["threadblocks"]):
            blocks.append(reader.block(block, position))
        problems += reader.problems
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


class _Reader:
    """Resolves what the blocks of a GPU name by position."""

    def __init__(self, gpus: list[Json], gpu: int, buffers: list[dict[str, int]], name: str) -> None:
        self._gpus, self._gpu, self._sizes, self._name = gpus, gpu, buffers, name
        self.problems: list[str] = []
        own = gpus[gpu]
        self._channels: dict[str, list[tuple[str, int, int, int]]] = {_MEMORY: [], _PORT: []}
        self._groups: list[tuple[tuple[int, ...], str]] = []
        for channel in own.get("channels", []):
            kind = channel["channel_type"]
            if kind == "switch":
                self._groups += [
                    (tuple(group["ranks"]), channel["buffer_type"]) for group in channel["rank_groups"]
                ]
                continue
            for peer in channel["connected_to"]:
                which = sum(1 for each in self._channels[kind] if each[2] == peer)
                self._channels[kind].append((kind, gpu, peer, which))

    def block(self, block: Json, position: int) -> PlanBlock:
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
        if name not in _KNOWN:
            raise InputError(
                f"{self._name}: {where} is '{excerpt(str(name))}'; known are {', '.join(_KNOWN)}"
            )
        unknown = set(op) - _SPARE
        if unknown or "tbg_info" in op:
            raise InputError(
                f"{self._name}: {where} has '{excerpt(min(unknown or {'tbg_info'}))}', which is not known"
            )
        channels = []
        if name in _ON_CHANNELS:
            kind = op["channel_type"]
            row = _of_kind(block.get("channels", []), "channel_type", kind, "channel_ids")
            own = self._channels.get(kind, [])
            channels = [
                self._picked(own, self._picked(row, i, "channel", where), "channel", where)
                for i in op["channel_ids"]
            ]
            if name in ("pws", "pwsf", "flush") and kind != _PORT:
                self.problems.append(f"{where} is {name} on a memory channel, which sends no signal")
            if name in _IN_MEMORY and kind != _MEMORY:
                self.problems.append(f"{where} is {name} on a port")
        if len(channels) > PLAN_LIMITS.channels_of_operation:
            self.problems.append(
                f"{where} has {len(channels)} channels; {PLAN_LIMITS.channels_of_operation} are taken"
            )
        semaphores = [_at(i) for i in op.get("semaphore_ids", [])]
        known = len(self._gpus[self._gpu].get("semaphores", []))
        if len(semaphores) > PLAN_LIMITS.semaphores_of_operation or any(each >= known for each in semaphores):
            self.problems.append(
                f"{where} takes semaphores {semaphores[:3]} …; there are {known}, and 16 are taken"
            )
        spans = [
            [self._span(each, block, op, channels, i, where) for i, each in enumerate(op.get(key, []))]
            for key in ("src_buff", "dst_buff")
        ]
        barrier = (op["barrier_id"], op["num_threadblocks"]) if name == "barrier" else (-1, 0)
        return Operation(name, spans[0], spans[1], channels, semaphores, barrier)

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
            row = _of_kind(block.get("channels", []), "channel_type", "switch", "channel_ids")
            group = self._picked(row, chunk["switch_channel_id"], "switch channel", where)
            gpus, buffer = self._picked(self._groups, group, "switch channel", where)
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
            used = channels[place : place + 1] if op["name"] in _IN_ORDER else channels
            if remote["rank"] not in [channel[2] for channel in used]:
                self.problems.append(f"{where} reaches GPU {remote['rank']} over a channel to another one")
        else:
            gpus, buffer = (self._gpu,), chunk["type"]
        if any(first + size > self._sizes[gpu][buffer] or size < 1 for gpu in gpus):
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

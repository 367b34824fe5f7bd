"""Packets of a plan: data that carry the flag of a launch, so that their readers need no signal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dse.collectives.interpret.clocks import Clock
from dse.collectives.interpret.plan_order import Order
from dse.collectives.interpret.plan_records import ADDS_PACKETS, Operation, Plan, Span
from dse.collectives.interpret.values import Value

Place = tuple[int, str, int]


class Packet(NamedTuple):
    """Data in scratch: who wrote them, what was over for certain then, and GPUs that are known to run."""

    value: Value
    writer: int
    clock: Clock
    running: frozenset[int]


class Packets(Order):
    """Packets in scratch. A reader waits for the flag of this launch; nothing else takes a packet away.

    A packet says that what its own bytes were made of has been read. Other accesses of its block are over
    for its reader only after a nop of each. A place takes one packet a launch, since a flag tells launches
    apart and no more.
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._packets: dict[Place, Packet] = {}
        self._unread: set[Place] = set()
        self._readers: dict[Place, list[tuple[int, int]]] = {}  # threads and times
        self._plain: set[Place] = set()  # places of scratch that hold other data

    def _packets_read(self, op: Operation) -> list[Span]:
        if op.name in ADDS_PACKETS:
            return op.sources[1:]
        return op.sources if op.name in ("upkt", "rppkt") else []

    def _has_packets(self, op: Operation) -> bool:
        """Whether all packets that an operation reads are there."""
        return all(place in self._packets for span in self._packets_read(op) for place in places_of(span))

    def _take(self, number: int, span: Span) -> list[Value]:
        """Read packets: the values, known to be read from the places that they came from."""
        found = []
        for place in places_of(span):
            packet = self._packets[place]
            self._unread.discard(place)
            self._readers.setdefault(place, []).append((number, self._clocks.time(number)))
            self._clocks.learn(number, packet.clock)
            self._pending[number].append(packet.clock)
            self._known[number] |= packet.running
            found.append(packet.value)
        return found

    def _emit(self, number: int, spans: list[Span], values: list[Value]) -> None:
        """Write packets into scratch of every GPU of some spans."""
        clock = self._clocks.snapshot(number)
        own = self._plan.blocks[number].gpu
        for span in spans:
            for gpu in span.gpus:
                for place, value in zip(places_of(span._replace(gpus=(gpu,))), values, strict=True):
                    if place in self._packets:
                        where = f"s{place[2]} of GPU {gpu}, which has one of this launch"
                        self._say(number, f"writes a packet to {where}")
                    self._packets[place] = Packet(value, number, clock, self._known[number])
                    if gpu != own:
                        self._unread.add(place)

    def _packet_problems(self) -> Iterator[str]:
        """Yield packets that are not read, share scratch with other data, or meet those of another launch."""
        if self._unread:
            yield f"packets at {len(self._unread)} places are never read, such as {min(self._unread)}"
        for gpu, _, at in sorted(self._packets):
            for other in sorted({at, 2 * at, 2 * at + 1}):
                if (gpu, "s", other) in self._plain:
                    yield f"GPU {gpu} has packets at s{at}, twice as wide as data, and data at s{other}"
        blocks = self._plan.blocks
        known: dict[int, frozenset[int]] = {}
        for block, running in zip(blocks, self._known, strict=True):
            known[block.gpu] = known.get(block.gpu, frozenset()) | running
        late = set()
        for place, packet in self._packets.items():
            writer = blocks[packet.writer].gpu
            if writer == place[0]:
                continue
            if self._plan.doubles_scratch:
                is_safe = place[0] in known[writer]
            else:
                own = [number for number, block in enumerate(blocks) if block.gpu == writer]
                readers = self._readers.get(place, [])
                is_safe = all(any(self._clocks.is_over(each, *reader) for each in own) for reader in readers)
            if not is_safe:
                late.add((writer, place[0]))
        for writer, gpu in sorted(late):
            yield f"GPU {writer} may overwrite packets of an earlier launch that GPU {gpu} has not read"


def places_of(span: Span) -> list[Place]:
    """Return the places of a span in scratch, which is never a part of another buffer."""
    return [(gpu, "s", span.first + i) for gpu in span.gpus for i in range(span.size)]

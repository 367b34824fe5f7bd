"""The chunks that a collective moves: which NPU has which chunk at first, and which wants it at the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dse.base.errors import InputError
from dse.base.lazy import NDArray, np
from dse.base.settings.checks import check_choice

REDUCING = ("reduce", "reduce_scatter", "all_reduce")
COLLECTIVES = ("all_gather", "broadcast", "scatter", "gather", "all_to_all", *REDUCING)
ROOTED = ("broadcast", "scatter", "gather", "reduce")
CUSTOM = "custom"
SEVERAL = "several"
# Chunks are counted in 32 bits, and so are the pairs of NPUs of an all-to-all.
MOST_CHUNKS = 1 << 31


class Part(NamedTuple):
    """A collective among the NPUs of a group; `root` is a place in the group.

    Of several at once those of higher `priority` are scheduled first, as if there were no others.
    """

    name: str
    group: tuple[int, ...]
    chunks_per_npu: int = 1
    root: int = 0
    priority: int = 0

    @property
    def collective(self) -> Collective:
        """The collective among NPUs that are the places of the group."""
        return Collective(self.name, len(self.group), self.chunks_per_npu, self.root)


@dataclass(frozen=True)
class Collective:
    """One of `COLLECTIVES` among `npus` NPUs; broadcast and reduce have `chunks_per_npu` chunks in all.

    `holdings` and `wants` say which NPU has and wants each chunk. `custom` has pairs (NPU, chunk):
    `preconditions` are there at first, `postconditions` are wanted at the end. Or it has `parts`, each among
    a group, whose chunks follow each other; all other NPUs relay.
    """

    name: str
    npus: int
    chunks_per_npu: int = 1
    root: int = 0
    preconditions: tuple[tuple[int, int], ...] = ()
    postconditions: tuple[tuple[int, int], ...] = ()
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        """Refuse unknown names and wants that no NPU can meet; each condition counts once."""
        check_choice("collective", self.name, (*COLLECTIVES, CUSTOM))
        held = {chunk for _, chunk in self.preconditions}
        for npu, chunk in self.postconditions:
            if chunk not in held:
                raise InputError(f"NPU {npu} wants chunk {chunk}, which no NPU has in preconditions")
        for name in ("preconditions", "postconditions"):
            object.__setattr__(self, name, tuple(sorted(set(getattr(self, name)))))

    @classmethod
    def of_part(cls, part: Part, npus: int) -> Collective:
        """Return a collective among a group alone, on a network of `npus`."""
        if part.group == tuple(range(npus)):
            return part.collective
        return cls(CUSTOM, npus, part.chunks_per_npu, parts=(part,))

    @property
    def is_reducing(self) -> bool:
        """Whether chunks, or some of them, are sums to which all NPUs of a group contribute."""
        return any(name in REDUCING for name in (self.name, *(part.name for part in self.parts)))

    @property
    def kind(self) -> str:
        """The name of the only part, or its own without parts; of several parts no collective's."""
        if len(self.parts) > 1:
            return SEVERAL
        return self.parts[0].name if self.parts else self.name

    def renamed(self, name: str) -> Collective:
        """Return a collective of another kind on the same chunks."""
        if not self.parts:
            return replace(self, name=name)
        return replace(self, parts=(self.parts[0]._replace(name=name),))

    @property
    def members(self) -> tuple[int, ...]:
        """The NPUs among which a collective is that has no parts, or one."""
        return self.parts[0].group if self.parts else tuple(range(self.npus))

    @property
    def root_npu(self) -> int:
        """The NPU that is the root; of several parts none is, and it is 0."""
        return self.parts[0].group[self.parts[0].root] if len(self.parts) == 1 else self.root

    @property
    def firsts(self) -> tuple[int, ...]:
        """The first chunk of each part."""
        counts = [part.collective.chunks for part in self.parts]
        return tuple(sum(counts[:place]) for place in range(len(counts)))

    def times_of_parts(self, chunk: NDArray[Any], end_ps: NDArray[np.int64]) -> tuple[int, ...]:
        """Return when the last of the sends of each part has arrived, from columns of all sends."""
        firsts = np.array(self.firsts, dtype=np.int64)
        times = np.zeros(len(firsts), dtype=np.int64)
        np.maximum.at(times, np.searchsorted(firsts, chunk, side="right") - 1, end_ps)
        return tuple(times.tolist())

    @property
    def tree_sends(self) -> int:
        """How many sends are needed at least: a sum goes up a tree to a root, and perhaps down again."""
        if self.parts:
            return sum(part.collective.tree_sends for part in self.parts)
        if self.name == CUSTOM:
            return len(set(self.postconditions) - set(self.preconditions))
        npus = 1 if self.name in ("broadcast", "scatter", "gather", "reduce") else self.npus
        once = self.chunks_per_npu * npus * (self.npus - 1)
        return once * {"all_reduce": 2}.get(self.name, 1)

    @property
    def everyone_wants_all(self) -> bool:
        """Whether every NPU is to have every chunk at the end."""
        return self.name in ("all_gather", "broadcast", "all_reduce")

    @property
    def chunks(self) -> int:
        """How many different chunks there are."""
        if self.parts:
            return sum(part.collective.chunks for part in self.parts)
        if self.name == CUSTOM:
            return 1 + max((chunk for _, chunk in (*self.preconditions, *self.postconditions)), default=-1)
        copies = {"broadcast": 1, "reduce": 1, "all_to_all": self.npus * self.npus}
        return self.chunks_per_npu * copies.get(self.name, self.npus)

    def holdings(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The pairs (NPU, chunk) that are there at first, as two arrays; of a reducing collective: none."""
        if self.parts:
            return self._joined(part.collective.holdings() for part in self.parts)
        if self.name == CUSTOM:
            pairs = np.array(self.preconditions, dtype=np.int32).reshape(-1, 2)
            return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        chunks = np.arange(0 if self.is_reducing else self.chunks, dtype=np.int32)
        if self.name in ("broadcast", "scatter"):
            return np.full_like(chunks, self.root), chunks
        if self.name == "all_to_all":
            return chunks // self.npus % self.npus, chunks
        return chunks % self.npus, chunks

    def contributions(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The pairs (NPU, chunk) whose sums are asked for, as two arrays; without sums none."""
        if self.parts:
            return self._joined(part.collective.contributions() for part in self.parts)
        chunks = np.arange(self.chunks if self.is_reducing else 0, dtype=np.int32)
        npus = np.repeat(np.arange(self.npus, dtype=np.int32), len(chunks))
        return npus, np.tile(chunks, self.npus)

    def sources(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The pairs (NPU, chunk) of what is there at first and of what sums are made of, as two arrays."""
        pairs = (self.holdings(), self.contributions())
        npus, chunks = (np.concatenate(column) for column in zip(*pairs, strict=True))
        return npus, chunks

    @property
    def is_sum(self) -> NDArray[np.bool_]:
        """Whether each chunk is a sum."""
        found = np.zeros(self.chunks, dtype=np.bool_)
        found[self.contributions()[1]] = True
        return found

    def _joined(
        self, pairs: Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The pairs of all parts, from those of places in their groups and of their own chunks."""
        found = [
            (np.array(part.group, dtype=np.int32)[places], chunks + np.int32(first))
            for part, first, (places, chunks) in zip(self.parts, self.firsts, pairs, strict=True)
        ]
        npus, chunks = (np.concatenate(column) for column in zip(*found, strict=True))
        return npus, chunks

    def wants(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The pairs (NPU, chunk) that are wanted at the end, as two arrays; large if everyone wants all."""
        if self.parts:
            return self._joined(part.collective.wants() for part in self.parts)
        if self.name == CUSTOM:
            pairs = np.array(self.postconditions, dtype=np.int32).reshape(-1, 2)
            return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        chunks = np.arange(self.chunks, dtype=np.int32)
        if self.everyone_wants_all:
            npus = np.repeat(np.arange(self.npus, dtype=np.int32), len(chunks))
            return npus, np.tile(chunks, self.npus)
        if self.name in ("gather", "reduce"):
            return np.full_like(chunks, self.root), chunks
        return chunks % self.npus, chunks

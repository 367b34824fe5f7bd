"""The chunks that a collective moves: which NPU has which chunk at first, and which wants it at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.base.errors import InputError
from dse.base.settings.checks import check_choice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REDUCING = ("reduce", "reduce_scatter", "all_reduce")
COLLECTIVES = ("all_gather", "broadcast", "scatter", "gather", "all_to_all", *REDUCING)
CUSTOM = "custom"
# Chunks are counted in 32 bits, and so are the pairs of NPUs of an all-to-all.
MOST_CHUNKS = 1 << 31


@dataclass(frozen=True)
class Collective:
    """One of `COLLECTIVES` among `npus` NPUs; broadcast and reduce have `chunks_per_npu` chunks in all.

    `holdings` and `wants` say which NPU has and wants each chunk. `custom` has pairs (NPU, chunk):
    `preconditions` are there at first, `postconditions` are wanted at the end.
    """

    name: str
    npus: int
    chunks_per_npu: int = 1
    root: int = 0
    preconditions: tuple[tuple[int, int], ...] = ()
    postconditions: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        """Refuse unknown names and wants that no NPU can meet; each condition counts once."""
        check_choice("collective", self.name, (*COLLECTIVES, CUSTOM))
        held = {chunk for _, chunk in self.preconditions}
        for npu, chunk in self.postconditions:
            if chunk not in held:
                raise InputError(f"NPU {npu} wants chunk {chunk}, which no NPU has in preconditions")
        for name in ("preconditions", "postconditions"):
            object.__setattr__(self, name, tuple(sorted(set(getattr(self, name)))))

    @property
    def is_reducing(self) -> bool:
        """Whether chunks are sums to which every NPU contributes."""
        return self.name in REDUCING

    @property
    def everyone_wants_all(self) -> bool:
        """Whether every NPU is to have every chunk at the end."""
        return self.name in ("all_gather", "broadcast", "all_reduce")

    @property
    def chunks(self) -> int:
        """How many different chunks there are."""
        if self.name == CUSTOM:
            return 1 + max((chunk for _, chunk in (*self.preconditions, *self.postconditions)), default=-1)
        copies = {"broadcast": 1, "reduce": 1, "all_to_all": self.npus * self.npus}
        return self.chunks_per_npu * copies.get(self.name, self.npus)

    def holdings(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The pairs (NPU, chunk) that are there at first, as two arrays; of a reducing collective: none."""
        import numpy as np

        if self.name == CUSTOM:
            pairs = np.array(self.preconditions, dtype=np.int32).reshape(-1, 2)
            return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        chunks = np.arange(0 if self.is_reducing else self.chunks, dtype=np.int32)
        if self.name in ("broadcast", "scatter"):
            return np.full_like(chunks, self.root), chunks
        if self.name == "all_to_all":
            return chunks // self.npus % self.npus, chunks
        return chunks % self.npus, chunks

    def wants(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The pairs (NPU, chunk) that are wanted at the end, as two arrays; large if everyone wants all."""
        import numpy as np

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

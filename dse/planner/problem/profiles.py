"""Layer profiles: measured or modelled times and memory of every layer, per type, tensor degree and batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class ProfileKey(NamedTuple):
    """The case that a profile was taken for: GPU type, tensor degree, batch (sequences of a micro-batch)."""

    type: str
    tp: int
    batch: int

    def __str__(self) -> str:
        """As a profile's file name has it, for messages."""
        return f"{self.type} tp {self.tp} batch {self.batch}"


@dataclass(frozen=True)
class Profile:
    """One profile of L layers.

    `layer_ms` are forward plus backward times; `layer_memory_mb` memories in MB (2^20 bytes); `gap_ms` is the
    forward-backward time less the sum of the layers; the others are times in ms of one optimizer step and one
    batch.
    """

    layer_ms: tuple[float, ...]
    layer_memory_mb: tuple[float, ...]
    gap_ms: float
    optimizer_ms: float
    batch_generator_ms: float


@dataclass(frozen=True)
class ProfileSet:
    """Profiles by key, and the parameters of the model in bytes.

    `first` is the key whose optimizer time, batch generator time and layer weights the compat cost takes for
    all. `parameters_bytes` has an entry per layer. `memory_has_states` says that memories are totals of a GPU
    with weights, gradients and optimizer states; otherwise they are activations alone. `leaves_out` names
    ways to run layers that predictions do not have.
    """

    profiles: Mapping[ProfileKey, Profile]
    first: ProfileKey
    parameters_bytes: tuple[float, ...]
    memory_has_states: bool = True
    source: str = "profiles"
    leaves_out: tuple[str, ...] = ()

    @property
    def layers(self) -> int:
        """Number of layers, embedding and output head included."""
        return len(self.parameters_bytes)

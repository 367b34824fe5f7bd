"""How truly a model is modelled: as the reference does, or with each of its limits repaired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from dse.base.errors import InputError, did_you_mean
from dse.base.settings.schemas import stated

FIDELITIES = ("stage", "realistic")
RECOMPUTES = ("stage", "selective", "full")


@dataclass(frozen=True)
class Repairs:
    """Repairs of the reference's model; None means the choice of the model's fidelity (docs/workload.md).

    Raises:
        InputError: a value that is not allowed.
    """

    bytes_per_element: int | None = field(
        default=None,
        metadata=stated(
            "bytes of an element, 1 to 8. This and all below: null is what `model.fidelity` says"
        ),
    )
    multiply_add_as_two: bool | None = field(
        default=None, metadata=stated("a multiply-add is two operations")
    )
    block_shapes: bool | None = field(
        default=None, metadata=stated("grouped queries and the gate of the feed-forward")
    )
    output_projection: bool | None = field(
        default=None, metadata=stated("attention ends with an output projection")
    )
    nonlinear_operators: bool | None = field(
        default=None, metadata=stated("softmax, activation function and dropout")
    )
    loss: bool | None = field(default=None, metadata=stated("the loss turns logits into their gradient"))
    embedding_lookup: bool | None = field(
        default=None, metadata=stated("the input embedding reads rows instead of multiplying")
    )
    no_input_gradient: bool | None = field(
        default=None, metadata=stated("no gradient of the network's input")
    )
    optimizer_state: bool | None = field(
        default=None, metadata=stated("Adam in mixed precision: 12 more bytes per weight")
    )
    consistent_sharding: bool | None = field(
        default=None, metadata=stated("weights that FSDP shards are gathered over dp and sp")
    )
    just_in_time_gathers: bool | None = field(
        default=None, metadata=stated("FSDP gathers weights a block ahead")
    )
    shared_gathers: bool | None = field(default=None, metadata=stated("q, k, v gather their input once"))
    contiguous_stages: bool | None = field(
        default=None, metadata=stated("neighbouring layers share a stage, micro-batches in the order 1F1B")
    )
    recompute: str | None = field(
        default=None,
        metadata=stated(
            "what `activation_recompute` computes again: `stage`, `selective` or `full`", is_choice=True
        ),
    )

    def __post_init__(self) -> None:
        """Check every value."""
        for key in REPAIRS:
            value = getattr(self, key)
            if value is None:
                continue
            if key == "bytes_per_element":
                if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 8:
                    raise InputError(
                        f"model.repairs.{key} is {value!r}; it must be an integer from 1 to 8, or null"
                    )
            elif key == "recompute":
                if value not in RECOMPUTES:
                    raise InputError(
                        f"model.repairs.recompute is {value!r}; allowed are {', '.join(RECOMPUTES)}, or "
                        f"null{did_you_mean(str(value), RECOMPUTES)}"
                    )
            elif not isinstance(value, bool):
                raise InputError(f"model.repairs.{key} is {value!r}; it must be true, false or null")

    def over(self, defaults: Repairs) -> Repairs:
        """Return these values, and `defaults` where they are None."""
        chosen: dict[str, Any] = {}
        for key in REPAIRS:
            value = getattr(self, key)
            chosen[key] = getattr(defaults, key) if value is None else value
        return Repairs(**chosen)


REPAIRS = tuple(field.name for field in fields(Repairs))
_SWITCHES = tuple(key for key in REPAIRS if key not in ("bytes_per_element", "recompute"))
REPAIRS_OF = {
    "stage": Repairs(1, recompute="stage", **dict.fromkeys(_SWITCHES, False)),
    "realistic": Repairs(2, recompute="selective", **dict.fromkeys(_SWITCHES, True)),
}


_TWO = "a multiply-add is two FLOPs; recompute does not count (6 N D and the attention scores)"
_ONE = (
    "operations of the reference's graph, one per multiply-add (published MFU: two); recompute does not count"
)

RELATIVE_ERROR: Mapping[str, float | None] = {"stage": 0.0, "realistic": None}
"""How far wall times may be off against each other; None means not calibrated.

Times under `stage` equal those of the reference, so that a difference is one of the reference, too.
"""


def counted_operations(*, multiply_add_as_two: bool | None) -> str:
    """Return what MFU counts."""
    return _TWO if multiply_add_as_two else _ONE


def counted_by(model: Mapping[str, Any]) -> str:
    """Return the same for a model as plain data, as rows have it."""
    two = (model.get("repairs") or {}).get("multiply_add_as_two")
    if two is None:
        two = REPAIRS_OF[model.get("fidelity", "stage")].multiply_add_as_two
    return counted_operations(multiply_add_as_two=two)

"""The meaning of a fidelity's figures: which operations MFU counts, and how far times are known to be off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.inputs.models.fidelity import REPAIRS_OF

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

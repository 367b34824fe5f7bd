"""Shares of training steps from constants of kernels, and an accelerator file for a user's cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace

from dse.inputs.accelerators.accelerator import CALIBRATED_BY_USER, Accelerator
from dse.inputs.accelerators.efficiency import Efficiency
from dse.inputs.accelerators.kernel_constants import KernelConstants
from dse.prediction.calibration.constant_files import flow, quoted, with_keys
from dse.prediction.kernels.sustained import sustained_share

BACKWARD_ATTENTION = 1.25
"""By how much the backward pass of attention is slower an operation: Shah et al. 2024, arXiv:2407.08608."""


def step_shares(constants: KernelConstants) -> dict[str, float]:
    """Return the shares of `Efficiency` that constants of kernels tell, at the clock of training steps.

    `memory` is not among them: casts come from the cache too often to tell it.
    """
    products = {"bf16": "matrix", "fp8": "matrix_8bit", "nvfp4": "matrix_4bit"}
    shares = {
        name: sustained_share(found.share, "product", precision, found.sustained)
        for precision, name in products.items()
        if (found := constants.products.get(precision))
    }
    if attention := constants.attention.get("bf16"):
        burst, slowdown = attention.share, attention.sustained
        shares["attention"] = sustained_share(burst, "attention", "bf16", slowdown) / BACKWARD_ATTENTION
    if constants.collectives:
        shares["links"] = constants.collectives.share
    return shares


def own_efficiency(
    present: Efficiency, before: KernelConstants, after: KernelConstants
) -> tuple[Efficiency, list[str]]:
    """Return the shares of a user's accelerator, and the names of those that changed.

    A share of steps changes by the ratio of the kernels measured now to those behind the shipped constants:
    it was fitted to steps, which hold more than kernels. Without shipped ones it is that of the kernels.
    """
    old, new = step_shares(before), step_shares(after)
    changed = {name: share for name, share in new.items() if share != old.get(name)}
    values: Mapping[str, float | None] = asdict(present)
    scaled = {
        name: share if values[name] is None or name not in old else (values[name] or 0.0) * share / old[name]
        for name, share in changed.items()
    }
    return replace(present, **{name: min(share, 1.0) for name, share in scaled.items()}), list(changed)


def accelerator_text(
    text: str, present: Accelerator, efficiency: Efficiency, changed: Collection[str], files: str
) -> str:
    """Return the text of the file of an accelerator with its shares, and how they are known.

    `files` names the tables that told the `changed` ones; the others are as `present` says.
    """
    others = f"; others {present.calibration}" if present.calibration else ""
    calibration = f"{CALIBRATED_BY_USER}: {', '.join(changed)} by {files}{others}"
    lines = {"efficiency": flow(asdict(efficiency), 4), "calibration": quoted(calibration)}
    uncertainty = {name: value for name, value in present.uncertainty.items() if name not in changed}
    if uncertainty:
        lines["uncertainty"] = flow(uncertainty, 4)
    return with_keys(text, lines, without=["efficiency_of", "uncertainty"])

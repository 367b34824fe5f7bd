"""Kinds of steps: two steps of one kind are predicted alike well, as far as measured runs tell."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.strategies.precisions import PRECISIONS
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.plan_rules import rule

_MOST_NPUS = (0, 8, 64, 512)
_BITS = 16


class Kind(NamedTuple):
    """The features that steps of one kind share.

    `bits` are those of the operands of most products. `blocks` is dense, experts (all copies of a token's
    experts within one node or NVLink domain) or experts across nodes. `context` says whether sequences are
    split (cp > 1). `scale` is a range of NPUs.
    """

    accelerator: str
    bits: int
    blocks: str
    context: bool
    framework: str
    scale: str


WIDER = ("scale", "context", "bits", "accelerator", "blocks", "framework")
"""The features of a kind in the order in which they stop to count, as kinds get wider."""


def kind_of(model: ModelSpec, plan: Plan, cluster: Cluster) -> Kind:
    """Return the kind of a step."""
    given = {"model": model, "cluster": cluster}
    found: dict[str, Any] = {
        name: say(*[given[each] if each in given else getattr(plan, each) for each in names])
        for name, (names, say) in FEATURES.items()
    }
    return Kind(**found)


def _accelerator(cluster: Cluster) -> str:
    return cluster.accelerator.name


def _bits(precision: str) -> int:
    recipe = PRECISIONS.get(precision)
    return recipe.bits if recipe else _BITS


def _blocks(
    model: ModelSpec,
    cluster: Cluster,
    dp: int,
    tp: int,
    pp: int,
    cp: int,
    ep: int,
    expert_tp: int,
    order: str,
) -> str:
    """The NPUs from the first to behind the last of those that exchange tokens may span nodes."""
    if model.experts is None:
        return "dense"
    width = expert_tp or tp
    degrees = {"tp": width, "ep": ep, "dp": tp * cp * dp // (width * ep), "pp": pp, "cp": 1}
    inner = order.split("ep")[0]
    span = ep * math.prod([degrees[axis] for axis in inner.split("-") if axis])
    return "experts across nodes" if ep > 1 and span > cluster.tiers[0].npus else "experts"


def _context(cp: int) -> bool:
    return cp > 1


def _framework(framework: str) -> str:
    return framework


def _scale(dp: int, tp: int, pp: int, cp: int) -> str:
    return scale_of(dp * tp * pp * cp)


def scale_of(npus: int) -> str:
    """Return the range of sizes that a number of NPUs is in.

    >>> scale_of(8), scale_of(100), scale_of(4096)
    ('1 to 8', '65 to 512', 'above 512')
    """
    for below, most in pairwise(_MOST_NPUS):
        if npus <= most:
            return f"{below + 1} to {most}"
    return f"above {_MOST_NPUS[-1]}"


FEATURES = {
    "accelerator": rule(_accelerator),
    "bits": rule(_bits),
    "blocks": rule(_blocks),
    "context": rule(_context),
    "framework": rule(_framework),
    "scale": rule(_scale),
}
"""The features of a kind; each reads values of a plan, its model or its cluster."""


def words_of(kind: Kind, differing: int = 0) -> str:
    """Return a kind in words, without the first `differing` features of `WIDER`.

    >>> words_of(Kind("gb200", 8, "experts", False, "megatron-bridge", "65 to 512"))
    'megatron-bridge on gb200, 8 bit, experts, cp 1, 65 to 512 NPUs'
    """
    said = set(WIDER[differing:])
    words = [f"{kind.framework} on {kind.accelerator}" if "accelerator" in said else kind.framework]
    words += [f"{kind.bits} bit"] if "bits" in said else []
    words += [kind.blocks] if "blocks" in said else []
    words += ["cp > 1" if kind.context else "cp 1"] if "context" in said else []
    words += [f"{kind.scale} NPUs"] if "scale" in said else []
    return ", ".join(words) if said else "all kinds"

"""Kinds of steps: two steps of one kind are predicted alike well, as far as measured runs tell."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

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
    values = [given[name] if name in given else getattr(plan, name) for name in KIND.names]
    found: Kind = KIND.say(*values)
    return found


def _kind(
    model: ModelSpec,
    cluster: Cluster,
    dp: int,
    tp: int,
    pp: int,
    cp: int,
    ep: int,
    expert_tp: int,
    order: str,
    precision: str,
    framework: str,
) -> Kind:
    recipe = PRECISIONS.get(precision)
    blocks = "dense"
    if model.experts is not None:
        width = expert_tp or tp
        degrees = {"tp": width, "ep": ep, "dp": tp * cp * dp // (width * ep), "pp": pp, "cp": 1}
        inner = [degrees[axis] for axis in order.split("ep")[0].split("-") if axis]
        span = ep * math.prod(inner)  # of NPUs that exchange tokens: from the first to behind the last
        blocks = "experts across nodes" if ep > 1 and span > cluster.tiers[0].npus else "experts"
    return Kind(
        accelerator=cluster.accelerator.name,
        bits=recipe.bits if recipe else _BITS,
        blocks=blocks,
        context=cp > 1,
        framework=framework,
        scale=scale_of(dp * tp * pp * cp),
    )


KIND = rule(_kind)


def scale_of(npus: int) -> str:
    """Return the range of sizes that a number of NPUs is in.

    >>> scale_of(8), scale_of(100), scale_of(4096)
    ('1 to 8', '65 to 512', 'above 512')
    """
    for below, most in pairwise(_MOST_NPUS):
        if npus <= most:
            return f"{below + 1} to {most}"
    return f"above {_MOST_NPUS[-1]}"


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

"""The mesh of MaxText: axes within slices (ici) and between them (dcn), of which one each may be open."""

from __future__ import annotations

import math
from typing import Any

from dse.prediction.frameworks.rules import Facts

AXES = (
    "diloco",
    "data",
    "fsdp",
    "fsdp_transpose",
    "sequence",
    "context",
    "context_usp_ulysses",
    "context_autoregressive",
    "tensor",
    "tensor_sequence",
    "pipeline",
    "autoregressive",
    "expert",
)
UNMODELLED = ("diloco", "sequence", "context_usp_ulysses", "context_autoregressive", "autoregressive")
_OPEN = -1
_PER_NODE = 8  # GPUs that are a slice where nothing says how many slices there are


def mesh_facts(facts: Facts) -> dict[str, Any]:
    """Return the degrees of the axes, both kinds together, and those that are open or do not go up."""
    npus = facts.get("npus")
    inner = {axis: facts[f"ici_{axis}"] for axis in AXES}
    outer = {axis: facts[f"dcn_{axis}"] for axis in AXES}
    slices = _slices(facts, inner, outer)
    is_guessed = facts["num_slices"] < 1 and _OPEN in inner.values() and _OPEN in outer.values()
    found: dict[str, Any] = {
        "slices": slices,
        "ici_open": sum(size == _OPEN for size in inner.values()),
        "dcn_open": sum(size == _OPEN for size in outer.values()),
        "assumes_slices": slices is not None and slices > 1 and is_guessed,
    }
    if npus is None and slices and _OPEN not in inner.values() and _known(inner) > 0:
        npus = found["npus"] = _known(inner) * slices  # a mesh without an open axis holds all devices
    per_slice = npus // slices if npus is not None and slices and npus % slices == 0 else None
    inner, outer = _filled(inner, per_slice), _filled(outer, slices)
    found["ici_product"], found["dcn_product"] = _product(inner), _product(outer)
    degrees = {axis: _times(inner[axis], outer[axis]) for axis in AXES}
    found |= {f"axis_{axis}": degree for axis, degree in degrees.items()}
    found["tp"] = _times(degrees["tensor"], degrees["tensor_sequence"])
    found["pp"], found["cp"], found["ep"] = degrees["pipeline"], degrees["context"], degrees["expert"]
    found["shards"] = _times(degrees["fsdp"], degrees["fsdp_transpose"])
    found["dp"] = _times(_times(degrees["data"], found["shards"]), degrees["expert"])
    return {name: value for name, value in found.items() if value is not None}


def _slices(facts: Facts, inner: dict[str, int], outer: dict[str, int]) -> int | None:
    """The number of slices: stated, or what the axes leave, or nodes of GPUs; TPUs have one."""
    stated, npus = facts["num_slices"], facts.get("npus")
    if stated > 0:
        return int(stated)
    if _OPEN not in outer.values():
        return _known(outer)
    if npus is None:
        return None
    within = _known(inner)
    if _OPEN not in inner.values():
        return int(npus // within) if within > 0 and npus % within == 0 else 1
    has_nodes = str(facts["hardware"]).startswith("gpu") and npus > _PER_NODE and npus % _PER_NODE == 0
    return int(npus // _PER_NODE) if has_nodes else 1


def _known(sizes: dict[str, int]) -> int:
    return math.prod(size for size in sizes.values() if size != _OPEN)


def _filled(sizes: dict[str, int], total: int | None) -> dict[str, int | None]:
    """The sizes with the first open axis filled: None without a total, 1 where it does not go up."""
    known = _known(sizes)
    rest: int | None = None
    if total is not None:
        rest = total // known if known > 0 and total % known == 0 else 1
    is_first = True
    found: dict[str, int | None] = {}
    for axis, size in sizes.items():
        found[axis] = size if size != _OPEN else rest if is_first else 1
        is_first = is_first and size != _OPEN
    return found


def _product(sizes: dict[str, int | None]) -> int | None:
    found = 1
    for size in sizes.values():
        if size is None:
            return None
        found *= size
    return found


def _times(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one * other

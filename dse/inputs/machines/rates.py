"""Rates and latencies of the links of a machine: stated, known of its type of GPU, or given by the user."""

from __future__ import annotations

import re
from fractions import Fraction

from dse.inputs.machines.facts import NVLINKS, XGMI_GBPS, architecture_of
from dse.inputs.machines.given import PREFIX, Given
from dse.inputs.machines.machine import Link, Machine

_PUBLISHED = ("nvlink", "xgmi")


def key_of(kind: str) -> str:
    """Return the part of keys that names a kind of links: `nvlink` of `machine.nvlink_gbps`."""
    return re.sub(r"[^a-z0-9]+", "_", kind.lower()).strip("_")[:60] or "link"


def gbps_of(link: Link, machine: Machine, given: Given) -> Fraction | None:
    """Return GB/s of a bundle in one direction: stated, given or published; None where it was asked for."""
    if link.gbps is not None:
        return link.gbps
    key = f"{key_of(link.kind)}_gbps"
    known = None if key in given.texts else _known(link, machine, given)
    why = f"10^9 bytes/s of one {link.kind} in one direction"
    if link.kind in _PUBLISHED and known is None and "accelerator" not in given.texts:
        why += f"; it is known of many types: {PREFIX}accelerator=…"
    one = given.number(key, why, known)
    return None if one is None else one * link.count


def latency_of(link: Link, given: Given) -> Fraction | None:
    """Return the latency of a link in ns, stated or given; None where it was asked for."""
    if link.latency_ns is not None:
        return link.latency_ns
    why = f"ns of a message over one {link.kind}"
    return given.number(f"{key_of(link.kind)}_latency_ns", why, is_zero_allowed=True)


def accelerator_of(machine: Machine, given: Given, *, is_needed: bool = True) -> str | None:
    """Return the type of conf/accelerator of all GPUs; None where it was asked for."""
    found = {machine.devices[number].accelerator for number in machine.gpus}
    own = found.pop() if len(found) == 1 else ""
    if not own and not is_needed and "accelerator" not in given.texts:
        given.used.add("accelerator")
        return None
    return given.text("accelerator", "a type of conf/accelerator, or a file", own or None)


def _known(link: Link, machine: Machine, given: Given) -> Fraction | None:
    """The published rate of one link of the GPUs."""
    if link.kind not in _PUBLISHED:
        return None
    accelerator = accelerator_of(machine, given, is_needed=False) or ""
    rate: Fraction | int | None = None
    if link.kind == "xgmi":
        rate = XGMI_GBPS.get(accelerator)
        name = accelerator
    else:
        architectures = {machine.devices[number].architecture for number in machine.gpus}
        name = architecture_of(accelerator) or (architectures.pop() if len(architectures) == 1 else "")
        rate = NVLINKS[name][0] if name in NVLINKS else None
    if rate is None:
        return None
    given.take(
        f"one {link.kind} has {float(rate):g} GB/s in one direction: published of {accelerator or name}"
    )
    return Fraction(rate)

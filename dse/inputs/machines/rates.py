"""Rates and latencies of the links of a machine: stated, known of its type of GPU, or given by the user."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction

from dse.base.errors import InputError
from dse.inputs.machines.facts import NVLINKS, XGMI_GBPS, architecture_of
from dse.inputs.machines.given import PREFIX, Given
from dse.inputs.machines.machine import Link, Machine

_PUBLISHED = ("nvlink", "xgmi")
_MOST_APART = Fraction(1, 5)


def key_of(kind: str) -> str:
    """Return the part of keys that names a kind of links: `nvlink` of `machine.nvlink_gbps`."""
    return re.sub(r"[^a-z0-9]+", "_", kind.lower()).strip("_")[:60] or "link"


def gbps_of(link: Link, machine: Machine, given: Given) -> Fraction | None:
    """Return GB/s of a bundle in one direction: stated, given or published; None where it was asked for."""
    if link.gbps is not None:
        return link.gbps
    key = f"{key_of(link.kind)}_gbps"
    known, whose = _published(link, machine, given)
    why = f"10^9 bytes/s of one {link.kind} in one direction"
    if link.kind in _PUBLISHED and known is None and "accelerator" not in given.texts:
        why += f"; it is known of many types: {PREFIX}accelerator=…"
    one = given.number(key, why, known)
    if one is not None and known is not None:
        published = f"one {link.kind} has {float(known):g} GB/s in one direction: published of {whose}"
        if key not in given.texts:
            given.take(published)
        elif abs(one / known - 1) > _MOST_APART:
            given.take(
                f"{PREFIX}{key} is {float(one):g}, the rate of one link and not of a GPU, but {published}"
            )
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


def _published(link: Link, machine: Machine, given: Given) -> tuple[Fraction | None, str]:
    """The published rate of one link of the GPUs, and their type; None where it is not known.

    Raises:
        InputError: GPUs have more links than those of the type that the user gives.
    """
    if link.kind not in _PUBLISHED:
        return None, ""
    accelerator = accelerator_of(machine, given, is_needed=False) or ""
    rate: Fraction | int | None = None
    if link.kind == "xgmi":
        rate = XGMI_GBPS.get(accelerator)
        name = accelerator
    else:
        architectures = {machine.devices[number].architecture for number in machine.gpus}
        name = architecture_of(accelerator) or (architectures.pop() if len(architectures) == 1 else "")
        if name in NVLINKS:
            rate, most = NVLINKS[name]
            _check_count(machine, given, most, accelerator or name)
    return None if rate is None else Fraction(rate), accelerator or name


def _check_count(machine: Machine, given: Given, most: int, name: str) -> None:
    """Refuse a type of GPU that has fewer NVLinks than the document says, or note a type that it states.

    Links in one direction are paths of NCCL, which may share wires.
    """
    counts: Counter[int] = Counter()
    for link in machine.links:
        if link.kind == "nvlink" and not link.is_one_way:
            for end in link.ends:
                counts[end] += link.count
    gpu = max(machine.gpus, key=lambda number: counts[number])
    if counts[gpu] > most:
        own = f"{machine.devices[gpu].name} has {counts[gpu]} NVLinks"
        if "accelerator" in given.texts:
            raise InputError(f"{PREFIX}accelerator is {name}, which has at most {most} NVLinks, but {own}")
        given.take(f"{own}, but a GPU of {name} has at most {most}")

"""Constants of the laws of kernels and collectives, a file of conf/kernels per accelerator type."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, excerpt, unknown
from dse.base.files import conf_file, conf_names
from dse.base.record_files import yaml_record


@dataclass(frozen=True)
class ProductConstants:
    """Shares of peak operations and of the memory's bandwidth that matrix products reach in bursts.

    `launch_us` is the least time. A side of `half_size` elements halves the rate of a product. `sustained` is
    how much longer a product takes when the power limit slows the clock; None: not measured.
    """

    share: float
    memory_share: float
    launch_us: float
    half_size: float = 96.0
    sustained: float | None = None


@dataclass(frozen=True)
class CastConstants:
    """Kernels that cast activations to 8 bit or less, and that find their largest value (amax) before.

    Shares are of the memory's bandwidth; above 1 they say that tensors come from the cache (L2).
    """

    launch_us: float
    memory_share: float
    amax_launch_us: float
    amax_memory_share: float


@dataclass(frozen=True)
class AttentionConstants:
    """Fused causal attention.

    `half_sequence` is the length at which half of the rate is reached. An operation of a head of another
    width than 128 costs (128 / width)^x of one of 128: x is `head_exponent` for narrower and `wide_exponent`
    for wider ones. `tile_share` is the part of a last tile that other tiles wait for. `sustained` is as in
    `ProductConstants`.
    """

    share: float
    half_sequence: float
    head_exponent: float
    tile_share: float
    memory_share: float
    launch_us: float
    wide_exponent: float = 0.0
    sustained: float | None = None


@dataclass(frozen=True)
class CollectiveConstants:
    """Collectives in an NVLink domain: the start, each step of a ring, and the share of the links' rate.

    `own_share` is what the copy of a rank's own part costs, as a share of moving it over a link.
    """

    launch_us: float
    step_us: float
    share: float
    own_share: float


@dataclass(frozen=True)
class ExpertConstants:
    """Grouped products of experts: `half_rows` rows a local expert halve the rate of a product.

    `accesses` are the reads and writes of the rows by routing, sorting, gathering and the weighted sum.
    """

    half_rows: float
    accesses: float
    memory_share: float
    launch_us: float


@dataclass(frozen=True)
class ExchangeConstants:
    """Exchange of tokens with experts: the start, the share of the links, the copy of a rank's own tokens."""

    launch_us: float
    share: float
    own_share: float = 0.0


@dataclass(frozen=True)
class KernelConstants:
    """Constants of the kernels of an accelerator type, measured in bursts.

    `link_gbps` is the data-sheet bandwidth of its links in one direction and `nic_gbps` that of a NIC
    between nodes, in 10^9 bytes per second. `products`, `attention` and `experts` are by precision: bf16,
    fp8 (one scale a tensor, found at run time), fp8_block, nvfp4. `dispatch` and `combine` are by the number
    of nodes; their `domain` is among the ranks of an NVLink domain of many nodes. `sources` says for each
    part how it is known. `lent_by` is the type whose constants these are.
    """

    name: str
    multiprocessors: int
    link_gbps: float
    sources: Mapping[str, str] = field(compare=False, hash=False)
    gpus_per_node: int = 8
    nic_gbps: float = 50.0
    products: Mapping[str, ProductConstants] = field(default_factory=dict, hash=False)
    casts: CastConstants | None = None
    attention: Mapping[str, AttentionConstants] = field(default_factory=dict, hash=False)
    collectives: CollectiveConstants | None = None
    experts: Mapping[str, ExpertConstants] = field(default_factory=dict, hash=False)
    dispatch: Mapping[str, ExchangeConstants] = field(default_factory=dict, hash=False)
    combine: Mapping[str, ExchangeConstants] = field(default_factory=dict, hash=False)
    constants_of: str = ""
    lent_by: str = ""


KERNEL_PRECISIONS = ("bf16", "fp8", "fp8_block", "nvfp4")
PARTS = ("products", "casts", "attention", "collectives", "experts", "dispatch", "combine")
_SHARES_MAY_EXCEED_1 = ("casts",)


def kernel_names() -> tuple[str, ...]:
    """The names of the files of conf/kernels, which are those of accelerator types."""
    return conf_names("kernels")


def kernel_constants(name: str, key: str = "kernels") -> KernelConstants:
    """Return the constants of the kernels of an accelerator type, by its name in conf/accelerator, or a file.

    A type with `constants_of` has the parts that it lacks from that type, and `lent_by` says so.

    Raises:
        InputError: there are none of this type, or a file has an unknown, missing or impossible key.
    """
    if name.endswith((".yaml", ".yml")):
        return _with_lent(_read(Path(name).expanduser()))
    known = kernel_names()
    if name not in known:
        problem = f"{key} is '{excerpt(name)}'"
        allowed = f"types with measured kernels are {', '.join(known)}, or a file like those of conf/kernels"
        raise InputError(unknown(problem, name, known, allowed))
    return _with_lent(_of_conf(name))


@functools.cache
def _of_conf(name: str) -> KernelConstants:
    return _read(conf_file("kernels", name))


def _read(path: Path) -> KernelConstants:
    found = yaml_record(path, KernelConstants, "kernels")
    for key, value in _figures(found, "kernels"):
        is_share = key.endswith("share") and not key.endswith("own_share")
        most = 1.0 if is_share and key.split(".")[1] not in _SHARES_MAY_EXCEED_1 else math.inf
        if not 0 <= value <= most or math.isinf(value) or (is_share and not value):
            allowed = "above 0 and at most 1" if is_share and most == 1 else "of at least 0"
            raise InputError(f"{path}: {key} is {value:g}; it must be a number {allowed}")
    _check_keys(found, path)
    for name in ("multiprocessors", "gpus_per_node", "link_gbps", "nic_gbps"):
        if not getattr(found, name) > 0:
            raise InputError(f"{path}: kernels.{name} is {getattr(found, name):g}; it must be above 0")
    return found


def _check_keys(found: KernelConstants, path: Path) -> None:
    """Refuse precisions and numbers of nodes that no law asks for."""
    for part in ("products", "attention", "experts"):
        for name in getattr(found, part):
            if name not in KERNEL_PRECISIONS:
                problem = f"{path}: kernels.{part} has {excerpt(name)}"
                allowed = f"allowed are {', '.join(KERNEL_PRECISIONS)}"
                raise InputError(unknown(problem, name, KERNEL_PRECISIONS, allowed))
    for part in ("dispatch", "combine"):
        for name in getattr(found, part):
            if name != "domain" and not re.fullmatch(r"[1-9][0-9]{0,5}", name, re.ASCII):
                raise InputError(
                    f"{path}: kernels.{part} has '{excerpt(name)}'; it must be a number of nodes, or domain"
                )


def _figures(record: Any, key: str) -> Iterator[tuple[str, float]]:
    """Every number of a record, of the records in it too, with its key."""
    values = record if isinstance(record, dict) else {f.name: getattr(record, f.name) for f in fields(record)}
    for name, value in values.items():
        if isinstance(value, int | float):
            yield f"{key}.{name}", float(value)
        elif value is not None and not isinstance(value, str):
            yield from _figures(value, f"{key}.{name}")


def _with_lent(own: KernelConstants) -> KernelConstants:
    if not own.constants_of:
        return own
    known = kernel_names()
    if own.constants_of not in known or _of_conf(own.constants_of).constants_of:
        raise InputError(
            f"kernels.constants_of of {own.name} is '{excerpt(own.constants_of)}'; it must be a type with "
            f"constants of its own, one of {', '.join(n for n in known if not _of_conf(n).constants_of)}"
        )
    other = _of_conf(own.constants_of)
    lent = {part: getattr(other, part) for part in PARTS if not getattr(own, part)}
    return replace(own, **lent, lent_by=other.name)

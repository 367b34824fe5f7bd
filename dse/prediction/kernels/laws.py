"""The law of each kind of table: which rows it is made for, and how long they take on a machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.prediction.kernels.attention import WIDEST_HEAD, attention_s
from dse.prediction.kernels.collectives import (
    COMBINE_BYTES,
    DISPATCH_BYTES,
    OPERATIONS,
    collective_s,
    exchange_between_nodes_s,
    exchange_in_node_s,
)
from dse.prediction.kernels.experts import experts_s
from dse.prediction.kernels.machine import Array, KernelMachine, timed_alone_s
from dse.prediction.kernels.products import PEAK_OF, amax_s, cast_s, linear_s
from dse.prediction.kernels.tables import KernelTable

Mask = NDArray[np.bool_]
LEAST_SIDE = 256
"""Products with a smaller side belong to decoding; the law of training does not fit them."""

LEAST_SEQUENCE = 1024
"""In shorter sequences the start of a kernel of attention counts, which training does not show."""

LEAST_TOKENS = 256
"""Expert layers with fewer tokens belong to decoding, as those with fewer than 4 rows an expert do."""


DOMAIN = "domain"
"""The key of the exchange among the ranks of an NVLink domain of many nodes, such as NVL72."""

LEAST_DOMAIN = 8
"""Fewer ranks lie in one node, or on one tray."""


@dataclass(frozen=True)
class Case:
    """Rows of a table that one law with one set of constants predicts, all of one accelerator type.

    `precision` is the key of the constants: a precision, or cast, amax_scale, a number of nodes or `DOMAIN`.
    """

    law: str
    precision: str
    table: KernelTable
    time_column: str = "us"

    @property
    def measured_s(self) -> Array:
        """The measured seconds, shape (rows,)."""
        return self.table[self.time_column] * 1e-6


def cases(table: KernelTable) -> list[Case]:
    """Return the rows of a table of one accelerator type that laws are made for, by law and precision."""
    return _CASES[table.kind](table)


def predicted_s(case: Case, machine: KernelMachine) -> Array | None:
    """Return the predicted seconds of the rows, shape (rows,); None without constants or a peak for them."""
    return _LAWS[case.law](case, machine)


def parts(case: Case) -> Mapping[str, Mask]:
    """Return the rows that errors are stated for, by a name: all, and those that matter most in training."""
    table, every = case.table, np.ones(len(case.table), dtype=np.bool_)
    if case.law == "attention":
        is_long = table["us"] > 20
        return {
            "all": every,
            "> 20 us": is_long,
            "> 20 us, heads <= 128": is_long & (table["head_dim"] <= 128),
        }
    if case.law == "nccl":
        return {"all": every, ">= 1 MiB": table["bytes"] >= 2**20}
    if case.law in ("dispatch", "combine"):
        return {"all": every, "tokens >= 1024": table["tokens"] >= 1024}
    return {"all": every}


def _by(table: KernelTable, law: str, column: str, mask: Mask, allowed: tuple[str, ...] = ()) -> list[Case]:
    names = sorted(set(table[column][mask].tolist()))
    return [
        Case(law, name, table.where(mask & (table[column] == name)))
        for name in names
        if not allowed or name in allowed
    ]


def _product_cases(table: KernelTable) -> list[Case]:
    mask = np.minimum(np.minimum(table["m"], table["n"]), table["k"]) >= LEAST_SIDE
    return _by(table, "gemm", "dtype", mask, tuple(PEAK_OF))


def _cast_cases(table: KernelTable) -> list[Case]:
    mask = np.minimum(table["m"], table["k"]) >= LEAST_SIDE
    return _by(table, "quantize", "kernel", mask, ("cast", "amax_scale"))


def _attention_cases(table: KernelTable) -> list[Case]:
    turns_rotary = np.char.startswith(table["lib"].astype(str), "trtllm")  # and writes in other orders
    mask = ~turns_rotary & (table["head_dim"] <= WIDEST_HEAD) & (table["s"] >= LEAST_SEQUENCE)
    return _by(table, "attention", "dtype", mask, ("bf16", "fp8"))


def _nccl_cases(table: KernelTable) -> list[Case]:
    mask = np.isin(table["op"], OPERATIONS) & (table["gpus"] > 1)
    return [Case("nccl", "", table.where(mask))] if mask.any() else []


def _expert_cases(table: KernelTable) -> list[Case]:
    rows = table["tokens"] * table["topk"] / table["ep"]
    local = table["experts"] / table["ep"]
    mask = (table["distribution"] == "balanced") & (rows >= 4 * local) & (local >= 1)
    mask &= (table["tokens"] >= LEAST_TOKENS) & (table["inter"] / table["tp"] >= LEAST_SIDE)
    return _by(table, "moe", "dtype", mask, tuple(PEAK_OF))


def _exchange_cases(table: KernelTable) -> list[Case]:
    found = []
    for nodes in sorted(set(table["nodes"].tolist())):
        mask = table["nodes"] == nodes
        most = max(table["dispatch_sms"][mask].max(), table["combine_sms"][mask].max())
        mask &= (table["dispatch_sms"] == most) & (table["combine_sms"] == most)
        rows = table.where(mask)
        if len(rows):
            found += [Case(law, f"{nodes:g}", rows, f"{law}_us") for law in ("dispatch", "combine")]
    return found


def _domain_cases(table: KernelTable) -> list[Case]:
    is_bf16 = (table["dtype"] == "bf16") & (table["ep"] >= LEAST_DOMAIN)
    masks = {law: is_bf16 & (table["op"] == f"alltoall_{law}") for law in ("dispatch", "combine")}
    return [Case(law, DOMAIN, table.where(mask)) for law, mask in masks.items() if mask.any()]


def _product_s(case: Case, machine: KernelMachine) -> Array | None:
    constants = machine.constants.products.get(case.precision)
    peak = machine.accelerator.peak_tflops.get(PEAK_OF[case.precision])
    casts = machine.constants.casts
    if constants is None or peak is None or (casts is None and case.precision != "bf16"):
        return None
    table = case.table
    burst = linear_s(
        table["m"],
        table["n"],
        table["k"],
        precision=case.precision,
        peak_tflops=peak,
        memory_gbps=machine.accelerator.memory_bandwidth_gbps,
        constants=constants,
        casts=casts,
    )
    return timed_alone_s(burst, constants.sustained)


def _cast_s(case: Case, machine: KernelMachine) -> Array | None:
    constants, memory = machine.constants.casts, machine.accelerator.memory_bandwidth_gbps
    if constants is None:
        return None
    m, k = case.table["m"], case.table["k"]
    if case.precision == "amax_scale":
        return amax_s(m, k, memory_gbps=memory, constants=constants)
    return cast_s(m, k, precision="fp8", memory_gbps=memory, constants=constants)


def _attention_s(case: Case, machine: KernelMachine) -> Array | None:
    constants = machine.constants.attention.get(case.precision)
    peak = machine.accelerator.peak_tflops.get(case.precision)
    if constants is None or peak is None:
        return None
    table = case.table
    burst = attention_s(
        table["batch"],
        table["s"],
        table["heads"],
        table["kv_heads"],
        table["head_dim"],
        precision=case.precision,
        peak_tflops=peak,
        memory_gbps=machine.accelerator.memory_bandwidth_gbps,
        multiprocessors=machine.constants.multiprocessors,
        constants=constants,
        writes_cache=True,
    )
    return timed_alone_s(burst, constants.sustained)


def _nccl_s(case: Case, machine: KernelMachine) -> Array | None:
    constants, link, table = machine.constants.collectives, machine.constants.link_gbps, case.table
    if constants is None:
        return None
    seconds = np.zeros(len(table))
    for name in OPERATIONS:
        rows = table["op"] == name
        seconds[rows] = collective_s(
            name, table["bytes"][rows], table["gpus"][rows], link_gbps=link, constants=constants
        )
    return seconds


def _experts_s(case: Case, machine: KernelMachine) -> Array | None:
    products = machine.constants.products.get(case.precision)
    constants = machine.constants.experts.get(case.precision)
    peak = machine.accelerator.peak_tflops.get(PEAK_OF[case.precision])
    if products is None or constants is None or peak is None:
        return None
    table = case.table
    return experts_s(
        table["tokens"] * table["topk"] / table["ep"],
        table["experts"] / table["ep"],
        table["hidden"],
        table["inter"] / table["tp"],
        gated=table["gated"],
        precision=case.precision,
        peak_tflops=peak,
        memory_gbps=machine.accelerator.memory_bandwidth_gbps,
        share=products.share,
        constants=constants,
    )


def _exchange_s(case: Case, machine: KernelMachine) -> Array | None:
    known = machine.constants.dispatch if case.law == "dispatch" else machine.constants.combine
    constants, table = known.get(case.precision), case.table
    if constants is None:
        return None
    width = DISPATCH_BYTES if case.law == "dispatch" else COMBINE_BYTES
    shape = (table["tokens"], table["hidden"], table["experts"], table["topk"])
    if case.precision in ("1", DOMAIN):
        is_domain = case.precision == DOMAIN
        return exchange_in_node_s(
            *shape,
            ranks=table["ep"] if is_domain else machine.constants.gpus_per_node,
            feature_bytes=COMBINE_BYTES if is_domain else width,
            link_gbps=machine.constants.link_gbps,
            constants=constants,
        )
    nic = machine.constants.nic_gbps
    return exchange_between_nodes_s(
        *shape, nodes=table["nodes"], feature_bytes=width, nic_gbps=nic, constants=constants
    )


_CASES: Mapping[str, Callable[[KernelTable], list[Case]]] = {
    "gemm": _product_cases,
    "quantize": _cast_cases,
    "attention": _attention_cases,
    "nccl": _nccl_cases,
    "moe": _expert_cases,
    "alltoall": _domain_cases,
    "deepep": _exchange_cases,
}
_LAWS: Mapping[str, Callable[[Case, KernelMachine], Array | None]] = {
    "gemm": _product_s,
    "quantize": _cast_s,
    "attention": _attention_s,
    "nccl": _nccl_s,
    "moe": _experts_s,
    "dispatch": _exchange_s,
    "combine": _exchange_s,
}

"""How much a plan trains in a second: sequences, tokens, and the share of the GPUs' peak (MFU)."""

from __future__ import annotations

from typing import NamedTuple

from dse.base.units import format_duration_ns
from dse.planner.problem.problem import PlanProblem

CONVENTION = "model FLOPs of the step / (step time x peak of all GPUs in dense 16-bit products)"


_NO_MODEL = "profiles have no model; with model=NAME, of as many layers, the answer has them"


class Throughput(NamedTuple):
    """Throughput, as far as it is known. `mfu_note` says what MFU counts, or why figures are missing."""

    sequences_per_s: float | None
    tokens_per_s: float | None
    mfu_pct: float | None
    mfu_note: str


def throughput_of(problem: PlanProblem, step_ms: float, doubt: str = "") -> Throughput:
    """Return the throughput of a step of `step_ms` > 0; `doubt` says why the plan may not run as it is."""
    if doubt:
        return Throughput(None, None, None, doubt)
    sequences = problem.gbs * 1000.0 / step_ms
    if problem.flops_per_sequence is None:
        return Throughput(sequences, None, None, _NO_MODEL)
    tokens = sequences * problem.sequence
    peaks = problem.cluster.peak_tflops
    if not peaks:
        return Throughput(sequences, tokens, None, "the peak of a GPU type is unknown")
    peak = sum(problem.cluster.gpus_of(type_) * peaks[type_] for type_ in problem.cluster.types) * 1e12
    mfu_pct = 100 * sequences * problem.flops_per_sequence / peak
    if mfu_pct > 100:
        return Throughput(
            sequences, tokens, None, f"it would be {mfu_pct:.0f} %: profiles and peak contradict each other"
        )
    return Throughput(sequences, tokens, mfu_pct, CONVENTION)


_NS_PER_MS = 1e6


def duration(ms: float) -> str:
    """Return a time with its unit: 47724.98 gives "47.72 s", 0 gives "0"."""
    if ms < 0:
        return f"-{duration(-ms)}"
    return format_duration_ns(_NS_PER_MS * ms) if ms else "0"


def difference(ms: float) -> str:
    """Return a difference of times with its sign and unit: -48 gives "-48 ms"."""
    return f"{'-' if ms < 0 else '+'}{duration(abs(ms)) if ms else '0 ms'}"

"""Logs of Megatron-LM: a line of an iteration, and lines of memory of single ranks."""

from __future__ import annotations

from dse.prediction.frameworks.logs.reader import Reader, Reading, count, figure, pattern

_STEP = pattern(r"\biteration\s+(\d{1,12})\s*/")
_SECONDS = pattern(r"elapsed time per iteration \(m?s\): *#")
_TFLOPS = pattern(r"(?:throughput per GPU \(TFLOP/s/GPU\)|\bTFLOPs|\bapprox flops per GPU): *#")
_BATCH = pattern(r"global batch size: *(\d{1,12})")
_ALLOCATED = pattern(r"max allocated: *#")
_RESERVED = pattern(r"max reserved: *#")
_MB_PER_GIB = 1024.0  # Megatron divides bytes by 2^20


def read(line: str) -> Reading | None:
    """Return the figures of a line."""
    time = figure(_SECONDS, line)
    if time is not None:
        return Reading(
            step=count(_STEP, line),
            seconds=time if "iteration (s)" in line else time / 1000,
            tflops_gpu=figure(_TFLOPS, line),
            batch=count(_BATCH, line),
        )
    allocated, reserved = figure(_ALLOCATED, line), figure(_RESERVED, line)
    if allocated is None and reserved is None:
        return None
    return Reading(
        allocated_gib=allocated and allocated / _MB_PER_GIB, reserved_gib=reserved and reserved / _MB_PER_GIB
    )


MARKS = ("elapsed time per iteration", "max allocated", "max reserved")
READER = Reader("megatron-lm", MARKS, read, memory="allocated")

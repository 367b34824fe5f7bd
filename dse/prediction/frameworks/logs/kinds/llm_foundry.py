"""Logs of LLM Foundry: figures of a batch as its Composer writes them, a line each."""

from __future__ import annotations

from dse.prediction.frameworks.logs.reader import Reader, Reading, figure, pattern

_BATCHES = pattern(r"\bthroughput/batches_per_sec: *#")
_SAMPLES = pattern(r"\bthroughput/samples_per_sec: *#")
_ALLOCATED = pattern(r"\bmemory/peak_allocated_mem: *#")
_RESERVED = pattern(r"\bmemory/peak_reserved_mem: *#")
_GIB_PER_GB = 1e9 / 2**30


def _read(line: str) -> Reading | None:
    batches, samples = figure(_BATCHES, line), figure(_SAMPLES, line)
    if batches is not None:
        return Reading(seconds=1 / batches)
    if samples is not None:
        return Reading(samples_s=samples, rank=1)
    allocated, reserved = figure(_ALLOCATED, line), figure(_RESERVED, line)
    if allocated is None and reserved is None:
        return None
    return Reading(
        allocated_gib=allocated and allocated * _GIB_PER_GB, reserved_gib=reserved and reserved * _GIB_PER_GB
    )


READER = Reader("llm-foundry", ("throughput/", "memory/peak_"), _read, memory="allocated")

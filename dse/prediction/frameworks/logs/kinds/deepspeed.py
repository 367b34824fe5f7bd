"""Logs of DeepSpeed: samples per second, steps of its pipelines, and parts of a step in milliseconds."""

from __future__ import annotations

from dse.prediction.frameworks.logs.reader import Reader, Reading, count, figure, pattern, positive

_STEP = pattern(r"(?:\bglobal_step=|\b\d{1,6}/|\bsteps: *)(\d{1,12})\b")
_NOW = pattern(r"\bCurrSamplesPerSec=#")
_AVERAGE = pattern(r"\b(?:RunningAvg)?SamplesPerSec=#")
_SECONDS = pattern(r"\biter time \(s\): *#")
_PARTS = [pattern(rf"\| *(?:{names}): *#") for names in ("forward|fwd", "backward|bwd", "step")]
_WHOLE = pattern(r"\| *train_batch: *#")
_MEMORY = pattern(r"\bMaxMemAllocated=#\s*GB")
_MEMORY_LINE = pattern(r"\bMax_MA #\s*GB")  # gigabytes of 2^30 in both


def _read(line: str) -> Reading | None:
    now, average = figure(_NOW, line), figure(_AVERAGE, line)
    if now is not None or average is not None:
        is_average = now is None
        return Reading(
            step=count(_STEP, line),
            samples_s=average if is_average else now,
            allocated_gib=figure(_MEMORY, line),
            rank=2 if is_average else 0,
            is_average=is_average,
        )
    seconds = figure(_SECONDS, line)
    if seconds is not None:
        return Reading(step=count(_STEP, line), seconds=seconds)
    if "time (ms)" in line:
        return _parts(line)
    memory = figure(_MEMORY_LINE, line)
    return None if memory is None else Reading(allocated_gib=memory)


def _parts(line: str) -> Reading | None:
    """The sum of forward pass, backward pass and optimizer, of whole steps only."""
    whole = figure(_WHOLE, line)
    if whole is None:
        found = [one.search(line) for one in _PARTS]
        if not all(found):
            return None
        whole = sum(positive(one[1]) for one in found if one)
    return Reading(seconds=whole / 1000, rank=1)


READER = Reader("deepspeed", ("SamplesPerSec=", "iter time (s)", "time (ms)", "Max_MA"), _read, "allocated")

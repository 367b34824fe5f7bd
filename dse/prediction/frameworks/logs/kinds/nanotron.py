"""Logs of nanotron: a line of an iteration, whose large figures have a letter such as K for a thousand."""

from __future__ import annotations

import re

from dse.prediction.frameworks.logs.reader import Reader, Reading, count, figure, pattern, positive

_THOUSANDS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_STEP = re.compile(r"\biteration: *(\d{1,12}) */")
_MILLISECONDS = re.compile(pattern(r"\b(?:elapsed_)?time_per_iteration_ms: *#").pattern + "([KMGT]?)")
_TOKENS = re.compile(pattern(r"\btokens_per_sec_per_gpu: *#").pattern + "([KMGT]?)")
_TFLOPS = pattern(r"\bmodel_tflops_per_gpu: *#")
_BATCH = re.compile(r"\bglobal_batch_size: *(\d{1,12})(?![\d.KMGT])")  # 1.02K is no whole number
_ALLOCATED = pattern(r"\bPeak allocated:? *#MiB")
_RESERVED = pattern(r"\bPeak reserved:? *#MiB")
_MIB_PER_GIB = 1024.0


def _read(line: str) -> Reading | None:
    allocated, reserved = figure(_ALLOCATED, line), figure(_RESERVED, line)
    if allocated is not None or reserved is not None:
        return Reading(
            allocated_gib=allocated and allocated / _MIB_PER_GIB,
            reserved_gib=reserved and reserved / _MIB_PER_GIB,
        )
    step, time = count(_STEP, line), _scaled(_MILLISECONDS, line)
    if step is None:
        return None
    return Reading(
        step=step,
        seconds=time and time / 1000,
        tokens_s_gpu=_scaled(_TOKENS, line),
        tflops_gpu=figure(_TFLOPS, line),
        batch=count(_BATCH, line),
    )


def _scaled(form: re.Pattern[str], line: str) -> float | None:
    found = form.search(line)
    return positive(found[1]) * _THOUSANDS[found[2]] if found else None


READER = Reader("nanotron", ("time_per_iteration_ms:", "Peak allocated"), _read, memory="allocated")

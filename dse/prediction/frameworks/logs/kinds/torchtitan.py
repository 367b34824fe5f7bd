"""Logs of torchtitan: tokens per second and GPU of a step, and the peak of reserved memory."""

from __future__ import annotations

from dse.prediction.frameworks.logs.reader import Reader, Reading, count, figure, pattern

_STEP = pattern(r"\bstep: *(\d{1,12})\b")
_TOKENS = pattern(r"\b[tw]ps: *#")  # words until 2025
_TFLOPS = pattern(r"\btflops: *#")
_MEMORY = pattern(r"\bmemory: *#GiB")


def _read(line: str) -> Reading | None:
    step = count(_STEP, line)
    tokens = figure(_TOKENS, line)
    if step is None or tokens is None:
        return None
    tflops, memory = figure(_TFLOPS, line), figure(_MEMORY, line)
    return Reading(step=step, tokens_s_gpu=tokens, tflops_gpu=tflops, reserved_gib=memory)


READER = Reader("torchtitan", ("tps:", "wps:"), _read, memory="reserved")

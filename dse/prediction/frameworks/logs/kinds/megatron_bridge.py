"""Logs of Megatron Bridge: its line of the step time, and the lines that Megatron-LM writes too."""

from __future__ import annotations

from dse.prediction.frameworks.logs.kinds import megatron_lm
from dse.prediction.frameworks.logs.reader import Reader, Reading, figure, pattern

_MARK = "Step Time :"
_SECONDS = pattern(r"Step Time : *#\s*s\b")
_TFLOPS = pattern(r"GPU utilization: *#\s*(?:MODEL_)?TFLOP/s/GPU")


def _read(line: str) -> Reading | None:
    seconds = figure(_SECONDS, line)
    if seconds is not None:
        return Reading(seconds=seconds, tflops_gpu=figure(_TFLOPS, line))
    found = megatron_lm.read(line)
    return found and found._replace(rank=1)


READER = Reader("megatron-bridge", (_MARK, *megatron_lm.MARKS), _read, memory="reserved")

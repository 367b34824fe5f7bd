"""Logs of NeMo: the step time in lines of its logger, or in progress bars."""

from __future__ import annotations

from dse.prediction.frameworks.logs.reader import Reader, Reading, count, figure, pattern

_MARK = "train_step_timing in s"
_SECONDS = pattern(rf"{_MARK}[:=] *#")
_STEP = pattern(r"\bglobal_step[:=] *(\d{1,12})\b(?![.e])")
_BATCH = pattern(r"\bglobal_batch_size[:=] *(\d{1,12})\b(?!\.)")
_TFLOPS = pattern(r"\bTFLOPS_per_GPU[:=] *#")


def _read(line: str) -> Reading | None:
    seconds = figure(_SECONDS, line)
    if seconds is None:
        return None
    return Reading(
        step=count(_STEP, line), seconds=seconds, tflops_gpu=figure(_TFLOPS, line), batch=count(_BATCH, line)
    )


READER = Reader("nemo", (_MARK,), _read, memory="reserved")

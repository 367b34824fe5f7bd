"""Logs of MaxText: a line of each step; its memory is no peak, and is left alone."""

from __future__ import annotations

from dse.prediction.frameworks.logs.reader import Reader, Reading, count, figure, pattern

_MARK = "completed step:"
_STEP = pattern(rf"{_MARK} *(\d{{1,12}})")
_SECONDS = pattern(r"\bseconds: *#")
_TFLOPS = pattern(r"\bTFLOP/s(?:/device)?: *#")
_TOKENS = pattern(r"\bTokens/s/device: *#")


def _read(line: str) -> Reading | None:
    seconds = figure(_SECONDS, line)
    if seconds is None:
        return None
    return Reading(
        step=count(_STEP, line),
        seconds=seconds,
        tokens_s_gpu=figure(_TOKENS, line),
        tflops_gpu=figure(_TFLOPS, line),
    )


READER = Reader("maxtext", (_MARK,), _read, memory="allocated")

"""Logs of Hugging Face's Trainer: its line of a whole run; averages of all steps, with the first ones."""

from __future__ import annotations

from dse.prediction.frameworks.logs.reader import Reader, Reading, figure, pattern

_MARK = "train_samples_per_second"
_SAMPLES = pattern(rf"\b{_MARK}['\"]? *[:=] *['\"]?#")


def _read(line: str) -> Reading | None:
    samples = figure(_SAMPLES, line)
    return None if samples is None else Reading(samples_s=samples, rank=2, is_average=True)


READER = Reader("accelerate", (_MARK,), _read, memory="allocated")

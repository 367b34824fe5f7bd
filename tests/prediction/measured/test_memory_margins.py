"""Margins of predicted peaks, from runs with a measured peak and runs that fitted."""

from __future__ import annotations

import re
from dataclasses import replace

from dse.base.errors import DseError
from dse.prediction.calibration.memory_margins import Margin, margin_from, margins, text_of
from dse.prediction.measured.cases import case_of
from dse.prediction.measured.rows import fitted_rows
from dse.prediction.steps.frameworks import framework_named
from dse.prediction.steps.predict import margin_of, predict, verdict


def test_a_margin_holds_98_of_100_errors() -> None:
    """Of 99 runs the second largest error; of 49 the largest."""
    assert margin_from([(number / 1000, True) for number in range(99)]) == Margin(0.097, 99, 99)
    assert margin_from([(number / 1000, True) for number in range(49)]) == Margin(0.048, 49, 49)


def test_few_runs_tell_no_margin() -> None:
    assert margin_from([(0.0, True)] * 9) == Margin(0.15, 9, 9)
    assert margin_from([(0.0, True)] * 10) == Margin(0.03, 10, 10)


def test_margins_with_measured_peaks_are_those_of_the_frameworks_files() -> None:
    """Megatron-Core has the 22 peaks of SimuMax and 6 of Primus, nanotron 10."""
    rows = [row for row in fitted_rows() if row.measured_memory_gib is not None]
    found = margins(rows)
    for name, runs in (("megatron-core", 28), ("nanotron", 10)):
        assert found[name].share == framework_named(name).memory.margin
        assert found[name].runs == runs


def test_a_run_that_cannot_be_expressed_tells_nothing() -> None:
    row = replace(fitted_rows()[0], tp=None)
    assert margins([row]) == {}
    assert text_of({"x": Margin(0.1, 1, 2)}) == "x: margin 0.1, from 2 runs (1 with a measured peak)"


def test_at_most_two_in_a_hundred_published_runs_are_said_not_to_fit() -> None:
    """NVIDIA's recipes on H100, H200, B200, GB200 and GB300, and its runs of MLPerf 5.0: all of them ran.

    Two that do not fit are slips of the page: 70B on one GPU without sharding, and 2 sequences where 1 ran.
    """
    judged = []
    for row in fitted_rows():
        if not re.match("Megatron-Bridge|MLPerf|NVIDIA-dgxc|NeMo", row.source):
            continue
        try:
            case = case_of(row)
            peak = predict(case.model, case.plan, case.cluster).peak_memory_bytes
        except DseError:
            continue
        capacity = case.cluster.accelerator.usable_memory_bytes
        judged.append((verdict(peak, capacity, margin_of(case.plan.framework)), row.id))
    refused = [row_id for word, row_id in judged if word == "does not fit"]
    assert len(judged) > 200
    assert len(refused) <= 0.02 * len(judged), refused

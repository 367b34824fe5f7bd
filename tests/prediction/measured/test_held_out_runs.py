"""Published runs to which nothing was fitted: Narayanan et al. 2021, table 1, 1.7B to 1008B."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.prediction.measured.cases import case_of
from dse.prediction.measured.rows import read_rows
from dse.prediction.steps.predict import predict

TABLE = Path(__file__).parents[2] / "golden" / "measured" / "narayanan2021_table1.csv"


def test_the_scaling_table_of_megatron_is_predicted_within_6_per_cent() -> None:
    """Times follow from the TFLOP/s and the count of the paper; micro-batches are not published."""
    errors = {}
    for row in read_rows(TABLE):
        case = case_of(row)
        errors[row.id] = 100 * (predict(case.model, case.plan, case.cluster).step_s / row.iter_s - 1)
    assert len(errors) == 10
    assert max(map(abs, errors.values())) < 6
    assert sum(map(abs, errors.values())) / 10 == pytest.approx(2.6, abs=0.5)

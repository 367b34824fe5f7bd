"""Errors by source, rows given up, and how they are shown: against values worked out by hand."""

from __future__ import annotations

import csv
import io
import json
import time
from dataclasses import replace

import pytest

from dse.base.errors import InputError
from dse.base.files import csv_text
from dse.prediction.accuracy.accuracy import Accuracy, accuracy, quantile
from dse.prediction.accuracy.comparison import Compared, compare
from dse.prediction.accuracy.output import csv_rows, render, to_json
from dse.prediction.accuracy.page import render_page
from dse.prediction.accuracy.page.page import SIZE, scatter
from dse.prediction.measured.rows import MeasuredRow
from dse.prediction.steps.predict import PARTS, Prediction

ROW = MeasuredRow("a", 4, 64, 4, 128, "A100", 8, 16, 1.0, source="one")
GIB = 2**30


def prediction(seconds: float, memory_gib: float = 40.0) -> Prediction:
    parts = dict.fromkeys(PARTS, 0.0) | {"matrix_products": 0.75 * seconds, "tp": 0.25 * seconds}
    return Prediction(seconds, parts, int(memory_gib * GIB), {}, 0.0, 1e12)


def found() -> Accuracy:
    """Three rows of one source at +10, -30 and +20 %, one of them without; one of another source at -50 %."""
    rows = [
        replace(ROW, id="a", iter_s=1.0, measured_memory_gib=50.0),
        replace(ROW, id="b", iter_s=2.0, measured_memory_gib=32.0),
        replace(ROW, id="c", iter_s=10.0, tp=4),
        replace(ROW, id="<d>", iter_s=1.0, gpu="H100"),
        replace(ROW, id="e", iter_s=4.0, source="=two"),
    ]
    seconds = {"a": 1.1, "b": 1.4, "c": 12.0, "e": 2.0}

    def predictor(row: MeasuredRow) -> tuple[Prediction, tuple[str, ...]]:
        if row.id not in seconds:
            raise InputError("gpu is 'H100';\nno such type")
        return prediction(seconds[row.id]), ("recompute none",) if row.id == "c" else ()

    return accuracy(compare(rows, predictor), by=["gpu", "tp"])


def test_errors_of_a_source() -> None:
    one, two = found().sources
    assert (one.source, one.rows, one.expressible) == ("one", 4, 3)
    assert one.mape_pct == pytest.approx(20.0)
    assert one.median_pct == pytest.approx(20.0)
    assert one.p90_pct == pytest.approx(28.0)  # 0.8 of the way from 20 to 30
    assert one.max_pct == pytest.approx(30.0)
    assert one.bias_pct == pytest.approx(0.0)
    assert one.memory_rows == 2
    assert one.memory_mape_pct == pytest.approx(22.5)  # 40 against 50 and 32
    assert one.memory_max_pct == pytest.approx(25.0)
    assert one.parts_pct["matrix_products"] == pytest.approx(75.0)
    assert one.parts_pct["tp"] == pytest.approx(25.0)
    assert sum(one.parts_pct.values()) == pytest.approx(100.0)
    assert (two.mape_pct, two.bias_pct, two.memory_mape_pct) == (50.0, -50.0, None)
    assert found().total.mape_pct == pytest.approx(27.5)


def test_errors_by_other_columns() -> None:
    assert [(part.source, part.rows, part.expressible) for part in found().parted] == [
        ("A100, –", 3, 3),
        ("A100, 4", 1, 1),
        ("H100, –", 1, 0),
    ]


def test_a_source_without_predictions_has_no_errors() -> None:
    (one,) = accuracy([Compared(ROW, "why")]).sources
    assert (one.mape_pct, one.median_pct, one.p90_pct, one.max_pct, one.bias_pct) == (None,) * 5


def test_quantiles_are_linear_between_ranks() -> None:
    assert quantile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5
    assert quantile([1.0, 2.0], 0.9) == pytest.approx(1.9)
    assert quantile([7.0], 0.9) == 7.0


def test_json_has_the_keys_that_scripts_read() -> None:
    data = json.loads(json.dumps(to_json(found()), allow_nan=False))
    assert data["sources"][0].keys() >= {
        *("source", "rows", "expressible", "mape_pct", "median_pct", "p90_pct", "max_pct", "bias_pct"),
        *("memory_mape_pct", "memory_max_pct"),
    }
    assert data["ranking"].keys() >= {"groups", "spearman_mean", "pick_loss_mean_pct", "pick_loss_max_pct"}
    assert [row["id"] for row in data["rows"]] == ["a", "b", "c", "<d>", "e"]
    assert data["rows"][2]["predicted_s"] == 12.0
    assert data["rows"][2]["measured_s"] == 10.0
    assert data["rows"][2]["error_pct"] == 20.0
    assert data["rows"][2]["reason"] == ""
    assert data["rows"][2]["assumed"] == ["recompute none"]
    assert data["rows"][2]["parts_pct"]["tp"] == 25.0
    assert data["rows"][0]["memory_error_pct"] == -20.0
    assert data["rows"][0]["memory_verdict"] == "fits"
    assert data["rows"][3]["memory_verdict"] is None
    assert data["rows"][3]["predicted_s"] is None
    assert data["rows"][3]["reason"] == "gpu is 'H100'; no such type"


def test_csv_has_a_line_for_each_row() -> None:
    lines = csv_rows(found(), PARTS)
    text = csv_text(list(lines[0]), [list(line.values()) for line in lines])
    read = list(csv.DictReader(io.StringIO(text)))
    assert [line["id"] for line in read] == ["a", "b", "c", "<d>", "e"]
    assert (read[2]["tp_pct"], read[2]["assumed"], read[3]["predicted_s"]) == ("25.0", "recompute none", "")
    assert read[4]["source"] == "'=two"


def test_text_has_errors_parts_worst_rows_and_reasons() -> None:
    text = render(found(), parts=True, worst=1)
    assert "one        4            3  20.0    20.0  28.0     30.0   +0.0          22.5     25.0\n" in text
    assert "\nmatrix products  75.0  75.0  75.0\n" in text
    assert "\ne              2           4    -50.0\n" in text
    assert text.endswith("1 of 5 rows have no prediction\n  <d>: gpu is 'H100'; no such type")
    assert "no group of equal model, GPUs and batch has enough strategies" in text


def test_a_row_that_takes_too_long_is_given_up_and_the_next_is_not() -> None:
    def predictor(row: MeasuredRow) -> tuple[Prediction, tuple[str, ...]]:
        while row.id == "slow":
            try:
                time.sleep(0.01)
            except Exception:
                continue
        return prediction(1.0), ()

    slow, quick = compare([replace(ROW, id="slow"), replace(ROW, id="quick")], predictor, limit_s=0.1)
    assert slow.reason == "took longer than the limit of 0.1 s"
    assert not slow.is_expressible
    assert quick.predicted_s == 1.0
    time.sleep(0.15)  # no alarm is left behind


def test_a_bug_in_one_row_is_named_and_leaves_the_others() -> None:
    def predictor(row: MeasuredRow) -> tuple[Prediction, tuple[str, ...]]:
        return prediction(1 / (row.iter_s - 1)), ()

    bad, good = compare([ROW, replace(ROW, id="b", iter_s=2.0)], predictor)
    assert bad.reason.startswith("a bug: ZeroDivisionError in test_accuracy_figures.py:")
    assert good.error_pct == -50.0
    (note,) = accuracy([bad, good]).notes
    assert note.startswith("a: a bug: ZeroDivisionError")


def test_places_of_a_scatter_plot() -> None:
    rows = [(0.1, 0.1), (10.0, 10.0), (1.0, 10.0)]
    compared = [Compared(replace(ROW, iter_s=measured), predicted_s=seconds) for measured, seconds in rows]
    plot = scatter(compared)
    low, high, above = plot.dots
    assert low.x == pytest.approx(SIZE - low.y)
    assert high.x == pytest.approx(SIZE - high.y)
    assert above.y == high.y
    assert above.x == pytest.approx(SIZE / 2)
    assert ("1", pytest.approx(SIZE / 2)) in plot.ticks
    assert all(0 < dot.x < SIZE for dot in plot.dots)


def test_the_page_is_one_file_with_a_dot_a_row_and_harmless_texts() -> None:
    page = render_page(found())
    assert page.count("<circle ") == 4
    assert page.count("<svg ") == 2
    assert "&lt;d&gt;" in page
    assert "<d>" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "prefers-color-scheme:dark" in page


def test_a_row_that_does_not_say_what_is_recomputed_is_not_said_not_to_fit() -> None:
    rows = [replace(ROW, id="unknown"), replace(ROW, id="none", recompute="none")]
    compared = compare(rows, lambda _: (prediction(1.0, memory_gib=400.0), ()))
    assert [one.memory_verdict for one in compared] == [None, "does not fit"]

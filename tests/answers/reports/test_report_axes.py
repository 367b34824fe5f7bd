"""The page of a study over axes, of a small model, and in a narrow window."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from chromium import Chromium
from command_lines import TINY, run_ok

from dse.answers.reports import render_page, report_data
from dse.answers.reports.setup import setup
from dse.studies.store import StudyStore

CAP = 200_000_000
AXES = "space.axes={system.network.0.bandwidth_gbps:[12,25,50],model.seq_len:[512,1024]}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("axes")
    run_ok("sweep", *TINY, AXES, "study=axes", cwd=folder)
    run_ok("sweep", *TINY, "study=small", cwd=folder)
    return folder / "results"


def page(store: Path, to: Path, cap: int) -> Path:
    to.write_text(render_page(report_data(StudyStore(store), memory_cap_bytes=cap)), encoding="utf-8")
    return to


def test_the_data_has_the_optimum_for_every_setting(folder: Path) -> None:
    (study,) = report_data(StudyStore(folder / "axes"), memory_cap_bytes=CAP)["axis_studies"]
    assert study["axes"] == ["model.seq_len", "system.network.0.bandwidth_gbps"]
    assert study["numeric_axis"] == 1
    assert study["cap_binds"] is True
    assert [setting["values"] for setting in study["settings"]] == [
        [length, bandwidth] for length in (512, 1024) for bandwidth in (12.0, 25.0, 50.0)
    ]
    assert study["settings"][1]["best"] == {
        "label": "dp8 tp2 sp1 pp1",
        "wall_time_ns": 932361,
        "peak_memory_bytes": 111149056,
    }
    assert report_data(StudyStore(folder / "small"))["axis_studies"] == []


def test_the_plot_has_a_line_for_each_combination_of_the_other_axes(
    folder: Path, browser: Chromium, tmp_path: Path
) -> None:
    browser.open(page(folder / "axes", tmp_path / "axes.html", CAP))
    assert browser.problems == []
    lines: dict[str, list[Any]] = browser.evaluate(
        """Object.fromEntries(Chart.getChart(document.querySelector("canvas[data-axes]")).data.datasets.map(
          (set) => [set.label, set.data.map((entry) => [entry.x, entry.point.label])]))"""
    )
    assert list(lines) == [
        "seq_len=512",
        "seq_len=1024",
        "seq_len=512, under the cap",
        "seq_len=1024, under the cap",
    ]
    assert [x for x, _ in lines["seq_len=512"]] == [12, 25, 50]
    assert lines["seq_len=512"][1] == [25, "dp8 tp2 sp1 pp1"]
    assert len(json.dumps(lines)) > 100


@pytest.mark.parametrize("width", [400, 800, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_width_needs_a_scroll_bar_and_nothing_goes_wrong(
    folder: Path, browser: Chromium, tmp_path: Path, width: int, scheme: str
) -> None:
    browser.prefer(prefers_color_scheme=scheme)
    for name, cap in (("axes", CAP), ("small", 80_000_000_000)):
        browser.open(page(folder / name, tmp_path / f"{name}.html", cap), width=width)
        assert browser.problems == []
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        # Labels of bars: none is wider than the room that the plot leaves to them.
        overhang = browser.evaluate(
            """Math.max(...[...document.querySelectorAll('[data-plot="time"],[data-plot="tornado"]')].map(
            (canvas) => {
              const chart = Chart.getChart(canvas);
              const ctx = canvas.getContext("2d");
              ctx.save();
              ctx.font = `${Chart.defaults.font.size}px ${Chart.defaults.font.family}`;
              const widths = chart.data.labels.flat().map((line) => ctx.measureText(line).width);
              ctx.restore();
              return Math.max(...widths) - chart.scales.y.width;
            }))"""
        )
        assert overhang <= 0


def test_a_cap_far_from_all_points_is_said_and_not_drawn(
    folder: Path, browser: Chromium, tmp_path: Path
) -> None:
    sets = """["scatter", "caps"].map((name) =>
      Chart.getChart(document.querySelector(`[data-plot="${name}"]`)).data.datasets
        .filter((set) => set.role === "cap").length)"""
    text = "document.body.innerText"
    browser.open(page(folder / "small", tmp_path / "far.html", 80_000_000_000))
    assert browser.evaluate(sets) == [0, 0]
    assert "The cap of 80.00 GB is far from all points, and not drawn." in browser.evaluate(text)
    assert "The dashed line" not in browser.evaluate(text)
    assert "the cap does not bind" in browser.evaluate(text)
    browser.open(page(folder / "small", tmp_path / "near.html", 130_000_000))
    assert browser.evaluate(sets) == [1, 1]
    assert "The dashed line is the cap of 130.00 MB." in browser.evaluate(text)
    assert "is far from all points" not in browser.evaluate(text)


def test_facts_that_are_not_as_by_default_are_shown() -> None:
    model = {"name": "m", "num_kv_heads": 8, "gated_mlp": True, "micro_batches": None, "fidelity": "stage"}
    model["experts"] = {"count": 8, "top_k": 2, "d_ff": 64, "shared_d_ff": None}
    model["repairs"] = {"loss": True, "recompute": "full", "multiply_add_as_two": None}
    system = {"name": "s", "network": [], "deratings": [{"npu": 3}], "roofline_enabled": True, "faults": []}
    texts = {"model_spec": model, "system_spec": system}
    found = setup(pa.table({name: pa.array([json.dumps(value)]) for name, value in texts.items()}))
    assert ("key and value heads", "8") in found["model"]
    assert ("gated feed-forward", "yes") in found["model"]
    assert ("mixture of experts", "count 8, top k 2, d ff 64") in found["model"]
    assert ("repair: loss", "yes") in found["model"]
    assert ("repair: recompute", "full") in found["model"]
    assert ("slow NPUs", "1") in found["system"]
    labels = [label for label, _ in (*found["model"], *found["system"])]
    assert not {
        "micro-batches",
        "latent attention",
        "repair: multiply add as two",
        "faults of links",
        "roofline model",
    } & set(labels)

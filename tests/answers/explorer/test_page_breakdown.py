"""The page's views of one point, under Node: breakdown, memory and tracks equal those of Python to the ns."""

from __future__ import annotations

import functools
import json
import subprocess
from collections import Counter
from typing import Any

import pytest
from answers.explorer.recordings import engine_recording, recording_json
from page_programs import NODE, loading, needs_node, run_beside

from dse.answers.explain import breakdown, memory
from dse.answers.timelines.tracks import Threads, slices_of
from dse.inputs.strategies import Strategy
from dse.simulation.simulators import Recording
from dse.simulation.workloads import parse_name
from dse.studies.config import compose_config
from dse.studies.points import point_of

pytestmark = needs_node

TINY16, LAB = ("system=dgx16", "model=tiny"), ("system=system1", "model=llama70b")
CONTIGUOUS = (*TINY16, "model.repairs.contiguous_stages=true", "model.micro_batches=4")
POINTS = {
    "dp": (TINY16, Strategy(dp=16)),
    "tp": (TINY16, Strategy(dp=2, tp=8)),
    "sp": (TINY16, Strategy(dp=4, sp=4)),
    "pp": (TINY16, Strategy(dp=4, pp=4)),
    "micro-batches": (CONTIGUOUS, Strategy(dp=2, tp=2, pp=4)),
    "fsdp": (TINY16, Strategy(dp=4, tp=2, sp=2, weight_sharded=True)),
    "recompute": (TINY16, Strategy(dp=8, tp=2, activation_recompute=True)),
    "all": (LAB, Strategy(dp=4, tp=4, sp=2, pp=2, weight_sharded=True, activation_recompute=True)),
    "lab": (LAB, Strategy(dp=64)),
}
MODULES = (
    "format",
    "recording",
    "breakdown",
    "memory",
    "lanes",
    "point",
    "timeline_paint",
)


def run(script: str, given: Any) -> Any:
    """Evaluate `script`, a function of the given data, beside the modules that are tested here."""
    return run_beside(MODULES, script, given)


@functools.lru_cache
def recorded(name: str) -> tuple[Recording, dict[str, Any]]:
    overrides, strategy = POINTS[name]
    return recording_json(point_of(compose_config(overrides), strategy))


@pytest.mark.parametrize("name", POINTS)
def test_the_breakdown_is_that_of_explain_to_the_nanosecond(name: str) -> None:
    recording, data = recorded(name)
    assert run("explorer.breakdown.breakdown", data) == vars(breakdown(recording))


@pytest.mark.parametrize("name", POINTS)
def test_the_recording_of_the_engine_in_the_page_is_ours(name: str) -> None:
    overrides, strategy = POINTS[name]
    made = engine_recording(point_of(compose_config(overrides), strategy))
    _, ours = recorded(name)
    for theirs, entry in zip(made["ranks"], ours["ranks"], strict=True):
        for part in ("nodes", "tensors"):
            for column, values in entry[part].items():
                assert theirs[part][column] == values, (entry["rank"], part, column)
    script = "explorer.breakdown.breakdown"
    assert run(script, {**made, "row": ours["row"]}) == run(script, ours)


@pytest.mark.parametrize("name", POINTS)
def test_the_memory_at_the_peak_is_that_of_explain_to_the_byte(name: str) -> None:
    recording, data = recorded(name)
    expected = memory(recording).to_json()
    expected["categories"] = {entry["category"]: entry["bytes"] for entry in expected["categories"]}
    assert run("explorer.memory.atPeak", data) == expected


@pytest.mark.parametrize("name", POINTS)
def test_the_curve_of_memory_is_that_of_the_recording(name: str) -> None:
    recording, data = recorded(name)
    curve = run(
        "(given) => explorer.recording.memoryCurve(explorer.recording.fullestRank(given).tensors)", data
    )
    assert list(map(tuple, curve)) == recording.fullest_rank().memory_curve()


@pytest.mark.parametrize("name", ["pp", "lab"])
def test_a_thinned_curve_keeps_the_peak_and_where_it_stays(name: str) -> None:
    recording, data = recorded(name)
    whole = recording.fullest_rank().memory_curve()
    thin = run("(given) => explorer.memory.overTime(given, 20)", data)
    points = list(zip(thin["time_ns"], thin["total"], strict=True))
    assert set(points) <= set(whole)
    assert len(points) <= 42
    assert max(thin["total"]) == recording.fullest_rank().metrics.peak_memory_bytes  # type: ignore[union-attr]
    assert points[-1] == whole[-1]
    for index, total in enumerate(thin["total"]):
        assert sum(sizes[index] for sizes in thin["categories"].values()) == total


@pytest.mark.parametrize("name", POINTS)
def test_nodes_are_on_the_tracks_and_lanes_of_a_timeline(name: str) -> None:
    recording, data = recorded(name)
    entry = recording.last_rank()
    threads = Threads()
    expected = Counter(
        (threads.names[drawn.thread][1], drawn.node.node, drawn.start_ns, drawn.end_ns)
        for drawn in slices_of(entry, threads, recording.wall_time_ns)
    )
    tracks = run("(given) => explorer.lanes.tracksOf(given, explorer.recording.lastRank(given))", data)
    found = Counter(
        (f"{track['title']} ({number + 1})" if number else track["title"], *place)
        for track in tracks
        for number, lane in enumerate(track["lanes"])
        for place in zip(*(lane[key].values() for key in ("node", "start", "end")), strict=True)
    )
    assert found == expected


def test_names_are_read_as_python_reads_them() -> None:
    names = sorted(
        {node.name for name in POINTS for entry in recorded(name)[0].ranks for node in entry.nodes}
        | {tensor.name for name in POINTS for entry in recorded(name)[0].ranks for tensor in entry.tensors}
        | {"", "mine", "stack_1_mha_wq@2", "in_emb_w_state@0", "shadow_stack_2_ffn_x1@0_", "out_emb_dw_sum@1"}
    )
    script = "(names) => names.map((text) => explorer.recording.parseName(text))"
    for text, found in zip(names, run(script, names), strict=True):
        name = parse_name(text)
        expected = name and {
            "layer": name.layer,
            "block": name.block,
            "label": name.label,
            "title": name.title,
            "micro_batch": name.micro_batch,
            "isRecompute": name.is_recompute,
            "role": name.role,
        }
        assert found == expected, text


def test_what_is_visible_is_found_and_nodes_below_a_pixel_are_merged() -> None:
    script = """() => {
      const lane = { node: [0, 1, 2, 3], start: [0, 10, 20, 1000], end: [10, 20, 30, 2000] };
      const visible = [[0, 5], [10, 10.5], [30, 999], [25, 1500], [3000, 4000]];
      const cells = explorer.lanes.cells(lane, { from: 0, to: 2000, width: 100 }, () => "a");
      return { ranges: visible.map(([from, to]) => explorer.lanes.visible(lane, from, to)), cells };
    }"""
    found = run(script, None)
    assert found["ranges"] == [[0, 1], [1, 2], [3, 3], [2, 4], [4, 4]]
    assert found["cells"] == [
        {"x": 0, "width": 1, "color": "a", "share": 1, "node": -1},
        {"x": 1, "width": 1, "color": "a", "share": 0.5, "node": -1},
        {"x": 50, "width": 50, "color": "a", "share": 1, "node": 3},
    ]


def test_a_column_has_the_colour_of_what_takes_most_of_its_time_not_of_what_is_frequent() -> None:
    script = """() => {
      const start = [0, 70, 72, 74, 76, 2000], end = [70, 72, 74, 76, 78, 2000];
      const lane = { node: [0, 1, 2, 3, 4, 5], start, end };
      return explorer.lanes.cells(lane, { from: 0, to: 10000, width: 100 }, (node) => (node ? "b" : "a"));
    }"""
    found = run(script, None)
    assert [(cell["x"], cell["color"], round(cell["share"], 9)) for cell in found] == [
        (0, "a", 0.78),
        (20, "b", 0.25),
    ]


def test_the_points_shown_are_the_selected_one_another_and_the_one_before_the_change() -> None:
    script = """() => {
      const row = (label, status = "ok") => ({ label, status });
      const [a, b, c] = ["a", "b", "c"].map((label) => row(label));
      const frame = { scenario: { now: 1 }, best: a, runner_up: b, best_under_cap: null };
      const before = { ...frame, scenario: { now: 0 }, selected: c };
      const capped = { ...frame, best_under_cap: b, runner_up_under_cap: c };
      const told = (frame) => explorer.point.shown(frame)
        .map(({ row, note, isGhost, scenario }) => [row.label, note, isGhost, scenario.now]);
      return [
        told({ ...frame, selected: a }), told({ ...frame, selected: c }),
        told({ ...frame, selected: a, before }),
        told({ ...capped, selected: b }), told({ ...capped, selected: a }),
        told({ ...frame, selected: a, before: { ...before, scenario: { now: 1 } } }),
        told({ ...frame, best: null, runner_up: null, selected: null }),
        told({ ...frame, selected: row("d", "failed") }),
      ];
    }"""
    assert run(script, None) == [
        [["a", "fastest", False, 1], ["b", "second", False, 1]],
        [["c", "selected", False, 1], ["a", "fastest", False, 1]],
        [["a", "fastest", False, 1], ["b", "second", False, 1], ["c", "before the change", True, 0]],
        [["b", "fastest under the cap", False, 1], ["c", "second under the cap", False, 1]],
        [["a", "selected", False, 1], ["b", "fastest under the cap", False, 1]],
        [["a", "fastest", False, 1], ["b", "second", False, 1]],
        [],
        [],
    ]


def test_times_of_grid_lines_are_told_apart_however_deep_one_looks() -> None:
    script = """() => [[0, 4e9, 600], [1.2e9, 1.2e9 + 4e5, 600], [0, 900, 300]].map(([from, to, width]) =>
      explorer.timeline_paint.ticks({ from, to, width }, explorer.format).map(({ text }) => text))"""
    assert run(script, None) == [
        ["0.0 s", "0.5 s", "1.0 s", "1.5 s", "2.0 s", "2.5 s", "3.0 s", "3.5 s", "4.0 s"],
        ["1.20000 s", "+50 µs", "+100 µs", "+150 µs", "+200 µs", "+250 µs", "+300 µs", "+350 µs", "+400 µs"],
        ["0 ns", "200 ns", "400 ns", "600 ns", "800 ns"],
    ]


def test_a_recording_is_made_once_and_one_that_was_cancelled_is_made_again() -> None:
    assert NODE is not None
    program = f"""{loading("recording")}
      const cached = explorer.recording.cache();
      let calls = 0;
      const engine = {{ record: (_, row, {{ signal }}) => {{
        calls += 1;
        return new Promise((done, failed) => {{
          signal.addEventListener("abort", () => failed({{ kind: "cancelled", message: "" }}));
          setTimeout(() => done(row.dp), 20);
        }});
      }} }};
      const asked = (signal) => cached(engine, {{}}, {{ label: "a", dp: 8 }}, signal);
      (async () => {{
        const first = new AbortController();
        const lost = Promise.allSettled([asked(first.signal), asked(first.signal)]);
        first.abort();
        const {{ signal }} = new AbortController();
        const found = [await asked(signal), await asked(signal)];
        console.log(JSON.stringify([(await lost).map((entry) => entry.status), found, calls]));
      }})();"""
    done = subprocess.run([NODE, "-e", program], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout) == [["rejected", "rejected"], [8, 8], 2]

"""The page's answers under Node, against the package: order, winners and what is said of them, downloads."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import json
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from page_programs import TRACED, drawn_row, needs_node, page_row
from study_rows import failed_row

from dse.answers import pareto_front, ranking, select
from dse.studies.store import StudyRow

pytestmark = needs_node


def random_rows(seed: int) -> list[StudyRow]:
    """Rows with many ties, some without a peak memory, some not ok; no two of one strategy."""
    chance = random.Random(seed)
    strategies = list(itertools.product((1, 2, 16), (1, 8), (1, 4), (1, 2), (False, True), (False, True)))
    chance.shuffle(strategies)
    found = []
    for values in strategies[:60]:
        fields = dict(zip(TRACED, values, strict=True))
        found.append(drawn_row(chance, fields))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_rows_stand_in_the_order_of_the_ranking(in_page: Any, seed: int) -> None:
    rows = random_rows(seed)
    found = in_page(
        "return explorer.answers.finished(input).map(({ label }) => label);", list(map(page_row, rows))
    )
    assert found == [each.label() for each in ranking(rows)]


@pytest.mark.parametrize("cap", [10**10, 25 * 10**9, 10**9])
def test_the_best_points_are_those_of_the_package(in_page: Any, cap: int) -> None:
    rows = random_rows(7)
    expected = select(rows, memory_cap_bytes=cap)
    found = in_page(
        "const { firstTwo, front } = explorer.answers;"
        "return [...firstTwo(input.rows), ...firstTwo(input.rows, input.cap), ...front(input.rows)]"
        ".map((row) => row?.label ?? null);",
        {"rows": list(map(page_row, rows)), "cap": cap},
    )
    points = (expected.optimum, expected.runner_up, expected.capped_optimum, expected.capped_runner_up)
    front = [each.label() for each in pareto_front(rows)]
    assert found == [*[each and each.label() for each in points], *front]


def test_changed_winners_are_called_out(in_page: Any, data: dict[str, Any]) -> None:
    found = in_page(
        """const { words } = explorer;
        const row = (label, wall) => ({ label, wall_time_ns: wall });
        const nothing = { preset: { model: null, system: null }, changes: {} };
        const slower = { ...nothing, changes: { "system.network.0.bandwidth_gbps": 180 } };
        const moved = { preset: { model: null, system: "dgx16" }, changes: {} };
        const both = (best) => ({ best, best_under_cap: best, cap_bytes: 80e9 });
        const a = both(row("dp8 tp2 sp4 pp1", 10));
        const b = both(row("dp4 tp4 sp4 pp1", 9));
        const c = { ...a, best_under_cap: row("dp1 tp1 sp1 pp1", 12), cap_bytes: 40e9 };
        const reasons = words.differences(nothing, slower, input.fields);
        const { winners, differences, margin, was } = words;
        return [
          winners(null, a, []), winners(a, a, reasons), winners(a, b, reasons), winners(a, c, []),
          winners(a, { ...c, best_under_cap: null }, []), differences(slower, nothing, input.fields),
          differences(nothing, moved, input.fields),
          differences(moved, nothing, input.fields, { system: "system1" }),
          margin(b.best, a.best), margin(a.best, a.best), margin(a.best, null),
          was(100, 92, String), was(100, 100, String),
        ];""",
        data,
    )
    assert found == [
        [],
        [],
        ["dp8 tp2 sp4 pp1 → dp4 tp4 sp4 pp1 wins since system.network.0.bandwidth_gbps is 180"],
        ["dp8 tp2 sp4 pp1 → dp1 tp1 sp1 pp1 wins under 40GB since the cap is 40GB"],
        ["No point fits under 40GB since the cap is 40GB"],
        ["system.network.0.bandwidth_gbps is 100"],
        ["the system is dgx16"],
        ["the system is system1"],
        "second: dp8 tp2 sp4 pp1, 11.1 % slower",
        "second: dp8 tp2 sp4 pp1, as fast",
        "no other point",
        "was 100, −8.0 %",
        "",
    ]


COLUMNS = [
    *(
        "dp",
        "tp",
        "sp",
        "pp",
        "weight_sharded",
        "activation_recompute",
        "model",
        "system",
        "status",
        "reason",
    ),
    *(
        "fractional",
        "npus",
        "wall_time_ns",
        "gpu_time_ns",
        "comm_time_ns",
        "exposed_comm_ns",
        "compute_bound_pct",
    ),
    *("compute_utilization_pct", "memory_utilization_pct", "operation_intensity", "peak_memory_bytes"),
    *(
        "rank0_wall_time_ns",
        "rank0_peak_memory_bytes",
        "last_rank",
        "rank_classes",
        "mfu_pct",
        "tokens_per_s",
        "tokens_per_s_per_npu",
    ),
    *("understated_comm", "impossible_split"),
]


def test_downloaded_rows_are_those_of_a_study(in_page: Any, data: dict[str, Any], tmp_path: Path) -> None:
    rows = [*random_rows(3), dataclasses.replace(failed_row("failed", 'a "text", with\ncommas'), tp=64)]
    made = in_page(
        """const { rows, data } = input;
        const about = { version: "1.2.3", result_version: 4, command: "python -m dse sweep" };
        const { csv, json, parquet } = explorer.download;
        const given = [rows, data.scenario, data.columns];
        return [csv(...given), json(...given, about), [...new Uint8Array(parquet(...given, about))]];""",
        {"rows": list(map(page_row, rows)), "data": data},
    )
    by_label = {each.label(): each for each in rows}
    order = [*ranking(rows), *[each for each in rows if each.status != "ok"]]
    expected = [{name: getattr(by_label[each.label()], name) for name in COLUMNS} for each in order]
    file = tmp_path / "rows.parquet"
    file.write_bytes(bytes(made[2]))
    table = pq.read_table(file)
    assert table.to_pylist() == expected
    assert str(table.schema.field("wall_time_ns").type) == "int64"
    assert str(table.schema.field("compute_bound_pct").type) == "double"
    assert table.schema.metadata[b"dse.command"] == b"python -m dse sweep"
    assert json.loads(table.schema.metadata[b"dse.scenario"]) == data["scenario"]
    document = json.loads(made[1])
    assert document["rows"] == expected
    assert document["scenario"] == data["scenario"]
    lines = list(csv.DictReader(io.StringIO(made[0], newline="")))
    assert list(lines[0]) == COLUMNS
    assert lines[-1]["reason"] == 'a "text", with\ncommas'
    assert [line["wall_time_ns"] for line in lines] == [
        "" if each["wall_time_ns"] is None else str(each["wall_time_ns"]) for each in expected
    ]

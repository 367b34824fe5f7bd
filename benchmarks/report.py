"""Results as Parquet with the facts of the machine, as tables on the terminal, and against the targets."""

from __future__ import annotations

import datetime
import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.sections import Row

# Columns that the terminal shows; the Parquet files have all.
_SHOWN = {
    "lab": (
        *("name", "strategy", "generate_s", "simulate_s", "total_s", "events", "path", "peak_bytes"),
        *("reference_origin", "ratio"),
    ),
    "cold": ("name", "strategy", "processes", "cold_s", "cold_max_s", "warm_s", "warm_max_s"),
    "general": (
        *("name", "strategy", "engine", "tracked", "simulate_s", "events", "ns_per_reference_event"),
        *("reference_simulate_s", "ratio_of_simulation"),
    ),
    "study": ("name", "points", "wall_s", "wall_min_s", "wall_max_s", "cpu_s"),
    "scale": (
        *("kind", "name", "strategy", "npus", "layers", "engine", "generate_s", "simulate_s", "total_s"),
        *("repeats", "rank_classes", "events", "path", "peak_bytes", "equal_ranks"),
    ),
    "paths": ("name", "path", "points", "of", "slowest_s"),
    "sharing": ("name", "strategy", "shared", "points", "total_s", "per_point_s"),
    "congestion": ("name", "strategy", "npus", "simulate_s", "events", "ns_per_event", "events_per_second"),
    "executors": (
        "name",
        "points",
        "cores",
        "evaluate_us",
        "start_s",
        "rows_s",
        "overhead_us",
        "process_cpu_us",
    ),
    "throughput": (
        "name",
        "round",
        "points",
        "cores",
        "start_s",
        "wall_s",
        "points_per_second",
        "of_local_pct",
    ),
    "million": (
        *("name", "points", "repeats", "wall_s", "wall_min_s", "wall_max_s", "cpu_s", "peak_bytes"),
        *("parts", "study_bytes"),
    ),
    "search": (
        *("space", "budgets", "points", "near_best", "sampler", "seed", "evaluations", "regret_pct"),
        "search_s",
    ),
    "trace_files": ("name", "nodes", "read_s", "simulate_s", "command_s", "reference_s", "ratio"),
    "synthesis": (
        *("name", "synthesizer", "npus", "search_s", "units", "tacos_units", "ratio", "time_us", "bound_us"),
        *("gap_pct", "start_bytes", "peak_bytes"),
    ),
    "planning": (
        *(
            "name",
            "planner",
            "mixed",
            "search_s",
            "plan_s",
            "reference_units",
            "ratio",
            "count",
            "plans",
            "best_ms",
        ),
        "peak_bytes",
    ),
    "partition": (
        *("graph", "nodes", "edges", "parts", "multilevel_cut", "pymetis_cut", "kahip_cut", "multilevel_s"),
        *("pymetis_s", "kahip_s", "not_worse"),
    ),
    "cuts": (
        *("graph", "nodes", "edges", "parts", "ours_cut", "kahip_cut", "more_pct", "ours_cpu_s"),
        *("kahip_cpu_s", "kahip_seeds"),
    ),
    "structure": (
        *("name", "first_s", "again_s", "preconditions_hold", "closed_equal", "slot_equal"),
        "largest_difference_pct",
    ),
    "wasm": (
        *("name", "changed", "points", "page_s", "page_max_s", "native_s", "ratio_to_native", "start_s"),
        *("first_s", "memory_bytes"),
    ),
    "page": (
        *("name", "points", "page_bytes", "usable_s", "points_s", "change_s", "start_task_cpu_s"),
        *("use_task_cpu_s", "hands_task_cpu_s"),
    ),
    "side_by_side": (
        *("name", "strategy", "total_s", "reference", "reference_s", "equal_figures", "equal_traces"),
        "ratio",
    ),
}


def write_parquet(path: Path, rows: Sequence[Row], facts: dict[str, str | int], command: str) -> None:
    """Write rows, with the columns of any of them; the metadata has `machine`, `command` and `date`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = list(dict.fromkeys(column for row in rows for column in row))
    table = pa.Table.from_pylist([{column: row.get(column) for column in columns} for row in rows])
    table = table.replace_schema_metadata(
        {"machine": json.dumps(facts), "command": command, "date": datetime.date.today().isoformat()}
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd")


def read_parquet(path: Path) -> list[Row]:
    """Return the rows of a section."""
    import pyarrow.parquet as pq

    rows: list[Row] = pq.read_table(path).to_pylist()
    return rows


def table(section: str, rows: Sequence[Row]) -> str:
    """Return the rows as text, with the columns that matter."""
    columns = _SHOWN[section]
    cells = [[_column_title(column) for column in columns]]
    cells += [[cell(column, row.get(column)) for column in columns] for row in rows]
    widths = [max(len(line[index]) for line in cells) for index in range(len(columns))]
    return "\n".join(
        "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in cells
    )


def summary(results: Mapping[str, Sequence[Row]]) -> str:
    """Return the targets and what was measured, a line each."""
    lines: list[str] = []
    lab = [row for row in results.get("lab", ()) if row["ratio"] is not None]
    if lab:
        for name in dict.fromkeys(str(row["name"]) for row in lab):
            ratios = [_number(row, "ratio") for row in lab if row["name"] == name]
            slowest = [_number(row, "ratio_of_slowest_run") for row in lab if row["name"] == name]
            lines.append(
                f"{name}: {len(ratios)} points with reference times, ratio at least {min(ratios):,.0f}, "
                f"median {statistics.median(ratios):,.0f}, of the slowest run of all {min(slowest):,.0f}"
                "  (target 10,000)"
            )
        seconds = [_number(row, "total_s") for row in results["lab"]]
        lines.append(
            f"{len(seconds)} points: {sum(seconds):.3f} s of CPU, slowest {max(seconds) * 1e3:.2f} ms"
        )
    cold = results.get("cold", ())
    if cold:
        first = [_number(row, "cold_s") for row in cold]
        warm = [_number(row, "warm_s") for row in cold]
        lines.append(
            f"{len(cold)} strategies, a fresh process each: first point {min(first) * 1e3:.1f} to "
            f"{max(first) * 1e3:.1f} ms, the same again {min(warm) * 1e3:.1f} to {max(warm) * 1e3:.1f} ms"
        )
    for row in results.get("general", ()):
        if row["engine"] == "general":
            tracker = "on" if row["tracked"] else "off"
            lines.append(
                f"{row['name']}, {row['strategy']}, general engine, tracker {tracker}: "
                f"{_number(row, 'ns_per_reference_event'):.0f} ns an event  (target 150)"
            )
    for row in results.get("study", ()):
        if row["name"] == "all":
            lines.append(
                f"whole study: {_number(row, 'wall_s'):.2f} s wall (best {_number(row, 'wall_min_s'):.2f}), "
                f"{_number(row, 'cpu_s'):.2f} s of CPU  (target 3 s wall)"
            )
    large = [row for row in results.get("scale", ()) if row["kind"] == "large"]
    if large:
        most = max(_number(row, "npus") for row in large)
        largest = [row for row in large if row["npus"] == most]
        lines.append(
            f"{most:,.0f} NPUs: at most {max(_number(row, 'total_s') for row in largest):.3f} s and "
            f"{max(_number(row, 'peak_bytes') for row in largest) / 2**20:.0f} MiB  (target 1 s, 1 GiB)"
        )
    equal = [
        _number(row, "equal_ranks") for row in results.get("scale", ()) if row["equal_ranks"] is not None
    ]
    if equal:
        lines.append(
            f"by classes and event by event: {len(equal)} points, {sum(equal):,.0f} ranks, all metrics equal"
        )
    return "\n".join(
        [
            *lines,
            *_scaleout_lines(results),
            *_synthesis_lines(results),
            *_planning_lines(results),
            *_structure_lines(results),
            *_wasm_lines(results),
            *_page_lines(results),
        ]
    )


def _planning_lines(results: Mapping[str, Sequence[Row]]) -> list[str]:
    return [
        f"{row['name']}, {row['planner']}: {_number(row, 'ratio'):,.0f} times the reference's speed, "
        f"{_number(row, 'search_s') * 1e3:,.1f} ms"
        + ("" if row["target_ratio"] is None else f"  (target {row['target_ratio']:,})")
        for row in results.get("planning", ())
        if row["ratio"] is not None
    ] + [
        f"{row['name']}, {row['planner']}, {'mixed stages' if row['mixed'] else 'one type a stage'}: "
        f"{_number(row, 'search_s') * 1e3:,.1f} ms, {_number(row, 'plan_s') * 1e3:,.1f} ms with certificate"
        f"  (target {_number(row, 'target_s') * 1e3:,.0f} ms)"
        for row in results.get("planning", ())
        if row["target_s"] is not None
    ]


def _structure_lines(results: Mapping[str, Sequence[Row]]) -> list[str]:
    return [
        f"{row['name']}: {_number(row, 'closed_equal'):,.0f} equal, "
        f"{_number(row, 'preconditions_hold'):,.0f} must be, largest difference "
        f"{_number(row, 'largest_difference_pct'):.2g} %"
        for row in results.get("structure", ())
        if row.get("closed_equal") is not None
    ]


def _wasm_lines(results: Mapping[str, Sequence[Row]]) -> list[str]:
    return [
        f"{row['name']}, {row['points']} points in a page after a change of the {row['changed']}: "
        f"{_number(row, 'page_s') * 1e3:,.0f} ms, {_number(row, 'ratio_to_native'):.1f} times native"
        "  (target 300 ms, 4)"
        for row in results.get("wasm", ())
    ]


_LONGEST = ("start_task_cpu_s", "use_task_cpu_s", "hands_task_cpu_s")


def _page_lines(results: Mapping[str, Sequence[Row]]) -> list[str]:
    return [
        f"{row['name']}, {_number(row, 'page_bytes') / 1e6:.2f} MB (limit {row['limit_mb']}): can be used "
        f"after {_number(row, 'usable_s'):.2f} s (target 1), a change takes "
        f"{_number(row, 'change_s') * 1e3:,.0f} ms for {row['points']:,} points (300; 3,000 for 100,000), "
        f"longest task {1e3 * max(_number(row, key) for key in _LONGEST if key in row):.0f} CPU-ms (50)"
        for row in results.get("page", ())
    ]


def _synthesis_lines(results: Mapping[str, Sequence[Row]]) -> list[str]:
    return [
        f"{row['name']}, {row['synthesizer']}: {_number(row, 'ratio'):,.0f} times TACOS's speed, "
        f"{_number(row, 'time_us'):,.1f} µs (TACOS {_number(row, 'tacos_us'):,.1f}, bound "
        f"{_number(row, 'bound_us'):,.1f})"
        for row in results.get("synthesis", ())
        if row["ratio"] is not None
    ]


def _scaleout_lines(results: Mapping[str, Sequence[Row]]) -> list[str]:
    lines: list[str] = []
    overheads = results.get("executors", ())
    for name in dict.fromkeys(str(row["executor"]) for row in overheads):
        most = max(_number(row, "overhead_us") for row in overheads if row["executor"] == name)
        lines.append(f"{name}: at most {most / 1e3:.3f} ms of overhead a point  (target 0.2 ms)")
    ratios = [row for row in results.get("throughput", ()) if row["name"] != "local"]
    if ratios:
        values = [_number(row, "of_local_pct") for row in ratios]
        shortest = min(_number(row, "wall_s") for row in results["throughput"])
        lines.append(
            f"ray: {statistics.median(values):.0f} % of the throughput of local (least {min(values):.0f} %), "
            f"runs of {shortest:.0f} s and more  (target 90 %)"
        )
    targets_s = {
        "sweep": "target 60 s",
        "resume, nothing to do": "target 10 s",
        "best": "target 0.8 s of CPU",
        "predicted sweep": "target 4 s",
        "predicted sweep, nine orders": "target 20 s",
    }
    for row in results.get("million", ()):
        target = targets_s.get(str(row["name"]))
        lines.append(
            f"{_number(row, 'points'):,.0f} points, {row['name']}: {_number(row, 'wall_s'):.2f} s wall, "
            f"{_number(row, 'cpu_s'):.2f} s of CPU, {_number(row, 'peak_bytes') / 2**20:,.0f} MiB  "
            f"({f'{target}, ' if target else ''}1 GiB)"
        )
    for row in results.get("search", ()):
        if row["seed"] is None:
            regret = "nothing" if row["regret_pct"] is None else f"{_number(row, 'regret_pct'):.1f} %"
            target = "" if row["sampler"] == "random" else "  (target 5 %)"
            lines.append(
                f"{_number(row, 'points'):,.0f} points, {row['space']}, {row['budgets']}, {row['sampler']}: "
                f"median regret {regret} after {row['evaluations']} evaluations{target}"
            )
    return lines


def _number(row: Row, column: str) -> float:
    value = row[column]
    assert isinstance(value, int | float), column
    return value


def _column_title(column: str) -> str:
    return column.removesuffix("_s").removesuffix("_bytes")


def cell(column: str, value: str | int | float | bool | None) -> str:
    """Return a value as text, in the unit that its column names."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if column.endswith("_bytes"):
        return f"{value / 2**20:.0f} MiB" if not isinstance(value, str) else value
    if column.endswith("_s") and isinstance(value, float):
        return f"{value * 1e3:.2f} ms" if value < 1 else f"{value:.2f} s"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else value

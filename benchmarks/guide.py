"""The measured tables of the guide: `make bench` writes them between markers, with day and machine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.report import cell, read_parquet
from benchmarks.sections import Row

PAGES = tuple(
    Path(__file__).parents[1] / "docs" / name for name in ("partition.md", "performance.md", "search.md")
)
_PART = re.compile(r"(<!-- measured: (\w+) -->\n).*?(?=<!-- end of measured -->)", re.S)

# By section: the columns of the table, by their titles.
_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "lab": {
        "Pair": "name",
        "Median point": "median_s",
        "Slowest": "slowest_s",
        "All": "sum_s",
        "Memory": "peak_bytes",
        "Times as fast, at least": "ratio",
    },
    "general": {
        "Pair": "name",
        "Strategy": "strategy",
        "Events": "events",
        "Simulation": "simulate_s",
        "ns per event": "ns_per_reference_event",
        "Times as fast": "ratio_of_simulation",
    },
    "scale": {
        "Pair": "name",
        "Strategy": "strategy",
        "Generation": "generate_s",
        "Simulation": "simulate_s",
        "Rank classes": "rank_classes",
        "Memory": "peak_bytes",
    },
    "trace_files": {
        "Folder": "name",
        "Nodes": "nodes",
        "Reading": "read_s",
        "Simulation": "simulate_s",
        "Command": "command_s",
        "Times as fast": "ratio",
    },
    "synthesis": {
        "Network": "name",
        "Search": "search_s",
        "Times as fast": "ratio",
        "Gap %": "gap_pct",
    },
    "planning": {
        "Cluster": "name",
        "Planner": "planner",
        "Search": "search_s",
        "Times as fast": "ratio",
    },
    "cuts": {
        "Graph": "graph",
        "Nodes": "nodes",
        "Parts": "parts",
        "Cut": "ours_cut",
        "KaHIP": "kahip_cut",
        "More %": "more_pct",
        "Seeds": "kahip_seeds",
    },
    "study": {"Process": "name", "Points": "points", "Wall": "wall_s", "CPU": "cpu_s"},
    "executors": {"Points": "name", "Number": "points", "Overhead, µs": "overhead_us"},
    "million": {"Command": "name", "Wall": "wall_s", "CPU": "cpu_s", "Memory": "peak_bytes"},
    "search": {
        "Space": "space",
        "Budgets": "budgets",
        "Sampler": "sampler",
        "Median regret, %": "regret_pct",
    },
}

# By section: which rows the table has. Sections without an entry have all.
_KEPT: Mapping[str, Callable[[Row], bool]] = {
    "general": lambda row: row["engine"] == "general" and bool(row["tracked"]),
    "scale": lambda row: row["kind"] == "large" and row["npus"] == 131_072,
    "synthesis": lambda row: row["ratio"] is not None and row["synthesizer"] == "greedy",
    "planning": lambda row: row["planner"] == "metis" or (row["planner"] == "exact" and bool(row["mixed"])),
    "study": lambda row: row["name"] != "all",
    "search": lambda row: row["seed"] is None,
}


def write_pages(results: Path) -> None:
    """Write every measured part of the guide for which `results` has a file."""
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8"), results), encoding="utf-8")


def filled(text: str, results: Path) -> str:
    """Return a page with its measured parts made of the Parquet files in `results`, where they are."""

    def part(found: re.Match[str]) -> str:
        file = results / f"{found[2]}.parquet"
        return found[1] + _part(found[2], file) if file.exists() else found[0]

    return _PART.sub(part, text)


def _part(section: str, file: Path) -> str:
    rows = _by_pair(read_parquet(file)) if section == "lab" else read_parquet(file)
    columns = _COLUMNS[section]
    lines = ["|".join(columns), "|".join("---" for _ in columns)]
    for row in filter(_KEPT.get(section), rows):
        lines.append("|".join(cell(column, row.get(column)) for column in columns.values()))
    return "\n".join([*lines, "", _machine(file)]) + "\n"


def _machine(file: Path) -> str:
    """Return the day and the machine of a file, as a sentence."""
    import pyarrow.parquet as pq

    metadata = pq.read_schema(file).metadata
    facts = json.loads(metadata[b"machine"])
    day = metadata[b"date"].decode()
    return f"Measured on {day}: {facts['cpu']}, {facts['cores']} cores."


def _by_pair(points: Sequence[Row]) -> list[Row]:
    """Return a row for each pair of model and system, with figures over its points."""
    summaries: list[Row] = []
    for name in dict.fromkeys(point["name"] for point in points):
        rows = [point for point in points if point["name"] == name]
        seconds = _numbers(rows, "total_s")
        summaries.append(
            {
                "name": name,
                "median_s": median(seconds),
                "slowest_s": max(seconds),
                "sum_s": sum(seconds),
                "peak_bytes": max(_numbers(rows, "peak_bytes")),
                "ratio": min(_numbers(rows, "ratio"), default=None),
            }
        )
    return summaries


def _numbers(rows: Sequence[Row], column: str) -> list[float]:
    return [value for row in rows if isinstance(value := row[column], int | float)]

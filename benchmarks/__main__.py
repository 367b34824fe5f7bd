"""`python -m benchmarks`: measure, write Parquet, pictures and the tables of the guide, print tables."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import cases, sections
from benchmarks.congestion import congestion
from benchmarks.cuts import cuts
from benchmarks.guide import write_pages
from benchmarks.machine import machine_facts
from benchmarks.measure import BenchmarkError
from benchmarks.million import million
from benchmarks.page import page
from benchmarks.partition import partition
from benchmarks.planning import planning
from benchmarks.plots import draw
from benchmarks.report import read_parquet, summary, table, write_parquet
from benchmarks.scaleout import executors, throughput
from benchmarks.search import search
from benchmarks.structure import structure
from benchmarks.synthesis import synthesis
from benchmarks.trace_files import trace_files
from benchmarks.wasm import wasm

RESULTS = Path(__file__).with_name("results")
SECTIONS: dict[str, Callable[[cases.Cases, int], Iterator[sections.Row]]] = {
    "lab": sections.lab,
    "cold": sections.cold,
    "general": sections.general,
    "study": sections.study,
    "scale": sections.scale,
    "paths": sections.paths,
    "sharing": sections.sharing,
    "congestion": congestion,
    "executors": executors,
    "throughput": throughput,
    "million": million,
    "search": search,
    "synthesis": synthesis,
    "planning": planning,
    "partition": partition,
    "cuts": cuts,
    "structure": structure,
    "trace_files": trace_files,
    "wasm": wasm,
    "page": page,
    "side_by_side": sections.measured_references,
}


def main(argv: Sequence[str]) -> int:
    """Return 0, or 1 if something that is measured fails."""
    options = _options(argv)
    chosen = options.only or list(SECTIONS)
    what, repeats = (cases.quick(), 1) if options.quick else (cases.full(), options.repeats)
    facts = machine_facts()
    for fact, value in facts.items():
        print(f"{fact}: {value}")
    try:
        for name in [] if options.plots_only else chosen:
            began = time.perf_counter()
            rows = list(SECTIONS[name](what, repeats))
            if rows:
                command = " ".join(["python -m benchmarks", *(["--quick"] if options.quick else [])])
                write_parquet(options.out / f"{name}.parquet", rows, facts, command)
                print(f"\n{name} ({time.perf_counter() - began:.0f} s)\n{table(name, rows)}", flush=True)
    except BenchmarkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if machine_facts() != facts:
        print("warning: the engine was rebuilt while it was measured; measure again", file=sys.stderr)
    results = {
        name: read_parquet(file) for name in SECTIONS if (file := options.out / f"{name}.parquet").exists()
    }
    print(f"\n{summary(results)}")
    if not options.no_plots:
        draw(results, options.out)
    if options.out == RESULTS and not options.quick:
        write_pages(RESULTS)
    return 0


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny cases, once each: a test of this program")
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), help="these sections only")
    parser.add_argument("--repeats", type=int, default=5, help="runs a median is taken of (5)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of Parquet files and pictures")
    parser.add_argument("--no-plots", action="store_true", help="no pictures")
    parser.add_argument("--plots-only", action="store_true", help="only draw the results again")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

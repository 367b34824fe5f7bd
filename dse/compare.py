"""`python -m dse.compare results/<study> results/<other>`: what changed between two studies."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.cli import ArgumentParser, run
from dse.errors import InputError
from dse.files import write_atomically
from dse.results import SELECTION_COLUMNS, StudyStore, groups, to_json
from dse.results.compare import STRATEGY_COLUMNS, StrategyChange, StudyComparison, compare_groups, pairs
from dse.results.compare_text import render_comparison
from dse.units import parse_bytes

if TYPE_CHECKING:
    from argparse import Namespace

DEFAULT_MEMORY_CAP = "80GB"
COLUMNS = (*SELECTION_COLUMNS, "npus", "model_spec", "system_spec", "options")


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="python -m dse.compare",
        description="Compare two studies: which inputs differ, the best point of each with and without a "
        "memory cap, and how the wall time of every strategy that both have changed.",
        epilog="Of several variants of a system in one study, the fastest point of each strategy counts.",
    )
    parser.add_argument("first", help="the folder of a study, such as results/llama70b-system1")
    parser.add_argument("second", help="the folder of another one")
    cap = parser.add_mutually_exclusive_group()
    cap.add_argument(
        "--memory-cap", metavar="BYTES", default=DEFAULT_MEMORY_CAP, help="with a unit (default %(default)s)"
    )
    cap.add_argument(
        "--no-memory-cap",
        dest="memory_cap",
        action="store_const",
        const=None,
        help="only the best of all; for studies without peak memories",
    )
    parser.add_argument(
        "--items",
        metavar="N",
        type=int,
        default=5,
        help="strategies to list of the greatest gains, and of the greatest losses (default %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with all strategies")
    parser.add_argument("--csv", metavar="FILE", type=Path, help="write all strategies to a CSV file as well")
    return parser


def comparisons(arguments: Namespace) -> list[StudyComparison]:
    """Compare all groups that both studies have.

    Raises:
        InputError: a folder is not a readable study, or the studies have nothing in common.
    """
    cap = arguments.memory_cap
    cap_bytes = None if cap is None else parse_bytes(cap, "--memory-cap")
    first, second = StudyStore(arguments.first), StudyStore(arguments.second)

    def both() -> list[StudyComparison]:
        one, other = first.snapshot(COLUMNS), second.snapshot(COLUMNS)
        return [
            compare_groups(a, b, memory_cap_bytes=cap_bytes, whole=(one.rows, other.rows))
            for a, b in pairs(groups(one.table), groups(other.table))
        ]

    return first.reading(lambda: second.reading(both))


def _change(change: StrategyChange) -> dict[str, Any]:
    values = dataclasses.asdict(change)
    strategy = dict(zip(STRATEGY_COLUMNS, values.pop("strategy"), strict=True))
    return {**strategy, **values, "change": change.change}


def _json(comparison: StudyComparison) -> dict[str, Any]:
    return {
        "title": comparison.title,
        "inputs": [
            {"name": change.name, **{side: [json.loads(text) for text in texts] for side, texts in sides}}
            for change in comparison.inputs
            for sides in [(("first", change.first), ("second", change.second))]
        ],
        "first": to_json(comparison.first),
        "second": to_json(comparison.second),
        "strategies": [_change(change) for change in comparison.changes],
        "only_first": comparison.only_first,
        "only_second": comparison.only_second,
    }


def _csv(found: Sequence[StudyComparison]) -> bytes:
    rows = [
        {"group": comparison.title, **_change(change)}
        for comparison in found
        for change in comparison.changes
    ]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["group", *STRATEGY_COLUMNS])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def main(argv: Sequence[str]) -> int:
    """Print the comparison; return the exit code.

    Raises:
        InputError: as `comparisons`, or a wrong option.
    """
    arguments = parser().parse_args(argv)
    if arguments.items < 0:
        raise InputError(f"--items is {arguments.items}; it must be at least 0")
    found = comparisons(arguments)
    if arguments.csv is not None:
        write_atomically(arguments.csv, _csv(found))
    if arguments.json:
        data = [_json(comparison) for comparison in found]
        print(json.dumps(data[0] if len(data) == 1 else data, indent=2))
    else:
        print("\n\n".join(render_comparison(comparison, arguments.items) for comparison in found))
    return 0


if __name__ == "__main__":
    run(main)

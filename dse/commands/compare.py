"""`dse compare results/<study> results/<other>`: what changed between two studies."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.answers import ANSWER_COLUMNS, apply_cap, groups, study_cap, to_json
from dse.answers.differences import StrategyChange, StudyComparison, compare_groups, pairs
from dse.answers.differences_text import render_comparison
from dse.base.errors import InputError
from dse.base.files import check_output
from dse.commands.cli import (
    ArgumentParser,
    add_memory_cap,
    add_output,
    asked_cap,
    called_as,
    print_json,
    print_notes,
    write_csv,
)
from dse.inputs.strategies import STRATEGY_FIELDS
from dse.studies.store import StudyStore

if TYPE_CHECKING:
    from argparse import Namespace


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog=called_as("compare"),
        description="Compare two studies: which inputs differ, the best point of each with and without a "
        "memory cap, and how the wall time of every strategy that both have changed.",
        epilog="Of several variants of a system in one study, the fastest point of each strategy counts.",
    )
    parser.add_argument("first", help="the folder of a study, such as results/llama70b-system1")
    parser.add_argument("second", help="the folder of another one")
    add_memory_cap(parser, "only the best of all; for studies without peak memories")
    parser.add_argument(
        "--items",
        metavar="N",
        type=int,
        default=5,
        help="strategies to list of the greatest gains, and of the greatest losses (default %(default)s)",
    )
    add_output(parser, csv="all strategies")
    return parser


def comparisons(arguments: Namespace) -> tuple[list[StudyComparison], list[str]]:
    """Compare all groups that both studies have, under the cap of the latest sweep of both; and notes.

    Raises:
        InputError: a folder is not a readable study, or the studies have nothing in common.
    """
    asked = asked_cap(arguments)
    first, second = StudyStore(arguments.first), StudyStore(arguments.second)
    names = study_names(arguments.first, arguments.second)
    cap = study_cap(asked, first, second)

    def both() -> tuple[list[StudyComparison], list[str]]:
        one, other = first.snapshot(ANSWER_COLUMNS), second.snapshot(ANSWER_COLUMNS)
        found = pairs(groups(one.table), groups(other.table))
        caps, notes = apply_cap([group for pair in found for group in pair], cap)
        return [
            compare_groups(
                *pair,
                names=names,
                memory_cap_bytes=None if None in limits else limits[0],
                whole=(one.rows, other.rows),
            )
            for pair, limits in zip(found, zip(caps[::2], caps[1::2], strict=True), strict=True)
        ], notes

    return first.reading(lambda: second.reading(both))


def study_names(first: str, second: str) -> tuple[str, str]:
    """The names of two folders, or as much of their paths as tells them apart."""
    one, other = Path(first), Path(second)
    return (first, second) if one.name == other.name else (one.name or first, other.name or second)


def _change(change: StrategyChange) -> dict[str, Any]:
    values = dataclasses.asdict(change)
    strategy = dict(zip(STRATEGY_FIELDS, values.pop("strategy"), strict=True))
    return {**strategy, **values, "change": change.change}


def _json(comparison: StudyComparison) -> dict[str, Any]:
    return {
        "title": comparison.title,
        "fidelities": dict(zip(("first", "second"), comparison.fidelities, strict=True)),
        "studies": dict(zip(("first", "second"), comparison.names, strict=True)),
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


def main(argv: Sequence[str]) -> int:
    """Print the comparison; return the exit code.

    Raises:
        InputError: as `comparisons`, or a wrong option.
    """
    arguments = parser().parse_args(argv)
    if arguments.items < 0:
        raise InputError(f"--items is {arguments.items}; it must be at least 0")
    if arguments.csv is not None:
        check_output(arguments.csv, "--csv")
    found, notes = comparisons(arguments)
    print_notes(notes)
    if arguments.csv is not None:
        rows = [
            {"group": comparison.title, **_change(change)}
            for comparison in found
            for change in comparison.changes
        ]
        write_csv(arguments.csv, rows, ["group", *STRATEGY_FIELDS])
    if arguments.json:
        print_json([_json(comparison) for comparison in found])
    else:
        print("\n\n".join(render_comparison(comparison, arguments.items) for comparison in found))
    return 0

"""`dse compare results/<study> results/<other>`: what changed between two studies."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from dse.answers import ANSWER_COLUMNS, apply_cap, groups, study_cap, to_json
from dse.answers.differences import StrategyChange, StudyComparison, compare_groups, pairs
from dse.answers.differences_text import render_comparison
from dse.base.command_lines import Arguments, CommandLine
from dse.base.files import check_output
from dse.base.settings.values import file, whole
from dse.commands.cli import (
    CAP,
    CAP_OR_NONE,
    JSON,
    asked_cap,
    print_json,
    print_notes,
    reading,
    without_cap,
    write_csv,
)
from dse.inputs.strategies import STRATEGY_FIELDS
from dse.studies.store import StudyStore

COMMAND = CommandLine(
    "compare",
    "Compare two studies: which inputs differ, the best point of each with and without a memory cap, and how "
    "the wall time of every strategy that both have changed.",
    words={
        "FIRST": "the folder of a study, such as results/llama70b-system1",
        "SECOND": "the folder of another one",
    },
    keys={
        "keys": {
            **CAP,
            "items": "strategies to list of the greatest gains, and of the greatest losses (default 5)",
            "csv": "write all strategies to this CSV file as well",
        }
    },
    options={**without_cap("only the best of all; for studies without peak memories"), **JSON},
    exclusive=(CAP_OR_NONE,),
    ending="Of several variants of a system in one study, the fastest point of each strategy counts.",
)


def comparisons(arguments: Arguments) -> tuple[list[StudyComparison], list[str]]:
    """Compare all groups that both studies have, under the cap of the latest sweep of both; and notes.

    Raises:
        InputError: a folder is not a readable study, or the studies have nothing in common.
    """
    asked = asked_cap(arguments)
    first, second = map(StudyStore, arguments.words)
    names = study_names(*arguments.words)
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


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Print the comparison; return the exit code."""
    items, csv = whole(arguments.values, "items", 5), file(arguments.values, "csv")
    if csv is not None:
        check_output(csv, "csv")
    found, notes = comparisons(arguments)
    print_notes(notes)
    if csv is not None:
        rows = [
            {"group": comparison.title, **_change(change)}
            for comparison in found
            for change in comparison.changes
        ]
        write_csv(csv, rows, ["group", *STRATEGY_FIELDS])
    if "--json" in arguments.options:
        print_json([_json(comparison) for comparison in found])
    else:
        print("\n\n".join(render_comparison(comparison, items) for comparison in found))
    return 0

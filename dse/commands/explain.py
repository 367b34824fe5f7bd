"""`dse explain results/<study>`: why the winner wins, and what would make another one win."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dse.answers import subjects
from dse.answers.explain.answers import answer
from dse.base.errors import InputError
from dse.commands.cli import (
    ArgumentParser,
    add_group,
    add_memory_cap,
    add_output,
    asked_cap,
    called_as,
    print_json,
    print_notes,
)
from dse.studies.store import StudyStore
from dse.studies.store.lookup import row_of_key


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog=called_as("explain"),
        description="Split the wall time of the best point of every model and system into parts that sum to "
        "it exactly, and its peak memory into categories; compare it with its runner-up; say what binds, and "
        "the smallest change of one input at which another strategy wins (docs/explain.md).",
    )
    parser.add_argument("study", help="the folder of a study, such as results/llama70b-system1")
    add_group(parser, point="explain this point instead")
    parser.add_argument("--versus", metavar="KEY", help="compare with this point instead of the runner-up")
    add_memory_cap(parser, "the best of all")
    parser.add_argument("--items", type=int, default=10, metavar="N", help="operators of the peak to list")
    parser.add_argument("--no-switches", action="store_true", help="do not look for changes; saves seconds")
    add_output(parser)
    return parser


def main(argv: Sequence[str]) -> int:
    """Print the explanations; return the exit code.

    Raises:
        InputError: no such study, point or group, or a point that cannot be evaluated again.
    """
    arguments = parser().parse_args(argv)
    if arguments.items < 0:
        raise InputError(f"--items is {arguments.items}; it must be at least 0")
    store = StudyStore(arguments.study)
    cap = asked_cap(arguments)
    found = subjects(store, cap, key=arguments.point, number=arguments.group, with_candidates=True)
    entries = found.found
    if arguments.versus is not None:
        other = row_of_key(store, arguments.versus)
        entries = [replace(entry, runner_up=other) for entry in entries]
    print_notes(found.notes)
    answers = [
        answer(entry, items=arguments.items, with_switches=not arguments.no_switches) for entry in entries
    ]
    if arguments.json:
        print_json([data for _, data in answers])
    else:
        print("\n\n\n".join(text for text, _ in answers))
    return 0

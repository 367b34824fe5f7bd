"""`python -m dse.best results/<study>`: the best strategy of a study, with and without a memory cap."""

from __future__ import annotations

import json
from collections.abc import Sequence

from dse.cli import ArgumentParser, run
from dse.results import SELECTION_COLUMNS, StudyStore, describe_variants, groups, render, select, to_json
from dse.units import parse_bytes

DEFAULT_MEMORY_CAP = "80GB"
COLUMNS = (*SELECTION_COLUMNS, "npus", "model_spec", "system_spec", "options")


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="python -m dse.best",
        description="Name the fastest strategy of a study, its runner-up, and the same under a memory cap.",
    )
    parser.add_argument("study", help="the folder of a study, such as results/llama70b-system1")
    cap = parser.add_mutually_exclusive_group()
    cap.add_argument(
        "--memory-cap",
        metavar="BYTES",
        default=DEFAULT_MEMORY_CAP,
        help="largest peak memory of a rank, with a unit: 80GB = 80e9 bytes, 80GiB = 80 * 2^30 "
        "(default %(default)s)",
    )
    cap.add_argument(
        "--no-memory-cap",
        dest="memory_cap",
        action="store_const",
        const=None,
        help="only the best of all; for a study without peak memories",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def main(argv: Sequence[str]) -> int:
    """Print the answer; return the exit code.

    Raises:
        InputError: the folder is not a readable study, the cap has no unit, or no point has a peak memory.
    """
    arguments = parser().parse_args(argv)
    cap = None if arguments.memory_cap is None else parse_bytes(arguments.memory_cap, "--memory-cap")
    snapshot = StudyStore(arguments.study).snapshot(COLUMNS)
    answers = []
    for group in groups(snapshot.table):
        selection = select(group.table, memory_cap_bytes=cap, whole=snapshot.rows)
        answers.append((group, selection))
    if arguments.json:
        data = [{"title": group.title, **to_json(selection)} for group, selection in answers]
        print(json.dumps(data[0] if len(data) == 1 else data, indent=2))
        return 0
    for number, (group, selection) in enumerate(answers):
        if len(answers) > 1:
            print(f"{group.title}\n" if number == 0 else f"\n{group.title}\n")
        print(render(selection, describe_variants(group.table)))
    return 0


if __name__ == "__main__":
    run(main)

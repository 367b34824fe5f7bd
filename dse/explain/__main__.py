"""`python -m dse.explain results/<study>`: why the winner wins, and what would make another one win."""

from __future__ import annotations

import json
from collections.abc import Sequence

from dse.cli import ArgumentParser, run
from dse.explain.answers import answer, subjects
from dse.results import StudyStore
from dse.units import parse_bytes

DEFAULT_MEMORY_CAP = "80GB"


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="python -m dse.explain",
        description="Split the wall time of the best point of every model and system into parts that sum to "
        "it exactly, and its peak memory into categories; compare it with its runner-up; say what binds, and "
        "the smallest change of one input at which another strategy wins (docs/explain.md).",
    )
    parser.add_argument("study", help="the folder of a study, such as results/llama70b-system1")
    parser.add_argument("--point", metavar="KEY", help="explain this point (first digits of its key) instead")
    parser.add_argument("--versus", metavar="KEY", help="compare with this point instead of the runner-up")
    cap = parser.add_mutually_exclusive_group()
    cap.add_argument("--memory-cap", metavar="BYTES", default=DEFAULT_MEMORY_CAP, help="default %(default)s")
    cap.add_argument(
        "--no-memory-cap", dest="memory_cap", action="store_const", const=None, help="the best of all"
    )
    parser.add_argument("--items", type=int, default=10, metavar="N", help="operators of the peak to list")
    parser.add_argument("--no-switches", action="store_true", help="do not look for changes; saves seconds")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    return parser


def main(argv: Sequence[str]) -> int:
    """Print the explanations; return the exit code.

    Raises:
        InputError: no such study or point, or one that cannot be evaluated again.
    """
    arguments = parser().parse_args(argv)
    cap = None if arguments.memory_cap is None else parse_bytes(arguments.memory_cap, "--memory-cap")
    store = StudyStore(arguments.study)
    answers = [
        answer(subject, items=arguments.items, with_switches=not arguments.no_switches)
        for subject in subjects(store, arguments.point, arguments.versus, cap)
    ]
    if arguments.json:
        data = [entry for _, entry in answers]
        print(json.dumps(data[0] if len(data) == 1 else data, indent=2))
    else:
        print("\n\n\n".join(text for text, _ in answers))
    return 0


if __name__ == "__main__":
    run(main)

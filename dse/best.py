"""`python -m dse.best results/<study>`: the best strategy of a study, with and without a memory cap."""

from __future__ import annotations

import json
from collections.abc import Sequence

from dse.cli import ArgumentParser, run
from dse.results import StudyStore, render, select, to_json
from dse.units import parse_bytes

DEFAULT_MEMORY_CAP = "80GB"


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
    selection = select(StudyStore(arguments.study).read_table(), memory_cap_bytes=cap)
    print(json.dumps(to_json(selection), indent=2) if arguments.json else render(selection))
    return 0


if __name__ == "__main__":
    run(main)

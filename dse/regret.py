"""`python -m dse.regret results/SEARCHED --truth results/EXHAUSTIVE`: how far off the best a search ended."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from dse.best import DEFAULT_MEMORY_CAP
from dse.cli import ArgumentParser, run
from dse.results import StudyStore
from dse.units import parse_bytes

if TYPE_CHECKING:
    from dse.search.regret import Regret


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="python -m dse.regret",
        description="Compare the best point of a searched study with the best of its whole space.",
    )
    parser.add_argument("study", help="the folder of the searched study")
    parser.add_argument(
        "--truth", required=True, metavar="STUDY", help="a study with every point of its space"
    )
    parser.add_argument(
        "--objective",
        default="wall_time_ns",
        metavar="EXPRESSION",
        help="what was minimised, over numeric columns (default %(default)s)",
    )
    parser.add_argument(
        "--memory-cap",
        metavar="BYTES",
        default=DEFAULT_MEMORY_CAP,
        help="largest peak memory of a rank, with a unit: 80GB, 80GiB (default %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def main(argv: Sequence[str]) -> int:
    """Print the regret with and without the cap, of all points and by model and system; return the exit code.

    Raises:
        InputError: a folder is not a readable study, the truth lacks points of the other, the cap has no
            unit, or the objective is wrong.
    """
    from dse.search.regret import by_scenario, regret

    arguments = parser().parse_args(argv)
    cap = parse_bytes(arguments.memory_cap, "--memory-cap")
    found, truth = (StudyStore(study).read_table() for study in (arguments.study, arguments.truth))
    answers = []
    tables = {("all", "all"): (found, truth)}
    parts = by_scenario(found, truth)
    if len(parts) > 1:
        tables |= parts
    for (model, system), (some, all_of_it) in tables.items():
        for limit in (None, cap):
            answer = regret(some, all_of_it, arguments.objective, limit)
            answers.append((model, system, limit, answer))
    if arguments.json:
        print(json.dumps([_plain(*answer) for answer in answers], indent=2))
    else:
        print(f"{arguments.objective}: {found.num_rows} of {truth.num_rows} points evaluated")
        print("\n".join(_line(*answer) for answer in answers))
    return 0


def _plain(model: str, system: str, cap: int | None, answer: Regret) -> dict[str, object]:
    return {"model": model, "system": system, "memory_cap_bytes": cap, **asdict(answer)}


def _line(model: str, system: str, cap: int | None, answer: Regret) -> str:
    what = "all points" if model == system == "all" else f"{model} on {system}"
    limit = "without a memory cap" if cap is None else f"under {cap} bytes"
    if answer.best_value is None:
        return f"{what}, {limit}: no point is ok and fits"
    if answer.found_value is None:
        return f"{what}, {limit}: nothing found, the best is {answer.best_value:.10g}"
    percent = "-" if answer.relative is None else f"{100 * answer.relative:.2f} %"
    return (
        f"{what}, {limit}: regret {percent} (found {answer.found_value:.10g}, best {answer.best_value:.10g})"
    )


if __name__ == "__main__":
    run(main)

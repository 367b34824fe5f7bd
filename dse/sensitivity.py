"""`python -m dse.sensitivity results/<study>`: what if the system were another one, around the best point."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dse.best import COLUMNS, DEFAULT_MEMORY_CAP
from dse.cli import ArgumentParser, run
from dse.errors import InputError
from dse.units import parse_bytes

if TYPE_CHECKING:
    from dse.results import Group, Snapshot, StudyRow, StudyStore

DEFAULT_FACTORS = "0.5,0.8,1.25,2"


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="python -m dse.sensitivity",
        description="Vary each number of the system around the best point of each group of a study: how the "
        "wall time follows, and where another strategy wins.",
    )
    parser.add_argument("study", help="the folder of a study, such as results/llama70b-system1")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--point", metavar="KEY", help="vary around this point: the first digits of its key")
    which.add_argument(
        "--group",
        metavar="N",
        type=int,
        help="only group N of those that python -m dse.best prints, counted from 0",
    )
    cap = parser.add_mutually_exclusive_group()
    cap.add_argument(
        "--memory-cap",
        metavar="BYTES",
        default=DEFAULT_MEMORY_CAP,
        help="largest peak memory of a rank, with a unit: 80GB, 80GiB (default %(default)s)",
    )
    cap.add_argument(
        "--no-memory-cap",
        dest="memory_cap",
        action="store_const",
        const=None,
        help="whatever fits; for a study without peak memories",
    )
    parser.add_argument(
        "--factors", default=DEFAULT_FACTORS, help="by which parameters are multiplied (default %(default)s)"
    )
    parser.add_argument(
        "--parameters",
        default="",
        metavar="KEYS",
        help="only these: peak_tflops,network.0.latency_ns",
    )
    parser.add_argument(
        "--no-switches", action="store_true", help="do not look for what else wins; much faster"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--csv", metavar="FILE", type=Path, help="write a line for each parameter and factor")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw into a .png, .svg or .html")
    return parser


def main(argv: Sequence[str]) -> int:
    """Print the reports; return the exit code.

    Raises:
        InputError: the folder is not a readable study, an option is wrong, no point fits, or points of the
            study cannot be evaluated again.
    """
    arguments = parser().parse_args(argv)
    cap = None if arguments.memory_cap is None else parse_bytes(arguments.memory_cap, "--memory-cap")
    factors = _factors(arguments.factors)
    from dse.files import write_output
    from dse.results import StudyStore
    from dse.whatif.plot import check_plot, write_plot
    from dse.whatif.report import render, report, to_csv

    if arguments.plot is not None:
        check_plot(arguments.plot)
    store = StudyStore(arguments.study)
    reports = [
        report(
            subject.title,
            subject.candidates,
            subject.row,
            factors,
            memory_cap_bytes=cap,
            parameters=[key.strip() for key in arguments.parameters.split(",") if key.strip()],
            switches=not arguments.no_switches,
        )
        for subject in store.reading(lambda: _subjects(store, cap, arguments.point, arguments.group))
    ]
    if arguments.json:
        data = [answer.to_json() for answer in reports]
        print(json.dumps(data[0] if len(data) == 1 else data, indent=2))
    else:
        print("\n\n".join(render(answer) for answer in reports))
    if arguments.csv is not None:
        write_output(arguments.csv, to_csv(reports).encode(), "--csv")
    if arguments.plot is not None:
        write_plot(reports, arguments.plot)
    return 0


class _Subject(NamedTuple):
    """What to vary, and the rows that compete with it."""

    title: str
    row: StudyRow
    candidates: list[StudyRow]


def _subjects(store: StudyStore, cap: int | None, key: str | None, number: int | None) -> list[_Subject]:
    snapshot = store.snapshot((*COLUMNS, "key"))
    found = _points(store, snapshot, cap, key, number)
    return [_Subject(group.title, row, _candidates(snapshot, group, row)) for group, row in found]


def _points(
    store: StudyStore, snapshot: Snapshot, cap: int | None, key: str | None, number: int | None
) -> list[tuple[Group, StudyRow]]:
    """What to vary: the point with the key, or the best one of each group (or of one of them)."""
    import pyarrow.compute as pc

    from dse.results import groups, select
    from dse.whatif.rebuild import row_of_key

    found = groups(snapshot.table)
    if key is not None:
        row = row_of_key(store, key)
        if row.status != "ok":
            raise InputError(f"point {key} is {row.status}, so it has no wall time: {row.reason}")
        return [
            (group, row) for group in found if pc.any(pc.equal(group.table["key"], row.key)).as_py() is True
        ]
    if number is not None:
        if not 0 <= number < len(found):
            titles = "; ".join(f"{index}: {group.title}" for index, group in enumerate(found))
            raise InputError(f"--group {number} does not exist; groups are {titles}")
        found = [found[number]]
    points = []
    for group in found:
        selection = select(group.table, memory_cap_bytes=cap, whole=snapshot.rows)
        best = selection.optimum if cap is None else selection.capped_optimum
        if best is None:
            smallest = selection.smallest_peak_memory_bytes
            if smallest is None or cap is None:
                raise InputError(f"{group.title}: no point is ok; python -m dse.best counts the others")
            raise InputError(
                f"{group.title}: nothing fits, the smallest peak memory is {smallest} bytes: "
                "raise --memory-cap, or ask with --no-memory-cap"
            )
        points.append((group, best))
    return points


def _candidates(snapshot: Snapshot, group: Group, row: StudyRow) -> list[StudyRow]:
    """The whole rows of a group that have the inputs of one of them."""
    import pyarrow.compute as pc

    table = group.table
    for name in ("model_spec", "system_spec", "options"):
        text = getattr(row, name)
        if text is None:
            return [row]  # schema version 1: what follows says so
        table = table.filter(pc.equal(table[name], text))
    return snapshot.rows(table)


def _factors(text: str) -> list[float]:
    try:
        return [float(factor) for factor in text.split(",")]
    except ValueError:
        raise InputError(f"--factors '{text}' is not a list of numbers such as {DEFAULT_FACTORS}") from None


if __name__ == "__main__":
    run(main)

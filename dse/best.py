"""`python -m dse.best results/<study>`: the best strategies of a study, for one cap or for all of them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.cli import ArgumentParser, run
from dse.errors import InputError
from dse.files import write_output
from dse.results import (
    SELECTION_COLUMNS,
    Filter,
    Group,
    StudyRow,
    StudyStore,
    cap_curve,
    describe_variants,
    groups,
    pareto_front,
    render,
    render_rows,
    row_to_json,
    select,
    stored_columns,
    to_json,
)
from dse.results.groups import variant_of
from dse.results.tops import tops
from dse.units import format_bytes, parse_bytes

if TYPE_CHECKING:
    from argparse import Namespace

    import pyarrow as pa

    from dse.results import Snapshot

DEFAULT_MEMORY_CAP = "80GB"
COLUMNS = (*SELECTION_COLUMNS, "npus", "model_spec", "system_spec", "options")


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="python -m dse.best",
        description="Name the fastest strategy of a study, its runner-up, and the same under a memory cap, "
        "for every model and system; or the best for every cap, the Pareto front, or the best few.",
        epilog="Columns are listed in docs/results.md; fields of model and system are columns too: "
        "model.seq_len, system.network.0.bandwidth_gbps. Conditions are written as in SQL.",
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
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--caps", action="store_true", help="the best point for every memory cap, as steps")
    what.add_argument(
        "--pareto", action="store_true", help="the points that no other one beats in both time and memory"
    )
    what.add_argument("--top", type=int, metavar="K", help="the K fastest points of every group, see --by")
    parser.add_argument(
        "--cost", metavar="EXPR", help="a third column of --pareto, such as 'npus * wall_time_ns'"
    )
    parser.add_argument(
        "--by", metavar="COLUMNS", default="", help="groups of --top, such as model,system,tp"
    )
    parser.add_argument("--where", metavar="CONDITION", help='only these rows, such as "tp <= 8 and pp = 1"')
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--csv", metavar="FILE", type=Path, help="write the points to a CSV file as well")
    return parser


def checked(argv: Sequence[str]) -> Namespace:
    """Parse the command line; `memory_cap` is a number of bytes, or None.

    Raises:
        InputError: options that do not belong together, or a cap without a unit.
    """
    arguments = parser().parse_args(argv)
    if arguments.cost is not None and not arguments.pareto:
        raise InputError("--cost is a column of the Pareto front; write --pareto too")
    if arguments.by and arguments.top is None:
        raise InputError("--by says the groups of --top; write --top K too")
    if arguments.top is not None and arguments.top < 1:
        raise InputError(f"--top is {arguments.top}; it must be at least 1")
    if arguments.memory_cap is not None:
        arguments.memory_cap = parse_bytes(arguments.memory_cap, "--memory-cap")
    return arguments


def names_of(text: str) -> list[str]:
    """The names in a list such as "model,system"."""
    return [name.strip() for name in text.split(",") if name.strip()]


class Answers:
    """What was asked for, as text, as plain data, and as rows of a CSV file."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.texts: list[str] = []
        self.data: list[dict[str, Any]] = []
        self.points: list[dict[str, Any]] = []

    def add(
        self, title: str, text: str, data: dict[str, Any], points: Sequence[tuple[str, StudyRow]]
    ) -> None:
        """Add the answer for a group; `points` have labels."""
        self.texts.append(text)
        self.data.append({"title": title, **data})
        for label, row in points:
            self.points.append({"group": title, "label": label, **row_to_json(row)})

    def csv(self) -> str:
        """The points as CSV."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(self.points[0]) if self.points else ["group", "label"])
        writer.writeheader()
        writer.writerows(self.points)
        return text.getvalue()


def answer_groups(snapshot: Snapshot, table: pa.Table, arguments: Namespace) -> Answers:
    """Answer for every model and system of a table."""
    answers = Answers()
    questions = groups(table)
    for group in questions:
        variants = describe_variants(group.table)
        heading = f"{group.title}\n\n" if len(questions) > 1 else ""
        if arguments.caps or arguments.pareto:
            labelled = _steps(group, snapshot) if arguments.caps else _front(group, snapshot, arguments.cost)
            data = [
                {"label": label, "variant": variant_of(row, variants), **row_to_json(row)}
                for label, row in labelled
            ]
            answers.add(group.title, heading + render_rows(labelled, variants), {"points": data}, labelled)
            continue
        selection = select(group.table, memory_cap_bytes=arguments.memory_cap, whole=snapshot.rows)
        named = {
            "best": selection.optimum,
            "runner_up": selection.runner_up,
            "best_under_cap": selection.capped_optimum,
            "runner_up_under_cap": selection.capped_runner_up,
        }
        points = [(name, row) for name, row in named.items() if row is not None]
        answers.add(group.title, heading + render(selection, variants), to_json(selection), points)
    return answers


def _steps(group: Group, snapshot: Snapshot) -> list[tuple[str, StudyRow]]:
    steps = cap_curve(group.table, whole=snapshot.rows)
    return [(f"  from {format_bytes(step.memory_cap_bytes)}", step.row) for step in steps]


def _front(group: Group, snapshot: Snapshot, cost: str | None) -> list[tuple[str, StudyRow]]:
    costs = [] if cost is None else [Filter(cost, "--cost").numbers(group.table)]
    front = pareto_front(group.table, costs=costs, whole=snapshot.rows)
    return [(f"  {number}", row) for number, row in enumerate(front, 1)]


def answer_tops(snapshot: Snapshot, table: pa.Table, by: Sequence[str], count: int) -> Answers:
    """Answer with the fastest points of every combination of values of some columns."""
    answers = Answers()
    variants = describe_variants(table)
    for values, rows in tops(table, by, count, whole=snapshot.rows):
        title = " ".join(f"{name}={value}" for name, value in zip(by, values, strict=True))
        labelled = [(f"  {number}", row) for number, row in enumerate(rows, 1)]
        heading = f"{title}\n\n" if title else ""
        points = [{"variant": variant_of(row, variants), **row_to_json(row)} for row in rows]
        answers.add(title, heading + render_rows(labelled, variants), {"points": points}, labelled)
    return answers


def answers_of(
    snapshot: Snapshot, arguments: Namespace, conditions: Sequence[Filter], by: Sequence[str]
) -> Answers:
    """Answer what the command line asks."""
    table = snapshot.table
    for condition in conditions:
        table = condition.rows(table)
    if arguments.top is None:
        return answer_groups(snapshot, table, arguments)
    return answer_tops(snapshot, table, by, arguments.top)


def main(argv: Sequence[str]) -> int:
    """Print the answer; return the exit code.

    Raises:
        InputError: the folder is not a readable study, the cap has no unit, no point has a peak memory, or a
            wrong column or condition.
    """
    arguments = checked(argv)
    by = names_of(arguments.by)
    conditions = [Filter(arguments.where, "--where")] if arguments.where else []
    cost = [Filter(arguments.cost, "--cost")] if arguments.cost else []
    used = [name for text in (*conditions, *cost) for name in text.columns]
    store = StudyStore(arguments.study)
    columns = stored_columns([*COLUMNS, *by, *used])
    answers = store.reading(lambda: answers_of(store.snapshot(columns), arguments, conditions, by))
    if arguments.csv is not None:
        write_output(arguments.csv, answers.csv().encode(), "--csv")
    if arguments.json:
        print(json.dumps(answers.data[0] if len(answers.data) == 1 else answers.data, indent=2))
    else:
        print("\n\n".join(answers.texts) or "no point is ok")
    return 0


if __name__ == "__main__":
    run(main)

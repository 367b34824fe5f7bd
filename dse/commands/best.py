"""`dse best results/<study>`: the best strategies of a study, for one cap or for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.base.errors import InputError
from dse.base.files import check_output
from dse.commands.cli import (
    ArgumentParser,
    add_group,
    add_memory_cap,
    add_output,
    asked_cap,
    called_as,
    print_json,
    print_notes,
    write_csv,
)

if TYPE_CHECKING:
    from argparse import Namespace

    from dse.answers import Cap


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog=called_as("best"),
        description="Name the fastest strategy of a study, its runner-up, and the same under a memory cap, "
        "for every model, system and number of NPUs; or the best for every cap, the Pareto front, or the "
        "best few.",
        epilog="Columns are listed in docs/results.md; fields of model and system are columns too: "
        "model.seq_len, system.network.0.bandwidth_gbps. Conditions are written as in SQL.",
    )
    parser.add_argument("study", help="the folder of a study, such as results/llama70b-system1")
    add_memory_cap(parser, "only the best of all; for --top the fastest of all")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--caps", action="store_true", help="the best point for every memory cap, as steps")
    what.add_argument(
        "--pareto",
        action="store_true",
        help="the points that no other one beats in both time and memory; of those under --memory-cap",
    )
    what.add_argument("--top", type=int, metavar="K", help="the K fastest points of every group")
    parser.add_argument(
        "--cost", metavar="EXPR", help="a third column of --pareto, such as 'npus * wall_time_ns'"
    )
    parser.add_argument(
        "--by",
        metavar="COLUMNS",
        default="",
        help="split every group by the values of columns, such as tp,system.faults",
    )
    parser.add_argument(
        "--mixed",
        action="store_true",
        help="one group of all points: let different models, systems and numbers of NPUs compete",
    )
    add_group(parser)
    parser.add_argument("--where", metavar="CONDITION", help='only these rows, such as "tp <= 8 and pp = 1"')
    parser.add_argument(
        "--exact",
        action="store_true",
        help="wall times in ns and peaks in bytes, as JSON and CSV have them",
    )
    add_output(parser, csv="the points")
    return parser


def checked(argv: Sequence[str]) -> tuple[Namespace, Cap | None]:
    """Parse the command line; return it and the cap that it asks for.

    Raises:
        InputError: options that do not belong together, or a cap without a unit.
    """
    arguments = parser().parse_args(argv)
    if arguments.cost is not None and not arguments.pareto:
        raise InputError("--cost is a column of the Pareto front; write --pareto too")
    if arguments.top is not None and arguments.top < 1:
        raise InputError(f"--top is {arguments.top}; it must be at least 1")
    if arguments.exact and arguments.json:
        raise InputError("--exact is for the table; --json is exact without it")
    if arguments.mixed and arguments.group is not None:
        raise InputError("--mixed makes one group of all points, so --group has no effect; leave one out")
    asked = asked_cap(arguments)
    if arguments.caps and asked is not None:
        raise InputError(
            "--caps has the best point for every cap, so a cap has no effect; leave --memory-cap and "
            "--no-memory-cap out, or ask for one cap without --caps"
        )
    if arguments.pareto and arguments.no_memory_cap:
        raise InputError("--pareto has no cap without --memory-cap; leave --no-memory-cap out")
    return arguments, asked


def names_of(text: str) -> list[str]:
    """The names in a list such as "model,system"."""
    return [name.strip() for name in text.split(",") if name.strip()]


def main(argv: Sequence[str]) -> int:
    """Print the answer; return the exit code.

    Raises:
        InputError: the folder is not a readable study, the cap has no unit, a cap is asked for and no point
            has a peak memory, or a wrong column or condition.
    """
    arguments, asked = checked(argv)
    from dse.answers import ANSWER_COLUMNS, Cap, study_cap, unfinished_note
    from dse.answers.tables import Answers, Question, answers_of
    from dse.studies.store import RowExpression, StudyStore, stored_columns

    if arguments.csv is not None:
        check_output(arguments.csv, "--csv")
    where = [RowExpression(arguments.where, "--where")] if arguments.where else []
    cost = None if arguments.cost is None else RowExpression(arguments.cost, "--cost")
    question = Question(
        caps=arguments.caps,
        pareto=arguments.pareto,
        top=arguments.top,
        by=names_of(arguments.by),
        cost=cost,
        mixed=arguments.mixed,
        number=arguments.group,
        exact=arguments.exact,
    )
    used = [name for text in (*where, *([cost] if cost else [])) for name in text.columns]
    columns = stored_columns([*ANSWER_COLUMNS, *question.by, *used])
    store = StudyStore(arguments.study)
    without_cap = arguments.caps or (arguments.pareto and asked is None)
    cap = Cap(None) if without_cap else study_cap(asked, store)

    def read() -> Answers:
        snapshot = store.snapshot(columns)
        table = snapshot.table
        for condition in where:
            table = condition.rows(table)
        return answers_of(snapshot, table, question, cap)

    answers = store.reading(read)
    missing = unfinished_note(store)
    print_notes(answers.notes)
    if arguments.csv is not None:
        write_csv(arguments.csv, answers.points, ["group", "label"])
    if arguments.json:
        print_notes(missing)
        print_json(answers.data)
    else:
        print("".join(f"{sentence}\n\n" for sentence in missing), end="")
        print(
            "\n\n".join([*answers.texts, *filter(None, ["\n".join(answers.conventions)])]) or "no point is ok"
        )
    return 0

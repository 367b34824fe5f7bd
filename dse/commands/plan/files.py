"""`dse plan check`, `explain`, `report` on files of plans; `profiles` and `hosts`, which make inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dse.base.errors import InputError
from dse.collectives.problem.arguments import Arguments, parse_arguments
from dse.commands.cli import print_notes
from dse.commands.plan.shared import OPTIONS, format_of, target_of
from dse.planner.problem.synthetic_files import HOSTS, PROFILES

_FORMATS = ("table", "json")


def check(argv: Sequence[str]) -> int:
    """Replay a plan and its certificate; the exit code is 1 where one of them is wrong."""
    from dataclasses import asdict

    from dse.planner.files.files import json_text, read_document
    from dse.planner.files.output import verdict_text
    from dse.planner.proofs.check import CHECKED, UNCHECKED, check_document

    arguments = parse_arguments(argv, {"format": "table or json"}, {}, others=1, groups=())
    path = _file_of("check", arguments)
    form = format_of(arguments, _FORMATS)
    verdict = check_document(read_document(path))
    told = {**asdict(verdict), "checked": CHECKED.split(", "), "not_checked": UNCHECKED.split(", ")}
    print(json_text(told) if form == "json" else verdict_text(verdict))
    return 0 if verdict.valid else 1


def explain(argv: Sequence[str]) -> int:
    """Say why the plan of a file is the best; the exit code is 1 where the file has no plan."""
    from dse.planner.files.answer import read_answer
    from dse.planner.files.files import json_text
    from dse.planner.questions.explanation import explained
    from dse.planner.questions.explanation_text import explained_text

    arguments = parse_arguments(argv, {"format": "table or json"}, {}, others=1, groups=())
    form = format_of(arguments, _FORMATS)
    answer = read_answer(_file_of("explain", arguments))
    found = explained(answer)
    print(json_text(found) if form == "json" else explained_text(answer.document, found))
    return 0 if found["best"] is not None else 1


def report(argv: Sequence[str]) -> int:
    """Write the page of a file's plan."""
    from dse.base.files import check_output
    from dse.planner.files.answer import read_answer
    from dse.planner.files.files import write_document

    arguments = parse_arguments(argv, {}, OPTIONS, others=1, groups=())
    target = target_of(arguments)
    if target is None or target.suffix != ".html":
        raise InputError(f"-o is {target or 'missing'}; write dse plan report FILE -o FILE.html")
    check_output(target, "-o")
    answer = read_answer(_file_of("report", arguments))
    print_notes([f"wrote {path}" for path in write_document(target, answer.document)])
    return 0


def _file_of(action: str, arguments: Arguments) -> Path:
    """The plan's file that an action names."""
    if not arguments.others:
        raise InputError(f"FILE is missing; write dse plan {action} FILE, a file or folder of dse plan … -o")
    return Path(arguments.others[0]).expanduser()


def make(action: str, argv: Sequence[str]) -> int:
    """Write inputs as Metis reads them."""
    from dse.planner.problem.synthetic_files import make_hosts, make_profiles

    keys, write = (PROFILES, make_profiles) if action == "profiles" else (HOSTS, make_hosts)
    arguments = parse_arguments(argv, keys, OPTIONS, groups=(), example=f"{next(iter(keys))}=10")
    target = target_of(arguments)
    if target is None:
        raise InputError(f"-o is missing; write dse plan {action} … -o DIR, the folder for the files")
    print(write(arguments.values, target))
    return 0

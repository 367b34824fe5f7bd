"""`dse plan check`, `explain`, `report` on files of plans; `profiles` and `hosts`, which make inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dse.base.command_lines import Arguments, CommandLine
from dse.base.errors import InputError
from dse.base.files import check_output
from dse.commands.cli import found_code, print_notes
from dse.commands.plan.shared import OUTPUT, is_json, target_of
from dse.planner.problem.synthetic_files import HOST_KEYS, PROFILE_KEYS, make_hosts, make_profiles

_FILE = {"FILE": "a file or folder of dse plan … -o"}
_FORMAT = {"keys": {"format": "table (default) or json"}}
_FORMATS = {"format": ("table", "json")}
CHECK = CommandLine(
    "plan check",
    "Replay a plan and its certificate (a file or folder of -o); exit code 1 if wrong.",
    words=_FILE,
    keys=_FORMAT,
    choices=_FORMATS,
)
EXPLAIN = CommandLine(
    "plan explain",
    "Why the plan of a file is the best: what binds, what others lose, what simulation adds.",
    words=_FILE,
    keys=_FORMAT,
    choices=_FORMATS,
)
REPORT = CommandLine(
    "plan report", "The page of the plan of a file: -o FILE.html.", words=_FILE, options=OUTPUT
)
PROFILES = CommandLine(
    "plan profiles",
    "Write synthetic layer profiles, as Metis reads them.",
    keys={"keys": PROFILE_KEYS},
    options=OUTPUT,
    example="layers=10",
)
HOSTS = CommandLine(
    "plan hosts",
    "Write a host file and a cluster file, half of one type and half of another.",
    keys={"keys": HOST_KEYS},
    options=OUTPUT,
    example="gpus=10",
)


def check(arguments: Arguments, _: Sequence[str]) -> int:
    """Replay a plan and its certificate; the exit code is 1 where one of them is wrong."""
    from dse.planner.files.files import json_text, read_document
    from dse.planner.files.output import verdict_text
    from dse.planner.proofs.check import CHECKED, UNCHECKED, check_document

    verdict = check_document(read_document(_file_of(arguments)))
    told = {**asdict(verdict), "checked": CHECKED.split(", "), "not_checked": UNCHECKED.split(", ")}
    print(json_text(told) if is_json(arguments) else verdict_text(verdict))
    return 0 if verdict.valid else 1


def explain(arguments: Arguments, _: Sequence[str]) -> int:
    """Say why the plan of a file is the best; the exit code is 1 where the file has no plan."""
    from dse.planner.files.answer import read_answer
    from dse.planner.files.files import json_text
    from dse.planner.questions.explanation import explained
    from dse.planner.questions.explanation_text import explained_text

    answer = read_answer(_file_of(arguments))
    found = explained(answer)
    print(json_text(found) if is_json(arguments) else explained_text(answer.document, found))
    return found_code(found["best"] is not None)


def report(arguments: Arguments, _: Sequence[str]) -> int:
    """Write the page of a file's plan."""
    from dse.planner.files.answer import read_answer
    from dse.planner.files.files import write_document

    target = target_of(arguments)
    if target is None or target.suffix != ".html":
        raise InputError(f"-o is {target or 'missing'}; write dse plan report FILE -o FILE.html")
    check_output(target, "-o")
    answer = read_answer(_file_of(arguments))
    print_notes([f"wrote {path}" for path in write_document(target, answer.document)])
    return 0


def _file_of(arguments: Arguments) -> Path:
    return Path(arguments.words[0]).expanduser()


def profiles(arguments: Arguments, _: Sequence[str]) -> int:
    """Write profiles as Metis reads them."""
    print(make_profiles(arguments.values, _folder("profiles", arguments)))
    return 0


def hosts(arguments: Arguments, _: Sequence[str]) -> int:
    """Write a cluster as Metis reads it."""
    print(make_hosts(arguments.values, _folder("hosts", arguments)))
    return 0


def _folder(action: str, arguments: Arguments) -> Path:
    target = target_of(arguments)
    if target is None:
        raise InputError(f"-o is missing; write dse plan {action} … -o DIR, the folder for the files")
    return target

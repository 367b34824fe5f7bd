"""`dse synthesize topology=FILE.csv`: a schedule for a collective on a network, and how good it is."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dse.base.command_lines import Arguments, CommandLine, Option
from dse.base.errors import InputError
from dse.base.settings.values import file, listed
from dse.base.signals import putting_away
from dse.collectives.problem.arguments import (
    NETWORK_KEYS,
    OLDER,
    OUTPUT_KEYS,
    PROBLEM_KEYS,
    ROBUST_KEYS,
    SEARCH_KEYS,
)
from dse.commands.cli import print_notes, read_arguments
from dse.studies.composed import system_of

_TAKES_NO_VIDEO = ("--gen_video", "--show")
COMMAND = CommandLine(
    "synthesize",
    "Search a schedule for a collective on the links of a network, and say how good it is: lower bounds on "
    "the time of every schedule, and what fixed algorithms take on the same links.",
    keys={
        "network": NETWORK_KEYS,
        "problem": PROBLEM_KEYS,
        "search": SEARCH_KEYS,
        "failures and variance": ROBUST_KEYS,
        "output": OUTPUT_KEYS,
    },
    options={
        "--output": Option(
            "write schedule.csv, schedule.jsonl, summary.json, topology.csv and the page index.html; above "
            "10^5 sends schedule.parquet instead of both forms and the page",
            "DIR",
            "-o",
        ),
        "--save": Option("the same, into results/synthesis-COLLECTIVE-TOPOLOGY"),
        "--verbose": Option("say what was tried"),
    },
    groups=("system",),
    choices={"format": ("table", "json")},
    older=OLDER,
    example="topology=FILE.csv",
    synopsis=("topology=FILE.csv|NAME [KEY=VALUE ...] [-o DIR]",),
    ending="Options of BEAN TACOS are taken too: --topology, --collective, --synthesizer, --num_beams, "
    "--temperature, --num_trials, --seed VALUE, with its synthesizers naive, tacos, greedy_tacos, "
    "multiple_tacos, beam_chunk, beam_shortest, ilp.",
)


def main(argv: Sequence[str]) -> int:
    """Search, print the summary, write the folder; return the exit code."""
    for word in argv:
        if word in _TAKES_NO_VIDEO:
            raise InputError(f"{word} has no effect; the page in DIR shows the schedule: leave {word} out")
    arguments = read_arguments(COMMAND, argv)
    if arguments is None:
        return 0
    with putting_away("interrupted"):
        return _synthesize(arguments)


def _synthesize(arguments: Arguments) -> int:
    from dse.base.cancellation import Cancellation
    from dse.base.files import check_folder
    from dse.collectives.files.chakra import check_traceable
    from dse.collectives.files.exports import export, exports_of
    from dse.collectives.question import question_of, synthesized
    from dse.collectives.search.interruptible import ProgressBar, stoppable

    values, overrides = arguments.values, arguments.overrides
    if values.get("operation_bytes", "").startswith("["):
        return _library(arguments)
    exports = exports_of(values)
    cancellation = Cancellation()
    question = question_of(values, (lambda: system_of(overrides)) if overrides else None, cancellation)
    problem, network = question.problem, question.network
    if "chakra" in exports.names:
        check_traceable(problem)
    folder = _folder(arguments, f"synthesis-{problem.collective.kind}-{network.name}")
    if folder is not None:
        check_folder(folder, "-o")
    bar = ProgressBar(question.effort)
    try:
        answer, was_cancelled = stoppable(
            lambda: synthesized(question, bar.attached(question.effort)), cancellation
        )
    finally:
        bar.close()
    result = answer.found.result
    exported = export(answer.schedule, network.name, exports)
    notes = [f"interrupted after {result.trials} runs: this is the best so far"] if was_cancelled else []
    if was_cancelled and (question.failure or question.draws) and not answer.found.data:
        notes.append("what fails or varies was not looked at")
    notes += answer.notes
    if "--verbose" in arguments.options:
        notes.append(result.why)
    _print(answer.data(exported.data), values.get("format", "table"), answer.text(exported.rows))
    if folder is not None:
        answer.write(folder, exported)
        notes.append(f"stored in {folder}")
    print_notes(notes)
    return 0


def _library(arguments: Arguments) -> int:
    """Search a schedule for each of several sizes, and write them as a library of programs."""
    from dse.base.files import check_folder, write_files
    from dse.collectives.files.exports import exports_of
    from dse.collectives.files.library import TABLE, Tuned, library_files
    from dse.collectives.question import question_of, synthesized

    values, overrides = dict(arguments.values), arguments.overrides
    exports = exports_of(values)
    sizes = listed("operation_bytes", values["operation_bytes"])
    values.setdefault("chunks_per_npu", "auto")
    values.pop("export", None)
    system = (lambda: system_of(overrides)) if overrides else None
    questions = [question_of({**values, "operation_bytes": size}, system) for size in sizes]
    problem, network = questions[0].problem, questions[0].network
    folder = _folder(arguments, f"library-{problem.collective.name}-{network.name}")
    if folder is None:
        raise InputError(f"operation_bytes={values['operation_bytes']} is a library of files; write -o DIR")
    check_folder(folder, "-o")
    tuned = []
    for question in questions:
        answer = synthesized(question)
        size = answer.size.operation_bytes or 0
        tuned.append(Tuned(size, answer.schedule, answer.found.result.fixed))
    files = library_files(tuned, network.name, exports)
    write_files(folder, files.items(), ())
    print(files[TABLE].decode(), end="")
    print_notes([f"stored in {folder}"])
    return 0


def _print(data: dict[str, Any], form: str, text: str) -> None:
    print(json.dumps(data, indent=2) if form == "json" else text)
    sys.stdout.flush()


def _folder(arguments: Arguments, default: str) -> Path | None:
    """Where to write; None means nowhere.

    Raises:
        InputError: two folders, or exports without one.
    """
    folder = file(arguments.options, "--output")
    if folder is not None and "--save" in arguments.options:
        raise InputError("-o and --save name the folder; write one of them")
    if folder is None and "--save" not in arguments.options:
        if "export" in arguments.values:
            raise InputError(
                f"export={arguments.values['export']} has no effect without a folder; write -o DIR"
            )
        return None
    safe = "".join(c if c.isalnum() or c in "._-+" else "_" for c in default)
    return folder or Path("results") / safe

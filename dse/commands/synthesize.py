"""`dse synthesize topology=FILE.csv`: a schedule for a collective on a network, and how good it is."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.base.command_lines import Arguments, CommandLine, Option
from dse.base.errors import InputError
from dse.base.settings.values import file
from dse.base.signals import putting_away
from dse.collectives.problem.arguments import (
    NETWORK_KEYS,
    OLDER,
    OUTPUT_KEYS,
    PROBLEM_KEYS,
    ROBUST_KEYS,
    SEARCH_KEYS,
)
from dse.commands.cli import print_notes, read_arguments, system_from_overrides

if TYPE_CHECKING:
    from dse.base.cancellation import Deadline
    from dse.collectives.problem.problem import Problem
    from dse.collectives.problem.settings import Network
    from dse.collectives.search.chunk_counts import Split
    from dse.collectives.search.synthesizers import Effort

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
            "write schedule.csv, schedule.jsonl (above 10^5 sends schedule.parquet), summary.json, "
            "topology.csv and the page index.html",
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
    """Search, print the summary, write the folder; return the exit code.

    Raises:
        InputError: a wrong key or value, a network without a way, or a folder that cannot be written.
    """
    for word in argv:
        if word in _TAKES_NO_VIDEO:
            raise InputError(f"{word} has no effect; the page in DIR shows the schedule: leave {word} out")
    arguments = read_arguments(COMMAND, argv)
    if arguments is None:
        return 0
    with putting_away("interrupted"):
        return _synthesize(arguments)


def _synthesize(arguments: Arguments) -> int:
    from dataclasses import replace

    from dse.base.cancellation import Cancellation, Deadline
    from dse.base.errors import Cancelled
    from dse.base.files import check_folder
    from dse.collectives.check.symmetric import checked
    from dse.collectives.files.chakra import check_traceable
    from dse.collectives.files.folder import export, exports_of, write_folder
    from dse.collectives.files.summary import summary, summary_text
    from dse.collectives.problem.reachability import require_ways
    from dse.collectives.problem.settings import network_of, problem_of
    from dse.collectives.robust.answer import Robust, robust
    from dse.collectives.robust.settings import draws_of, failure_of
    from dse.collectives.search.chunk_counts import best_split, cutting_of, finer_hint
    from dse.collectives.search.interruptible import ProgressBar, stoppable
    from dse.collectives.search.settings import effort_of, notes_of, synthesizer_of
    from dse.collectives.search.synthesis import synthesize

    values = arguments.values
    exports = exports_of(values.get("export"))
    synthesizer, effort = synthesizer_of(values), effort_of(values)
    cancellation = Cancellation()
    deadline = Deadline.after(effort.time_limit_s, cancellation)
    overrides = arguments.overrides
    network = network_of(values, (lambda: system_from_overrides(overrides)) if overrides else None, deadline)
    cutting = cutting_of(network, values)
    if cutting is not None:
        problem, size = cutting.problem(1)
    else:
        problem, size = problem_of(network, values, may_stay_base=True)
    require_ways(problem)
    _check_listed(problem, values)
    if "chakra" in exports:
        check_traceable(problem)
    failure, draws = failure_of(problem, values), draws_of(problem, values)
    folder = _folder(arguments, f"synthesis-{problem.collective.name}-{network.name}")
    if folder is not None:
        check_folder(folder, "-o")
    _check_time(network, deadline, effort)
    effort = replace(effort.until(deadline), cancellation=cancellation)
    bar = ProgressBar(effort)

    split: list[Split] = []

    def work() -> Robust:
        if cutting is not None:
            split.append(best_split(cutting, synthesizer, bar.attached(effort)))
            result = split[0].result
        else:
            result = synthesize(problem, synthesizer, bar.attached(effort))
        if cancellation.is_cancelled:
            return Robust(result)
        try:
            return robust(result, failure, draws, effort)
        except Cancelled:
            return Robust(result)

    try:
        found, was_cancelled = stoppable(work, cancellation)
    finally:
        bar.close()
    result, rows = found.result, list(found.rows)
    size = split[0].size if split else size
    what = checked(result.schedule, result.synthesizer)
    exported = export(result.schedule, network.name, exports)
    rows += exported.rows
    data = {**summary(result, network, size), "checked": what, **found.data, **exported.data}
    if split:
        data["split"] = split[0].data()
        rows.insert(0, split[0].row())
    notes = notes_of(values)
    notes += [f"interrupted after {result.trials} runs: this is the best so far"] if was_cancelled else []
    if was_cancelled and (failure or draws) and not found.data:
        notes.append("what fails or varies was not looked at")
    if size.padding_bytes:
        notes.append(f"operation_bytes does not divide: {size.padding_bytes} bytes of padding are sent too")
    if not split and (hint := finer_hint(result, values)):
        notes.append(hint)
    if "--verbose" in arguments.options:
        notes.append(result.why)
    _print(data, values.get("format", "table"), summary_text(data, rows))
    if folder is not None:
        write_folder(folder, result.schedule, network, data, exported.files, found.repaired)
        notes.append(f"stored in {folder}")
    print_notes(notes)
    return 0


def _check_time(network: Network, deadline: Deadline, effort: Effort) -> None:
    """Refuse a time limit that the making of the network has used up."""
    if deadline.is_over:
        raise InputError(
            f"time_limit_s is {effort.time_limit_s:g}, and was over when the {len(network.graph)} links of "
            f"{network.name} were made; give it more seconds, or take a smaller network"
        )


def _check_listed(problem: Problem, values: Mapping[str, str]) -> None:
    """Refuse what needs all sends one by one where only a base can be listed."""
    from dse.base.errors import InputError
    from dse.collectives.problem.settings import MOST_DELIVERIES, deliveries_of

    deliveries = deliveries_of(problem.collective)
    for key in (*ROBUST_KEYS, "export"):
        if deliveries > MOST_DELIVERIES and key in values:
            raise InputError(
                f"{key}={values[key]} needs every send, and {deliveries} deliveries are more than the "
                f"{MOST_DELIVERIES} that can be listed; leave {key} out, or take a smaller network"
            )


def _print(data: dict[str, Any], form: str, text: str) -> None:
    import json

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

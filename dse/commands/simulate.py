"""`dse simulate FOLDER|FILE…`: traces of any job, simulated or replayed, and what would change them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dse.base.command_lines import MANY, Arguments, CommandLine, Option
from dse.base.errors import InputError
from dse.base.files import check_output, write_output
from dse.base.settings.values import file
from dse.base.texts import printable
from dse.commands.cases import STUDY_KEYS, studied
from dse.commands.cli import JSON, print_json, print_notes, read_arguments
from dse.studies.recorded.keys import STEP_KEYS, SYSTEM_KEYS, WHAT_IF_KEYS

if TYPE_CHECKING:
    from dse.studies.recorded import Case, RunRow, Traces

COMMAND = CommandLine(
    "simulate",
    "Simulate traces of Chakra on the system beside them or on another one; or play a recorded step of "
    "PyTorch again, first against what was measured, then changed. Lists are axes: system=a,b.",
    words={
        "FOLDER": "<name>.<rank>.et with system, network, groups under any names; or execution traces of "
        "PyTorch with Kineto traces, or .et of mlc-chakra. Files do, too"
    },
    most=MANY,
    keys={
        "keys, whose values may be lists": {
            "system": "a system, or PATH.yaml, instead of the files' own; with system.KEY=VALUE",
            "simulator": "native (default) or astrasim; with simulator.KEY=VALUE such as simulator.reference",
            **SYSTEM_KEYS,
        },
        "of recorded steps only": STEP_KEYS,
        "output": {
            "timeline": "write what happens when to this file, NAME.json or NAME.json.gz, for Perfetto",
            "study": "store a row of each case in results/NAME, where the same command goes on",
            **{key: text for key, text in STUDY_KEYS.items() if key != "study"},
        },
    },
    groups=("system", "simulator"),
    choices={"executor": ("local", "ray")},
    options={
        "--explain": Option("where the time of each case goes, and what decides when it ends"),
        "--output": Option("a page of all cases, NAME.html", "FILE", "-o"),
        **JSON,
    },
    example="system=NAME",
    ending="Exit code: 0 all ranks finish, 1 a deadlock or a failed case of a list, 2 wrong input.",
)


def main(argv: Sequence[str]) -> int:
    """Simulate or replay all cases; return 0, or 1 where one of them deadlocks or fails."""
    arguments = read_arguments(COMMAND, argv)
    if arguments is None:
        return 0
    from dse.studies.recorded import found_traces
    from dse.studies.recorded.grid import cases
    from dse.studies.recorded.table import title_of

    outputs = _outputs(arguments)
    traces = found_traces(arguments.words)
    wanted = list(cases(traces, _what_if(arguments), arguments.overrides))
    if len(wanted) > 1 and "timeline" in outputs:
        raise InputError(
            f"timeline is of one case, and the lists make {len(wanted)}; choose one value of each"
        )
    print_notes([f"{traces.name}: took {traces.taken}"] if traces.taken else [])
    rows = _rows(wanted, arguments, argv)
    failed = [row for row in rows if row.status in ("failed", "timeout")]
    if len(failed) == len(rows):
        raise InputError(failed[0].reason)
    if "--json" in arguments.options:
        _print_json(wanted, rows, with_parts="--explain" in arguments.options)
    else:
        _print(traces, wanted, rows, with_parts="--explain" in arguments.options)
    _write(outputs, traces, wanted, rows)
    print_notes([f"{title_of(row)} {row.status}: {row.reason}" for row in failed])
    return 1 if any(row.status != "ok" for row in rows) else 0


def _what_if(arguments: Arguments) -> dict[str, str]:
    return {key: text for key, text in arguments.values.items() if key in WHAT_IF_KEYS}


def _outputs(arguments: Arguments) -> dict[str, Path]:
    found = {"timeline": file(arguments.values, "timeline"), "--output": file(arguments.options, "--output")}
    given = {name: path for name, path in found.items() if path is not None}
    for name, path in given.items():
        check_output(path, name)
    if "--output" in given and given["--output"].suffix != ".html":
        raise InputError(f"--output is '{given['--output']}'; it is a page, NAME.html")
    if "timeline" in given and not given["timeline"].name.endswith((".json", ".json.gz")):
        raise InputError(f"timeline is '{given['timeline']}'; it is NAME.json or NAME.json.gz")
    return given


def _rows(wanted: Sequence[Case], arguments: Arguments, argv: Sequence[str]) -> list[RunRow]:
    from dse.studies.recorded import RunEvaluator

    evaluator = RunEvaluator()
    if "study" not in arguments.values:
        unused = [key for key in STUDY_KEYS if key in arguments.values]
        if unused:
            raise InputError(f"{unused[0]} has no effect without a study; write study=NAME too")
        return [evaluator.evaluate(case) for case in wanted]
    _, rows, notes = studied(evaluator, wanted, arguments, ["dse", "simulate", *argv], "case")
    print_notes(notes)
    by_key = {row.key: row for row in rows}
    return [by_key[case.key] for case in wanted]


def _print(traces: Traces, wanted: Sequence[Case], rows: Sequence[RunRow], *, with_parts: bool) -> None:
    from dse.studies.recorded.text import case_text, headline, overview

    print(headline(traces, wanted, rows))
    if notes := overview(traces):
        print(notes)
    if len(rows) > 1 or traces.is_recorded:
        from dse.studies.recorded.table import rows_text

        print(f"\n{rows_text(rows)}")
    for case, row in zip(wanted, rows, strict=True):
        if text := case_text(case, row, is_alone=len(rows) == 1, with_classes=with_parts):
            print(f"\n{text}")
        if with_parts and row.status == "ok":
            from dse.answers.runs import parts_of

            print("\n" + "\n".join(map(printable, parts_of(case).lines())))


def _print_json(wanted: Sequence[Case], rows: Sequence[RunRow], *, with_parts: bool) -> None:
    from dse.studies.recorded.text import case_data

    found = []
    for case, row in zip(wanted, rows, strict=True):
        data = case_data(case, row)
        if with_parts and row.status == "ok":
            from dse.answers.runs import parts_of

            data["parts"] = parts_of(case).to_json()
        found.append(data)
    print_json(found)


def _write(outputs: dict[str, Path], traces: Traces, wanted: Sequence[Case], rows: Sequence[RunRow]) -> None:
    if "timeline" in outputs:
        from dse.answers.runs.timeline import timeline_bytes

        path = outputs["timeline"]
        write_output(path, timeline_bytes(wanted[0], is_packed=path.suffix == ".gz"), "timeline")
        print_notes([f"wrote {path}"])
    if "--output" in outputs:
        from dse.answers.runs.page import render_page

        page = render_page(traces, wanted, rows)
        write_output(outputs["--output"], page.encode(), "--output")
        print_notes([f"wrote {outputs['--output']}"])

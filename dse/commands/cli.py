"""Parts that all commands share: their arguments, user errors in one line, exit codes."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dse.base import signals
from dse.base.command_lines import Arguments, CommandLine, Option, asks_for_help
from dse.base.errors import DseError, InputError, NothingFits, naming_paths
from dse.base.texts import printable
from dse.base.units import parse_bytes

if TYPE_CHECKING:
    from dse.answers import Cap
    from dse.studies.config import Config


def called_as(verb: str) -> str:
    """Return how a command was called, as its usage shows it: `dse best`, or `python -m dse best`."""
    program = sys.argv[0]  # set by dse.__main__
    name, _, action = verb.partition(" ")
    if program.endswith(f"dse {name}"):
        return f"{program} {action}".rstrip()
    return "python -m dse.sweep" if Path(program).name == "sweep.py" else f"python -m dse {verb}"


def read_arguments(command: CommandLine, argv: Sequence[str]) -> Arguments | None:
    """Return the arguments of a command, and note older spellings; None after --help, which is printed.

    Raises:
        InputError: as `CommandLine.parse`.
    """
    if asks_for_help(argv):
        print(command.usage(called_as(command.verb)))
        return None
    arguments = command.parse(argv)
    print_notes(arguments.notes)
    return arguments


def reading(command: CommandLine) -> Callable[[Callable[[Arguments], int]], Callable[[Sequence[str]], int]]:
    """Return a decorator: what answers arguments becomes what answers the words behind a verb, or --help."""

    def made(answer: Callable[[Arguments], int]) -> Callable[[Sequence[str]], int]:
        def main(argv: Sequence[str]) -> int:
            arguments = read_arguments(command, argv)
            return 0 if arguments is None else answer(arguments)

        return main

    return made


STUDY = {"STUDY": "the folder of a study, such as results/llama70b-system1"}
CAP = {
    "memory_cap": "largest peak memory of a rank, with a unit: 80GB = 80e9 bytes, 80GiB = 80 * 2^30 "
    "(default: that of the latest sweep of the study)"
}
CAP_OR_NONE = ("memory_cap", "--no-memory-cap")
GROUP = {"group": "only this group of those that dse best prints, counted from 0"}
JSON = {"--json": Option("print JSON instead of text")}


def without_cap(meaning: str) -> dict[str, Option]:
    """Return the option --no-memory-cap, the other choice to the key memory_cap; `meaning` explains it."""
    return {"--no-memory-cap": Option(meaning)}


def asked_cap(arguments: Arguments) -> Cap | None:
    """Return the cap that the arguments ask for, None if they say nothing of one.

    Raises:
        InputError: the cap has no unit.
    """
    from dse.answers import Cap

    if "--no-memory-cap" in arguments.options:
        return Cap(None, is_asked=True)
    if "memory_cap" not in arguments.values:
        return None
    return Cap(parse_bytes(arguments.values["memory_cap"], "memory_cap"), is_asked=True)


def print_json(answers: Sequence[Any]) -> None:
    """Print several answers as a list, a single one as itself."""
    print(json.dumps(answers[0] if len(answers) == 1 else answers, indent=2))


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Write rows to the file of the key csv; `columns` are the names if there are no rows.

    Texts that a spreadsheet would take for a formula begin with an apostrophe.

    Raises:
        InputError: the file cannot be written.
    """
    from dse.base.files import csv_text, write_output

    header = list(rows[0]) if rows else columns
    write_output(path, csv_text(header, [list(row.values()) for row in rows]).encode(), "csv")
    print_notes([f"wrote {path}"])


def print_notes(notes: Iterable[str]) -> None:
    """Print notes that go with an answer on stderr, a line each."""
    for note in notes:
        print(f"note: {printable(note)}", file=sys.stderr)


def found_code(is_found: bool) -> int:
    """Return the exit code of a command that has printed its one answer, or that there is none."""
    return 0 if is_found else NothingFits.exit_code


def beside(study: str, suffix: str) -> Path:
    """Return where a file about a study goes by default: next to its folder, a table to other tools."""
    folder = Path(study)
    if folder.name in ("", ".."):
        folder = folder.resolve()
    return folder.with_name(folder.name + suffix)


def run(main: Callable[[Sequence[str]], int]) -> NoReturn:
    """Call `main` with the command-line arguments and exit with the code that it returns.

    A `DseError` is printed in one line, `error: <message>`, on stderr, and exits with its code; Ctrl-C exits
    with 130 and SIGTERM with 143, each after the one line `interrupted` (`dse.base.signals`); a closed pipe
    exits with 141, like a program that its signal ends. A path that cannot be looked at is wrong input. Any
    other exception is a bug and stays a traceback. Characters that the encoding of stdout lacks, such as the
    µ of microseconds, are printed as question marks.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        code = _exit_code(main)
    finally:
        signals.end_if_signalled()  # whatever became of its exception
    signals.done(code)
    sys.exit(code)


def _exit_code(main: Callable[[Sequence[str]], int]) -> int:
    try:
        _check_folder()
        with naming_paths():
            code = main(sys.argv[1:])
            sys.stdout.flush()
    except DseError as error:
        signals.end_if_signalled()
        print("error:", printable(" ".join(str(error).split())), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        signals.end_if_signalled()
        print(signals.INTERRUPTED, file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print("error: the output cannot be written:", error.strerror, file=sys.stderr)
        return 2
    return code


def _check_folder() -> None:
    try:
        os.getcwd()  # noqa: PTH109 (Path.cwd raises the same)
    except FileNotFoundError:
        raise InputError("the current folder has been removed; change to another one") from None


CONFIGURATION = {
    "--cfg": Option("print the configuration and stop"),
    "--config-dir": Option("search groups in this folder first: DIR/system, DIR/model, ...", "DIR"),
}
MULTIRUN = {
    "--multirun": Option(
        "one sweep for each combination of comma-separated values: model=llama70b,gpt175b", short="-m"
    )
}


def configs_from_arguments(argv: Sequence[str], command: CommandLine) -> tuple[Arguments, list[Config]]:
    """Return the arguments, and the configurations that their overrides yield; none after --help or --cfg.

    With --multirun there is one for each combination of listed values. Keys that the command does not use
    are refused.

    Raises:
        InputError: an unknown option, or whatever `compose_config` finds wrong.
    """
    arguments = read_arguments(command, argv)
    if arguments is None:
        return Arguments(), []
    folder = _config_folder(arguments.options)
    from dse.studies.config import compose_config, compose_configs, resolved_yaml

    if "--multirun" in arguments.options:
        configs = compose_configs(arguments.overrides, command=command.verb, folder=folder)
    else:
        configs = [compose_config(arguments.overrides, command=command.verb, folder=folder)]
    print_notes(dict.fromkeys(note for config in configs for note in config.notes))
    if "--cfg" in arguments.options:
        print("---\n".join(resolved_yaml(config) for config in configs), end="")
        return arguments, []
    return arguments, configs


def _config_folder(options: Mapping[str, str]) -> Path | None:
    if "--config-dir" not in options:
        return None
    text = options["--config-dir"]
    folder = Path(text).expanduser()
    if not folder.is_dir():
        raise InputError(
            f"--config-dir '{text}' is no folder; it must be one with folders such as system/ and model/"
        )
    return folder.resolve()

"""Parts that all commands share: their arguments, user errors in one line, exit codes."""

from __future__ import annotations

import argparse
import errno
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dse.base import signals
from dse.base.errors import DseError, InputError
from dse.base.suggestions import did_you_mean
from dse.base.texts import printable
from dse.base.units import parse_bytes

if TYPE_CHECKING:
    from dse.answers import Cap
    from dse.inputs.systems import SystemSpec
    from dse.studies.config import Config


def called_as(verb: str) -> str:
    """Return how a command was called, as its usage shows it: `dse best`, or `python -m dse best`."""
    program = sys.argv[0]  # set by dse.__main__
    return (
        program
        if program.endswith(f"dse {verb}")
        else ("python -m dse.sweep" if Path(program).name == "sweep.py" else f"python -m dse {verb}")
    )


class ArgumentParser(argparse.ArgumentParser):
    """A parser whose errors are user errors: one line, like all others, instead of a usage text."""

    def __init__(self, **options: Any) -> None:
        """As argparse's, but options are written in full: new ones must not change what an old line means."""
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Raise an `InputError` that points to --help."""
        if wrong := re.fullmatch(r"argument (\S+): invalid (int|float) value: (.*)", message):
            name, kind, value = wrong[1].rpartition("/")[2], wrong[2], wrong[3]
            message = f"{name} is {value}; it must be {'an integer' if kind == 'int' else 'a number'}"
        elif message.startswith("unrecognized arguments: -"):
            option = message.split()[2].partition("=")[0]
            message += did_you_mean(option, self._option_string_actions)
        raise InputError(f"{message}; see {self.prog} --help")


def add_memory_cap(parser: argparse.ArgumentParser, without: str) -> None:
    """Add --memory-cap and --no-memory-cap, which `asked_cap` reads; `without` explains the latter."""
    cap = parser.add_mutually_exclusive_group()
    cap.add_argument(
        "--memory-cap",
        metavar="BYTES",
        help="largest peak memory of a rank, with a unit: 80GB = 80e9 bytes, 80GiB = 80 * 2^30 "
        "(default: that of the latest sweep of the study)",
    )
    cap.add_argument("--no-memory-cap", action="store_true", help=without)


def asked_cap(arguments: argparse.Namespace) -> Cap | None:
    """Return the cap that the options ask for, None if there is none of them.

    Raises:
        InputError: the cap has no unit.
    """
    from dse.answers import Cap

    if arguments.no_memory_cap:
        return Cap(None, is_asked=True)
    if arguments.memory_cap is None:
        return None
    return Cap(parse_bytes(arguments.memory_cap, "--memory-cap"), is_asked=True)


def add_group(parser: argparse.ArgumentParser, *, point: str = "") -> None:
    """Add --group, and --point where `point` explains it: one of the two may be given."""
    which = parser.add_mutually_exclusive_group()
    if point:
        which.add_argument("--point", metavar="KEY", help=f"{point}: the first digits of its key")
    which.add_argument(
        "--group",
        metavar="N",
        type=int,
        help="only group N of those that dse best prints, counted from 0",
    )


def add_output(parser: argparse.ArgumentParser, *, csv: str = "") -> None:
    """Add --json, and --csv where `csv` explains it, for `print_json` and `write_csv`."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    if csv:
        parser.add_argument("--csv", metavar="FILE", type=Path, help=f"write {csv} to a CSV file as well")


def print_json(answers: Sequence[Any]) -> None:
    """Print several answers as a list, a single one as itself."""
    import json

    print(json.dumps(answers[0] if len(answers) == 1 else answers, indent=2))


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Write rows to the file of --csv; `columns` are the names if there are no rows.

    Texts that a spreadsheet would take for a formula begin with an apostrophe.

    Raises:
        InputError: the file cannot be written.
    """
    from dse.base.files import csv_text, write_output

    header = list(rows[0]) if rows else columns
    write_output(path, csv_text(header, [list(row.values()) for row in rows]).encode(), "--csv")


def print_notes(notes: Iterable[str]) -> None:
    """Print notes that go with an answer on stderr, a line each."""
    for note in notes:
        print(f"note: {printable(note)}", file=sys.stderr)


def beside(study: str, suffix: str) -> Path:
    """Return where a file about a study goes by default: next to its folder, a table to other tools."""
    folder = Path(study)
    if folder.name in ("", ".."):
        folder = folder.resolve()
    return folder.with_name(folder.name + suffix)


def run(main: Callable[[Sequence[str]], int]) -> NoReturn:
    """Call `main` with the command-line arguments and exit with the code that it returns.

    A `DseError` is printed in one line, `error: <message>`, on stderr, and exits with 2; Ctrl-C exits with
    130 and SIGTERM with 143, each after the one line `interrupted` (`dse.base.signals`); a closed pipe exits
    with 141, like a program that its signal ends. Any other exception is a bug and stays a traceback.
    Characters that the encoding of stdout lacks, such as the µ of microseconds, are printed as question
    marks.
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
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except DseError as error:
        signals.end_if_signalled()
        print("error:", printable(" ".join(str(error).split())), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        signals.end_if_signalled()
        print(signals.INTERRUPTED, file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print("error: the output cannot be written: No space left on device", file=sys.stderr)
        return 2
    return code


def _check_folder() -> None:
    try:
        os.getcwd()  # noqa: PTH109 (Path.cwd raises the same)
    except FileNotFoundError:
        raise InputError("the current folder has been removed; change to another one") from None


def config_from_arguments(argv: Sequence[str], usage: str, command: str) -> Config | None:
    """Return the configuration that the overrides in `argv` yield; None after --help or --cfg, which print.

    Raises:
        InputError: an unknown option, or whatever `compose_config` finds wrong.
    """
    configs = configs_from_arguments(argv, usage, command, several=())
    return configs[0] if configs else None


def configs_from_arguments(
    argv: Sequence[str],
    usage: str,
    command: str,
    several: Sequence[str] = ("-m", "--multirun"),
    others: Sequence[str] = (),
) -> list[Config]:
    """The same for commands that take `several` configurations, one for each combination of listed values.

    Options in `others` are known, and left to the caller. Keys that `command` does not use are refused. In
    `usage`, {program} stands for how the command was called.

    Raises:
        InputError: as `config_from_arguments`.
    """
    if any(argument in ("-h", "--help") for argument in argv):
        print(usage.replace("{program}", called_as(command)))
        return []
    folder, rest = _config_folder(argv)
    options = [argument for argument in rest if argument.startswith("-")]
    allowed = ("--cfg", *several, *others)
    unknown = [option for option in options if option not in allowed]
    if unknown:
        known = ("--help", "--config-dir", *allowed)
        raise InputError(
            f"unknown option {unknown[0]}; allowed are KEY=VALUE, {', '.join(known)}"
            f"{did_you_mean(unknown[0], known)}"
        )
    from dse.studies.config import compose_config, compose_configs, resolved_yaml

    overrides = [argument for argument in rest if argument not in options]
    many = any(option in several for option in options)
    if many:
        configs = compose_configs(overrides, command=command, folder=folder)
    else:
        configs = [compose_config(overrides, command=command, folder=folder)]
    print_notes(dict.fromkeys(note for config in configs for note in config.notes))
    if "--cfg" in options:
        print("---\n".join(resolved_yaml(config) for config in configs), end="")
        return []
    return configs


def system_from_overrides(overrides: Sequence[str]) -> SystemSpec:
    """Return the system that overrides such as `system=torus_4x4 system.network.0.npus=8` yield.

    Raises:
        InputError: as `compose_config`.
    """
    from dse.studies.config import compose_config

    return compose_config(overrides).system


def _config_folder(argv: Sequence[str]) -> tuple[Path | None, list[str]]:
    """Return the folder of --config-dir, and the other arguments."""
    folder: Path | None = None
    rest: list[str] = []
    arguments = iter(argv)
    for argument in arguments:
        name, assigned, value = argument.partition("=")
        if name != "--config-dir":
            rest.append(argument)
            continue
        text = value if assigned else next(arguments, "")
        folder = Path(text).expanduser()
        if not text or not folder.is_dir():
            raise InputError(
                f"--config-dir '{text}' is no folder; it must be one with folders such as system/ and model/"
            )
        folder = folder.resolve()
    return folder, rest

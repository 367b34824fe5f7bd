"""`dse calibrate ROWS.csv accelerator=... -o FILE`: constants of an accelerator, fitted to measured steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.base.errors import InputError
from dse.base.suggestions import did_you_mean
from dse.commands.cli import ArgumentParser, called_as, print_json, print_notes

if TYPE_CHECKING:
    from dse.prediction.calibration.calibration import Calibration

KEYS = {
    "accelerator": "a type of conf/accelerator, or a YAML file like those; the rows of this GPU are fitted",
    "framework": "one of conf/framework, whose launch time is fitted too",
    "constants": "which are fitted, for example matrix,memory; the others stay as they are",
}


def parser() -> ArgumentParser:
    """The command line."""
    keys = "; ".join(f"{key}=… is {meaning}" for key, meaning in KEYS.items())
    parser = ArgumentParser(
        prog=called_as("calibrate"),
        description="Fit the few constants of an accelerator type to measured training steps, and say how "
        f"well the rows tell them. Keys: {keys}.",
    )
    parser.add_argument(
        "arguments", nargs="*", metavar="ROWS.csv accelerator=NAME", help="tables of runs, and keys"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write the accelerator with its new constants (YAML)",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="fit every shipped type to the published runs that dse brings; -o is a folder like conf",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    return parser


def main(argv: Sequence[str]) -> int:
    """Print the constants and write the file; return the exit code.

    Raises:
        InputError: a table, key or option is wrong, or there are too few rows.
    """
    arguments = parser().parse_args(argv)
    paths, keys = _split(arguments.arguments)
    if arguments.all:
        if paths or keys:
            raise InputError(f"--all takes no tables and no keys, but got '{arguments.arguments[0]}'")
        found = _all(arguments.output)
    else:
        found = _one(paths, keys, arguments.output)
    for each in found:
        print_notes(f"{each.owner.name}: {one.warning}" for one in each.constants if one.warning)
        if not each.is_converged:
            print_notes([f"{each.owner.name}: the search ended before it came to rest"])
    if arguments.json:
        print_json([_plain(each) for each in found])
    else:
        from dse.prediction.accuracy.output import calibration_text

        print("\n\n".join(map(calibration_text, found)))
    return 0


def _split(arguments: Sequence[str]) -> tuple[list[Path], dict[str, str]]:
    paths, keys = [], {}
    for argument in arguments:
        key, assigned, value = argument.partition("=")
        if not assigned:
            paths.append(Path(argument))
        elif key not in KEYS:
            raise InputError(f"unknown key {key}; allowed are {', '.join(KEYS)}{did_you_mean(key, KEYS)}")
        elif not value or key in keys:
            raise InputError(f"{key} {'has no value' if not value else 'is given twice'}; it is {KEYS[key]}")
        else:
            keys[key] = value
    return paths, keys


def _one(paths: Sequence[Path], keys: dict[str, str], output: Path | None) -> list[Calibration]:
    if not paths:
        raise InputError("no table of runs is given, such as runs.csv; --all fits to those that dse brings")
    if "accelerator" not in keys:
        raise InputError(f"accelerator=… is missing: {KEYS['accelerator']}")
    from dse.base.files import check_output
    from dse.prediction.calibration.constants import CONSTANTS
    from dse.prediction.calibration.subjects import Subject, calibrate_one, shipped_path
    from dse.prediction.measured.rows import read_tables, unread_notes

    framework = keys.get("framework", "")
    if output is not None and framework:
        _check_folder(output, "with framework=…")
    elif output is not None:
        check_output(output, "-o")
    subject = Subject.named(keys["accelerator"])
    names = [name.strip() for name in keys["constants"].split(",")] if "constants" in keys else CONSTANTS
    found, reasons = calibrate_one(subject, read_tables(paths), names, framework)
    print_notes(unread_notes(paths))
    print_notes(f"{row} cannot be expressed: {reason}" for row, reason in reasons.items())
    if output is not None:
        for each in found:
            path = output / f"{each.owner.name}.yaml" if framework else output
            if each.owner.is_framework:
                _write(each, path, shipped_path(each.owner), {})
            else:
                _write(each, path, subject.path, asdict(subject.accelerator.efficiency))
    return found


def _all(folder: Path | None) -> list[Calibration]:
    from dse.prediction.calibration.calibration import calibrate
    from dse.prediction.calibration.subjects import shipped_path, shipped_problem
    from dse.prediction.measured.published import fitted_rows

    if folder is not None:
        for part in ("accelerator", "framework"):
            _check_folder(folder / part, "in which --all writes; -o is a folder like conf")
    steps, present, starts, reasons = shipped_problem(fitted_rows())
    print_notes(f"{name}: {reason}" for name, reason in reasons.items())
    found = calibrate(steps, present, starts)
    if folder is not None:
        for each in found:
            path = shipped_path(each.owner)
            _write(each, folder / path.parent.name / path.name, path, present[each.owner])
    return found


def _check_folder(folder: Path, when: str) -> None:
    if not folder.is_dir():
        raise InputError(f"-o: '{folder}' is no folder; it must be one {when}")


def _write(found: Calibration, path: Path, source: Path, present: Mapping[str, float]) -> None:
    """Write the file `source` with the constants of a fit, and the present values of others, to `path`."""
    from dse.base.files import read_text, write_output
    from dse.prediction.calibration.constant_files import calibrated_text

    write_output(path, calibrated_text(read_text(source), found, present).encode(), "-o")


def _plain(found: Calibration) -> dict[str, Any]:
    return {**asdict(found), "summary": found.summary}

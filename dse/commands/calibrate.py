"""`dse calibrate ROWS.csv accelerator=... -o FILE`: constants of an accelerator, fitted to measured steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from dse.base.command_lines import MANY, Arguments, CommandLine, Option
from dse.base.errors import InputError
from dse.base.settings.values import Values, entries, file
from dse.commands.cli import JSON, print_json, print_notes, reading

if TYPE_CHECKING:
    from dse.prediction.calibration.calibration import Calibration

KEYS = {
    "accelerator": "a type of conf/accelerator, or a YAML file like those; the rows of this GPU are fitted",
    "framework": "one of conf/framework, whose launch time is fitted too",
    "constants": "which are fitted, for example matrix,memory; the others stay as they are",
}
KERNEL_KEYS = {
    "kernels": "tables of kernels and collectives, Parquet or CSV, instead of runs: [a.parquet,b.csv]",
    "nccl": "outputs of nccl-tests, instead of runs: [all_reduce_perf.txt,alltoall_perf.txt]",
    "steps": "write the accelerator too, with shares for training steps that these kernels tell (YAML)",
}


COMMAND = CommandLine(
    "calibrate",
    "Fit the few constants of an accelerator type to measured training steps, and say how well the rows tell "
    "them.",
    words={"ROWS.csv": "tables of runs"},
    least=0,
    most=MANY,
    keys={"keys": KEYS, "keys for kernels (with accelerator=)": KERNEL_KEYS},
    options={
        "--output": Option("write the accelerator, or its kernels, with new constants (YAML)", "FILE", "-o"),
        "--all": Option(
            "fit every shipped type to the published runs that dse brings; -o is a folder like conf"
        ),
        "--unseen": Option(
            "predict the published runs with their models left out of the fit, for intervals; "
            "-o is a folder like dse/prediction/intervals/data"
        ),
        **JSON,
    },
)


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Print the constants and write the file; return the exit code.

    Raises:
        InputError: a table, key or option is wrong, or there are too few rows.
    """
    output = file(arguments.options, "--output")
    paths, keys = [Path(word) for word in arguments.words], arguments.values
    for option in ("--all", "--unseen"):
        if option in arguments.options and (paths or keys):
            raise InputError(f"{option} takes no tables and no keys, but got '{[*paths, *keys][0]}'")
    if "--unseen" in arguments.options:
        _unseen(output, arguments.options)
        return 0
    if KERNEL_KEYS.keys() & keys.keys():
        return _kernels(paths, keys, arguments.options)
    found = _all(output) if "--all" in arguments.options else _one(paths, keys, output)
    for each in found:
        print_notes(f"{each.owner.name}: {one.warning}" for one in each.constants if one.warning)
        if not each.is_converged:
            print_notes([f"{each.owner.name}: the search ended before it came to rest"])
    if "--json" in arguments.options:
        print_json([{**asdict(each), "summary": each.summary} for each in found])
    else:
        from dse.prediction.accuracy.output import calibration_text

        print("\n\n".join(map(calibration_text, found)))
    return 0


def _kernels(paths: Sequence[Path], keys: Values, options: Values) -> int:
    """Fit the laws of kernels to tables and outputs of nccl-tests, print the errors, write the constants."""
    others = [*map(str, paths), *(key for key in ("framework", "constants") if key in keys)]
    if others or "--all" in options:
        raise InputError(
            f"{others[0] if others else '--all'} is for runs; kernels= and nccl= take accelerator= and -o"
        )
    if "accelerator" not in keys:
        raise InputError("accelerator=… is missing: a type of conf/accelerator with kernels, or a file of -o")
    from dse.base.files import check_output, write_output
    from dse.prediction.kernels.calibration import calibrate_kernels
    from dse.prediction.kernels.machine import KernelMachine

    output, steps = file(options, "--output"), file(keys, "steps")
    for path, key in ((output, "-o"), (steps, "steps")):
        if path is not None:
            check_output(path, key)
    tables, texts = (
        [Path(name) for name in entries(key, keys[key])] if key in keys else [] for key in ("kernels", "nccl")
    )
    if not (tables or texts):
        raise InputError("steps=… needs kernels=… or nccl=…, measurements of your own")
    name = keys["accelerator"]
    found = calibrate_kernels(KernelMachine.named(name), tables, texts)
    print_notes(found.notes)
    if steps is not None:
        write_output(steps, found.accelerator_text().encode(), "steps")
        print_notes([f"wrote {steps}"])
    if output is not None:
        own = Path(name) if name.endswith((".yaml", ".yml")) else None
        write_output(output, found.file_text(own).encode(), "-o")
        print_notes([f"wrote {output}"])
    if "--json" in options:
        print_json([found.plain()])
    else:
        print(found.text())
    return 0


def _one(paths: Sequence[Path], keys: Values, output: Path | None) -> list[Calibration]:
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
    from dse.inputs.accelerators.accelerator import accelerator
    from dse.prediction.calibration.calibration import calibrate
    from dse.prediction.calibration.subjects import shipped_path, shipped_problem
    from dse.prediction.measured.rows import fitted_rows

    if folder is not None:
        for part in ("accelerator", "framework"):
            _check_folder(folder / part, "in which --all writes; -o is a folder like conf")
    steps, present, starts, reasons = shipped_problem(fitted_rows())
    print_notes(f"{name}: {reason}" for name, reason in reasons.items())
    found = calibrate(steps, present, starts)
    if folder is not None:
        for each in found:
            path = shipped_path(each.owner)
            own = {} if each.owner.is_framework else asdict(accelerator(each.owner.name).efficiency)
            _write(each, folder / path.parent.name / path.name, path, own)
    return found


def _unseen(folder: Path | None, options: Values) -> None:
    """Print how often the runs lie in the intervals that the others make, and write the tables."""
    from dse.base.files import write_output
    from dse.prediction.accuracy.output import coverage_table
    from dse.prediction.calibration.unseen import tables
    from dse.prediction.intervals.coverage import coverages, held_out
    from dse.prediction.measured.rows import fitted_rows

    if folder is not None:
        _check_folder(folder, "in which --unseen writes")
    texts, runs = tables(fitted_rows())
    found = coverages(held_out(runs))
    if "--json" in options:
        print_json([asdict(line) for line in found])
    else:
        print(coverage_table(found))
    if folder is not None:
        for name, text in texts.items():
            write_output(folder / name, text.encode(), "-o")


def _check_folder(folder: Path, when: str) -> None:
    if not folder.is_dir():
        raise InputError(f"-o: '{folder}' is no folder; it must be one {when}")


def _write(found: Calibration, path: Path, source: Path, present: Mapping[str, float]) -> None:
    """Write the file `source` with the constants of a fit, and the present values of others, to `path`."""
    from dse.base.files import read_text, write_output
    from dse.prediction.calibration.constant_files import calibrated_text

    write_output(path, calibrated_text(read_text(source), found, present).encode(), "-o")
    print_notes([f"wrote {path}"])

"""Cases in the form that a user of ASTRA-sim has: traces, configuration files, and the log of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.base.errors import InputError
from dse.base.plain_data import load_json_object
from dse.inputs.systems import SystemSpec, read_system
from dse.inputs.systems.validation import NETWORK_MODELS
from dse.simulation.validation.compare import CRASHED, Case, Expected
from dse.simulation.validation.contents import crash_in_log, read_log
from dse.simulation.validation.parts import Parts, groups_names, missing_of_case, parts_of
from dse.simulation.workloads import DEFAULT_REFERENCE, Reference, Workload, read_groups, read_workload

_FIELD_OF_OPTION = {
    "--num-queues-per-dim": "queues_per_dimension",
    "--rendezvous-protocol": "rendezvous_protocol",
    "--injection-scale": "injection_scale",
}
_VALUES_OF_OPTION = {
    "--num-queues-per-dim": "an integer",
    "--rendezvous-protocol": "true or false",
    "--injection-scale": "a number",
}
EXIT_CODE_OF_DEADLOCK = 3  # of our own stand-alone simulators
_WITHOUT_EFFECT = ("--comm-scale", "--compute-scale", "--logging-configuration", "--logging-folder")


def is_case_folder(folder: Path) -> bool:
    """Whether a folder holds a case: a system, a network, traces and a log."""
    return not missing_of_case(folder)


def folder_case(folder: Path, name: str) -> Case:
    """Return the case in a folder.

    It holds `<name>.<rank>.et` for ranks 0, 1, …, a system, a network and a log, and optionally groups and a
    remote memory and case.json: each under its usual name, or as the only file with such content. case.json
    may have the keys `network_model` (default congestion_unaware), `options` (ASTRA-sim's command-line
    options), `status` and `exit_code` (of the run; -6 or 134 after an abort).

    Raises:
        InputError: a file is missing or wrong, traces are not numbered 0, 1, …, or an option is unknown.
    """
    parts = parts_of(folder)
    file, notes = _notes(parts, folder)
    network_model = notes.get("network_model", "congestion_unaware")
    if network_model not in NETWORK_MODELS:
        allowed = ", ".join(NETWORK_MODELS)
        raise InputError(f"{file}: network_model is {network_model!r}; allowed are {allowed}")
    traces, log = parts.traces, parts.log
    ranks = read_log(log)
    unknown = sorted(rank for rank in ranks if rank >= len(traces))
    if unknown:
        raise InputError(f"{folder}: the log reports rank {unknown[0]}, but there are {len(traces)} traces")
    crash = "" if len(ranks) == len(traces) else _crash(log, notes, file)
    status = "ok" if len(ranks) == len(traces) else CRASHED if crash else "deadlock"
    noted = notes.get("status", status)
    if noted != status and not (noted == "deadlock" and crash):
        raise InputError(
            f"{file}: status is {noted}, but the log reports {len(ranks)} of "
            f"{len(traces)} ranks, which is {status}"
        )

    def load(reference: Reference = DEFAULT_REFERENCE, /) -> tuple[Workload, SystemSpec]:
        system = read_system(
            parts.system,
            parts.network,
            parts.remote_memory,
            name=name,
            network_model=network_model,
            **command_line_fields(notes.get("options", []), file),
        )
        return _workload(parts, reference), system

    return Case(
        name=name,
        network_model=network_model,
        load=load,
        expected=Expected(status, ranks, crash=crash),
        folder=folder,
        taken=parts.taken,
    )


def _notes(parts: Parts, folder: Path) -> tuple[Path, Mapping[str, Any]]:
    """Return the file of what the others do not say, its usual name where there is none, and its keys."""
    if parts.case is None:
        return folder / "case.json", {}
    return parts.case, load_json_object(parts.case)


def _workload(parts: Parts, reference: Reference) -> Workload:
    groups = read_groups(parts.groups) if parts.groups else None
    try:
        return read_workload(parts.traces, groups, reference=reference)
    except InputError as error:
        if parts.groups is None and "no groups are given" in str(error):
            names = " nor ".join(groups_names(parts.traces))
            raise InputError(f"{error}: the folder has neither {names}") from None
        raise


def _crash(log: Path, notes: Mapping[str, Any], file: Path) -> str:
    """Return how it is known that a run without all reports crashed, or nothing: then it deadlocked.

    A deadlocked reference ends as if all were well, with exit code 0; our stand-alone simulators end with 3.
    """
    exit_code = notes.get("exit_code", 0)
    if isinstance(exit_code, bool) or not isinstance(exit_code, int):
        raise InputError(f"{file}: exit_code is {exit_code!r}; it must be an integer")
    if line := crash_in_log(log):
        return line
    if exit_code not in (0, EXIT_CODE_OF_DEADLOCK):
        return f"exit_code of {file.name} is {exit_code}"
    return f"status of {file.name} is crashed" if notes.get("status") == CRASHED else ""


def simulator_options(folder: Path) -> list[str]:
    """Return the options with which a simulator runs the files of a case folder where they are.

    Raises:
        InputError: see `folder_case`.
    """
    parts = parts_of(folder)
    _, notes = _notes(parts, folder)
    options = [
        f"--workload-configuration={folder / parts.traces[0].name.removesuffix('.0.et')}",
        f"--system-configuration={parts.system}",
        f"--network-configuration={parts.network}",
        f"--remote-memory-configuration={parts.remote_memory or folder / 'remote_memory.json'}",
    ]
    if parts.groups is not None:
        options.append(f"--comm-group-configuration={parts.groups}")
    return [*options, *notes.get("options", [])]


def command_line_fields(options: Sequence[str], file: Path) -> dict[str, Any]:
    """Return the fields of a system that ASTRA-sim's command-line options in a file set.

    Raises:
        InputError: an option that we do not know, or a value of the wrong type.
    """
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise InputError(f"{file}: options is {options!r}; it must be a list of texts")
    words = [word for option in options for word in option.split("=", 1)]
    if len(words) % 2:
        raise InputError(f"{file}: option {words[-1]} has no value")
    fields: dict[str, Any] = {}
    for option, value in zip(words[::2], words[1::2], strict=False):
        if option in _WITHOUT_EFFECT:
            continue
        if option not in _FIELD_OF_OPTION:
            known = ", ".join([*_FIELD_OF_OPTION, *_WITHOUT_EFFECT])
            raise InputError(f"{file}: unknown option {option}; known are {known}")
        try:
            fields[_FIELD_OF_OPTION[option]] = _option_value(option, value)
        except ValueError:
            expected = _VALUES_OF_OPTION[option]
            raise InputError(
                f"{file}: option {option} has the value '{value}'; it must be {expected}"
            ) from None
    return fields


def _option_value(option: str, value: str) -> int | float | bool:
    if option == "--num-queues-per-dim":
        return int(value)
    if option == "--injection-scale":
        return float(value)
    if value.lower() not in ("true", "false", "1", "0"):
        raise ValueError
    return value.lower() in ("true", "1")

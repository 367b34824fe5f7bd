"""Reading the report lines that ASTRA-sim prints (simulator specification, section 9)."""

from __future__ import annotations

import re
from pathlib import Path

from dse.errors import InputError
from dse.validation.cases import Value

_RANK = re.compile(r"sys\[(?P<rank>\d+)\]")
_FINISHED = re.compile(r"finished, (?P<finish>\d+) cycles, exposed communication (?P<exposed>\d+) cycles")
_TIMES = {
    "Wall time": "wall_time_ns",
    "GPU time": "gpu_time_ns",
    "CPU time": "cpu_time_ns",
    "Comm time": "comm_time_ns",
    "Remote mem time": "remote_memory_time_ns",
}
_SHARES = {
    "Compute bound percentage": "compute_bound_pct",
    "Average compute utilization": "compute_utilization_pct",
    "Average memory utilization": "memory_utilization_pct",
    "Average operation intensity": "operation_intensity",
}
_LABELLED = re.compile(r"(?:, | )(?P<label>[A-Za-z][A-Za-z ]+): (?P<value>[\d.]+)(?P<unit>.*)$")


def read_log(path: Path) -> dict[int, dict[str, Value]]:
    """Return the figures of every rank that finished, by the names of `RankMetrics`.

    `%` and the reference's `$` are both accepted; a peak memory is bytes, or a text with a unit.

    Raises:
        InputError: the file cannot be read, or reports a rank twice.
    """
    try:
        lines = path.read_text("utf-8", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    finished: dict[int, dict[str, Value]] = {}
    figures: dict[int, dict[str, Value]] = {}
    for number, line in enumerate(lines, 1):
        match = _RANK.search(line)
        if match is None:
            continue
        rank = int(match["rank"])
        text = line[match.end() :]
        end = _FINISHED.search(text)
        if end is not None:
            if rank in finished:
                raise InputError(f"{path}, line {number}: rank {rank} finishes a second time; one run a log")
            finished[rank] = {"finish_ns": int(end["finish"]), "exposed_comm_ns": int(end["exposed"])}
        elif (labelled := _LABELLED.search(text)) is not None:
            try:
                figures.setdefault(rank, {}).update(_figure(labelled))
            except ValueError:
                figure = f"{labelled['label']} is {labelled['value']}"
                raise InputError(f"{path}, line {number}: {figure}; it must be a number") from None
    return {rank: {**values, **figures.get(rank, {})} for rank, values in finished.items()}


def _figure(match: re.Match[str]) -> dict[str, Value]:
    label, value, unit = match["label"].strip(), match["value"], match["unit"].strip()
    if label in _TIMES:
        return {_TIMES[label]: int(value)}
    if label in _SHARES:
        return {_SHARES[label]: float(value)}
    if label == "peak memory usage":
        return {"peak_memory_bytes": f"{value} {unit}" if unit else int(value)}
    return {}

"""Reading the report lines that ASTRA-sim prints."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dse.base.errors import InputError

Figure = int | float | str
"""A figure as printed: an exact integer, a percentage with three decimals, or a size with a unit."""

_RANK = re.compile(r"sys\[(?P<rank>\d+)\]")
_FINISHED = re.compile(r"finished, (?P<finish>\d+) cycles, exposed communication (?P<exposed>\d+) cycles")
_HANGS = re.compile(r"sys\[(?P<rank>\d+)\] never finishes: (?P<cause>.*)")
_TIMES = {
    "wall time": "wall_time_ns",
    "gpu time": "gpu_time_ns",
    "cpu time": "cpu_time_ns",
    "comm time": "comm_time_ns",
    "remote mem time": "remote_memory_time_ns",
    "overlap": "overlap_ns",  # total compute-communication overlap, since 2026
}
_SHARES = {
    "compute bound percentage": "compute_bound_pct",
    "average compute utilization": "compute_utilization_pct",
    "average memory utilization": "memory_utilization_pct",
    "average operation intensity": "operation_intensity",
}
_LABELLED = re.compile(r"(?:, | )(?P<label>[A-Za-z][A-Za-z ]+): (?P<value>[\d.]+)(?P<unit>.*)$")
_POWER_OF_UNIT: dict[str, int] = {"b": 0, "bytes": 0} | {
    f"{prefix}{end}": power for power, prefix in enumerate("kmgt", 1) for end in ("b", "ib")
}


def read_report(lines: Iterable[str]) -> dict[int, dict[str, Figure]]:
    """Return the figures of every rank that finished, by the names of `RankMetrics`; other lines are noise.

    `%` and the reference's `$` are both accepted; a peak memory is bytes, or a text with a unit.

    Raises:
        InputError: a rank is reported twice, or a figure is no number; names the line.
    """
    finished: dict[int, dict[str, Figure]] = {}
    figures: dict[int, dict[str, Figure]] = {}
    for number, line in enumerate(lines, 1):
        match = _RANK.search(line)
        if match is None:
            continue
        rank = int(match["rank"])
        text = line[match.end() :].rstrip()
        end = _FINISHED.search(text)
        if end is not None:
            if rank in finished:
                raise InputError(f"line {number}: rank {rank} finishes a second time; one run per log")
            finished[rank] = {"finish_ns": int(end["finish"]), "exposed_comm_ns": int(end["exposed"])}
        elif (labelled := _LABELLED.search(text)) is not None:
            try:
                figures.setdefault(rank, {}).update(_figure(labelled))
            except ValueError:
                figure = f"{labelled['label']} is {labelled['value']}"
                raise InputError(f"line {number}: {figure}; it must be a number") from None
    return {rank: {**values, **figures.get(rank, {})} for rank, values in finished.items()}


def stated_deadlock(lines: Iterable[str]) -> str:
    """Return the first line with which our own stand-alone simulators say who never finishes, or nothing.

    They end with an exit status of their own after a deadlock, where ASTRA-sim is silent and ends with 0.
    """
    matches = (_HANGS.search(line) for line in lines)
    return next((f"rank {match['rank']}: {match['cause'].strip()}" for match in matches if match), "")


def size_bytes(figure: Figure) -> int:
    """Return a printed size in bytes: exact without a unit, else as near as its decimals allow.

    ASTRA-sim's KB, MB, GB and TB are powers of 1024, as KiB, MiB, GiB and TiB are everywhere.

    Raises:
        InputError: it is no size.
    """
    if not isinstance(figure, str):
        return int(figure)
    value, _, unit = figure.partition(" ")
    power = _POWER_OF_UNIT.get(unit.strip().lower())
    if power is None:
        raise InputError(
            f"peak memory is '{figure}'; known units are B, KB, MB, GB, TB and KiB, MiB, GiB, TiB"
        )
    return round(float(value) * (1 << (10 * power)))


def _figure(match: re.Match[str]) -> dict[str, Figure]:
    label, value, unit = match["label"].strip().lower(), match["value"], match["unit"].strip()
    if label in _TIMES:
        return {_TIMES[label]: int(value)}
    if label in _SHARES:
        return {_SHARES[label]: float(value)}
    if label == "peak memory usage":
        return {"peak_memory_bytes": f"{value} {unit}" if unit and float(value) >= 0 else int(value)}
    return {}

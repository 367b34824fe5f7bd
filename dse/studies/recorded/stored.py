"""Stored runs of traces: whether a study has such rows, and the case of a row, made again."""

from __future__ import annotations

import json
from pathlib import Path

from dse.base.errors import InputError
from dse.studies.recorded.case import Case
from dse.studies.recorded.grid import cases
from dse.studies.recorded.record import RUNS, RunRow
from dse.studies.recorded.traces import Traces, found_traces
from dse.studies.store.parts import part_names


def is_study_of_runs(folder: str | Path) -> bool:
    """Whether the rows of a study are runs of traces; False where it cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = part_names(Path(folder))
        entries: dict[bytes, bytes] = pq.read_metadata(Path(folder) / names[0]).metadata if names else {}
    except (InputError, OSError, pa.ArrowException):
        return False
    return (entries or {}).get(b"record") == RUNS.name.encode()


def case_of_row(row: RunRow, known: dict[str, Traces] | None = None) -> Case:
    """Return the case of a row, read again from its files; `known` keeps traces that rows share.

    Raises:
        InputError: files or a system are gone, or are no longer those that were run.
    """
    known = {} if known is None else known
    if row.paths not in known:
        known[row.paths] = found_traces(json.loads(row.paths))
    simulator = json.loads(row.simulator)
    words = [f"simulator={simulator['name']}"] if "name" in simulator else []
    words += [f"simulator.{name}={text}" for name, text in simulator.items() if name == "reference"]
    system = row.system.split(" ") if row.system else []
    overrides = [*words, *(f"system={word}" if place == 0 else word for place, word in enumerate(system))]
    asked = json.loads(row.asked)
    if row.base_system:
        asked["base_system"] = row.base_system
    (case,) = cases(known[row.paths], asked, overrides)
    if case.key != row.key:
        raise InputError(f"{row.traces} or its system has changed since it was run; run dse simulate again")
    return case

"""Stored runs of traces: which rows are of the files of today, and the case of a row, made again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dse.base.errors import InputError
from dse.base.texts import counted
from dse.inputs.systems import SystemSpec
from dse.studies.recorded.case import Case, RunRow
from dse.studies.recorded.grid import cases
from dse.studies.recorded.traces import Traces, found_traces

_ADVICE = "run dse simulate again, with the same study: then the new rows count"


class Standing(NamedTuple):
    """Rows that count, and a sentence for each traces: of rows left out, or that all its rows are old."""

    rows: list[RunRow]
    left_out: list[str]
    changed: list[str]


@dataclass
class FilesOfRows:
    """Traces and systems that rows share, each read once."""

    traces: dict[str, Traces] = field(default_factory=dict)
    systems: dict[tuple[str, ...], SystemSpec] = field(default_factory=dict)

    def case(self, row: RunRow) -> Case:
        """Return the case of a row, read again from its files.

        Raises:
            InputError: files or a system are gone, or are no longer those that were run.
        """
        case = self._case_of_today(row)
        if case.key != row.key:
            raise InputError(
                f"{row.traces} or its system has changed since row {row.key[:8]} was run; {_ADVICE}"
            )
        return case

    def standing(self, rows: Sequence[RunRow]) -> Standing:
        """Return the rows that count: of the files of today, if any row of the same paths is of them.

        Rows whose files are gone cannot be judged, and count.
        """
        of_paths: dict[str, list[RunRow]] = {}
        for row in rows:
            of_paths.setdefault(row.paths, []).append(row)
        kept: set[str] = set()
        left_out, changed = list[str](), list[str]()
        for own in of_paths.values():
            keys = {row.key: self._key_of_today(row) for row in own}
            earlier = [row for row in own if keys[row.key] not in (None, row.key)]
            is_current = any(keys[row.key] == row.key for row in own)
            kept.update(row.key for row in own if not (is_current and row in earlier))
            name, count = own[0].traces, counted(len(earlier), "row")
            if earlier and is_current:
                left_out.append(f"{name}: {count} left out, of files or systems as they were before a change")
            elif earlier:
                changed.append(f"{name} or its system has changed since {count} were run; {_ADVICE}")
        return Standing([row for row in rows if row.key in kept], left_out, changed)

    def _key_of_today(self, row: RunRow) -> str | None:
        try:
            return self._case_of_today(row).key
        except InputError:
            return None

    def _case_of_today(self, row: RunRow) -> Case:
        if row.paths not in self.traces:
            self.traces[row.paths] = found_traces(json.loads(row.paths))
        simulator = json.loads(row.simulator)
        words = [f"simulator={simulator['name']}"] if "name" in simulator else []
        words += [f"simulator.{name}={text}" for name, text in simulator.items() if name == "reference"]
        system = row.system.split(" ") if row.system else []
        overrides = [*words, *(f"system={word}" if place == 0 else word for place, word in enumerate(system))]
        asked = json.loads(row.asked)
        if row.base_system:
            asked["base_system"] = row.base_system
        (case,) = cases(self.traces[row.paths], asked, overrides, self.systems)
        return case

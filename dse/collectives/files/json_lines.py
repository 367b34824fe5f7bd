"""A schedule as JSON lines: a send per line, with nodes, chunk and times in ps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.files import read_text
from dse.base.plain_data import json_data
from dse.collectives.files.content import Columns, ScheduleFile
from dse.collectives.problem.recorded_sends import SendTable
from dse.collectives.problem.schedule import Schedule

_KEYS = ("src", "dst", "chunk", "start_ps", "end_ps")


def schedule_lines(schedule: Schedule) -> Iterator[str]:
    """Yield a line per send, by start: `{"src","dst","chunk","start_ps","end_ps"[,"reduce":true]}`."""
    sends = SendTable.of(schedule)
    columns = (sends.source, sends.destination, sends.chunk, sends.start_ps, sends.end_ps, sends.reduce)
    for source, destination, chunk, start, end, adds in zip(*(c.tolist() for c in columns), strict=True):
        mark = ',"reduce":true' if adds else ""
        yield (
            f'{{"src":{source},"dst":{destination},"chunk":{chunk},"start_ps":{start},"end_ps":{end}{mark}}}'
        )


def read_schedule_lines(path: Path) -> ScheduleFile:
    """Read such a file.

    Raises:
        InputError: it cannot be read; names the file, the line, what was got and what is allowed.
    """
    columns = Columns()
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip():
            try:
                send = _send(json_data(line, f"{path}, line {number}"))
            except ValueError as error:
                raise InputError(f"{path}, line {number}: {error}") from None
            columns.add(*send)
    return ScheduleFile(columns.table())


def _send(data: Any) -> tuple[int, int, int, int, int, bool]:
    if not isinstance(data, dict):
        raise ValueError(f"is {excerpt(json.dumps(data))}; it must be an object of a send")
    unknown = [key for key in data if key not in (*_KEYS, "reduce")]
    if unknown:
        raise ValueError(f"has the key '{excerpt(unknown[0])}'; allowed are {', '.join(_KEYS)}, reduce")
    values = []
    for key in _KEYS:
        value = data.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not -(1 << 62) < value < 1 << 62:
            got = "missing" if key not in data else excerpt(json.dumps(value))
            raise ValueError(f"{key} is {got}; it must be a whole number")
        values.append(value)
    adds = data.get("reduce", False)
    if not isinstance(adds, bool):
        raise ValueError(f"reduce is {excerpt(json.dumps(adds))}; it must be true or false")
    source, destination, chunk, start, end = values
    return source, destination, chunk, start, end, adds

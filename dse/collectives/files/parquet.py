"""A schedule as Parquet: a row per send by start; problem, topology and provenance in its metadata."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dse.base.errors import InputError
from dse.base.lazy import NDArray, np, pa, pq
from dse.base.texts import one_line
from dse.collectives.files.content import (
    ScheduleFile,
    fraction_of,
    problem_of_json,
    problem_to_json,
    to_json_text,
)
from dse.collectives.problem.recorded_sends import SendTable
from dse.collectives.problem.schedule import Schedule
from dse.inputs.networks import LinkGraph, LinkKind
from dse.inputs.networks.csv import link_graph_csv, read_link_graph

_PROBLEM, _TOPOLOGY, _ABOUT, _KINDS = b"dse.problem", b"dse.topology", b"dse.about", b"dse.kinds"
_INTEGERS = ("src", "dst", "chunk", "start_ps", "end_ps")


def schedule_parquet(schedule: Schedule, about: Mapping[str, Any]) -> bytes:
    """Return the file; `about` are notes such as seed, synthesizer, bound and its certificate.

    Columns: src, dst, chunk (int32), start_ps, end_ps (int64), reduce (bool).
    """
    graph = schedule.problem.graph
    table = pa.table({name: _column(column) for name, column in schedule.columns().items()})
    _, first = np.unique(graph.kind_of, return_index=True)  # the order in which a reader meets them
    kinds = [[str(number) for number in graph.kinds[graph.kind_of[link]]] for link in sorted(first)]
    metadata = {
        _PROBLEM: to_json_text(problem_to_json(schedule.problem)),
        _TOPOLOGY: link_graph_csv(graph),
        _KINDS: to_json_text(kinds),
        _ABOUT: to_json_text(dict(about)),
    }
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(metadata), sink, compression="zstd")
    return bytes(sink.getvalue())


def _column(values: NDArray[Any]) -> pa.Array:
    """An array of Arrow on the same bytes; `pa.table` would import pandas to look at them."""
    kinds = {"int32": pa.int32(), "int64": pa.int64(), "bool": pa.bool_()}
    data = np.packbits(values, bitorder="little") if values.dtype == bool else np.ascontiguousarray(values)
    return pa.Array.from_buffers(kinds[str(values.dtype)], len(values), [None, pa.py_buffer(data)])


def read_schedule_parquet(path: Path) -> ScheduleFile:
    """Read such a file; one without our metadata is read as well, as its columns alone.

    Raises:
        InputError: it cannot be read, or lacks a column.
    """
    try:
        table = pq.ParquetFile(path).read(use_threads=False)
        columns = {name: table[name].cast(pa.int64()).to_numpy() for name in _INTEGERS}
        adds = table["reduce"].cast(pa.bool_()).to_numpy() if "reduce" in table.column_names else None
    except (OSError, KeyError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read as Parquet of a schedule: {one_line(error)}") from None
    if any(table[name].null_count for name in table.column_names):
        raise InputError(f"{path}: has empty cells; every send has all columns")
    reduce = np.zeros(len(table), dtype=np.bool_) if adds is None else adds.astype(np.bool_)
    ends, times = (columns["src"], columns["dst"]), (columns["start_ps"], columns["end_ps"])
    sends = SendTable(*ends, columns["chunk"], *times, reduce)
    metadata = table.schema.metadata or {}
    if _PROBLEM not in metadata:
        return ScheduleFile(sends)
    try:
        return _with_metadata(sends, metadata)
    except (InputError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: its metadata cannot be read: {one_line(error)}") from None


def _with_metadata(sends: SendTable, metadata: Mapping[bytes, bytes]) -> ScheduleFile:
    data = json.loads(metadata[_PROBLEM])
    graph = _graph(metadata, data["npus"])
    problem = problem_of_json(data, graph)
    return ScheduleFile(
        sends,
        npus=graph.npus,
        links=len(graph),
        chunks=problem.collective.chunks,
        chunk_bytes=problem.chunk_bytes,
        graph=graph,
        problem=problem,
        about=json.loads(metadata.get(_ABOUT, b"{}")),
    )


def _graph(metadata: Mapping[bytes, bytes], npus: int) -> LinkGraph:
    """The topology; its decimals may have been cut, the fractions next to it are exact."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(metadata[_TOPOLOGY])
        file.flush()
        graph = read_link_graph(Path(file.name), npus, parallel=True)
    kinds = [
        LinkKind(fraction_of(latency, "latency"), fraction_of(bandwidth, "bandwidth"))
        for latency, bandwidth in json.loads(metadata[_KINDS])
    ]
    if len(kinds) != len(graph.kinds):
        raise ValueError("the topology and its kinds of links differ")
    return replace(graph, kinds=tuple(kinds))

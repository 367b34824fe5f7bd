"""The folder of a partition: JSON that is read again, Parquet files, page, and the timeline of a step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.files import write_files
from dse.base.plain_data import load_json_object
from dse.partition.files.results import DeviceRow, devices_parquet, nodes_parquet, to_json
from dse.partition.page import render_page
from dse.partition.problem.problem import Partition
from dse.partition.problem.settings import Asked

PARTITION, NODES, DEVICES, PAGE, TRACE = (
    "partition.json",
    "nodes.parquet",
    "devices.parquet",
    "index.html",
    "trace.json",
)


def stored(asked: Asked, found: Sequence[Partition], step: Mapping[str, Any]) -> dict[str, Any]:
    """Return what partition.json holds: the best partition, the others, and the device of every operator."""
    best, *others = found
    members = asked.source.members or tuple((operator.name,) for operator in asked.source.operators)
    return {
        **to_json(asked.problem, best),
        "graph": asked.source.name,
        "devices": asked.problem.devices.count,
        **({"replicas": asked.replicas} if asked.replicas != 1 else {}),
        "operators": {
            name: device for names, device in zip(members, best.labels, strict=True) for name in names
        },
        **({"step": {key: value for key, value in step.items() if key != "bars"}} if step else {}),
        "others": [to_json(asked.problem, one) for one in others],
    }


def write_folder(
    folder: Path,
    asked: Asked,
    found: Sequence[Partition],
    rows: Sequence[DeviceRow],
    step: dict[str, Any],
    timeline: str,
) -> None:
    """Write everything about partitions, the best of which comes first; an old trace goes.

    Raises:
        InputError: the folder cannot be written.
    """
    files = {
        NODES: nodes_parquet(asked.problem, found),
        DEVICES: devices_parquet(rows),
        PAGE: render_page(asked.source, asked.problem, found[0], rows, step).encode(),
        PARTITION: (json.dumps(stored(asked, found, step), indent=1) + "\n").encode(),
    }
    if timeline:
        files[TRACE] = timeline.encode()
    write_files(folder, files.items(), [TRACE])


def read_labels(path: Path, nodes: int) -> tuple[int, ...]:
    """Return the labels of a partition.json for a graph of so many nodes.

    Raises:
        InputError: it has none, or is of another graph.
    """
    labels = load_json_object(path).get("labels")
    if not isinstance(labels, list) or not all(type(label) is int and label >= 0 for label in labels):
        raise InputError(f"{path}: labels is {excerpt(repr(labels))}; it must be a list of devices")
    if len(labels) != nodes:
        raise InputError(f"{path}: has {len(labels)} labels, but the graph has {nodes} nodes")
    return tuple(labels)

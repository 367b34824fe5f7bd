"""The devices of a question about partitions: a system, a cluster, a CSV file or a number of equal ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from dse.base.errors import InputError, excerpt
from dse.base.settings import check_choice
from dse.base.settings.values import whole
from dse.inputs.models import ModelSpec
from dse.inputs.systems import SystemSpec
from dse.partition.graphs.layers import Layers
from dse.partition.graphs.sources.source import Rates, Source
from dse.partition.problem import arguments as texts
from dse.partition.problem.arguments import Arguments
from dse.partition.problem.problem import Devices


@dataclass(frozen=True)
class Composed:
    """Makes a model or a system of overrides such as `system=torus_4x4`; needs the configuration.

    `cluster` returns the devices of a mixed cluster by its name, None if there is none of that name.
    `layers` returns the layers of a model on a system whose steps are predicted; None if they are simulated.
    """

    model: Callable[[Sequence[str]], ModelSpec]
    system: Callable[[Sequence[str]], SystemSpec]
    cluster: Callable[[str], tuple[Devices, Rates] | None]
    layers: Callable[[Sequence[str]], Layers | None]


def asked_devices(
    arguments: Arguments, source: Source, composed: Composed
) -> tuple[Devices, Rates | None, SystemSpec | None]:
    """Return the devices that a question names, or its graph has, their rates, and the system they are of.

    Raises:
        InputError: no devices or wrong ones, or keys that have no effect on them.
    """
    values = arguments.values
    rates: Rates | None = None
    system: SystemSpec | None = None
    text = values.get("devices")
    is_csv = text is not None and text.lower().endswith(".csv")
    if text is None and source.devices is None:
        raise InputError("devices is missing; write devices=NAME, devices=FILE.csv or devices=N")
    if text is None:
        devices = cast(Devices, source.devices)
    elif re.fullmatch(r"[-+\d.]+(e[-+]?\d+)?", text, re.ASCII | re.IGNORECASE):
        if not re.fullmatch(r"0*[1-9]\d{0,5}", text, re.ASCII):
            raise InputError(f"devices is {excerpt(text)}; a number of devices must be whole and at least 1")
        devices = Devices(int(text))
    elif is_csv:
        devices = csv_devices(Path(text), values.get("matrix"), whole(values, "npus", None, least=1))
    elif "=" in text:
        raise InputError(
            f"devices is '{excerpt(text)}'; it must be a system, a cluster, a CSV file or a number: a "
            "network with parameters is for dse synthesize, and system.KEY=VALUE changes a system"
        )
    elif (found := composed.cluster(text)) is not None:
        devices, rates = found
    else:
        from dse.partition.graphs.sources.systems import system_devices

        system = composed.system([f"system={text}", *arguments.system])
        devices, rates = system_devices(system)
    for key in ("matrix", "npus"):
        if key in values and not is_csv:
            raise InputError(f"{key}={excerpt(values[key])} has no effect; it is for devices=FILE.csv")
    if arguments.system and system is None:
        raise InputError(f"{arguments.system[0]} has no effect on devices={text}, which is no system")
    if "speeds" in values:
        devices = replace(devices, speeds=texts.speeds_of(values["speeds"], devices.count))
    if "memory" in values:
        devices = replace(devices, memory_bytes=texts.memory_of(values["memory"], devices.count))
    return devices, rates, system


def csv_devices(path: Path, matrix: str | None, npus: int | None = None) -> Devices:
    """Return the devices of a CSV topology or matrix; `matrix` is what the latter holds.

    Nodes of a topology from `npus` on are switches.

    Raises:
        InputError: the file cannot be read, `matrix` is said of a topology, or `npus` of a matrix.
    """
    from dse.partition.graphs.sources.measured import MATRIX_KINDS, is_matrix, read_matrix, read_topology

    if matrix is not None:
        check_choice("matrix", matrix, MATRIX_KINDS)
    if is_matrix(path):
        if npus is not None:
            raise InputError(f"npus={npus} has no effect on {path}, which is a matrix")
        return read_matrix(path, matrix or MATRIX_KINDS[0])
    if matrix is not None:
        raise InputError(f"matrix={matrix} has no effect on {path}, which is a topology")
    return read_topology(path, npus)

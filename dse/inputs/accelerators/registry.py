"""Files of accelerator types by name: those of conf/accelerator, and files of the user's own."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, excerpt, unknown
from dse.base.files import conf_file, conf_names
from dse.base.record_files import yaml_record
from dse.base.records import converted, unknown_field
from dse.base.units import parse_bytes
from dse.inputs.accelerators.efficiency import Efficiency

FRAMEWORK = "megatron-bridge"
"""Of conf/framework: what runs training on most types."""

HOST_BANDWIDTH_GBPS = 32.0
"""PCIe 4.0 x16, in one direction: what most servers have at least."""

PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "int8", "fp8", "fp4")


@dataclass(frozen=True)
class AcceleratorFile:
    """The keys of a file; `efficiency`, `efficiency_of` or `kernels` says which shares the type reaches.

    `efficiency` together with `efficiency_of` has single shares that are the type's own. `kernels` are the
    shares of kernels that were measured alone: fits to steps begin there. `board_power_w` is the most that
    the board takes by its data sheet, None where it is unknown; it changes no prediction of a step.
    `framework` is a name of conf/framework: the one of plans that name none.
    """

    name: str
    peak_tflops: Mapping[str, float]
    memory: str
    memory_bandwidth_gbps: float
    sources: Mapping[str, str]
    aliases: tuple[str, ...] = ()
    efficiency: Mapping[str, float] | None = None
    efficiency_of: str | None = None
    kernels: Efficiency | None = None
    calibration: str = ""
    uncertainty: Mapping[str, float] | None = None
    memory_reserve: str | None = None
    fitted_kinds: tuple[str, ...] = ()
    host_bandwidth_gbps: float = HOST_BANDWIDTH_GBPS
    board_power_w: float | None = None
    framework: str = FRAMEWORK

    @property
    def memory_bytes(self) -> int:
        """The memory that the driver shows."""
        return parse_bytes(self.memory, "accelerator.memory")

    @property
    def memory_reserve_bytes(self) -> int:
        """The part of it that no tensor can have."""
        key = "accelerator.memory_reserve"
        return 0 if self.memory_reserve is None else parse_bytes(self.memory_reserve, key)


def found_file(name: str, key: str) -> tuple[AcceleratorFile, Path]:
    """Return the keys of a type's file, checked, and its path; see `dse.inputs.accelerators.accelerator`.

    Raises:
        InputError: no such type, or a file with an unknown, missing or impossible key.
    """
    if (found := shipped_name(name)) is not None:
        return _of_conf(found), conf_file("accelerator", found)
    if "/" in name or name.endswith((".yaml", ".yml")):
        path = Path(name).expanduser()
        if path.is_file():
            return _read(path), path
        raise InputError(f"{key} is '{excerpt(name)}'; there is no such file")
    problem = f"{key} is '{excerpt(name)}'"
    allowed = f"allowed are {', '.join(accelerator_names())}, or a file"
    raise InputError(unknown(problem, name.lower(), _names(), allowed))


def shipped_name(name: str) -> str | None:
    """Return the name of the file of conf/accelerator that a name or an alias means; None for others."""
    return name if name in accelerator_names() else _names().get(name.lower())


def accelerator_names() -> tuple[str, ...]:
    """The names of the files of conf/accelerator."""
    return conf_names("accelerator")


def aliases_of(name: str) -> tuple[str, ...]:
    """Other names of a type of conf/accelerator, in tables of measurements for example."""
    return _of_conf(name).aliases


@functools.cache
def _names() -> dict[str, str]:
    """The files of conf/accelerator by their names and aliases in small letters."""
    known = accelerator_names()
    return {alias.lower(): stem for stem in known for alias in (stem, *aliases_of(stem))}


@functools.cache
def _of_conf(name: str) -> AcceleratorFile:
    return _read(conf_file("accelerator", name))


def _read(path: Path) -> AcceleratorFile:
    """The checked keys of a file.

    Raises:
        InputError: names the file and the key.
    """
    file = yaml_record(path, AcceleratorFile, "accelerator")
    try:
        _check(file)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return file


def _check(file: AcceleratorFile) -> None:
    """Refuse what no accelerator can be."""
    if file.efficiency is None and file.efficiency_of is None and file.kernels is None:
        raise InputError(
            "accelerator needs efficiency, its own constants, or efficiency_of, whose it has instead, or "
            "kernels, the shares of its kernels alone"
        )
    if file.efficiency is None and (file.calibration or file.uncertainty):
        raise InputError("accelerator.calibration and uncertainty belong to efficiency, which is missing")
    if file.memory_reserve_bytes >= file.memory_bytes:
        raise InputError(
            f"accelerator.memory_reserve is {file.memory_reserve}; it must be below accelerator.memory, "
            f"which is {file.memory}"
        )
    _check_efficiency(file)
    for key, value in _figures(file):
        if not 0 < value < math.inf:
            raise InputError(f"accelerator.{key} is {value:g}; it must be a number above 0")
    for name in file.peak_tflops:
        if name not in PRECISIONS:
            problem = f"accelerator.peak_tflops has {excerpt(name)}"
            allowed = f"allowed precisions are {', '.join(PRECISIONS)}"
            raise InputError(unknown(problem, name, PRECISIONS, allowed))
    if not {"bf16", "fp16"} & file.peak_tflops.keys():
        raise InputError("accelerator.peak_tflops lacks bf16 and fp16; it must have at least one of them")
    frameworks = conf_names("framework")
    if file.framework not in frameworks:
        problem = f"accelerator.framework is {excerpt(file.framework)}"
        raise InputError(unknown(problem, file.framework, frameworks, f"allowed are {', '.join(frameworks)}"))
    stated = ["board_power_w"] if file.board_power_w is not None else []
    for key in ("peak_tflops", "memory", "memory_bandwidth_gbps", *stated):
        if not file.sources.get(key):
            raise InputError(f"accelerator.sources.{key} is missing; it must say where the figure is from")


def _check_efficiency(file: AcceleratorFile) -> None:
    """Refuse shares above the whole, and constants and uncertainties of what is none."""
    names = [field.name for field in fields(Efficiency)]
    alone = {} if file.kernels is None else asdict(file.kernels)
    alone = {name: value for name, value in alone.items() if value is not None}
    for group, shares in (("efficiency", file.efficiency or {}), ("kernels", alone)):
        for name, value in shares.items():
            key = f"accelerator.{group}.{excerpt(name)}"
            if name not in names:
                raise InputError(unknown_field(key, name, names))
            most = math.inf if name.endswith("_us") else 1.0
            if not 0 < value <= most or math.isinf(value):
                bound = "above 0" if math.isinf(most) else "above 0 and at most 1"
                raise InputError(f"{key} is {value}; it must be a number {bound}")
    if file.efficiency is not None and file.efficiency_of is None:
        converted(dict(file.efficiency), Efficiency, "accelerator.efficiency")  # names those that are missing
    is_told = file.sources.get("efficiency") or file.calibration
    if file.efficiency and file.efficiency_of is not None and not is_told:
        raise InputError(
            "accelerator.sources.efficiency is missing; it must say where the shares given with "
            "efficiency_of are from"
        )
    for name, value in (file.uncertainty or {}).items():
        if name not in names:
            raise InputError(unknown_field(f"accelerator.uncertainty.{excerpt(name)}", name, names))
        if not 0 <= value < math.inf:
            raise InputError(f"accelerator.uncertainty.{name} is {value}; it must be a number of at least 0")


def _figures(file: AcceleratorFile) -> Iterator[tuple[str, Any]]:
    yield from ((f"peak_tflops.{name}", value) for name, value in file.peak_tflops.items())
    yield "memory_bandwidth_gbps", file.memory_bandwidth_gbps
    if file.board_power_w is not None:
        yield "board_power_w", file.board_power_w

"""ASTRA-sim's configuration files (system.json, network.yml, remote_memory.json): reading and writing.

Reading is strict where the reference is silent or undefined: unknown keys, JSON booleans (it counts even
`false` as on) and missing keys that it would read as arbitrary values are errors. Defaults are the
reference's. Two values are normalised to what the reference makes of them: a fractional endpoint-delay is
truncated, and a switch other than 0 becomes 1. The reference applies the injection scale only to an
endpoint-delay that the file states; for a file without one the scale is stored as 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from dse.errors import InputError
from dse.files import (
    check_keys,
    load_json_object,
    load_yaml_mapping,
    make_folder,
    read_bytes,
    write_atomically,
)
from dse.systems.spec import CollectiveAlgorithms, Dimension, RemoteMemory, SystemSpec
from dse.systems.validation import COLLECTIVES, INERT_KEYS, InvalidSystem

_REQUIRED: Any = object()


class _WrongTypeError(Exception):
    """A value has another type than the message names."""


class _Key(NamedTuple):
    """A key of a JSON file, the field of the specification that it fills, its type and its default."""

    key: str
    field: str
    convert: Callable[[Any], Any]
    default: Any


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _WrongTypeError("a string")
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _WrongTypeError("an integer")
    return value


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _WrongTypeError("a number")
    return value


def _truncated(value: Any) -> int:
    number = _number(value)
    return int(number) if abs(number) < 2**63 else 2**63


def _switch(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _WrongTypeError("0 (off) or 1 (on); ASTRA-sim takes even the boolean false as on")
    return value != 0


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _WrongTypeError('a list of strings, such as ["ring", "ring"]')
    return tuple(value)


_SYSTEM_KEYS = (
    _Key("scheduling-policy", "scheduling_policy", _text, _REQUIRED),
    _Key("endpoint-delay", "endpoint_delay_ns", _truncated, 10),
    _Key("active-chunks-per-dimension", "active_chunks_per_dimension", _integer, 1),
    _Key("preferred-dataset-splits", "preferred_dataset_splits", _integer, _REQUIRED),
    _Key("collective-optimization", "collective_optimization", _text, _REQUIRED),
    *(
        _Key(f"{name.replace('_', '-')}-implementation", f"collectives.{name}", _texts, ())
        for name in COLLECTIVES
    ),
    _Key("peak-perf", "peak_tflops", _number, 0),
    _Key("local-mem-bw", "memory_bandwidth_gbps", _number, 0),
    _Key("roofline-enabled", "roofline_enabled", _switch, False),
    _Key("track-local-mem", "track_local_memory", _switch, False),
    _Key("replay-only", "replay_only", _switch, False),
    _Key("trace-enabled", "trace_enabled", _switch, False),
    _Key("local-mem-trace-filename", "local_memory_trace_filename", _text, "local_mem_trace"),
    _Key("model-shared-bus", "model_shared_bus", _switch, False),
)
_REMOTE_MEMORY_KEYS = (
    _Key("memory-type", "memory_type", _text, _REQUIRED),
    _Key("remote-mem-latency", "latency_ns", _integer, 0),
    _Key("remote-mem-bw", "bandwidth_bytes_per_ns", _integer, 0),
    _Key("num-nodes", "num_nodes", _integer, None),
    _Key("num-npus-per-node", "num_npus_per_node", _integer, None),
)
_FILE_NAMES = ("system.json", "network.yml", "remote_memory.json", "comm_group.json")
_SHAPE_KEYS = ("shape", "routing", "file", "routes")  # ours, for topologies that ASTRA-sim lacks
# Key of network.yml -> field of Dimension, its type, the texts that are one, and the type in words.
_FLOAT = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_NETWORK_KEYS: dict[str, tuple[str, Callable[[str], Any], str, str]] = {
    "topology": ("topology", str, r"\w+", "a name"),
    "npus_count": ("npus", int, r"[+-]?\d{1,19}", "an integer"),
    "bandwidth": ("bandwidth_gbps", float, _FLOAT, "a number"),
    "latency": ("latency_ns", float, _FLOAT, "a number"),
}


def read_system(
    system_json: Path,
    network_yml: Path,
    remote_memory_json: Path | None,
    *,
    name: str,
    network_model: str,
    queues_per_dimension: int = 1,
    rendezvous_protocol: bool = False,
    injection_scale: float = 1.0,
) -> SystemSpec:
    """Return the system that ASTRA-sim's files describe; the other arguments are its command-line options.

    Bandwidths keep ASTRA-sim's units: a GB/s in network.yml is 2^30 bytes per 10^9 ns, in system.json it is
    10^9 bytes per 10^9 ns.

    Raises:
        InputError: an unreadable or malformed file, or a key that is unknown, missing, of the wrong type or
            length, or breaks a rule of `dse.systems.validation`; names file, key, what was got and what is
            expected.
    """
    content = load_json_object(system_json)
    for key in content:
        if key.endswith("-implementation-chakra"):
            raise InputError(
                f"{system_json}: {key} is not supported: the reference reads beyond an empty set with it; "
                f"give an algorithm by name in {key.removesuffix('-chakra')}"
            )
    fields, omitted = _take(system_json, content, _SYSTEM_KEYS, INERT_KEYS)
    collectives = {name: fields.pop(f"collectives.{name}") for name in COLLECTIVES}
    remote_fields: dict[str, Any] = {}
    if remote_memory_json is not None:
        remote_content = load_json_object(remote_memory_json)
        remote_fields, remote_omitted = _take(remote_memory_json, remote_content, _REMOTE_MEMORY_KEYS)
        omitted += remote_omitted
    try:
        return SystemSpec(
            name=name,
            network=_read_network(network_yml),
            network_model=network_model,
            collectives=CollectiveAlgorithms(**collectives),
            queues_per_dimension=queues_per_dimension,
            rendezvous_protocol=rendezvous_protocol,
            injection_scale=1.0 if "endpoint-delay" in omitted else injection_scale,
            remote_memory=RemoteMemory(**remote_fields),
            inert=tuple((key, value) for key, value in content.items() if key in INERT_KEYS),
            omitted_keys=omitted,
            **fields,
        )
    except InvalidSystem as error:
        raise _in_file(error, system_json, network_yml, remote_memory_json, omitted) from None


def write_system(spec: SystemSpec, folder: Path) -> None:
    """Write system.json, network.yml and remote_memory.json into `folder`, which is made if need be.

    Bandwidths keep ASTRA-sim's units, as in `read_system`.

    Raises:
        InputError: a file cannot be written, two files of graphs have the same name, or the system has faults
            or deratings, for which the files have no place.
    """
    for key in ("faults", "deratings"):
        if getattr(spec, key):
            raise InputError(f"system.{key} is not empty, but ASTRA-sim's files have no place for it")
    system = {
        item.key: _plain(_field(spec, item.field))
        for item in _SYSTEM_KEYS
        if not _left_out(spec, item, _field(spec, item.field))
    }
    remote_memory = {
        item.key: value
        for item in _REMOTE_MEMORY_KEYS
        if (value := getattr(spec.remote_memory, item.field)) is not None and not _left_out(spec, item, value)
    }
    network = {
        key: [_plain(getattr(dimension, field)) for dimension in spec.network]
        for key, (field, *_) in _NETWORK_KEYS.items()
    }
    make_folder(folder)
    _write_text(folder / "system.json", json.dumps(system | dict(spec.inert), indent=2) + "\n")
    lines = [f"{key}: [{', '.join(map(str, values))}]\n" for key, values in network.items()]
    lines += _shape_lines(spec, folder)
    _write_text(folder / "network.yml", "".join(lines))
    _write_text(folder / "remote_memory.json", json.dumps(remote_memory, indent=2) + "\n")


def _shape_lines(spec: SystemSpec, folder: Path) -> list[str]:
    """Return the lines of our own keys, if any is used; the file of a Graph is copied next to network.yml."""
    lines = []
    if any(dimension.shape for dimension in spec.network):
        lines.append(f"shape: [{', '.join(str(list(dimension.shape)) for dimension in spec.network)}]\n")
    if any(dimension.routing for dimension in spec.network):
        routings = ", ".join(f"'{dimension.routing}'" for dimension in spec.network)
        lines.append(f"routing: [{routings}]\n")
    taken: dict[str, Path | None] = dict.fromkeys(_FILE_NAMES)
    for key in ("file", "routes"):
        paths = [Path(path) if (path := getattr(dimension, key)) else None for dimension in spec.network]
        for path in paths:
            if path is None:
                continue
            if taken.setdefault(path.name, path) != path:
                raise InputError(f"{path}: {folder} gets another file {path.name}; rename one of them")
            if path != folder / path.name:
                write_atomically(folder / path.name, read_bytes(path))
        if any(paths):
            names = ", ".join(json.dumps("" if path is None else path.name) for path in paths)
            lines.append(f"{key}: [{names}]\n")
    return lines


def _write_text(path: Path, text: str) -> None:
    write_atomically(path, text.encode())


def _take(
    file: Path, content: dict[str, Any], keys: tuple[_Key, ...], inert: tuple[str, ...] = ()
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the fields of a JSON file, and its keys that are left to their defaults."""
    check_keys(file, content, [item.key for item in keys] + list(inert))
    fields: dict[str, Any] = {}
    for item in keys:
        if item.key not in content:
            if item.default is _REQUIRED:
                raise InputError(f"{file}: {item.key} is missing; it is required")
            fields[item.field] = item.default
            continue
        try:
            fields[item.field] = item.convert(content[item.key])
        except _WrongTypeError as expected:
            got = json.dumps(content[item.key])
            raise InputError(f"{file}: {item.key} is {got}; it must be {expected}") from None
    return fields, tuple(item.key for item in keys if item.key not in content)


def _read_network(file: Path) -> tuple[Dimension, ...]:
    content = load_yaml_mapping(file)
    check_keys(file, content, [*_NETWORK_KEYS, *_SHAPE_KEYS])
    columns: dict[str, list[Any]] = {}
    for key, (field, convert, pattern, expected) in _NETWORK_KEYS.items():
        values = content.get(key)
        if not isinstance(values, list):
            problem = "is missing" if values is None else f"is {values}"
            raise InputError(f"{file}: {key} {problem}; it must be a list with one entry for each dimension")
        columns[field] = []
        for index, value in enumerate(values):
            if not isinstance(value, str) or not re.fullmatch(pattern, value, re.ASCII):
                raise InputError(f"{file}: {key}.{index} is {value!r}; it must be {expected}")
            columns[field].append(convert(value))
        if len(values) != len(columns["topology"]):
            raise InputError(
                f"{file}: {key} has {len(values)} entries and topology {len(columns['topology'])}; "
                "all lists must have one entry for each dimension"
            )
    columns |= _read_shapes(file, content, len(columns["topology"]))
    rows = zip(*columns.values(), strict=True)
    return tuple(Dimension(**dict(zip(columns, row, strict=True))) for row in rows)


def _read_shapes(file: Path, content: dict[str, Any], dimensions: int) -> dict[str, list[Any]]:
    """Return the columns of our own keys, with an entry for each dimension; a lone text stands for one.

    The file of a Graph is looked for next to network.yml.
    """
    columns: dict[str, list[Any]] = {"shape": [()] * dimensions, "routing": [""] * dimensions}
    columns |= {"file": [None] * dimensions, "routes": [None] * dimensions}
    for key in _SHAPE_KEYS:
        if key not in content:
            continue
        values = content[key] if isinstance(content[key], list) else [content[key]]
        if len(values) != dimensions:
            raise InputError(
                f"{file}: {key} has {len(values)} entries; it must have {dimensions}, one a dimension"
            )
        for index, value in enumerate(values):
            if key == "shape":
                sizes = value if isinstance(value, list) else None
                if sizes is None or not all(re.fullmatch(r"\d{1,9}", str(size), re.ASCII) for size in sizes):
                    raise InputError(
                        f"{file}: shape.{index} is {value}; it must be a list of integers, or []"
                    )
                columns[key][index] = tuple(int(size) for size in sizes)
            elif not isinstance(value, str):
                raise InputError(f"{file}: {key}.{index} is {value}; it must be a text")
            elif key == "routing":
                columns[key][index] = value
            elif value:
                columns[key][index] = str(file.parent / value)
    return columns


def _in_file(
    error: InvalidSystem,
    system_json: Path,
    network_yml: Path,
    remote_memory_json: Path | None,
    omitted: tuple[str, ...],
) -> InputError:
    """Return the error with the file and its key in the place of the field of the specification."""
    head, _, rest = error.path.partition(".")
    if head == "network":
        index, _, field = rest.partition(".")
        names = {field: key for key, (field, *_) in _NETWORK_KEYS.items()} | {key: key for key in _SHAPE_KEYS}
        key = f"{names[field]}.{index}" if field else "topology"
        return InputError(f"{network_yml}: {key} {error.problem}")
    if head == "remote_memory":
        names = {item.field: item.key for item in _REMOTE_MEMORY_KEYS}
        return InputError(f"{remote_memory_json}: {names[rest]} {error.problem}")
    if head == "inert":
        return InputError(f"{system_json}: {rest} {error.problem}")
    for item in _SYSTEM_KEYS:
        if error.path == item.field or error.path.startswith(f"{item.field}."):
            key = item.key + error.path.removeprefix(item.field)
            problem = error.problem.replace("is 0;", "is missing, so 0;") if key in omitted else error.problem
            return InputError(f"{system_json}: {key} {problem}")
    return InputError(f"{head} {error.problem}")


def _field(spec: SystemSpec, path: str) -> Any:
    head, _, rest = path.partition(".")
    return getattr(getattr(spec, head), rest) if rest else getattr(spec, head)


def _left_out(spec: SystemSpec, item: _Key, value: Any) -> bool:
    """Return whether the file that was read left the key to a default that still holds."""
    if item.key == "endpoint-delay" and spec.injection_scale != 1.0:
        return False  # a default would not be scaled
    return item.key in spec.omitted_keys and value == item.default


def _plain(value: Any) -> Any:
    """Return the value as files hold it: switches as 0 and 1, whole numbers without a fraction."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return list(value) if isinstance(value, tuple) else value

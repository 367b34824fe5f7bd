"""ASTRA-sim's configuration files (system.json, network.yml, remote_memory.json): reading and writing.

The engine reads them (engine/src/simulation/systems), for its stand-alone simulators too. It is strict
where the reference is silent or undefined: unknown keys, JSON booleans (it counts even `false` as on) and
missing keys that it would read as arbitrary values are errors. Defaults are the reference's. Two values are
normalised to what the reference makes of them: a fractional endpoint-delay is truncated, and a switch other
than 0 becomes 1. The reference applies the injection scale only to an endpoint-delay that the file states;
for a file without one the scale is stored as 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from dse.base.errors import InputError
from dse.base.files import read_bytes, write_files
from dse.base.lazy import _engine
from dse.inputs.systems.fields import (
    CollectiveAlgorithms,
    CustomCollectives,
    Dimension,
    RemoteMemory,
    is_synthesized,
)
from dse.inputs.systems.spec import SystemSpec
from dse.inputs.systems.validation import COLLECTIVES, INERT_KEYS, InvalidSystem

_REQUIRED: Any = object()


class _Key(NamedTuple):
    """A key of a JSON file, the field of the specification that it fills, and its type and default there."""

    key: str
    field: str
    convert: Callable[[Any], Any]
    default: Any


def _unchanged(value: Any) -> Any:
    return value


_SYSTEM_KEYS = (
    _Key("scheduling-policy", "scheduling_policy", _unchanged, _REQUIRED),
    _Key("endpoint-delay", "endpoint_delay_ns", int, 10),
    _Key("active-chunks-per-dimension", "active_chunks_per_dimension", _unchanged, 1),
    _Key("preferred-dataset-splits", "preferred_dataset_splits", _unchanged, _REQUIRED),
    _Key("collective-optimization", "collective_optimization", _unchanged, _REQUIRED),
    *(
        _Key(f"{name.replace('_', '-')}-implementation", f"collectives.{name}", tuple, ())
        for name in COLLECTIVES
    ),
    _Key("peak-perf", "peak_tflops", _unchanged, 0),
    _Key("local-mem-bw", "memory_bandwidth_gbps", _unchanged, 0),
    _Key("roofline-enabled", "roofline_enabled", bool, False),
    _Key("track-local-mem", "track_local_memory", bool, False),
    _Key("replay-only", "replay_only", bool, False),
    _Key("trace-enabled", "trace_enabled", bool, False),
    _Key("local-mem-trace-filename", "local_memory_trace_filename", _unchanged, "local_mem_trace"),
    _Key("model-shared-bus", "model_shared_bus", bool, False),
)
_REMOTE_MEMORY_KEYS = (
    _Key("memory-type", "memory_type", _unchanged, _REQUIRED),
    _Key("remote-mem-latency", "latency_ns", _unchanged, 0),
    _Key("remote-mem-bw", "bandwidth_bytes_per_ns", _unchanged, 0),
    _Key("num-nodes", "num_nodes", _unchanged, None),
    _Key("num-npus-per-node", "num_npus_per_node", _unchanged, None),
)
_FILE_NAMES = ("system.json", "network.yml", "remote_memory.json", "comm_group.json")
_NETWORK_KEYS = {  # key of network.yml -> field of Dimension
    "topology": "topology",
    "npus_count": "npus",
    "bandwidth": "bandwidth_gbps",
    "latency": "latency_ns",
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
            length, or breaks a rule; names file, key, what was got and what is allowed.
    """
    content, dimensions, remote_content = _engine.read_system_files(
        str(system_json), str(network_yml), None if remote_memory_json is None else str(remote_memory_json)
    )
    fields, omitted = _fields(content, _SYSTEM_KEYS)
    collectives = {name: fields.pop(f"collectives.{name}") for name in COLLECTIVES}
    remote_fields: dict[str, Any] = {}
    if remote_memory_json is not None:
        remote_fields, remote_omitted = _fields(remote_content, _REMOTE_MEMORY_KEYS)
        omitted += remote_omitted
    try:
        return SystemSpec(
            name=name,
            network=tuple(_dimension(*entry) for entry in dimensions),
            network_model=network_model,
            collectives=CollectiveAlgorithms(**collectives),
            queues_per_dimension=queues_per_dimension,
            rendezvous_protocol=rendezvous_protocol,
            injection_scale=1.0 if "endpoint-delay" in omitted else injection_scale,
            remote_memory=RemoteMemory(**remote_fields),
            inert=tuple((key, value) for key, value in content.items() if key in INERT_KEYS),
            omitted_keys=omitted,
            custom_collectives=_custom(content, system_json.parent),
            **fields,
        )
    except InvalidSystem as error:  # of an argument
        raise InputError(f"{error.path} {error.problem}") from None


def write_system(spec: SystemSpec, folder: Path) -> None:
    """Write the files of `system_files` into `folder`, which is made if need be.

    Raises:
        InputError: a file cannot be written, or as `system_files`.
    """
    write_files(folder, system_files(spec, folder).items())


def system_files(spec: SystemSpec, folder: Path) -> dict[str, bytes]:
    """Return system.json, network.yml and remote_memory.json, and files of graphs that are not in `folder`.

    Bandwidths keep ASTRA-sim's units, as in `read_system`.

    Raises:
        InputError: two files of graphs have the same name, one cannot be read, or the system has faults,
            deratings, types of NPUs, synthesised or custom collectives or the safe issue order, for which
            the files have no place.
    """
    if spec.custom_collectives is not None:
        raise InputError(
            "the system has custom collectives, whose traces are files elsewhere: run ASTRA-sim in "
            f"{spec.custom_collectives.folder}"
        )
    for key in ("faults", "deratings", "npu_types"):
        if getattr(spec, key):
            raise InputError(f"system.{key} is not empty, but ASTRA-sim's files have no place for it")
    if spec.issue_order == "safe":
        raise InputError(
            "system.issue_order is 'safe', but ASTRA-sim's files have no place for it: ASTRA-sim issues in "
            "the order of the ids; write system.issue_order=reference"
        )
    for key, names in vars(spec.collectives).items():
        made = [name for name in names if is_synthesized(name)]
        if made:
            raise InputError(
                f"system.collectives.{key} has '{made[0]}', which ASTRA-sim does not know; choose its own "
                "algorithms, such as ring, or write schedules as traces: dse synthesize ... export=[chakra]"
            )
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
        for key, field in _NETWORK_KEYS.items()
    }
    lines = [f"{key}: [{', '.join(map(str, values))}]\n" for key, values in network.items()]
    more, copied = _shape_lines(spec, folder)
    texts = {
        "system.json": json.dumps(system | dict(spec.inert), indent=2) + "\n",
        "network.yml": "".join([*lines, *more]),
        "remote_memory.json": json.dumps(remote_memory, indent=2) + "\n",
    }
    return {**copied, **{name: text.encode() for name, text in texts.items()}}


def _shape_lines(spec: SystemSpec, folder: Path) -> tuple[list[str], dict[str, bytes]]:
    """Return the lines of our own keys, if any is used, and the files of graphs that are copied for them."""
    lines: list[str] = []
    copied: dict[str, bytes] = {}
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
                copied[path.name] = read_bytes(path)
        if any(paths):
            names = ", ".join(json.dumps("" if path is None else path.name) for path in paths)
            lines.append(f"{key}: [{names}]\n")
    return lines, copied


def _custom(content: dict[str, Any], folder: Path) -> CustomCollectives | None:
    """Return the custom collectives of system.json, whose paths are below its folder, None without any."""
    keys = {name: f"{name.replace('_', '-')}-implementation-custom" for name in COLLECTIVES}
    prefixes = tuple((name, content[key][0]) for name, key in keys.items() if key in content)
    of_nodes = content.get("per-node-custom-implementation", "")
    return CustomCollectives(str(folder), prefixes, of_nodes) if prefixes or of_nodes else None


def _fields(content: dict[str, Any], keys: tuple[_Key, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the fields of a JSON file, and its keys that are left to their defaults."""
    fields = {
        item.field: item.convert(content[item.key]) if item.key in content else item.default for item in keys
    }
    return fields, tuple(item.key for item in keys if item.key not in content)


def _dimension(
    topology: str,
    npus: int,
    bandwidth_gbps: float,
    latency_ns: float,
    shape: list[int],
    routing: str,
    *files: str,
) -> Dimension:
    """Return a dimension from the entries of the engine; the two files are empty if there is none."""
    file, routes = (str(Path(name)) if name else None for name in files)
    return Dimension(topology, npus, bandwidth_gbps, latency_ns, tuple(shape), routing, file, routes)


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

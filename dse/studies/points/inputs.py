"""Models and systems as canonical JSON, and back: what keys are made of, and what a row is rebuilt from."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import typing
from pathlib import Path
from typing import Any, TypeVar

from dse.base.errors import InputError
from dse.base.files import read_bytes
from dse.base.records import MisfitError, converted, has_default, plain
from dse.inputs.models import ModelSpec, Repairs
from dse.inputs.systems import CollectiveAlgorithms, Derating, Dimension, LinkFault, RemoteMemory, SystemSpec
from dse.inputs.systems.fields import FILES_OF_DIMENSION
from dse.native import _engine

_UNUSED_KEYS = ("omitted_keys",)  # of a system: changes no result, only how files are written


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The fields that every specification of 0.2.0 wrote. Any other one is left out while it has its default, so
# that a new field changes no key of a point that does not use it, and stored points can still be rebuilt.
_ALWAYS_WRITTEN: dict[type, frozenset[str]] = {
    ModelSpec: _names(
        "name input_dim output_dim d_model d_ff num_heads seq_len batch_size num_layers num_kv_heads "
        "gated_mlp micro_batches fidelity repairs"
    ),
    Repairs: _names(
        "bytes_per_element multiply_add_as_two block_shapes output_projection nonlinear_operators loss "
        "embedding_lookup no_input_gradient optimizer_state consistent_sharding just_in_time_gathers "
        "shared_gathers contiguous_stages recompute"
    ),
    SystemSpec: _names(
        "name network collectives peak_tflops memory_bandwidth_gbps network_model scheduling_policy "
        "endpoint_delay_ns active_chunks_per_dimension preferred_dataset_splits collective_optimization "
        "roofline_enabled track_local_memory replay_only trace_enabled local_memory_trace_filename "
        "model_shared_bus queues_per_dimension rendezvous_protocol injection_scale remote_memory faults "
        "deratings inert omitted_keys"
    ),
    Dimension: _names("topology npus bandwidth_gbps latency_ns shape routing file routes"),
    LinkFault: _names("source destination removed bandwidth_factor latency_factor at_ns"),
    Derating: _names("npu compute_factor memory_factor"),
    CollectiveAlgorithms: _names("all_reduce all_gather reduce_scatter all_to_all"),
    RemoteMemory: _names("memory_type latency_ns bandwidth_bytes_per_ns num_nodes num_npus_per_node"),
}

_Spec = TypeVar("_Spec")


def canonical_json(value: Any) -> str:
    """Return the one JSON text of plain data: sorted keys, no blanks."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def model_json(model: ModelSpec) -> str:
    """Return a model as canonical JSON."""
    return canonical_json(plain(model, ModelSpec, _written))


def system_json(system: SystemSpec) -> str:
    """Return a system as canonical JSON, with the digest of its content next to the name of a file.

    Raises:
        InputError: a file cannot be read.
    """
    values = plain(system, SystemSpec, _written)
    for key in _UNUSED_KEYS:
        del values[key]
    for dimension in values["network"]:
        for key in FILES_OF_DIMENSION:
            if dimension[key] is not None:
                dimension[f"{key}_sha256"] = _file_digest(dimension[key])
    return canonical_json(values)


def model_of_json(text: str) -> ModelSpec:
    """Return the model that `model_json` wrote.

    Raises:
        InputError: the text is not that of a model of this version.
    """
    return _built(ModelSpec, _parsed(text, "model"), "model")


def system_of_json(text: str) -> SystemSpec:
    """Return the system that `system_json` wrote.

    Raises:
        InputError: the text is not that of a system of this version, or a file that it names has changed.
    """
    values = _parsed(text, "system")
    for dimension in values.get("network", []):
        for key in FILES_OF_DIMENSION:
            digest = dimension.pop(f"{key}_sha256", None)
            if digest is not None and digest != _file_digest(dimension[key]):
                raise InputError(
                    f"{dimension[key]} has changed since the point was stored: "
                    "restore the file, or sweep again"
                )
    return _built(SystemSpec, values, "system")


def files_of_json(text: str) -> list[tuple[str, str, str | None]]:
    """Return the files that a stored system names: path, digest when it was stored, and digest now.

    The last is None where the file cannot be read.
    """
    found: list[tuple[str, str, str | None]] = []
    for dimension in _parsed(text, "system").get("network") or []:
        for key in FILES_OF_DIMENSION:
            path, digest = dimension.get(key), dimension.get(f"{key}_sha256")
            if path is None or digest is None:
                continue
            try:
                found.append((path, digest, _file_digest(path)))
            except (InputError, OSError):
                found.append((path, digest, None))
    return found


def result_version() -> int:
    """Return the version of results, which is raised whenever a result may change.

    That of the package says what was released: a new text in the guide does not make results new.
    """
    return _engine.RESULT_VERSION


def engine_version() -> str:
    """Return the version of this package, as it is released."""
    from importlib.metadata import version

    return version("dse")


def _file_digest(path: str) -> str:
    return hashlib.sha256(read_bytes(Path(path))).hexdigest()


def _written(value: Any) -> list[str]:
    """The names of the fields that stand in the JSON of a specification; none that only informs people."""
    always = _ALWAYS_WRITTEN.get(type(value), frozenset())
    return [
        field.name
        for field in dataclasses.fields(value)
        if field.name in always or (field.compare and not has_default(value, field))
    ]


def _built(spec: type[_Spec], values: dict[str, Any], what: str) -> _Spec:
    try:
        return typing.cast(_Spec, converted(_frozen(values), spec, what))
    except MisfitError as error:
        raise InputError(f"a stored {what} is not one of this version ({error}): sweep again") from None


def _frozen(value: Any) -> Any:
    """Lists as tuples, also where a field takes any value."""
    if isinstance(value, dict):
        return {name: _frozen(entry) for name, entry in value.items()}
    return tuple([_frozen(entry) for entry in value]) if isinstance(value, list) else value


def _parsed(text: str, what: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except ValueError as error:
        raise InputError(f"a stored {what} is not JSON ({error}): sweep again") from None
    if not isinstance(values, dict):
        raise InputError(f"a stored {what} is not a JSON object: sweep again")
    return values

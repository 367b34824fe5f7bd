"""Keys of `dse partition`, and what their texts mean: lists, nodes by number or name, numbers with units."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from dse.base.errors import InputError, did_you_mean, excerpt
from dse.base.settings.values import Values, entries, number
from dse.base.units import parse_bytes
from dse.partition.graphs.graph import LARGEST
from dse.partition.graphs.sources.source import Source

D = TypeVar("D")
MOST = 10**15  # of whole numbers

GRAPH_KEYS = {
    "graph": "a file: .json, .graphml, .graph or .metis, .onnx, .et (Chakra), or torch:MODEL with MODEL one "
    "of two_branches, transformer, mixture, or FILE.py:FUNCTION",
    "model": "a model of conf/model instead, such as llama70b; model.KEY=VALUE changes it. On a cluster, "
    "with model.fidelity=realistic and pipeline_bottleneck, nodes are its layers and devices the stages of "
    "the predicted strategy.KEY=VALUE",
    "nodes": "operators (default), modules, or a number: parts of a module's name that tell modules apart",
    "dims": "sizes of symbolic dimensions of an ONNX file, such as {batch:8,seq:128}",
    "micro_batch": "samples of a micro-batch of a torch: model (default 8)",
}
DEVICE_KEYS = {
    "devices": "a system such as torus_4x4 or mine.yaml (system.KEY=VALUE changes it), a cluster of "
    "conf/cluster, a CSV topology, a CSV matrix, or a number of equal devices (default: those of a JSON "
    "graph)",
    "npus": "nodes of a CSV topology from this number on are switches, which hold nothing",
    "matrix": "what a CSV matrix holds: distance (default) or bandwidth, in GB/s",
    "speeds": "of the devices, such as [1,1,0.5]: a node takes weight / speed (default 1)",
    "memory": "of each device, a hard limit: 80GB, or a list (default: that of a system, else none)",
    "tflops": "10^12 operations per second of a device of speed 1 (default: that of a system, else 1)",
    "memory_gbps": "10^9 bytes per second of its memory (default: that of a system, else unlimited)",
}
WEIGHT_KEYS = {
    "weight": "of a node: time, parameters, flops or memory (default: time; sharding_cost parameters)",
    "optimizer": "what memory holds of parameters: none, sgd (2 copies) or adam (4, default)",
    "in_flight": "micro-batches whose activations are held (default 1; pipeline_bottleneck the devices, or "
    "as many as schedule and microbatches hold)",
}
SEARCH_KEYS = {
    "objective": "sharding_cost (default), pipeline_bottleneck, process_mapping or latency",
    "partitioner": "auto (default), fast or exact; several to compare: [fast,exact]",
    "compare": "partition.json of earlier runs to evaluate too, such as [a/partition.json,b/partition.json]",
    "imbalance": "a device may have (1 + imbalance) of the mean weight (process_mapping; default 0.03)",
    "pinned": "nodes, by number or name, to devices, such as {0:0,head:3}",
    "together": "groups of nodes that stay on one device, such as [[0,1],[4,5]]",
    "free_order": "true: stages may be on devices in any order (pipeline_bottleneck)",
    "time_limit": "seconds of a search at most; the answer says where they end one (default: auto 10 for a "
    "proof, else 30; fast 30; exact none)",
    "seed": "of everything random (default 0)",
    "restarts": "starts of a search that starts again (default: its own)",
}
STEP_KEYS = {
    "schedule": "of the pipeline whose step is simulated: 1f1b (default), gpipe or zb-h1",
    "microbatches": "of that step (default 8)",
    "replicas": "of the pipeline, each on an equal share of the devices, or of each stage, such as [2,1]; "
    "auto: those whose step is fastest (default 1; pipeline_bottleneck)",
}
OUTPUT_KEYS = {
    "format": "table (default), json, or csv: the devices; Parquet files are written by -o",
}
KEYS = {
    "graph": GRAPH_KEYS,
    "devices": DEVICE_KEYS,
    "weights and memory": WEIGHT_KEYS,
    "search": SEARCH_KEYS,
    "step": STEP_KEYS,
    "output": OUTPUT_KEYS,
}
GROUPS = ("model", "system", "strategy")


@dataclass(frozen=True)
class Arguments:
    """Values by key as texts, and overrides of model, system and strategy, such as system.nodes=8.

    A `source` is the graph where `graph` names no file.
    """

    values: Values
    model: Sequence[str] = ()
    system: Sequence[str] = ()
    strategy: Sequence[str] = ()
    source: Source | None = None


def question_of(values: Values, overrides: Sequence[str], source: Source | None = None) -> Arguments:
    """Return the arguments of a command line, where model=NAME is among the overrides.

    Raises:
        InputError: several models.
    """
    own = {name: [word for word in overrides if word.lstrip("+").startswith(f"{name}.")] for name in GROUPS}
    names = [word.partition("=")[2] for word in overrides if word.startswith("model=")]
    if len(names) > 1:
        raise InputError(f"model occurs twice, as '{names[0]}' and '{names[1]}'; write it once")
    return Arguments({**values, **({"model": names[0]} if names else {})}, **own, source=source)


def measure(values: Values, key: str, default: D, *, above: bool = False) -> float | D:
    """Return a number of a size that sums and quotients of a graph can hold: from 0, or above it.

    Raises:
        InputError: it is none.
    """
    if above:
        return number(values, key, default, above=0, least=1 / LARGEST, most=LARGEST)
    return number(values, key, default, most=LARGEST)


def _natural(text: str) -> int | None:
    """Return a whole number of at most 15 digits, None for other texts."""
    return int(text) if re.fullmatch(r"\d{1,15}", text.strip(), re.ASCII) else None


def sizes_of(text: str) -> dict[str, int]:
    """Return the sizes that a text such as {batch:8,seq:128} gives names."""
    found = {}
    for part in _braced(text):
        name, assigned, size = part.rpartition(":")
        number_of = _natural(size)
        if not assigned or not number_of:
            raise InputError(f"dims has '{excerpt(part)}'; it must be NAME:SIZE, as in dims={{batch:8}}")
        found[name.strip()] = number_of
    return found


def pinned_of(text: str, source: Source, devices: int) -> dict[int, int]:
    """Return the device of each node that a text such as {0:0,head:3} names.

    Raises:
        InputError: no such node or device, or one node on two devices.
    """
    found: dict[int, int] = {}
    for part in _braced(text):
        name, _, text_of = part.rpartition(":")
        device = _natural(text_of)
        if device is None or device >= devices:
            raise InputError(
                f"pinned has '{excerpt(part)}'; it must be NODE:DEVICE with devices 0 to {devices - 1}"
            )
        node = _node(name.strip(), "pinned", source)
        if found.setdefault(node, device) != device:
            raise InputError(
                f"pinned puts node '{excerpt(name.strip())}' on devices {found[node]} and {device}; write one"
            )
    return found


def together_of(text: str, source: Source) -> tuple[tuple[int, ...], ...]:
    """Return the groups of nodes that a text such as [[0,1],[4,5]] lists.

    Raises:
        InputError: no such node, or no list of lists.
    """
    groups = re.findall(r"\[([^\[\]]*)\]", text)
    if not groups or not re.fullmatch(r"\[(\s*\[[^\[\]]*\]\s*,?)+\s*\]", text):
        raise InputError(f"together is '{excerpt(text)}'; it must be groups of nodes, as in [[0,1],[4,5]]")
    return tuple(
        tuple(_node(name.strip(), "together", source) for name in group.split(",")) for group in groups
    )


def memory_of(text: str, devices: int) -> tuple[float, ...]:
    """Return the bytes of each device, from one size for all or a list."""
    sizes = [float(parse_bytes(part, "memory")) for part in entries("memory", text)]
    return _for_each("memory", sizes, devices)


def speeds_of(text: str, devices: int) -> tuple[float, ...]:
    """Return the speed of each device."""
    return _for_each(
        "speeds",
        [measure({"speeds": part}, "speeds", 1.0, above=True) for part in entries("speeds", text)],
        devices,
    )


def _for_each(key: str, found: list[float], devices: int) -> tuple[float, ...]:
    if len(found) == 1:
        return tuple(found * devices)
    if len(found) != devices:
        raise InputError(f"{key} has {len(found)} values, but there are {devices} devices")
    return tuple(found)


def _braced(text: str) -> list[str]:
    return [part for part in text.removeprefix("{").removesuffix("}").split(",") if part.strip()]


def _node(name: str, key: str, source: Source) -> int:
    names = [operator.name for operator in source.operators]
    named = [node for node, own in enumerate(names) if own == name]
    if len(named) > 1:
        some = ", ".join([*map(str, named[:4]), *(["…"] if len(named) > 4 else [])])
        raise InputError(
            f"{key} names node '{excerpt(name)}', but nodes {some} have that name; write a number"
        )
    if named:
        return named[0]
    node = _natural(name)
    if node is not None and node < len(names):
        return node
    raise InputError(
        f"{key} names node '{excerpt(name)}'; nodes are 0 to {len(names) - 1}, or their names"
        f"{did_you_mean(name, names)}"
    )

"""From texts of keys to a problem: the graph of a source, devices, what is balanced, and constraints."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dse.base.errors import InputError, excerpt
from dse.base.settings import check_choice
from dse.base.settings.values import Values, flag, one_of, whole
from dse.inputs.systems import SystemSpec
from dse.partition.graphs.graph import ModelGraph
from dse.partition.graphs.layers import Layers
from dse.partition.graphs.sources.source import (
    OPTIMIZERS,
    WEIGHTS,
    Rates,
    Source,
    by_module,
    model_graph,
    training_memory,
)
from dse.partition.problem import arguments as texts
from dse.partition.problem.arguments import Arguments
from dse.partition.problem.devices import Composed, asked_devices
from dse.partition.problem.problem import MOST_DEVICES, OBJECTIVES, Devices, PartitionProblem
from dse.partition.problem.replicas import (
    Layout,
    Replicas,
    joined,
    layout_of,
    micro_batches_of,
    most_in_flight,
    replicas_of,
    share_of,
)

_OF_OPERATORS = {
    *(
        "nodes",
        "dims",
        "micro_batch",
        "matrix",
        "npus",
        "speeds",
        "tflops",
        "memory_gbps",
        "weight",
        "optimizer",
    ),
    *("in_flight", "pinned", "together", "free_order", "schedule", "microbatches", "replicas"),
}
TIMED = ("pipeline_bottleneck", "latency")
_DEFAULT_TFLOPS = 1.0
_ALONE = Layout(1, (1,))


@dataclass(frozen=True)
class Asked:
    """A problem, where it came from, and `is_time`: whether weights are known to be nanoseconds.

    `layers` are those of a model whose step is predicted. Of several replicas the problem is that of one
    pipeline on its share of `everything`, with a device for all replicas of a stage; `layout` says which they
    are. With replicas=auto, `others` makes the question of other replicas.
    """

    problem: PartitionProblem
    source: Source
    is_time: bool
    system: SystemSpec | None = None
    notes: tuple[str, ...] = ()
    layers: Layers | None = None
    everything: Devices | None = None
    layout: Layout = _ALONE
    others: Callable[[Replicas], Asked] | None = None

    @property
    def replicas(self) -> Replicas:
        """How many replicas of the pipeline there are, or of each stage where these differ."""
        return self.layout.replicas


def asked_problems(arguments: Arguments, composed: Composed) -> list[Asked]:
    """Return the problem that the keys describe; with replicas=auto, one for each number of whole pipelines.

    Raises:
        InputError: a wrong value, a key without effect, a file that cannot be read, too many devices, or
            weights that are all 0.
    """
    values = arguments.values
    objective = one_of(values, "objective", OBJECTIVES)
    if (layers := _layers(arguments, composed, objective)) is not None:
        return [_of_layers(layers, values)]
    if arguments.strategy:
        raise InputError(
            f"{arguments.strategy[0]} has no effect here; strategies are of model=NAME with "
            "model.fidelity=realistic, devices=NAME of a cluster such as dgx_h100, and "
            "objective=pipeline_bottleneck"
        )
    source = source_of(arguments, composed)
    if arguments.system and "devices" not in values:
        raise InputError(f"{arguments.system[0]} has no effect without a system; write devices=NAME too")
    devices, rates, system = asked_devices(arguments, source, composed)
    _require_count(source, devices.count, objective)
    weight = _weight(values, source, objective)
    own_rates, notes = _rates(values, source, rates, weight)
    is_time = objective in TIMED or (source.weights is None and weight == "time")
    _refuse_foreign(values, objective)

    def of(replicas: Replicas) -> Asked:
        layout = layout_of(replicas, devices.count // replicas if isinstance(replicas, int) else 0)
        own = joined(share_of(devices, layout.pipelines), layout)
        graph = model_graph(source, weight, own_rates, _memory(values, source, objective, layout))
        _require_weights(source, graph.node_weights, objective, weight)
        _require_effects(values, source, graph, objective, is_time=is_time)
        problem = _problem(values, source, graph, own, objective)
        everything = devices if replicas != 1 else None
        found = Asked(problem, source, is_time, system, (*source.notes, *notes))
        return replace(found, everything=everything, layout=layout)

    found = [of(replicas) for replicas in replicas_of(values, devices)]
    return [replace(one, others=of) for one in found] if values.get("replicas") == "auto" else found


def _require_effects(
    values: Values, source: Source, graph: ModelGraph, objective: str, *, is_time: bool
) -> None:
    if "memory" in values and not graph.memory_bytes:
        raise InputError(
            f"memory={values['memory']} has no effect on {source.name}, whose nodes need no memory"
        )
    if "speeds" in values and not (is_time or {"schedule", "microbatches"} & values.keys()):
        raise InputError(
            f"speeds={values['speeds']} has no effect on objective={objective} of weights that are no times"
        )


def _problem(
    values: Values, source: Source, graph: ModelGraph, devices: Devices, objective: str
) -> PartitionProblem:
    return PartitionProblem(
        graph,
        devices if graph.memory_bytes else replace(devices, memory_bytes=()),
        objective,
        texts.pinned_of(values.get("pinned", ""), source, devices.count),
        (*source.together, *(texts.together_of(values["together"], source) if "together" in values else ())),
        texts.measure(values, "imbalance", 0.03),
        flag(values, "free_order"),
    )


def _layers(arguments: Arguments, composed: Composed, objective: str) -> Layers | None:
    """Return the layers of a model whose step is predicted, None where nodes are operators."""
    values = arguments.values
    name = values.get("devices", "")
    is_named = re.fullmatch(r"[-+\d.]+(e[-+]?\d+)?|.*\.csv|.*=.*|", name, re.ASCII | re.IGNORECASE) is None
    if objective != "pipeline_bottleneck" or "model" not in values or not is_named:
        return None
    if "graph" in values or composed.cluster(name) is not None:
        return None
    words = [f"model={values['model']}", *arguments.model, f"system={name}", *arguments.system]
    return composed.layers([*words, *arguments.strategy])


def _of_layers(layers: Layers, values: Values) -> Asked:
    for key in values.keys() & _OF_OPERATORS:
        raise InputError(
            f"{key}={values[key]} has no effect on a model whose step is predicted; its layers and their "
            "times follow from model.KEY=VALUE and strategy.KEY=VALUE"
        )
    if "memory" in values:
        layers = replace(layers, memory_bytes=texts.memory_of(values["memory"], 1)[0])
    source = layers.source
    graph = model_graph(source, "time", Rates(1.0), ())
    problem = PartitionProblem(graph, layers.devices, "pipeline_bottleneck")
    _refuse_foreign(values, problem.objective)
    return Asked(problem, source, is_time=True, layers=layers)


def _require_count(source: Source, devices: int, objective: str) -> None:
    if devices > MOST_DEVICES:
        raise InputError(f"there are {devices} devices; at most {MOST_DEVICES} can be partitioned over")
    nodes = len(source.operators)
    if objective == "sharding_cost" and nodes < devices:
        raise InputError(
            f"{source.name} has {nodes} nodes for {devices} devices, each of which gets one under "
            f"objective=sharding_cost; take at most {nodes} devices, or another objective"
        )


def _require_weights(source: Source, weights: Sequence[float], objective: str, weight: str) -> None:
    if any(weights):
        return
    if source.weights is None:
        others = ", ".join(other for other in WEIGHTS if other != weight)
        raise InputError(
            f"{source.name}: weight={weight} is 0 for every node, so that nothing can be balanced; "
            + (
                f"write weight={others.replace(', ', ' or ')}"
                if objective not in TIMED
                else "no node takes time"
            )
        )
    if objective in TIMED:
        raise InputError(
            f"{source.name}: every weight is 0, so that objective={objective} has no time to minimise"
        )


def source_of(arguments: Arguments, composed: Composed) -> Source:
    """Return the graph of `graph` or `model`.

    Raises:
        InputError: neither or both, a file that cannot be read, or keys that it has no use for.
    """
    values = arguments.values
    if ("graph" in values) == ("model" in values):
        raise InputError("write one of graph=FILE and model=NAME" if "graph" in values else _NO_GRAPH)
    if "model" not in values and arguments.model:
        raise InputError(f"{arguments.model[0]} has no effect without model=NAME")
    name = values.get("graph", "")
    suffix = Path(name).suffix.lower()
    is_torch = name.startswith("torch:")
    for key, has_effect in (("dims", suffix == ".onnx"), ("micro_batch", is_torch)):
        if key in values and not has_effect:
            of = "an ONNX file" if key == "dims" else "graph=torch:MODEL"
            raise InputError(f"{key}={values[key]} has no effect on {name or 'a model'}; it is for {of}")
    if "model" in values:
        from dse.partition.graphs.sources.chakra import model_source

        source = model_source(composed.model([f"model={values['model']}", *arguments.model]))
    elif is_torch:
        from dse.partition.graphs.sources.torch_graph import MICRO_BATCH, read_torch

        size = whole(values, "micro_batch", MICRO_BATCH, least=1, most=texts.MOST)
        source = read_torch(name.removeprefix("torch:"), size)
    else:
        source = arguments.source or _file(Path(name), suffix, values)
    nodes = values.get("nodes", "operators")
    if nodes == "operators":
        return source
    if nodes != "modules" and not re.fullmatch(r"[1-9]\d{0,3}", nodes, re.ASCII):
        raise InputError(f"nodes is '{excerpt(nodes)}'; it must be operators, modules, or a number from 1")
    return by_module(source, None if nodes == "modules" else int(nodes))


_NO_GRAPH = (
    "graph is missing; write graph=FILE (.json, .graphml, .graph, .onnx, .et, torch:MODEL) or model=NAME"
)


def _file(path: Path, suffix: str, values: Values) -> Source:
    if suffix == ".json":
        from dse.partition.graphs.sources.json_graph import read_json_graph

        return read_json_graph(path)
    if suffix == ".graphml":
        from dse.partition.graphs.sources.graphml import read_graphml

        return read_graphml(path)
    if suffix in (".graph", ".metis"):
        from dse.partition.graphs.sources.metis import read_metis

        return read_metis(path)
    if suffix == ".onnx":
        from dse.partition.graphs.sources.onnx_file import read_onnx

        return read_onnx(path, texts.sizes_of(values.get("dims", "")))
    if suffix == ".et":
        from dse.partition.graphs.sources.chakra import read_chakra

        return read_chakra(path)
    raise InputError(
        f"graph is '{excerpt(str(path))}'; it must end in .json, .graphml, .graph, .metis, .onnx or .et, or "
        "be torch:MODEL"
    )


def _weight(values: Values, source: Source, objective: str) -> str:
    default = "parameters" if objective == "sharding_cost" else "time"
    weight = values.get("weight", default)
    check_choice("weight", weight, WEIGHTS)
    if source.weights is not None and "weight" in values:
        raise InputError(f"weight={weight} has no effect on {source.name}, whose weights are given")
    if objective in TIMED and weight != "time":
        raise InputError(f"weight={weight} has no effect on objective={objective}, which is about time")
    return weight


def _rates(values: Values, source: Source, rates: Rates | None, weight: str) -> tuple[Rates, list[str]]:
    needed = source.weights is None and weight == "time"
    for key in ("tflops", "memory_gbps"):
        if key in values and not needed:
            raise InputError(f"{key}={values[key]} has no effect here; it is for weights that are times")
    own = rates or Rates(_DEFAULT_TFLOPS * 1e3)
    tflops = texts.measure(values, "tflops", None, above=True)
    if needed and rates is None and tflops is None and any(operator.flops for operator in source.operators):
        notes = [f"a device does {_DEFAULT_TFLOPS:g} TFLOPS; write tflops=N for yours"]
    else:
        notes = []
    flops_per_ns = own.flops_per_ns if tflops is None else 1e3 * tflops
    return Rates(flops_per_ns, texts.measure(values, "memory_gbps", own.bytes_per_ns, above=True)), notes


def _memory(values: Values, source: Source, objective: str, layout: Layout) -> Sequence[float]:
    for key in ("optimizer", "in_flight"):
        if key in values and source.memory_bytes is not None:
            raise InputError(f"{key}={values[key]} has no effect on {source.name}, whose memory is given")
    optimizer = values.get("optimizer", "adam")
    check_choice("optimizer", optimizer, tuple(OPTIMIZERS))
    stages = replace(layout, each=layout.each[: max(1, len(source.operators))])
    has_step = {"schedule", "microbatches"} & values.keys()
    schedule = values.get("schedule", "1f1b") if has_step else None
    held = most_in_flight(stages, schedule, micro_batches_of(values))
    default = held if objective == "pipeline_bottleneck" else 1
    return training_memory(source, optimizer, whole(values, "in_flight", default, most=texts.MOST))


def _refuse_foreign(values: Values, objective: str) -> None:
    for key, of in (
        ("imbalance", "process_mapping"),
        ("free_order", "pipeline_bottleneck"),
        ("replicas", "pipeline_bottleneck"),
    ):
        if key in values and objective != of:
            raise InputError(f"{key}={values[key]} has no effect on objective={objective}; it is for {of}")

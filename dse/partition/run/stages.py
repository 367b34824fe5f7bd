"""A partition as stages of torch.distributed.pipelining: nodes in the order of stages, a cut between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.lazy import torch
from dse.base.plain_data import load_json_object
from dse.partition.graphs.sources.torch_graph import is_operator, maker_of
from dse.partition.graphs.steps import stage_order
from dse.partition.problem.replicas import Replicas


def read_placement(path: Path) -> tuple[dict[str, int], Replicas]:
    """Return the device of each operator, and the replicas, of the partition.json of a `graph=torch:MODEL`.

    Replicas of stages are those of the devices that have operators.

    Raises:
        InputError: the file has none.
    """
    stored = load_json_object(path)
    found, replicas = stored.get("operators"), stored.get("replicas", 1)
    is_placement = isinstance(found, dict) and all(type(one) is int and one >= 0 for one in found.values())
    if not found or not is_placement:
        raise InputError(
            f"{path}: has no operators with devices; make it with dse partition graph=torch:MODEL -o"
        )
    used, each = sorted(set(found.values())), replicas if isinstance(replicas, list) else [replicas]
    if any(type(one) is not int or one < 1 for one in each) or (each is replicas and max(used) >= len(each)):
        raise InputError(
            f"{path}: replicas is {excerpt(repr(replicas))}; it must be a number from 1, or a list of them, "
            "one for each device"
        )
    return found, tuple(each[device] for device in used) if each is replicas else each[0]


def labels_of(placement: Mapping[str, int], operators: Sequence[str]) -> list[int]:
    """Return the device of each operator of a model.

    Raises:
        InputError: the placement is of another model.
    """
    for name in operators:
        if name not in placement:
            raise InputError(
                f"the partition has no device for the operator {excerpt(name)}; it is of another model, "
                "or not of graph=torch:MODEL"
            )
    return [placement[name] for name in operators]


def stages_of(traced: Any, placement: Mapping[str, int]) -> dict[str, int]:
    """Return the stage of each operator of a traced module: devices in the order of the forward pass.

    Raises:
        InputError: the placement is of another model, devices wait for each other, or share a parameter.
    """
    calls = [node for node in traced.graph.nodes if is_operator(node)]
    number_of = {node: number for number, node in enumerate(calls)}
    labels = labels_of(placement, [node.name for node in calls])
    edges = [
        (number_of[maker_of(value)], number)
        for number, node in enumerate(calls)
        for value in node.all_input_nodes
        if maker_of(value) in number_of
    ]
    order = stage_order(edges, labels)
    stage = {node.name: order.index(label) for node, label in zip(calls, labels, strict=True)}
    _check_parameters(calls, stage)
    return stage


def split(traced: Any, stage: Mapping[str, int], *, relay: bool = False) -> Any:
    """Return the traced module with its nodes in the order of stages, and a cut between two stages.

    What crosses is copied, once for each stage that it goes to: pipelining sends a value to one stage only,
    and wants it contiguous. With `relay` a value goes from stage to stage rather than past some. What
    the model returns leaves from the last stage. A stage changes copies of what it receives.
    """
    from torch.distributed.pipelining._IR import aten_pipe_split_alias

    last = max(stage.values())
    own = {node: _stage(node, stage) for node in traced.graph.nodes}
    new = torch.fx.Graph()
    copied: dict[Any, Any] = {}
    crossing: dict[tuple[Any, int], Any] = {}
    for node in traced.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            copied[node] = new.node_copy(node)
    wanted = _destinations(traced.graph, own, last)

    def send(node: Any, place: int, value: Any) -> None:
        later = sorted(other for other in wanted.get(node, ()) if other > place)
        if relay and later:
            crossing[node, place + 1] = _copied(new, value, node)
        elif own[node] == place:
            crossing.update({(node, other): _copied(new, value, node) for other in later})

    for place in range(last + 1):
        if place:
            new.call_function(aten_pipe_split_alias, (), {})
        nodes = [n for n in traced.graph.nodes if own[n] == place and n.op == "call_function"]
        known = {node: crossing.get((node, place), made) for node, made in copied.items()}
        for node in wanted:
            if node in known and (own[node] < place or node.op == "placeholder"):
                send(node, place, known[node])
        for node in _received(nodes, own, place):
            known[node] = _copied(new, known[node], node)
        for node in nodes:
            known[node] = copied[node] = new.node_copy(node, known.__getitem__)
            send(node, place, known[node])  # at once: later operators may change it
    _flatten(new)
    output = next(node for node in traced.graph.nodes if node.op == "output")
    new.node_copy(output, lambda node: crossing.get((node, last), copied[node]))
    traced.graph = new
    traced.recompile()
    return traced


def _flatten(graph: Any) -> None:
    """Make all nodes those of the model itself: in another order, calls of its modules are not whole."""
    calls = [node for node in graph.nodes if node.op == "call_function"]
    stacks = filter(None, (node.meta.get("nn_module_stack") for node in calls))
    root = dict([next(iter(stack.items())) for stack in stacks][:1])
    for node in calls:
        node.meta["nn_module_stack"] = root


def _stage(node: Any, stage: Mapping[str, int]) -> int:
    if node.op == "call_function":
        return stage[maker_of(node).name]
    return max(stage.values()) if node.op == "output" else 0


def _destinations(graph: Any, own: Mapping[Any, int], last: int) -> dict[Any, set[int]]:
    """The other stages at which each value is used."""
    wanted: dict[Any, set[int]] = {}
    for node in graph.nodes:
        place = last if node.op == "output" else own[node]
        for value in node.all_input_nodes:
            if value.op != "get_attr" and own[value] != place:
                wanted.setdefault(value, set()).add(place)
    return wanted


def _received(nodes: Sequence[Any], own: Mapping[Any, int], place: int) -> list[Any]:
    """The values of other stages, and inputs, that operators of a stage write to.

    They want gradients, so that only a copy can be changed.
    """
    found: dict[Any, None] = {}
    for node in nodes:
        arguments = getattr(getattr(node.target, "_schema", None), "arguments", ())
        for of, value in zip(arguments, node.args, strict=False):
            if of.is_write and hasattr(value, "op") and value.op != "get_attr":
                while own[value] == place and getattr(value.target, "is_view", False):
                    value = value.args[0]
                if value.op == "placeholder" or own[value] != place:
                    found[value] = None
    return [*found]


def _copied(graph: Any, value: Any, node: Any) -> Any:
    made = node.meta["val"]
    copy = graph.call_function(
        torch.ops.aten.clone.default, (value,), {"memory_format": torch.contiguous_format}
    )
    copy.meta["val"] = torch.empty_like(made, memory_format=torch.contiguous_format)
    return copy


def _check_parameters(calls: list[Any], stage: Mapping[str, int]) -> None:
    where: dict[str, tuple[str, int]] = {}
    for node in calls:
        for value in node.all_input_nodes:
            if value.op != "get_attr":
                continue
            name, place = where.setdefault(str(value.target), (node.name, stage[node.name]))
            if place != stage[node.name]:
                raise InputError(
                    f"the parameter {value.target} is used by {name} and {node.name}, which are on different "
                    "devices; put them together"
                )

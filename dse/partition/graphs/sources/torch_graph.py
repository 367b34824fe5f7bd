"""Models of PyTorch as graphs: the operators that torch.export finds, their work and their modules."""

from __future__ import annotations

import operator as python_operator
from collections.abc import Iterator
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.lazy import torch
from dse.partition.graphs.sources.source import Operator, Source
from dse.partition.graphs.sources.torch_models import failure_of, task_named
from dse.partition.graphs.sources.training_task import TrainingTask

MICRO_BATCH = 8
_SHOWN = 4


def read_torch(name: str, micro_batch: int = MICRO_BATCH) -> Source:
    """Return the graph of a model (see `task_named`) for micro-batches of so many samples."""
    return torch_source(name, exported(task_named(name), micro_batch))


def exported(task: TrainingTask, micro_batch: int) -> Any:
    """Return the torch.fx graph module of a task.

    Raises:
        InputError: `sample` fails, or torch.export cannot trace the model; says why in its words.
    """
    try:
        inputs, _ = task.sample(torch.Generator().manual_seed(0), micro_batch)
    except Exception as error:
        raise InputError(f"sample(generator, {micro_batch}) of the model: {failure_of(error)}") from error
    if not isinstance(inputs, tuple):
        raise InputError(f"sample of the model gives {excerpt(repr(inputs))} as inputs; it must be a tuple")
    try:
        return torch.export.export(task.module, inputs, strict=False).module(check_guards=False)
    except Exception as error:  # whatever tracing finds
        words = " ".join(str(error).split())
        raise InputError(f"torch.export cannot trace the model: {excerpt(words, 300)}") from None


def torch_source(name: str, traced: Any) -> Source:
    """Return the graph of a traced module: a node for each call and what takes its results apart."""
    calls = [node for node in traced.graph.nodes if is_operator(node)]
    number_of = {node: number for number, node in enumerate(calls)}
    tensors: dict[Any, int] = {}
    edges, sizes, numbers = [], [], []
    counted: set[str] = set()
    operators = []
    for number, node in enumerate(calls):
        for value in node.all_input_nodes:
            maker = maker_of(value)
            if maker in number_of and number_of[maker] != number:
                edges.append((number_of[maker], number))
                sizes.append(_bytes(value))
                numbers.append(tensors.setdefault(value, len(tensors)))
        operators.append(_operator(node, traced, counted))
    together = _sharing(calls, traced)
    notes = [
        f"{', '.join(operators[number].name for number in group[:_SHOWN])} share a parameter and stay on one "
        "device; a pipeline keeps all that lies between them there, too"
        for group in together
    ]
    return Source(
        name,
        tuple(operators),
        tuple(edges),
        tuple(sizes),
        tuple(numbers),
        together=together,
        notes=tuple(notes[:_SHOWN]),
    )


def _sharing(calls: list[Any], traced: Any) -> tuple[tuple[int, ...], ...]:
    """Operators that use the same parameter: it can live on one device only."""
    users: dict[str, list[int]] = {}
    for number, node in enumerate(calls):
        for value in node.all_input_nodes:
            if value.op == "get_attr" and _is_parameter(traced, value.target):
                users.setdefault(value.target, []).append(number)
    return tuple(tuple(group) for group in users.values() if len(group) > 1)


def is_operator(node: Any) -> bool:
    """Whether a node of a torch.fx graph computes something."""
    return node.op == "call_function" and node.target is not python_operator.getitem


def maker_of(node: Any) -> Any:
    """Return the operator that makes a value: the value itself, or what it is taken from."""
    while node.op == "call_function" and node.target is python_operator.getitem:
        node = node.args[0]
    return node


def _operator(node: Any, traced: Any, counted: set[str]) -> Operator:
    weights = [value for value in node.all_input_nodes if value.op == "get_attr"]
    own = [value for value in weights if value.target not in counted and _is_parameter(traced, value.target)]
    counted |= {value.target for value in own}
    made = _bytes(node)
    return Operator(
        node.name,
        _module(node),
        _flops(node),
        sum(map(_bytes, node.all_input_nodes)) + made,
        float(sum(_elements(traced, value.target) for value in own)),
        float(sum(_elements(traced, value.target) * _width(traced, value.target) for value in own)),
        0.0 if _is_view(node) else made,
    )


def _module(node: Any) -> str:
    """The innermost module that a node belongs to."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = stack[-1][0] if stack else ""
    return str(path).removeprefix("L['self'].").removeprefix("L['self']")


def _values(node: Any) -> Iterator[Any]:
    value = node.meta.get("val")
    parts = value if isinstance(value, list | tuple) else [value]
    yield from (part for part in parts if hasattr(part, "shape"))


def _bytes(node: Any) -> float:
    return float(sum(part.numel() * part.element_size() for part in _values(node)))


def _is_view(node: Any) -> bool:
    return bool(getattr(node.target, "is_view", False))


def _attribute(traced: Any, target: str) -> Any:
    found = traced
    for part in target.split("."):
        found = getattr(found, part)
    return found


def _is_parameter(traced: Any, target: str) -> bool:
    return isinstance(_attribute(traced, target), torch.nn.Parameter)


def _elements(traced: Any, target: str) -> int:
    return int(_attribute(traced, target).numel())


def _width(traced: Any, target: str) -> int:
    return int(_attribute(traced, target).element_size())


def _flops(node: Any) -> float:
    """Operations of the forward pass, a multiply-add as two; products are exact, others one an element."""
    name = str(node.target).removeprefix("aten.").partition(".")[0]
    if _is_view(node) or name in _FREE or not any(map(_bytes, node.all_input_nodes)):
        return 0.0
    made = sum(part.numel() for part in _values(node))
    return float(_products(node) or made * _FOR_EACH.get(name, 1))


def _products(node: Any) -> int:
    """Return the operations of all products in a call, such as those of an LSTM: PyTorch counts them."""
    from torch.fx import map_arg
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        try:
            node.target(*map_arg(node.args, _without_data), **map_arg(node.kwargs, _without_data))
        except Exception:  # whatever an operator that needs data raises
            return 0
    return int(counter.get_total_flops())


def _without_data(node: Any) -> Any:
    def empty(value: Any) -> Any:
        return torch.empty_like(value, device="meta") if isinstance(value, torch.Tensor) else value

    value = node.meta["val"]
    return type(value)(map(empty, value)) if isinstance(value, list | tuple) else empty(value)


_FREE = {"embedding", "reshape", "clone", "contiguous", "cat", "stack", "to", "dropout", "alias", "unbind"}
_FOR_EACH = {"layer_norm": 8, "batch_norm": 2, "softmax": 5, "gelu": 8, "tanh": 5, "sigmoid": 4}

"""Orders of the parallel axes: those that a framework has by itself, and host files for the others.

The rank of an NPU is i0 + n0 (i1 + n1 (i2 + ...)) over the axes of an order, the innermost first. An order
that a framework lacks becomes a permutation: each of its ranks starts on the slot that is wanted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from dse.base.errors import InputError, excerpt, unknown
from dse.prediction.steps.checks import order_axes
from dse.prediction.steps.plan import Plan

_MEGATRON = ("tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp")
_MESH = ("tp-cp-ep-dp-pp",)
_BY_FRAMEWORK = {
    "megatron-lm": _MEGATRON,
    "megatron-bridge": _MEGATRON,
    "torchtitan": _MESH,
    "deepspeed": _MESH,
    "accelerate": _MESH,
    "maxtext": ("ep-tp-cp-dp-pp", "ep-tp-cp-pp-dp"),  # fsdp, and data with stages inside of it
}
"""The orders of each framework; its default first."""

_MOST_HOST = 253


def orders_of(framework: str) -> tuple[str, ...]:
    """Return the orders that a framework runs by itself, its default first.

    Raises:
        InputError: the framework is unknown.
    """
    if framework not in _BY_FRAMEWORK:
        allowed = f"allowed are {', '.join(_BY_FRAMEWORK)}"
        raise InputError(unknown(f"framework is '{excerpt(framework)}'", framework, _BY_FRAMEWORK, allowed))
    return _BY_FRAMEWORK[framework]


def own_order(framework: str, order: str, degrees: Mapping[str, int]) -> str | None:
    """Return the order of the framework that puts every rank where `order` does; None if none does.

    Axes of degree 1 stand anywhere.
    """
    wanted = _present(order, degrees)
    return next((own for own in orders_of(framework) if _present(own, degrees) == wanted), None)


def strides(order: str, degrees: Mapping[str, int]) -> dict[str, int]:
    """Return the distance of neighbours along each axis, in ranks.

    `degrees` are tp, cp, ep, dp and pp; absent ones are 1. Experts divide data parallelism: dp is their
    number of copies, so that the product is the number of NPUs.

    Raises:
        InputError: the order lacks an axis, or a degree is below 1.
    """
    found, stride = {}, 1
    for axis in order_axes(order):
        degree = degrees.get(axis, 1)
        if degree < 1:
            raise InputError(f"{axis} is {degree}; it must be at least 1")
        found[axis] = stride
        stride *= degree
    return found


def slots(wanted: str, own: str, degrees: Mapping[str, int]) -> tuple[int, ...]:
    """Return the NPU on which each rank of the order `own` must run to make NPUs those of `wanted`."""
    here, there = strides(own, degrees), strides(wanted, degrees)
    pairs = [(here[axis], degrees.get(axis, 1), there[axis]) for axis in here]
    return tuple(
        sum(rank // stride % degree * place for stride, degree, place in pairs)
        for rank in range(math.prod(degrees.values()))
    )


def degrees_of(plan: Plan) -> dict[str, int]:
    """Return the degrees of the axes of a plan's order; `dp` is the copies of experts."""
    ep = plan.ep if plan.dp % plan.ep == 0 else 1
    return {"tp": plan.tp, "cp": plan.cp, "ep": ep, "dp": plan.dp // ep, "pp": plan.pp}


def order_on_nodes(own: str, nodes: Sequence[int], degrees: Mapping[str, int]) -> str | None:
    """Return the order of axes that ranks of the order `own` get on these nodes, one a rank; None if none is.

    Of orders that fill nodes alike, the one of the framework comes first, then those of other frameworks.
    """
    per_node = len(nodes) // len(set(nodes))
    known = [own, *(order for orders in _BY_FRAMEWORK.values() for order in orders)]
    all_orders = map("-".join, itertools.permutations(order_axes(own)))
    tried = set()
    for order in (*known, *all_orders):
        present = _present(order, degrees)
        if present in tried:
            continue
        tried.add(present)
        if all(
            slot // per_node == node for slot, node in zip(slots(order, own, degrees), nodes, strict=True)
        ):
            return order
    return None


def node_names(nodes: int, hosts: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names of nodes, placeholders NODE0, NODE1, ... where none are given.

    Raises:
        InputError: there are too few or too many names, or one is none of a host.
    """
    if not hosts:
        return tuple(f"NODE{node}" for node in range(nodes))
    if len(hosts) != nodes:
        raise InputError(f"hosts has {len(hosts)} names; it must have {nodes}, one a node")
    for name in hosts:
        plain = name.replace("-", "").replace(".", "").replace("_", "")
        if not (plain.isascii() and plain.isalnum() and name[0].isalnum() and len(name) <= _MOST_HOST):
            raise InputError(
                f"hosts has '{excerpt(name)}'; a name has letters, digits, dots, - and _, and no port"
            )
    return tuple(hosts)


def host_file(slot_of_rank: Sequence[int], per_node: int, hosts: Sequence[str] = ()) -> str:
    """Return a line for each rank, in their order: the host of its slot; slots fill nodes one by one."""
    names = node_names(-(-len(slot_of_rank) // per_node), hosts)
    return "".join(f"{names[slot // per_node]}\n" for slot in slot_of_rank)


def node_order(slot_of_rank: Sequence[int], per_node: int) -> tuple[int, ...] | None:
    """Return the node of each run of `per_node` ranks; None if such a run is spread over nodes.

    Launchers that start a node at a time can keep no other order. Ranks within a node keep none, as all of
    its NPUs are joined alike.
    """
    nodes = [slot // per_node for slot in slot_of_rank]
    runs = [nodes[first : first + per_node] for first in range(0, len(nodes), per_node)]
    if any(len(set(run)) > 1 for run in runs):
        return None
    return tuple(run[0] for run in runs)


def _present(order: str, degrees: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(axis for axis in order_axes(order) if degrees.get(axis, 1) > 1)

"""Networks by name, as BEAN TACOS's command line has them: `torus__dim=[4,4]__alpha=500__beta=50`."""

from __future__ import annotations

import ast
import itertools
import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from dse.base.cancellation import NEVER, Deadline
from dse.base.errors import InputError, did_you_mean, excerpt
from dse.base.lazy import NDArray, np
from dse.base.numbers import exact_decimal
from dse.inputs.networks.csv import require_links
from dse.inputs.networks.generated import MOST_NODES, check_links, generated_pairs
from dse.inputs.networks.graph import LinkGraph, LinkKind

Pairs: TypeAlias = "NDArray[np.int64]"  # of nodes, shape (pairs, 2)

_MOST_DIMENSIONS = 32
_COMMON = ("alpha", "beta", "alpha2", "beta2", "proportion", "seed")


@dataclass(frozen=True)
class NamedNetwork:
    """A graph, and the sizes of its dimensions (the first varies fastest); () where it has none."""

    graph: LinkGraph
    sizes: tuple[int, ...]


def is_named(text: str) -> bool:
    """Whether a text is the name of a network rather than that of a file."""
    family = text.partition("__")[0]
    return "__" in text and (family in _FAMILIES or family.startswith("nx_"))


def named_network(name: str, deadline: Deadline = NEVER) -> NamedNetwork:
    """Return the network of a name: a family, then `__key=value` for each argument.

    `grid__dim=[4,4]`, `torus__dim=[4,4]`, `fc__n=8`, `ring__dim=[5]__slow=0.1` (the link that closes the ring
    has that share of the bandwidth, both ways), `tree__r=2__h=3` (r children, h levels below the root), and
    `nx_GENERATOR__arg=value` with a graph generator of networkx. All links lead both ways. `alpha` is their
    latency in ns (0), `beta` the bandwidth in GB/s (1). A `proportion` of them, drawn with `seed` (0), has
    `alpha2` and `beta2` instead.

    Raises:
        InputError: an unknown family or argument, a value that is none, too many nodes or links, an NPU
            without links, or a graph of networkx that is not made by the deadline.
    """
    family, *rest = name.split("__")
    name = excerpt(name, 100)  # as messages show it
    arguments = dict(_argument(name, part) for part in rest)
    common = {key: arguments.pop(key) for key in _COMMON[:5] if key in arguments}
    if not family.startswith("nx_") and "seed" in arguments:
        common["seed"] = arguments.pop("seed")
    links = _links(name, family, arguments, deadline)
    graph = _graph(name, links, common)
    require_links(graph, name)
    return NamedNetwork(graph, links.sizes)


@dataclass(frozen=True)
class _Links:
    """Pairs of nodes that are linked both ways; `slow` is the share of the bandwidth of the last pair."""

    nodes: int
    pairs: Pairs
    sizes: tuple[int, ...] = ()
    slow: Fraction = Fraction(1)


def _argument(name: str, part: str) -> tuple[str, str]:
    key, assigned, value = part.partition("=")
    if not re.fullmatch(r"[A-Za-z_]\w*", key) or not assigned:
        raise InputError(f"topology '{name}': '{excerpt(part)}' must be an argument, such as dim=[4,4]")
    return key, value


def _links(name: str, family: str, arguments: dict[str, str], deadline: Deadline) -> _Links:
    if family.startswith("nx_"):
        return _Links(*generated_pairs(name, family.removeprefix("nx_"), arguments, deadline))
    if family not in _FAMILIES:
        raise InputError(
            f"topology '{name}' begins with '{excerpt(family)}'; allowed are {', '.join(_FAMILIES)}, "
            f"nx_GENERATOR{did_you_mean(family, [*_FAMILIES])}"
        )
    make, required, optional = _FAMILIES[family]
    for key in arguments:
        if key not in (*required, *optional):
            known = (*required, *optional, *_COMMON)
            raise InputError(
                f"topology '{name}': {family} has no argument {excerpt(key)}; allowed are {', '.join(known)}"
                f"{did_you_mean(key, known)}"
            )
    for key in required:
        if key not in arguments:
            raise InputError(f"topology '{name}': {key} is missing, such as {family}__{key}={required[key]}")
    return make(name, arguments)


def _sizes(name: str, text: str) -> tuple[int, ...]:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    sizes = (value,) if isinstance(value, int) else tuple(value) if isinstance(value, list | tuple) else ()
    good = 1 <= len(sizes) <= _MOST_DIMENSIONS and all(
        type(size) is int and 1 <= size <= MOST_NODES for size in sizes
    )
    if not good or not 2 <= math.prod(sizes) <= MOST_NODES:
        raise InputError(
            f"topology '{name}': dim is '{excerpt(text)}'; it must be sizes such as [4,4], "
            f"at most {_MOST_DIMENSIONS}, 2 to {MOST_NODES} nodes in all"
        )
    return sizes


def _lattice(wraps: bool) -> Callable[[str, dict[str, str]], _Links]:
    def make(name: str, arguments: dict[str, str]) -> _Links:
        sizes = _sizes(name, arguments["dim"])
        check_links(name, 2 * math.prod(sizes) * sum(size > 1 for size in sizes))
        return _Links(math.prod(sizes), _lattice_pairs(sizes, wraps), sizes)

    return make


def _lattice_pairs(sizes: tuple[int, ...], wraps: bool) -> Pairs:
    """From each node to the next of each dimension; by node, then by dimension."""
    nodes = np.arange(math.prod(sizes))
    next_of = np.full((len(nodes), len(sizes)), -1)
    stride = 1
    for dimension, size in enumerate(sizes):
        at = nodes // stride % size
        there = np.where(at + 1 < size, nodes + stride, -1)
        if wraps and size > 2:
            there = np.where(at + 1 < size, there, nodes - at * stride)
        next_of[:, dimension] = there
        stride *= size
    here, along = np.nonzero(next_of >= 0)
    return np.stack([here, next_of[here, along]], axis=1)


def _ring(name: str, arguments: dict[str, str]) -> _Links:
    sizes = _sizes(name, arguments["dim"])
    if len(sizes) != 1:
        raise InputError(
            f"topology '{name}': dim is '{excerpt(arguments['dim'])}'; a ring has one size, such as [5]"
        )
    slow = _number(name, "slow", arguments["slow"], above=True) if "slow" in arguments else Fraction(1)
    pairs = _lattice_pairs(sizes, wraps=True)
    return _Links(sizes[0], pairs, sizes, slow)


def _fully_connected(name: str, arguments: dict[str, str]) -> _Links:
    nodes = _whole(name, "n", arguments["n"], 2, 1 << 12)
    check_links(name, nodes * (nodes - 1))
    return _Links(nodes, np.stack(np.triu_indices(nodes, 1), axis=1), (nodes,))


def _tree(name: str, arguments: dict[str, str]) -> _Links:
    children, levels = (_whole(name, key, arguments[key], 1, 1 << 10) for key in ("r", "h"))
    nodes = sum(itertools.takewhile(lambda n: n <= MOST_NODES, (children**i for i in range(levels + 1))))
    if children**levels > MOST_NODES or nodes > MOST_NODES:
        raise InputError(f"topology '{name}' has too many nodes; at most {MOST_NODES} are allowed")
    below = np.arange(1, nodes)
    return _Links(nodes, np.stack([(below - 1) // children, below], axis=1))


_FAMILIES: dict[str, tuple[Callable[[str, dict[str, str]], _Links], dict[str, str], tuple[str, ...]]] = {
    "grid": (_lattice(False), {"dim": "[4,4]"}, ()),
    "torus": (_lattice(True), {"dim": "[4,4]"}, ()),
    "fc": (_fully_connected, {"n": "8"}, ()),
    "ring": (_ring, {"dim": "[5]"}, ("slow",)),
    "tree": (_tree, {"r": "2", "h": "3"}, ()),
}


def _graph(name: str, links: _Links, common: dict[str, str]) -> LinkGraph:
    """The links of pairs in both directions, by source and destination; kinds by where they occur first."""

    def number(key: str, default: Fraction, above: bool) -> Fraction:
        return _number(name, key, common[key], above) if key in common else default

    alpha, beta = number("alpha", Fraction(0), False), number("beta", Fraction(1), True)
    alpha2, beta2 = number("alpha2", alpha, False), number("beta2", beta, True)
    made = [LinkKind(alpha, b) for b in (beta, beta * links.slow)]
    made += [LinkKind(alpha2, b) for b in (beta2, beta2 * links.slow)]
    of_pair = np.zeros(len(links.pairs), dtype=np.int64)
    of_pair[_second(name, len(links.pairs), common)] = 2
    if links.slow != 1:
        of_pair += (links.pairs == _closing(links)).all(axis=1)
    ends = np.concatenate([links.pairs, links.pairs[:, ::-1]])
    order = np.argsort(ends[:, 0] * links.nodes + ends[:, 1])
    kind_of, kinds = _numbered(np.concatenate([of_pair, of_pair])[order], made)
    sources, destinations = (ends[order, column].astype(np.int32) for column in range(2))
    return LinkGraph(links.nodes, links.nodes, sources, destinations, kind_of, kinds)


def _numbered(
    made_of: NDArray[np.int64], made: list[LinkKind]
) -> tuple[NDArray[np.int32], tuple[LinkKind, ...]]:
    """Number the kinds that occur by their first link; equal ones are one."""
    present, first = np.unique(made_of, return_index=True)
    numbers: dict[LinkKind, int] = {}
    number_of = np.zeros(len(made), dtype=np.int32)
    for which in present[np.argsort(first)].tolist():
        number_of[which] = numbers.setdefault(made[which], len(numbers))
    return number_of[made_of], tuple(numbers)


def _closing(links: _Links) -> tuple[int, int]:
    return (links.nodes - 1, 0) if links.nodes > 2 else (0, 1)


def _second(name: str, pairs: int, common: dict[str, str]) -> list[int]:
    """The pairs that have the second latency and bandwidth."""
    has_second = "alpha2" in common or "beta2" in common
    if has_second != ("proportion" in common):
        raise InputError(
            f"topology '{name}': proportion and at least one of alpha2 and beta2 belong together; "
            "each has no effect without the other"
        )
    if not has_second:
        if "seed" in common:
            raise InputError(f"topology '{name}': seed has no effect without proportion")
        return []
    share = _number(name, "proportion", common["proportion"], above=False)
    if share > 1:
        raise InputError(
            f"topology '{name}': proportion is {excerpt(common['proportion'])}; it must be 0 to 1"
        )
    seed = _whole(name, "seed", common.get("seed", "0"), 0, 1 << 62)
    return random.Random(seed).sample(range(pairs), round(share * pairs))


def _number(name: str, key: str, text: str, above: bool) -> Fraction:
    value = exact_decimal(text, where=f"topology '{name}': {key}")
    if value < 0 or (above and value == 0):
        limit = "above 0" if above else "of at least 0"
        raise InputError(f"topology '{name}': {key} is '{excerpt(text)}'; it must be a number {limit}")
    return value


def _whole(name: str, key: str, text: str, least: int, most: int) -> int:
    if not re.fullmatch(r"[0-9]{1,20}", text, re.ASCII) or not least <= int(text) <= most:
        raise InputError(
            f"topology '{name}': {key} is '{excerpt(text)}'; it must be a whole number, {least} to {most}"
        )
    return int(text)

"""Networks by name, as BEAN TACOS's command line has them: `torus__dim=[4,4]__alpha=500__beta=50`."""

from __future__ import annotations

import ast
import itertools
import math
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dse.errors import InputError
from dse.lazy import extra
from dse.networks.csv import require_links
from dse.networks.graph import LinkGraph
from dse.suggestions import did_you_mean

Pairs = list[tuple[int, int]]
_MOST_NODES = 1 << 20
_MOST_LINKS = 1 << 26
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


def named_network(name: str) -> NamedNetwork:
    """Return the network of a name: a family, then `__key=value` for each argument.

    `grid__dim=[4,4]`, `torus__dim=[4,4]`, `fc__n=8`, `ring__dim=[5]__slow=0.1` (the link that closes the ring
    has that share of the bandwidth, both ways), `tree__r=2__h=3` (r children, h levels below the root), and
    `nx_GENERATOR__arg=value` with a graph generator of networkx. All links lead both ways. `alpha` is their
    latency in ns (0), `beta` the bandwidth in GB/s (1); a `proportion` of them, drawn with `seed` (0), has
    `alpha2` and `beta2` instead.

    Raises:
        InputError: an unknown family or argument, a value that is none, or an NPU without links.
    """
    family, *rest = name.split("__")
    arguments = dict(_argument(name, part) for part in rest)
    common = {key: arguments.pop(key) for key in _COMMON[:5] if key in arguments}
    if not family.startswith("nx_") and "seed" in arguments:
        common["seed"] = arguments.pop("seed")
    links = _links(name, family, arguments)
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
        raise InputError(f"topology '{name}': '{part}' must be an argument, such as dim=[4,4]")
    return key, value


def _links(name: str, family: str, arguments: dict[str, str]) -> _Links:
    if family.startswith("nx_"):
        return _generated(name, family.removeprefix("nx_"), arguments)
    if family not in _FAMILIES:
        raise InputError(
            f"topology '{name}' begins with '{family}'; allowed are {', '.join(_FAMILIES)}, nx_GENERATOR"
            f"{did_you_mean(family, [*_FAMILIES])}"
        )
    make, required, optional = _FAMILIES[family]
    for key in arguments:
        if key not in (*required, *optional):
            known = (*required, *optional, *_COMMON)
            raise InputError(
                f"topology '{name}': {family} has no argument {key}; allowed are {', '.join(known)}"
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
    good = sizes and all(isinstance(size, int) and not isinstance(size, bool) and size >= 1 for size in sizes)
    if not good or not 2 <= math.prod(sizes) <= _MOST_NODES:
        raise InputError(
            f"topology '{name}': dim is '{text}'; it must be sizes such as [4,4], "
            f"2 to {_MOST_NODES} nodes in all"
        )
    return sizes


def _lattice(wraps: bool) -> Callable[[str, dict[str, str]], _Links]:
    def make(name: str, arguments: dict[str, str]) -> _Links:
        sizes = _sizes(name, arguments["dim"])
        return _Links(math.prod(sizes), _lattice_pairs(sizes, wraps), sizes)

    return make


def _lattice_pairs(sizes: tuple[int, ...], wraps: bool) -> Pairs:
    pairs: Pairs = []
    strides = [math.prod(sizes[:d]) for d in range(len(sizes))]
    for node in range(math.prod(sizes)):
        for size, stride in zip(sizes, strides, strict=True):
            at = node // stride % size
            if at + 1 < size:
                pairs.append((node, node + stride))
            elif wraps and size > 2:
                pairs.append((node, node - at * stride))
    return pairs


def _ring(name: str, arguments: dict[str, str]) -> _Links:
    sizes = _sizes(name, arguments["dim"])
    if len(sizes) != 1:
        raise InputError(f"topology '{name}': dim is '{arguments['dim']}'; a ring has one size, such as [5]")
    slow = _number(name, "slow", arguments["slow"], above=True) if "slow" in arguments else Fraction(1)
    pairs = _lattice_pairs(sizes, wraps=True)
    return _Links(sizes[0], pairs, sizes, slow)


def _fully_connected(name: str, arguments: dict[str, str]) -> _Links:
    nodes = _whole(name, "n", arguments["n"], 2, 1 << 12)
    return _Links(nodes, list(itertools.combinations(range(nodes), 2)), (nodes,))


def _tree(name: str, arguments: dict[str, str]) -> _Links:
    children, levels = (_whole(name, key, arguments[key], 1, 1 << 10) for key in ("r", "h"))
    nodes = sum(itertools.takewhile(lambda n: n <= _MOST_NODES, (children**i for i in range(levels + 1))))
    if children**levels > _MOST_NODES or nodes > _MOST_NODES:
        raise InputError(f"topology '{name}' has too many nodes; at most {_MOST_NODES} are allowed")
    return _Links(nodes, [((node - 1) // children, node) for node in range(1, nodes)])


_FAMILIES: dict[str, tuple[Callable[[str, dict[str, str]], _Links], dict[str, str], tuple[str, ...]]] = {
    "grid": (_lattice(False), {"dim": "[4,4]"}, ()),
    "torus": (_lattice(True), {"dim": "[4,4]"}, ()),
    "fc": (_fully_connected, {"n": "8"}, ()),
    "ring": (_ring, {"dim": "[5]"}, ("slow",)),
    "tree": (_tree, {"r": "2", "h": "3"}, ()),
}


def _generated(name: str, generator: str, arguments: dict[str, str]) -> _Links:
    """The links of a graph of networkx; those of one that is not directed lead both ways."""
    networkx = extra("networkx", f"topology '{name}' needs networkx; pip install 'dse[synthesis]'")
    make = None if generator.startswith("_") else getattr(networkx.generators, generator, None)
    make = make or (None if generator.startswith("_") else getattr(networkx, generator, None))
    if not callable(make) or not getattr(make, "__module__", "").startswith("networkx.generators"):
        raise InputError(f"topology '{name}': networkx has no graph generator '{generator}'")
    try:
        graph = networkx.convert_node_labels_to_integers(make(**{k: _value(v) for k, v in arguments.items()}))
    except Exception as error:  # whatever a generator raises for a wrong argument
        raise InputError(f"topology '{name}': networkx says: {' '.join(str(error).split())}") from None
    if graph.is_directed():
        raise InputError(f"topology '{name}' has directed links; only graphs that are not directed are read")
    pairs = sorted({(min(a, b), max(a, b)) for a, b in graph.edges() if a != b})
    if graph.number_of_nodes() < 2:
        raise InputError(f"topology '{name}' has {graph.number_of_nodes()} nodes; it must have at least 2")
    return _Links(graph.number_of_nodes(), pairs)


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _graph(name: str, links: _Links, common: dict[str, str]) -> LinkGraph:
    def number(key: str, default: Fraction, above: bool) -> Fraction:
        return _number(name, key, common[key], above) if key in common else default

    if 2 * len(links.pairs) > _MOST_LINKS:
        raise InputError(
            f"topology '{name}' has {2 * len(links.pairs)} links; at most {_MOST_LINKS} are allowed"
        )
    alpha, beta = number("alpha", Fraction(0), False), number("beta", Fraction(1), True)
    alpha2, beta2 = number("alpha2", alpha, False), number("beta2", beta, True)
    second = _second(name, len(links.pairs), common)
    rows: list[tuple[int, int, Fraction, Fraction]] = []
    for index, (one, other) in enumerate(links.pairs):
        latency, bandwidth = (alpha2, beta2) if index in second else (alpha, beta)
        if links.slow != 1 and (one, other) == _closing(links):
            bandwidth *= links.slow
        rows += [(one, other, latency, bandwidth), (other, one, latency, bandwidth)]
    rows.sort(key=lambda row: row[:2])
    return LinkGraph.of(links.nodes, links.nodes, rows)


def _closing(links: _Links) -> tuple[int, int]:
    return (links.nodes - 1, 0) if links.nodes > 2 else (0, 1)


def _second(name: str, pairs: int, common: dict[str, str]) -> Iterable[int]:
    """Which pairs have the second latency and bandwidth."""
    has_second = "alpha2" in common or "beta2" in common
    if has_second != ("proportion" in common):
        raise InputError(
            f"topology '{name}': proportion and at least one of alpha2 and beta2 belong together; "
            "each has no effect without the other"
        )
    if not has_second:
        if "seed" in common:
            raise InputError(f"topology '{name}': seed has no effect without proportion")
        return ()
    share = _number(name, "proportion", common["proportion"], above=False)
    if share > 1:
        raise InputError(f"topology '{name}': proportion is {common['proportion']}; it must be 0 to 1")
    seed = _whole(name, "seed", common.get("seed", "0"), 0, 1 << 62)
    return frozenset(random.Random(seed).sample(range(pairs), round(share * pairs)))


def _number(name: str, key: str, text: str, above: bool) -> Fraction:
    try:
        value = Fraction(text) if re.fullmatch(r"[-+]?[0-9.]+(e[-+]?[0-9]{1,3})?", text, re.ASCII) else None
    except ValueError:
        value = None
    if value is None or value < 0 or (above and value == 0):
        limit = "above 0" if above else "of at least 0"
        raise InputError(f"topology '{name}': {key} is '{text}'; it must be a number {limit}")
    return value


def _whole(name: str, key: str, text: str, least: int, most: int) -> int:
    if not re.fullmatch(r"[0-9]{1,20}", text, re.ASCII) or not least <= int(text) <= most:
        raise InputError(
            f"topology '{name}': {key} is '{text}'; it must be a whole number, {least} to {most}"
        )
    return int(text)

"""From texts of keys to what is asked: a network, a problem on it, and how hard to search."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, cast

from dse.base.cancellation import NEVER, Deadline
from dse.base.errors import InputError, excerpt
from dse.base.plain_data import load_json_object
from dse.base.settings import check_choice
from dse.base.settings.values import Values, one_of, whole
from dse.base.units import parse_bytes
from dse.collectives.problem.collective import COLLECTIVES, MOST_CHUNKS, ROOTED, Collective, Part
from dse.collectives.problem.custom import chunk_size_of, custom_of
from dse.collectives.problem.demands import demanded, group_of, padding_bytes, read_demand
from dse.collectives.problem.engines import with_engines
from dse.collectives.problem.problem import LINK_CHOICES, LinkModel, Problem
from dse.collectives.problem.several import LIST, several_of
from dse.inputs.networks import LinkGraph
from dse.inputs.networks.csv import read_link_graph
from dse.inputs.networks.named import is_named, named_network
from dse.inputs.systems.fields import ABILITIES
from dse.inputs.systems.links import Switches, link_graph
from dse.inputs.systems.spec import SystemSpec

DEFAULT_CHUNK_BYTES = 1 << 20
MOST_DELIVERIES = 1 << 28
_OF_NAMED = ("root", "chunks_per_npu", "operation_bytes")  # keys of collectives that a name says
_KEPT_AS_BASE = ("all_gather", "reduce_scatter", "all_reduce")
_MOST_PS = 1 << 62


@dataclass(frozen=True)
class Network:
    """A graph, what it is called, its dimensions (the first varies fastest; () unknown), default of `gb`."""

    name: str
    graph: LinkGraph
    sizes: tuple[int, ...] = ()
    gb: str = "1e9"


class Size(NamedTuple):
    """Bytes of a chunk; of the operation where these were asked for, and by how many it is padded."""

    chunk_bytes: Fraction
    operation_bytes: int | None = None
    padding_bytes: int = 0


def network_of(
    values: Values, system: Callable[[], SystemSpec] | None, deadline: Deadline = NEVER
) -> Network:
    """Return the network of `topology`, or of a system where `system` makes one; see `named_network`.

    Raises:
        InputError: neither or both, an unreadable file, a name that is none, or keys without effect.
    """
    if system is not None:
        _refuse(values, ("topology", "npus"), "system", "choose either")
        made = system()
        return _system_network(made, values)
    _refuse(values, ("dimensions", "switches"), "topology", "they are for system=NAME")
    if "topology" not in values:
        raise InputError(
            "topology is missing; write topology=FILE.csv, topology=torus__dim=[4,4] or system=NAME"
        )
    topology = values["topology"]
    if is_named(topology):
        for key in ("npus", *ABILITIES):
            if key in values:
                raise InputError(
                    f"{key}={values[key]} has no effect on topology={topology}, which has no switches"
                )
        named = named_network(topology, deadline)
        return Network(topology, with_engines(named.graph, values), named.sizes)
    path = Path(topology)
    if path.suffix.lower() != ".csv" and not path.exists():
        if "__" in topology:
            named_network(topology, deadline)  # which says the families
        raise InputError(
            f"topology is '{topology}'; it must be a CSV file, or a name such as torus__dim=[4,4]"
        )
    npus = whole(values, "npus", None, least=2, most=1 << 20)
    try:
        graph = _with_abilities(read_link_graph(path, npus, parallel=True), values)
    except InputError:
        from dse.inputs.machines.kinds import refuse_other_kind

        refuse_other_kind("topology", path, f"topology={topology}")
        raise
    return Network(path.stem, with_engines(graph, values))


def _system_network(system: SystemSpec, values: Values) -> Network:
    switches = one_of(values, "switches", ("unrolled", "nodes"))
    numbers: list[int] | None = None
    if "dimensions" in values:
        text = values["dimensions"].strip("[]")
        if not re.fullmatch(r"\d{1,3}(,\s*\d{1,3})*", text, re.ASCII):
            raise InputError(f"dimensions is '{values['dimensions']}'; it must be numbers such as [0,1]")
        numbers = sorted(int(part) for part in text.split(","))
    graph = _with_abilities(link_graph(system, numbers, cast("Switches", switches)), values)
    graph = with_engines(graph, values)
    parts = [system.network[number] for number in numbers or range(len(system.network))]
    sizes = tuple(size for dimension in parts for size in _grid(dimension.shape, dimension.npus))
    return Network(system.name, graph, sizes, "gib")


def _with_abilities(graph: LinkGraph, values: Values) -> LinkGraph:
    """Return the graph with the switches that copy and add as `switch_copies` and `switch_adds` say."""
    switches = range(graph.npus, graph.nodes)
    lacks = [graph.cannot_copy, graph.cannot_add]
    for number, key in enumerate(ABILITIES):
        if key not in values:
            continue
        text = values[key]
        named = frozenset(int(part) for part in re.findall(r"\d{1,9}", text, re.ASCII))
        able = {"all": frozenset(switches), "none": frozenset()}.get(text, named)
        if text not in ("all", "none") and not re.fullmatch(r"\[\d{1,9}(,\s*\d{1,9})*\]", text, re.ASCII):
            raise InputError(f"{key} is '{text}'; it must be all, none, or nodes such as [{graph.npus}]")
        if not switches:
            raise InputError(f"{key}={text} has no effect without switches; name them by npus=NUMBER")
        if not able <= frozenset(switches):
            raise InputError(
                f"{key} is '{text}', but node {min(able - frozenset(switches))} is no switch; "
                f"switches are {switches[0]} to {switches[-1]}"
            )
        lacks[number] = frozenset(switches) - able
    return replace(graph, cannot_copy=lacks[0], cannot_add=lacks[1])


def _grid(shape: tuple[int, ...], npus: int) -> tuple[int, ...]:
    return shape if shape and math.prod(shape) == npus else (npus,)


def _refuse(values: Values, keys: Collection[str], instead: str, why: str) -> None:
    for key in keys:
        if key in values:
            raise InputError(f"{key}={values[key]} has no effect with {instead}; {why}, or leave {key} out")


def problem_of(network: Network, values: Values, *, may_stay_base: bool = False) -> tuple[Problem, Size]:
    """Return the problem that keys describe on a network, and the sizes behind it.

    `may_stay_base`: a schedule that looks the same from every NPU need not be listed send by send, so that
    an all-gather, and what is made of some, may have more than `MOST_DELIVERIES` on a network with
    translations, or on a mesh.

    Raises:
        InputError: a wrong value, keys without effect, too many chunks, or times that are too long.
    """
    name, root = _collective_name(values)
    model, npus = _model(values, network.gb), network.graph.npus
    group = group_of(values, npus)
    if name.endswith(".json"):
        _refuse(values, (*_OF_NAMED, "group", "demand"), "a collective of your own", "the file says all")
        collective, size = _read(Path(name), npus, values)
    elif "demand" in values:
        collective, size = _demanded(name, npus, values)
    elif group:
        small = _collective(len(group), name, _place_of_root(root, values, group), values)
        part = Part(name, group, small.chunks_per_npu, small.root)
        collective, size = Collective.of_part(part, npus), _size(small, values)
    else:
        root = _root(root, values, npus)
        is_symmetric = bool(network.graph.translations or network.graph.mesh)
        collective = _collective(npus, name, root, values, may_stay_base=may_stay_base and is_symmetric)
        size = _size(collective, values)
    problem = Problem(network.graph, collective, size.chunk_bytes, model)
    check_times(problem)
    return problem, size


def _read(path: Path, npus: int, values: Values) -> tuple[Collective, Size]:
    """The collective of a user's own file, or several of them."""
    data = load_json_object(path)
    if data.get("chunk_size") is not None:
        _refuse(values, ("chunk_bytes",), "a collective of your own", "the file has a chunk_size")
    if LIST not in data:
        collective, own_bytes = custom_of(path, data, npus)
        return collective, Size(own_bytes or _chunk_bytes(values))
    for key in data:
        if key not in (LIST, "chunk_size"):
            raise InputError(f"{path}: unknown key {excerpt(key)}; allowed are {LIST}, chunk_size")
    asked = _bytes(values, "chunk_bytes") if "chunk_bytes" in values else chunk_size_of(path, data)
    collective, chunk_bytes, total, padding = several_of(path, data[LIST], npus, asked, DEFAULT_CHUNK_BYTES)
    if deliveries_of(collective) > MOST_DELIVERIES:
        raise InputError(
            f"{path}: has {deliveries_of(collective)} deliveries in chunks of {float(chunk_bytes):g} bytes; "
            f"at most {MOST_DELIVERIES} can be scheduled: write a larger chunk_bytes"
        )
    return collective, Size(chunk_bytes, total or None, padding)


def _collective_name(values: Values) -> tuple[str, int | None]:
    """The name, and the root that it says, as in `scatter_3`."""
    name = values.get("collective", "all_gather")
    with_root = re.fullmatch(rf"({'|'.join(ROOTED)})_(\d{{1,9}})", name, re.ASCII)
    if with_root is None:
        if not name.endswith(".json"):
            check_choice("collective", name, (*COLLECTIVES, "FILE.json"))
        return name, None
    if "root" in values:
        raise InputError(f"root={values['root']} has no effect with collective={name}; leave one of them out")
    return with_root[1], int(with_root[2])


def _model(values: Values, gb: str) -> LinkModel:
    found = {key: one_of({"gb": gb, **values}, key, allowed) for key, allowed in LINK_CHOICES.items()}
    return LinkModel(**cast("dict[str, Any]", found))


def _demanded(name: str, npus: int, values: Values) -> tuple[Collective, Size]:
    """The all-to-all of a file of sizes."""
    if name != "all_to_all":
        raise InputError(f"demand has no effect on {name}; write collective=all_to_all too")
    _refuse(values, (*_OF_NAMED, "group"), "demand", "the file has all sizes")
    pairs = read_demand(Path(values["demand"]), npus)
    asked = _bytes(values, "chunk_bytes") if "chunk_bytes" in values else None
    collective, chunk_bytes = demanded(pairs, npus, asked)
    total = sum(pair.size_bytes for pair in pairs)
    return collective, Size(chunk_bytes, total, padding_bytes(pairs, chunk_bytes))


def _root(root: int | None, values: Values, npus: int) -> int | None:
    """The root that a key or the name of the collective says."""
    if "root" in values:
        return whole(values, "root", None, most=npus - 1, why=f"the network has {npus} NPUs")
    if root is not None and root >= npus:
        raise InputError(f"root is {root}; it must be 0 to {npus - 1}, as the network has {npus} NPUs")
    return root


def _place_of_root(root: int | None, values: Values, group: Sequence[int]) -> int | None:
    """The place of the root in a group; the default is the first."""
    asked = _root(root, values, 1 + max(group))
    if asked is not None and asked not in group:
        raise InputError(f"root is {asked}, which is not of the group; it must be one of {sorted(group)}")
    return None if asked is None else group.index(asked)


def _collective(
    npus: int, name: str, root: int | None, values: Values, *, may_stay_base: bool = False
) -> Collective:
    if name not in ROOTED and "root" in values:
        raise InputError(f"root={values['root']} has no effect on {name}; only {', '.join(ROOTED)} have one")
    per_npu = whole(values, "chunks_per_npu", 1, least=1, most=10**12)
    collective = Collective(name, npus, per_npu, root or 0)
    deliveries = deliveries_of(collective)
    is_base = may_stay_base and name in _KEPT_AS_BASE and deliveries > MOST_DELIVERIES
    most = MOST_DELIVERIES
    if is_base and values.get("synthesizer", "auto") in ("auto", "fast", "symmetric", "mesh"):
        most = deliveries
    if collective.chunks >= MOST_CHUNKS or deliveries > most:
        raise InputError(
            f"chunks_per_npu is {per_npu}, which makes {collective.chunks} chunks, {deliveries} deliveries; "
            f"at most {MOST_DELIVERIES} can be scheduled: take fewer and larger chunks"
        )
    return collective


def deliveries_of(collective: Collective) -> int:
    """Return how many chunks, or parts of sums, have to come somewhere at most, all NPUs together."""
    if collective.parts:
        return sum(deliveries_of(part.collective) for part in collective.parts)
    is_to_all = collective.everyone_wants_all or collective.is_reducing
    return collective.chunks * (collective.npus if is_to_all else 1)


def _size(collective: Collective, values: Values) -> Size:
    if "operation_bytes" not in values:
        return Size(_chunk_bytes(values))
    _refuse(values, ("chunk_bytes",), "operation_bytes", "choose either")
    whole_bytes = _bytes(values, "operation_bytes")
    if whole_bytes.denominator != 1:
        raise InputError(f"operation_bytes is '{values['operation_bytes']}'; it must be a whole number")
    chunks = chunks_of_operation(collective)
    chunk_bytes = -(-whole_bytes.numerator // chunks)
    return Size(Fraction(chunk_bytes), whole_bytes.numerator, chunk_bytes * chunks - whole_bytes.numerator)


def chunks_of_operation(collective: Collective) -> int:
    """How many chunks the bytes are made of that a training simulator calls the size of an operation."""
    if collective.name in ("all_gather", "broadcast", "reduce"):
        return collective.chunks_per_npu
    return collective.chunks_per_npu * collective.npus


def _chunk_bytes(values: Values) -> Fraction:
    return _bytes(values, "chunk_bytes") if "chunk_bytes" in values else Fraction(DEFAULT_CHUNK_BYTES)


def _bytes(values: Values, key: str) -> Fraction:
    text = values[key]
    if re.fullmatch(r"\d{1,18}(\.\d{1,18})?", text, re.ASCII):
        size = Fraction(text)
        if size > 0:
            return size
    elif re.search(r"[A-Za-z]$", text):
        return Fraction(parse_bytes(text, key))
    raise InputError(f"{key} is '{text}'; it must be a number of bytes above 0, such as 1048576 or 1MiB")


def check_times(problem: Problem) -> None:
    """Check that every link takes some time, and all sends together less than 2^62 ps.

    Raises:
        InputError: the bytes of a chunk are too few or too many for a link.
    """
    problem.check_takes_time()
    for kind in problem.graph.kinds:
        arrival, _ = problem.model.times_ps(kind, problem.chunk_bytes)
        bandwidth = f"{float(kind.bandwidth_gbps):g} GB/s"
        if arrival * (problem.collective.chunks + 1) * problem.graph.nodes > _MOST_PS:
            raise InputError(
                f"chunk_bytes is {float(problem.chunk_bytes):g}: a chunk takes {arrival} ps on a link of "
                f"{bandwidth}, so that times may pass 2^62 ps; take smaller chunks"
            )

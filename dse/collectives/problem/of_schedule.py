"""The problem that a user's schedule solves, by its file, the files next to it, and keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from dse.base.cancellation import NEVER, Deadline
from dse.base.errors import InputError
from dse.base.plain_data import load_json_object
from dse.collectives.files import ScheduleFile, read_schedule
from dse.collectives.files.content import problem_of_json
from dse.collectives.files.folder import SUMMARY, TOPOLOGY
from dse.collectives.files.read import SUFFIXES
from dse.collectives.problem.collective import CUSTOM
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.settings import Network, check_times, network_of, problem_of
from dse.inputs.networks import LinkGraph, LinkKind
from dse.inputs.networks.csv import decimal, read_link_graph, require_links
from dse.inputs.networks.graph import LIMITS
from dse.inputs.systems.fields import ABILITIES
from dse.inputs.systems.spec import SystemSpec

_SAME = Fraction(1, 10**6)  # foreign files round bandwidths


def schedule_path(path: Path) -> Path:
    """Return the file of a schedule; of a folder that synthesis has written the one in it.

    Raises:
        InputError: the folder has none.
    """
    if not path.is_dir():
        return path
    for suffix in (".parquet", ".jsonl", ".csv"):
        if suffix in SUFFIXES and (path / f"schedule{suffix}").is_file():
            return path / f"schedule{suffix}"
    raise InputError(f"{path}: has no schedule.csv, schedule.jsonl or schedule.parquet; name a file")


def given_problem(
    path: Path,
    values: Mapping[str, str],
    system: Callable[[], SystemSpec] | None,
    deadline: Deadline = NEVER,
) -> tuple[ScheduleFile, Problem]:
    """Read a schedule, and return what it is to solve.

    Keys come first; without `topology` and `system` the links are those of the file, or of the files that
    synthesis writes next to it. Without any key the problem is the one it was made for.

    Raises:
        InputError: an unreadable file, nothing that says the topology or the collective, or a schedule that
            was made for another topology.
    """
    file = read_schedule(path)
    stored = file.problem or _beside(path)
    asks_network = system is not None or "topology" in values
    if stored is not None and not values and not asks_network:
        check_times(stored)
        _check_fit(path, file, stored)
        return file, stored
    own = None if asks_network else _own_network(path, file, stored, values)
    network = own or network_of(values, system, deadline)
    if "collective" not in values and stored is None:
        raise InputError(f"collective is missing, and {path} does not say it; write collective=all_gather")
    problem = _problem(network, file, stored, values)
    _check_fit(path, file, problem)
    return file, problem


def _beside(path: Path) -> Problem | None:
    """The problem in the folder of a synthesis."""
    summary, topology = path.with_name(SUMMARY), path.with_name(TOPOLOGY)
    if not path.name.startswith("schedule.") or not summary.is_file() or not topology.is_file():
        return None
    data = load_json_object(summary).get("problem")
    if not isinstance(data, dict):
        return None
    try:
        return problem_of_json(data, read_link_graph(topology, data["npus"], parallel=True))
    except (InputError, KeyError, TypeError, ValueError) as error:
        problem = error if isinstance(error, InputError) else repr(error)
        raise InputError(f"{summary}: its problem cannot be read: {problem}") from None


def _own_network(
    path: Path, file: ScheduleFile, stored: Problem | None, values: Mapping[str, str]
) -> Network:
    for key in ("npus", "dimensions", "switches", *ABILITIES, *LIMITS):
        if key in values:
            raise InputError(f"{key}={values[key]} has no effect without topology or system; write that too")
    graph = stored.graph if stored is not None else file.graph
    if graph is None:
        raise InputError(f"topology is missing, and {path} does not list its links; write topology=FILE.csv")
    require_links(graph, str(path))
    return Network(path.stem, graph)


def _problem(
    network: Network, file: ScheduleFile, stored: Problem | None, values: Mapping[str, str]
) -> Problem:
    """Keys, then what the stored problem says, then what the file says."""
    asked = dict(values)
    if stored is not None:
        model = stored.model._asdict()
        for key, value in {**model, "chunk_bytes": decimal(stored.chunk_bytes)}.items():
            if key != "chunk_bytes" or "operation_bytes" not in asked:
                asked.setdefault(key, value)
        if "collective" not in values:
            if stored.collective.name == CUSTOM:
                collective = replace(stored.collective, npus=network.graph.npus)
                return replace(stored, graph=network.graph, collective=collective)
            asked["collective"] = stored.collective.name
            asked.setdefault("chunks_per_npu", str(stored.collective.chunks_per_npu))
            if stored.collective.root:
                asked.setdefault("root", str(stored.collective.root))
    elif file.chunk_bytes is not None and "operation_bytes" not in asked:
        asked.setdefault("chunk_bytes", decimal(file.chunk_bytes))
    is_own = asked.get("collective", "").endswith(".json")
    if is_own:
        asked.pop("chunk_bytes", None) if "chunk_bytes" not in values else None
    elif file.chunks is not None and "chunks_per_npu" not in asked:
        once, _ = problem_of(network, {key: asked[key] for key in asked if key != "operation_bytes"})
        asked["chunks_per_npu"] = str(max(1, file.chunks // max(1, once.collective.chunks)))
    return problem_of(network, asked)[0]


def _check_fit(path: Path, file: ScheduleFile, problem: Problem) -> None:
    """Refuse a file that says it was made for something else.

    Raises:
        InputError: names the first difference.
    """
    graph, collective = problem.graph, problem.collective
    stated = (
        (file.npus, graph.npus, "NPUs"),
        (file.links, len(graph), "links"),
    )
    for got, expected, what in stated:
        if got is not None and got != expected:
            raise InputError(
                f"{path}: was made for another topology: it has {got} {what}, the topology {expected}"
            )
    if file.graph is not None:
        _check_kinds(path, file.graph, graph)
    if file.chunks is not None and file.chunks != collective.chunks:
        raise InputError(
            f"{path}: has {file.chunks} chunks, but {collective.name} with chunks_per_npu="
            f"{collective.chunks_per_npu} on {graph.npus} NPUs {collective.chunks}; "
            "name its collective and chunks_per_npu"
        )


def _kinds_between(graph: LinkGraph) -> dict[tuple[int, int], list[LinkKind]]:
    """The kinds of the links from a node to another, in one order."""
    found: defaultdict[tuple[int, int], list[LinkKind]] = defaultdict(list)
    ends = (graph.sources.tolist(), graph.destinations.tolist(), graph.kind_of.tolist())
    for source, to, kind in zip(*ends, strict=True):
        found[source, to].append(graph.kinds[kind])
    return {pair: sorted(kinds) for pair, kinds in found.items()}


def _check_kinds(path: Path, listed: LinkGraph, graph: LinkGraph) -> None:
    """Links of both must be alike; one that the topology lacks is left to the rules of schedules."""
    same: dict[tuple[LinkKind, LinkKind], bool] = {}
    others = _kinds_between(graph)
    for (source, to), kinds in _kinds_between(listed).items():
        for one, two in zip(kinds, others.get((source, to), []), strict=False):
            if (one, two) not in same:
                same[one, two] = all(abs(a - b) <= _SAME * max(a, b) for a, b in zip(one, two, strict=True))
            if same[one, two]:
                continue
            raise InputError(
                f"{path}: was made for another topology: its link {source} to {to} has "
                f"{float(one.latency_ns):g} ns and {float(one.bandwidth_gbps):g} GB/s, the topology's "
                f"{float(two.latency_ns):g} ns and {float(two.bandwidth_gbps):g} GB/s"
            )

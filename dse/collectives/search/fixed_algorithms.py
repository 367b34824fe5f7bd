"""Fixed algorithms on given links: ring, direct, doubling, hierarchical and trees, as references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isqrt
from typing import NamedTuple

from dse.base.cancellation import NEVER, Deadline
from dse.base.lazy import NDArray, np, solvers
from dse.collectives.problem.collective import CUSTOM, SEVERAL, Collective
from dse.collectives.problem.problem import MIRRORED, Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.reductions import halves, in_sequence, tightened, without_waste
from dse.inputs.networks import LinkGraph

# An algorithm of more sends is left out, as it would take longer than most searches.
MOST_SENDS = 1 << 18
_LOOKS_PER_SECOND = 1_000_000_000
MOST_PAIRS = 1 << 25  # of a chunk and an NPU, while messages are made
TOO_LATE = "the time limit was over"
TOO_MANY = f"more than {MOST_SENDS} sends"
NAMES = ("ring", "biring", "direct", "rhd", "hier_up", "hier_down", "rings_up", "rings_down", "double_tree")


class Tree(NamedTuple):
    """How a chunk of NPU 0 spreads: messages between NPUs, each after another (by index; -1: at once).

    A chunk of another NPU spreads likewise, with that NPU added to all digits modulo `dimensions`.
    """

    dimensions: tuple[int, ...]
    sources: list[int]
    destinations: list[int]
    after: list[int]


class FixedAlgorithms(NamedTuple):
    """The schedules of fixed algorithms by name, and why others are left out."""

    schedules: dict[str, Schedule]
    left_out: dict[str, str]


def dimensions_of(graph: LinkGraph) -> tuple[int, ...]:
    """Return sizes of dimensions such that every link changes one digit of its NPU's number, lowest first.

    As many as there are; `(npus,)` where links follow no dimensions, or there are switches.
    """
    if graph.nodes > graph.npus or not len(graph):
        return (graph.npus,)
    found, low = [], 1
    small = [size for size in range(1, isqrt(graph.npus) + 1) if graph.npus % size == 0]
    for size in sorted({*small, *(graph.npus // size for size in small)} - {1}):
        if size % low:
            continue
        same_low = graph.sources % size == graph.destinations % size
        if bool((same_low | (graph.sources // size == graph.destinations // size)).all()):
            found.append(size // low)
            low = size
    return tuple(found) or (graph.npus,)


def _chain(tree: Tree, first: int, after: int, step: int, size: int, both_ways: bool) -> list[int]:
    """Append a ring of `size` NPUs, `step` apart, from `first` on; return the messages in order of place."""
    place = first // step % size
    reached = {0: after}
    ways = [(1, size - 1 - (size - 1) // 2), (-1, (size - 1) // 2)] if both_ways else [(1, size - 1)]
    for hop in range(max(length for _, length in ways)):
        for way, length in ways:
            if hop < length:
                here, there = (place + way * hop) % size, (place + way * (hop + 1)) % size
                tree.sources.append(first + (here - place) * step)
                tree.destinations.append(first + (there - place) * step)
                tree.after.append(reached[way * hop])
                reached[way * (hop + 1)] = len(tree.after) - 1
    return [reached[place] for place in reached if place]


def _by_dimensions(dimensions: tuple[int, ...], order: Sequence[int], how: str) -> Tree:
    """Return the tree that fills one dimension after the other; within it `direct`, `ring` or `both` ways."""
    tree = Tree(dimensions, [], [], [])
    reached = [(0, -1)]
    for dimension in order:
        step = 1
        for size in dimensions[:dimension]:
            step *= size
        size = dimensions[dimension]
        more = []
        for npu, message in reached:
            if how == "direct":
                for other in range(1, size):
                    tree.sources.append(npu)
                    tree.destinations.append(npu + other * step)
                    tree.after.append(message)
                    more.append((npu + other * step, len(tree.after) - 1))
            else:
                new = _chain(tree, npu, message, step, size, how == "both")
                more += [(tree.destinations[m], m) for m in new]
        reached += more
    return tree


def _binary(npus: int, shift: int) -> Tree:
    """Return a tree in which the root sends to one NPU, and every other to at most two.

    It is in order of the NPUs 1 … npus-1 rotated by `shift`: with 1, leaves and inner NPUs change places.
    """
    tree = Tree((npus,), [], [], [])
    others = npus - 1

    def grow(low: int, high: int, parent: int, after: int) -> None:
        if low >= high:
            return
        middle = (low + high) // 2
        npu = 1 + (middle + shift) % others
        tree.sources.append(parent)
        tree.destinations.append(npu)
        tree.after.append(after)
        message = len(tree.after) - 1
        grow(low, middle, npu, message)
        grow(middle + 1, high, npu, message)

    grow(0, others, 0, -1)
    return tree


def trees_of(collective: Collective, dimensions: tuple[int, ...]) -> dict[str, list[Tree]]:
    """Return the fixed algorithms of a collective without sums by name; chunks take their trees in turn."""
    npus = collective.npus
    found = {
        "ring": [_by_dimensions((npus,), [0], "ring")],
        "biring": [_by_dimensions((npus,), [0], "both")],
        "direct": [_by_dimensions((npus,), [0], "direct")],
    }
    if npus & (npus - 1) == 0:
        bits = npus.bit_length() - 1
        found["rhd"] = [_by_dimensions((2,) * bits, range(bits), "direct")]
    if len(dimensions) > 1:
        up = range(len(dimensions))
        for name, how in (("hier", "direct"), ("rings", "both")):
            found[f"{name}_up"] = [_by_dimensions(dimensions, up, how)]
            found[f"{name}_down"] = [_by_dimensions(dimensions, up[::-1], how)]
    if npus > 1 and collective.name in ("broadcast", CUSTOM):
        found["double_tree"] = [_binary(npus, 0), _binary(npus, 1)]
    return found


def _translated(
    nodes: Sequence[int], by: NDArray[np.int32], dimensions: tuple[int, ...]
) -> NDArray[np.int32]:
    """Per node and NPU of `by` their sum in every dimension; shape (nodes, NPUs)."""
    base = np.array(nodes, dtype=np.int32)[:, None]
    total = np.zeros((len(nodes), len(by)), dtype=np.int32)
    step = 1
    for size in dimensions:
        total += (base // step + by // step) % size * step
        step *= size
    return total


def _needed(
    problem: Problem, tree: Tree, chunks: NDArray[np.int32], to: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Mark the messages (of the tree, per chunk) that lead to an NPU that wants the chunk."""
    if problem.collective.everyone_wants_all:
        return np.ones(to.shape, dtype=bool)
    wanted = np.zeros((problem.graph.npus, problem.collective.chunks), dtype=bool)
    wanted[problem.collective.wants()] = True
    needed: NDArray[np.bool_] = wanted[to, chunks]
    for message in range(len(tree.after) - 1, -1, -1):
        if tree.after[message] >= 0:
            needed[tree.after[message]] |= needed[message]
    return needed


def _messages(problem: Problem, trees: list[Tree]) -> tuple[NDArray[np.int32], ...]:
    """Columns of all messages: chunk, source, destination, after."""
    holders, held = problem.collective.holdings()
    chunks, first = np.unique(held, return_index=True)
    holders = holders[first]
    columns: list[list[NDArray[np.int32]]] = [[], [], [], []]
    count = 0
    for turn, tree in enumerate(trees):
        mine = chunks % len(trees) == turn
        chunk, holder = chunks[mine].astype(np.int32), holders[mine]
        source = _translated(tree.sources, holder, tree.dimensions)
        destination = _translated(tree.destinations, holder, tree.dimensions)
        needed = _needed(problem, tree, chunk, destination)
        number = np.cumsum(needed.ravel(), dtype=np.int64).reshape(needed.shape) - 1 + count
        parents = np.array(tree.after, dtype=np.int64)
        after = np.where(parents[:, None] >= 0, number[parents], -1)
        for column, values in zip(
            columns, (np.broadcast_to(chunk, needed.shape), source, destination, after), strict=True
        ):
            column.append(values[needed].astype(np.int32))
        count += int(needed.sum())
    return tuple(np.ascontiguousarray(np.concatenate(column)) for column in columns)


def _play(problem: Problem, trees: list[Tree]) -> Schedule | None:
    """Return the schedule of an algorithm, None if it has too many sends."""
    chunk, source, destination, after = _messages(problem, trees)
    if len(chunk) > MOST_SENDS:
        return None
    played = solvers.play_messages(problem.native, chunk, source, destination, after, MOST_SENDS)
    if played is None:
        return None
    schedule = Schedule.of(problem, *played)
    return tightened(schedule) if problem.graph.has_engines else schedule


def _is_too_large(problem: Problem) -> bool:
    """Whether every algorithm has too many sends, or its messages would need too much room."""
    collective = problem.collective
    messages = (problem.graph.npus - 1) * collective.chunks
    return messages > (MOST_SENDS if collective.everyone_wants_all else MOST_PAIRS)


def _is_too_late(problem: Problem, deadline: Deadline) -> bool:
    """Whether an algorithm would end after the deadline: its routes look at all links from every NPU."""
    left_s, looks = deadline.left_s, problem.graph.npus * len(problem.graph)
    return deadline.is_over or (left_s is not None and looks > left_s * _LOOKS_PER_SECOND)


def fixed_algorithms(
    problem: Problem, dimensions: tuple[int, ...] | None = None, deadline: Deadline = NEVER
) -> FixedAlgorithms:
    """Return the schedules of all fixed algorithms that are defined for a problem.

    Messages go on shortest routes, hop by hop, and a link serves in the order of asking. `ring` and `biring`
    follow the numbers of NPUs, one or both ways; `direct` sends to each; `rhd` doubles; `hier_up` and
    `hier_down` are direct within one dimension after the other, from the lowest or the highest, `rings_up`
    and `rings_down` go round both ways within them; `double_tree` has two complementary binary trees.
    Dimensions are those of the numbering, unless given. Reductions are these backwards, an all-reduce is both
    halves, each send as early as its chunk allows. Algorithms of more than `MOST_SENDS` sends are left out,
    and those that would end after the deadline.
    """
    if problem.collective.kind == SEVERAL:
        return FixedAlgorithms({}, dict.fromkeys(NAMES, "they are for one collective"))
    sizes = dimensions or dimensions_of(problem.graph)
    if problem.collective.kind == "all_reduce":
        return _all_reduces(problem, sizes, deadline)
    if problem.collective.kind in MIRRORED:
        found = fixed_algorithms(problem.mirrored, sizes, deadline)
        turned = {name: without_waste(s).mirrored(problem) for name, s in found.schedules.items()}
        return FixedAlgorithms(turned, found.left_out)
    if _is_too_large(problem):
        return FixedAlgorithms({}, dict.fromkeys(NAMES, TOO_MANY))
    schedules, left_out = {}, {}
    for name, trees in trees_of(problem.collective, sizes).items():
        if _is_too_late(problem, deadline):
            left_out[name] = TOO_LATE
            continue
        schedule = _play(problem, trees)
        if schedule is None:
            left_out[name] = TOO_MANY
        else:
            schedules[name] = schedule
    return FixedAlgorithms(schedules, left_out)


def _all_reduces(problem: Problem, dimensions: tuple[int, ...], deadline: Deadline) -> FixedAlgorithms:
    first, second = (fixed_algorithms(half, dimensions, deadline) for half in halves(problem))
    schedules = {
        name: tightened(in_sequence(problem, schedule, without_waste(second.schedules[name])))
        for name, schedule in first.schedules.items()
        if name in second.schedules
    }
    left_out = {**first.left_out, **second.left_out}
    if _is_too_late(problem, deadline):
        left_out["double_tree"] = TOO_LATE
    elif problem.graph.npus > 1 and not problem.collective.parts and not _is_too_large(problem):
        both = _double_trees(problem)
        if both is None:
            left_out["double_tree"] = TOO_MANY
        else:
            schedules["double_tree"] = both
    return FixedAlgorithms(schedules, left_out)


def _double_trees(problem: Problem) -> Schedule | None:
    """Return the all-reduce of all chunks up and down two complementary binary trees."""
    chunks = Collective("broadcast", problem.graph.npus, problem.collective.chunks)
    down = replace(problem, collective=chunks)
    up = replace(down, collective=replace(chunks, name="reduce"))
    trees = trees_of(chunks, (problem.graph.npus,))["double_tree"]
    spread, gathered = _play(down, trees), _play(up.mirrored, trees)
    if spread is None or gathered is None:
        return None
    return tightened(in_sequence(problem, without_waste(gathered).mirrored(up), without_waste(spread)))

"""The replicas of each stage and the cuts between stages whose simulated step is fastest."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dse.base.errors import InputError
from dse.base.settings.values import Values
from dse.inputs.strategies.schedules import schedule_named
from dse.partition.graphs.merged import Merged, merged
from dse.partition.graphs.steps import cut_tensors
from dse.partition.problem.constraints import require_feasible
from dse.partition.problem.problem import Devices
from dse.partition.problem.replicas import (
    Layout,
    Replicas,
    averaging_ns,
    can_share,
    layout_of,
    micro_batches_of,
)
from dse.partition.problem.settings import Asked
from dse.partition.problem.validation import validate
from dse.partition.search.partitioners.chains import chain_order
from dse.partition.step import PipelineStep, simulated_step

# Layouts of stages with cuts: up to so many all have a bound.
_MOST_LAYOUTS = 20_000
# And so many steps are simulated: where links are slow, bounds are loose.
_MOST_STEPS = 1000
# Otherwise a dynamic program over so many blocks of nodes and so many devices proposes one for each number of
# stages.
_MOST_BLOCKS = 64
_MOST_DEVICES = 256


@dataclass(frozen=True)
class Replicated:
    """A question of some replicas, labels for it, and its step."""

    asked: Asked
    labels: tuple[int, ...]
    step: PipelineStep

    @property
    def step_ns(self) -> float:
        """The simulated step."""
        ns: float = self.step.data["step_ns"]
        return ns


def fastest_replicas(asked: Asked, values: Values) -> Replicated | None:
    """Return the layout of fastest simulated step among stages that are neighbours in the order of the graph.

    All devices have a replica of one of at least two stages. Of few layouts the fastest of all is found: they
    are simulated in the order of a bound, up to the first whose bound is not below the fastest step. Of many
    only those of shortest bottleneck are, one for each number of stages. None if there is none.
    """
    search = _Search(asked, values)
    candidates = sorted(
        (float(bound), replicas, tuple(map(int, cuts)))
        for replicas, some in search.layouts()
        for bound, cuts in zip(search.bounds(replicas, some), some, strict=True)
    )
    best: Replicated | None = None
    questions: dict[tuple[int, ...], Asked | None] = {}
    steps = 0
    for bound, replicas, cuts in candidates:
        if best is not None and (bound >= best.step_ns or steps == _MOST_STEPS):
            break
        if replicas not in questions:
            questions[replicas] = search.question(replicas)
        of = questions[replicas]
        found = None if of is None else search.simulated(of, cuts)
        steps += found is not None
        if found is not None and (best is None or found.step_ns < best.step_ns):
            best = found
    return best


class _Search:
    """The row of nodes of a question, and what stages of it take."""

    def __init__(self, asked: Asked, values: Values) -> None:
        self.values = values
        self.asked = asked
        self.devices: Devices = asked.everything or asked.problem.devices
        self.micro_batches = micro_batches_of(values)
        self.splits = schedule_named(values.get("schedule", "1f1b")).splits_backward
        validate(asked.problem)
        found = merged(asked.problem)
        self.turn = {node: turn for turn, node in enumerate(found.order)}
        self.place = found.place
        work, gradients = [0.0] * (len(self.turn) + 1), [0.0] * (len(self.turn) + 1)
        nodes = zip(self.place, asked.problem.graph.node_weights, asked.source.operators, strict=True)
        for node, ns, operator in nodes:
            work[self.turn[node] + 1] += ns
            gradients[self.turn[node] + 1] += operator.parameter_bytes
        self.work, self.gradients = np.cumsum(work), np.cumsum(gradients)
        self.crossing = _crossing(found) if chain_order(found.problem.graph, found.order) else 0.0 * self.work

    def layouts(self) -> Iterator[tuple[tuple[int, ...], Any]]:
        """Yield the replicas of stages, and rows of cuts: 0, the first nodes of later stages, all nodes."""
        nodes, count = len(self.turn), self.devices.count
        shares = [one for one in range(1, count) if not self.micro_batches % one]
        ways = _ways(shares, count)
        total = sum(math.comb(nodes - 1, stages - 1) * ways[stages] for stages in range(2, len(ways)))
        if total > _MOST_LAYOUTS:
            found = bottlenecks(self.work, shares, count) if self._has_equal_devices else []
        else:
            found = [
                (
                    replicas,
                    [(0, *cuts, nodes) for cuts in itertools.combinations(range(1, nodes), stages - 1)],
                )
                for stages in range(2, min(nodes, count) + 1)
                for replicas in _sums(shares, count, stages)
            ]
        for replicas, cuts in found:
            if cuts and can_share(self.devices, self.micro_batches, layout_of(replicas, len(replicas))):
                yield replicas, np.array(cuts)

    @property
    def _has_equal_devices(self) -> bool:
        own = (self.devices.speeds, self.devices.memory_bytes)
        return self.devices.count <= _MOST_DEVICES and all(len(set(one)) <= 1 for one in own)

    def bounds(self, replicas: tuple[int, ...], cuts: Any) -> Any:
        """Return for each row of cuts a time that its step exceeds, whatever the schedule.

        A replica of stage s begins after a forward pass of all earlier stages. It works through its share of
        micro-batches, or waits for its messages, which one link carries one by one. Then backward passes of
        the earlier stages follow, and the averaging of gradients. Where backward passes are split, earlier
        stages may have done theirs before. Messages are known in chains only.
        """
        layout, stages = layout_of(replicas, len(replicas)), range(len(replicas))
        speeds = np.array(self.devices.speeds[: len(replicas)] or (1.0,) * len(replicas))
        forward = np.diff(self.work[cuts], axis=1) / speeds
        both = (1 + self.asked.source.backward) * forward
        held = np.diff(self.gradients[cuts], axis=1)
        sizes = self.crossing[cuts]
        begins, last, longest = (np.zeros(len(forward)) for _ in range(3))
        for stage in stages:
            home = layout.devices_of(stage)
            after = averaging_ns(self.devices, home, 0.0)
            after = after + (averaging_ns(self.devices, home, 1.0) - after) * held[:, stage]
            busy = self.micro_batches / replicas[stage] * both[:, stage]
            if stage:
                latency, each = _least_link(self.devices, layout, stage)
                message = sizes[:, stage] * each
                turns = self.micro_batches / math.lcm(replicas[stage - 1], replicas[stage])
                begins = begins + forward[:, stage - 1] + latency + message
                busy = np.maximum(busy, both[:, stage] + (turns - 1) * message)
                last = last + both[:, stage - 1] - forward[:, stage - 1] + latency + message
            last = after if self.splits else np.maximum(last, after)  # from the end of the stage's passes
            longest = np.maximum(longest, begins + busy + last)
        # The simulation rounds the times of passes and messages to whole ns.
        rounding = 2.0 * self.micro_batches * len(replicas)
        return longest * (1 - 1e-6) - rounding

    def question(self, replicas: tuple[int, ...]) -> Asked | None:
        """Return the question of these replicas, None where constraints forbid them."""
        assert self.asked.others is not None
        said: Replicas = layout_of(replicas, len(replicas)).replicas
        try:
            found = self.asked.others(said)
            validate(found.problem)
        except InputError:  # of pinned nodes, whose device is not there
            return None
        return found

    def simulated(self, asked: Asked, cuts: Sequence[int]) -> Replicated | None:
        """Return the step of stages between cuts, None where a constraint is broken."""
        stage_of = np.searchsorted(cuts, range(len(self.turn)), side="right") - 1
        labels = tuple(int(stage_of[self.turn[node]]) for node in self.place)
        try:
            require_feasible(asked.problem, labels)
            return Replicated(asked, labels, simulated_step(asked, labels, self.values))
        except InputError:  # memory, pinned nodes, or a schedule that does not have such stages
            return None


def _crossing(found: Merged) -> Any:
    """Return the bytes that each cut of a chain cuts, each tensor once."""
    sizes = np.zeros(found.problem.graph.nodes + 1)
    turn = {node: turn for turn, node in enumerate(found.order)}
    for _, _, head, size in cut_tensors(found.problem.graph, range(len(turn))):
        sizes[turn[head]] += size
    return sizes


def _least_link(devices: Devices, layout: Layout, stage: int) -> tuple[float, float]:
    """Return the least latency and time per byte of the links between a stage and the one before."""
    turns = range(math.lcm(layout.count(stage - 1), layout.count(stage)))
    ways = [(layout.device_of(stage - 1, turn), layout.device_of(stage, turn)) for turn in turns]
    ways += [(b, a) for a, b in ways]
    latency, each = (
        min((matrix[a][b] for a, b in ways if matrix), default=0.0)
        for matrix in (devices.latency_ns, devices.ns_per_byte)
    )
    return latency, each


def _ways(shares: Sequence[int], total: int) -> list[int]:
    """Return by number of stages in how many ways their replicas add up to a total."""
    ways = [0] * (total + 1)
    last = [1] + [0] * total
    for stages in range(1, total + 1):
        last = [sum(last[one - share] for share in shares if share <= one) for one in range(total + 1)]
        ways[stages] = last[total]
        if sum(ways) > _MOST_LAYOUTS:
            break
    return ways


def _sums(shares: Sequence[int], total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        if total in shares:
            yield (total,)
        return
    for first in shares:
        if first <= total - parts + 1:
            for rest in _sums(shares, total - first, parts - 1):
                yield (first, *rest)


def bottlenecks(
    work: Any, shares: Sequence[int], count: int
) -> list[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """Return for each number of stages the replicas and cuts whose longest stage is shortest.

    A dynamic program over the last stage's nodes and replicas (PipeDream, section 3.1), with the nodes in
    blocks of about equal work. A stage of r replicas takes its work / r.
    """
    marks = np.searchsorted(work, work[-1] * np.arange(1, _MOST_BLOCKS) / _MOST_BLOCKS)
    ends = np.unique([0, *marks, len(work) - 1])
    pieces = work[ends][None, :] - work[ends][:, None]
    pieces = np.where(np.triu(np.ones_like(pieces), 1) > 0, pieces, np.inf)
    stages = min(count, len(ends) - 1)
    # best[d]: the bottleneck of the blocks before each end on d devices.
    best = {0: np.where(np.arange(len(ends)) == 0, 0.0, np.inf)}
    chosen: list[dict[int, tuple[Any, Any]]] = []
    found = []
    for _ in range(stages):
        following, choice = {}, {}
        for devices in range(1, count + 1):
            options = [share for share in shares if devices - share in best]
            if not options:
                continue
            costs = [np.maximum(best[devices - share][:, None], pieces / share) for share in options]
            cuts = [cost.argmin(axis=0) for cost in costs]
            least = np.array([cost.min(axis=0) for cost in costs])
            which = least.argmin(axis=0)
            following[devices] = least.min(axis=0)
            places = np.array(cuts)[which, np.arange(len(ends))]
            choice[devices] = (np.array(options)[which], places)
        best = following
        chosen.append(choice)
        if len(chosen) > 1 and count in best and math.isfinite(best[count][-1]):
            found.append(_walked(chosen, ends, count))
    return found


def _walked(
    chosen: Sequence[dict[int, tuple[Any, Any]]], ends: Any, count: int
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    replicas, cuts, end, devices = [], [len(ends) - 1], len(ends) - 1, count
    for choice in reversed(chosen):
        share, before = (int(one[end]) for one in choice[devices])
        replicas.append(share)
        cuts.append(before)
        end, devices = before, devices - share
    return tuple(replicas[::-1]), [tuple(int(ends[cut]) for cut in cuts[::-1])]

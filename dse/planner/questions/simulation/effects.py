"""Why a plan's simulated step differs from its price: one effect after the other is switched on.

The price of a plan becomes the simulated step in small steps, each with a name. Their differences add up to
the whole difference; what recursion cannot say and only the engine knows is the contention of links. That
the recursion with all other effects equals the engine without contention, to the nanosecond, is what shows
that nothing is left unexplained: that difference is the `remainder`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dse.planner.problem.problem import PlanCost
from dse.planner.questions.simulation.network import RING_DELAY_NS
from dse.planner.questions.simulation.passes import Ends, Hand, Line, ring_ends, run
from dse.planner.questions.simulation.traces import (
    NS_PER_MS,
    gradient_bytes,
    pass_ns,
    ring_members,
    update_ns,
)
from dse.planner.questions.simulation.work import FORWARD_SHARE, PlanWork, StageWork

MEANINGS = {
    "stages without a price": "the price leaves stages out",
    "layer times": "layers take what the profiles of their own GPUs say, not what the price took",
    "update and reduction": "own optimizer times and links; both of a stage, then the largest",
    "gap": "the gap of the working replicas' own profiles",
    "batch generator": "the batch generator of the first type",
    "messages": "activations and their gradients in bytes, over links between hosts, in every micro-batch",
    "pipeline order": "forward passes fill the pipeline while stages wait: one forward, one backward pass",
    "gap beside other stages": "the last stage's gap and the first one's batches pass while others work",
    "early reductions": "a stage reduces and updates when it is done, while others still work",
    "messages beside computation": "a stage goes on while its message is under way",
    "replicas": "each replica at its own pace, waiting for those only that hold its samples",
    "own links": "each message over its own links, with its own samples",
    "rings": "gradients in rings of as many steps as they have, alone on their links",
    "rounding": "whole nanoseconds, at least one for each pass",
    "one message at a time": "messages and reductions of a GPU wait for each other",
    "contention": "messages of several GPUs wait for the links that they share",
}
"""What each effect is, in the order in which they are switched on."""


@dataclass(frozen=True)
class Effect:
    """The time that switching an effect on adds to the step, in ms; negative if it makes the step shorter."""

    name: str
    ms: float


def effects_of(first_ms: float, steps: Iterable[tuple[str, float]]) -> tuple[Effect, ...]:
    """Return what each step adds to the one before it; steps are names and times in ms."""
    found = []
    for name, ms in steps:
        found.append(Effect(name, ms - first_ms))
        first_ms = ms
    return tuple(found)


def compat_steps(price: PlanCost, work: PlanWork) -> Iterator[tuple[str, float]]:
    """Yield the compat price with one strict term after the other, up to the strict price."""
    own, batches, priced = work.price, work.micro_batches, price.stages
    execution = [
        (priced[stage.number] if stage.number < len(priced) else stage.terms).execution_ms
        for stage in work.stages
    ]
    links = sum(stage.link_ms for stage in priced)

    def total(execution: Sequence[float], gap: float, after: float, generator: float, link: float) -> float:
        return (batches - 1) * max(execution) + sum(execution) + gap + after + generator + link

    after = max(stage.update_ms for stage in priced) + max(stage.reduction_ms for stage in priced)
    yield "stages without a price", total(execution, price.gap_ms, after, price.batch_generator_ms, links)
    execution = [stage.execution_ms for stage in own.stages]
    yield "layer times", total(execution, price.gap_ms, after, price.batch_generator_ms, links)
    after = max(stage.update_ms + stage.reduction_ms for stage in own.stages)
    yield "update and reduction", total(execution, price.gap_ms, after, price.batch_generator_ms, links)
    yield "gap", total(execution, own.gap_ms, after, price.batch_generator_ms, links)
    yield "batch generator", total(execution, own.gap_ms, after, own.batch_generator_ms, links)
    yield "messages", own.cost_ms


def pipeline_steps(work: PlanWork) -> Iterator[tuple[str, float]]:
    """Yield the step from the pipeline in its order up to rings, each with one effect more."""
    own = work.price
    after = [stage.update_ms + stage.reduction_ms for stage in own.stages]
    rest = own.gap_ms + own.batch_generator_ms
    yield "pipeline order", _finish(run(_stages(work))) + rest + max(after)
    ends = run(_stages(work, has_all=True))
    yield "gap beside other stages", _finish(ends) + max(after)
    yield "early reductions", _reduced(ends, after)
    yield "messages beside computation", _reduced(run(_stages(work, has_all=True, is_beside=True)), after)
    yield "replicas", _reduced(run(_replicas(work, own_links=False)), after)
    ends = run(_replicas(work, own_links=True))
    yield "own links", _reduced(ends, after)
    yield "rings", _rings(work, ends)


def whole_steps(work: PlanWork) -> Iterator[tuple[str, float]]:
    """Yield the step in whole nanoseconds as the engine counts, without and with slots, in ms."""
    line = _whole_line(work)
    yield "rounding", _whole_rings(work, run(line), has_slots=False) / NS_PER_MS
    yield "one message at a time", _whole_rings(work, run(line, has_slots=True), has_slots=True) / NS_PER_MS


def _finish(ends: Ends) -> float:
    return max(max(row) for row in ends.passes)


def _reduced(ends: Ends, after: Sequence[float]) -> float:
    return max(max(row) + ms for row, ms in zip(ends.passes, after, strict=True))


def _stages(work: PlanWork, *, has_all: bool = False, is_beside: bool = False) -> Line:
    """Stages as one replica each, at the pace of the price; messages in passes, or at the same time."""
    forward, backward, hands = [], [], []
    last = len(work.stages) - 1
    for number, stage in enumerate(work.stages):
        inside = stage.terms.execution_ms
        link = stage.terms.link_ms / 2
        ahead = 0.0
        if has_all and number == last:
            inside += work.price.gap_ms / work.micro_batches
        if has_all and number == 0:
            ahead = stage.generator_ms
        within = 0.0 if is_beside else link
        forward.append([inside * FORWARD_SHARE + ahead + within])
        backward.append([inside * (1 - FORWARD_SHARE) + within])
        if number < last:
            beside = link if is_beside else 0.0
            hands.append(Hand(number, 0, 0, beside, beside))
    return Line(forward, backward, hands, work.micro_batches)


def _replicas(work: PlanWork, *, own_links: bool) -> Line:
    forward: list[list[float | None]] = []
    backward: list[list[float | None]] = []
    for stage in work.stages:
        inside = [
            None if not replica.samples else replica.layers_ms + replica.gap_ms for replica in stage.replicas
        ]
        share = FORWARD_SHARE
        forward.append([None if ms is None else ms * share + stage.generator_ms for ms in inside])
        backward.append([None if ms is None else ms * (1 - share) for ms in inside])
    hands = []
    for message in work.messages:
        delay = work.stages[message.stage].terms.link_ms / 2
        if own_links:
            here, there = _ends_of(work, message.stage, message.source, message.destination)
            delay = message.samples * work.sample_bytes / (work.link_gbps(here, there) * NS_PER_MS)
        hands.append(Hand(message.stage, message.source, message.destination, delay, delay))
    return Line(forward, backward, hands, work.micro_batches)


def _whole_line(work: PlanWork) -> Line:
    forward: list[list[float | None]] = []
    backward: list[list[float | None]] = []
    for stage in work.stages:
        times = [pass_ns(stage, replica) if replica.samples else None for replica in stage.replicas]
        forward.append([None if both is None else both[0] for both in times])
        backward.append([None if both is None else both[1] for both in times])
    hands = []
    for message in work.messages:
        here, there = _ends_of(work, message.stage, message.source, message.destination)
        delay = int(message.samples * work.sample_bytes / work.link_gbps(here, there))
        hands.append(Hand(message.stage, message.source, message.destination, delay, delay))
    return Line(forward, backward, hands, work.micro_batches)


def _ends_of(work: PlanWork, stage: int, source: int, destination: int) -> tuple[int, int]:
    return (
        work.stages[stage].replicas[source].ranks.start,
        work.stages[stage + 1].replicas[destination].ranks.start,
    )


def _rings(work: PlanWork, ends: Ends) -> float:
    """When all stages have reduced and updated, in ms."""
    found = []
    for stage, row in zip(work.stages, ends.passes, strict=True):
        end = max(row)
        for wires in {_wires(work, members) for members in ring_members(stage)}:
            size = stage.gradient_bytes / len(stage.replicas)
            delays = [size / (gbps * NS_PER_MS) for gbps in wires]
            end = max(end, *ring_ends(row, delays, RING_DELAY_NS / NS_PER_MS))
        found.append(end + stage.terms.update_ms)
    return max(found)


def _whole_rings(work: PlanWork, ends: Ends, *, has_slots: bool) -> float:
    found = [0.0]
    for stage, row, slots in zip(work.stages, ends.passes, ends.slots, strict=True):
        ready = [max(end, slot) if has_slots else end for end, slot in zip(row, slots, strict=True)]
        ready = [max(1, end) for end in ready]
        members = ring_members(stage)
        found.append(max(max(row), 1) + update_ns(stage))
        if not members:
            continue
        starts = _signalled(work, stage, ready, has_slots=has_slots)
        size = gradient_bytes(stage) // len(stage.replicas)
        rings = {(tuple(starts[j]), _wires(work, ring)) for j, ring in enumerate(members)}
        for times, wires in rings:
            found.append(max(ring_ends(times, [int(size / gbps) for gbps in wires])) + update_ns(stage))
    return max(found)


def _signalled(
    work: PlanWork, stage: StageWork, ready: Sequence[float], *, has_slots: bool
) -> list[list[float]]:
    """When the j-th GPU of each replica knows that its gradients are complete."""
    starts: list[list[float]] = [[] for _ in range(stage.tp)]
    for replica, time in zip(stage.replicas, ready, strict=True):
        first, sent = replica.ranks.start, time
        for j, other in enumerate(replica.ranks[1:], 1):
            delay = int(1 / work.link_gbps(first, other))
            sent = sent + delay if has_slots else time + delay
            starts[j].append(sent)
        starts[0].append(sent if has_slots else time)
    return starts


def _wires(work: PlanWork, members: Sequence[int]) -> tuple[float, ...]:
    """Bandwidth from each member of a ring to the next."""
    following = [*members[1:], members[0]]
    return tuple(work.link_gbps(here, there) for here, there in zip(members, following, strict=True))

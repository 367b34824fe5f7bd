"""Packets of an MSCCL++ plan: sums of several at once, and GPUs that run ahead of their readers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

from dse.collectives.files.msccl_steps import Step
from dse.collectives.files.switch_groups import Moves
from dse.collectives.interpret.limits import PLAN_LIMITS

_MOST_ADDED = PLAN_LIMITS.buffers_of_side - 2  # packets that one operation adds to a chunk


def added_at_once(steps: Sequence[Step]) -> list[Step]:
    """Return steps in which sums of one place, with nothing between, are one step that adds all packets."""
    users = Counter(id(other) for step in steps for other in {id(each): each for each in step.after}.values())
    gone: set[int] = set()
    for step in steps:
        before = {id(each): each for each in step.after}
        for number, other in before.items():
            is_sum = step.kind == other.kind == "rrc" and other.target == step.source
            if is_sum and users[number] == 1 and len(other.taken) + len(step.taken) <= _MOST_ADDED:
                step.source, step.more = other.source, (*other.taken, *step.more)
                step.after = [each for each in step.after if each is not other] + other.after
                gone.add(number)
                break
    return [step for step in steps if id(step) not in gone]


def unheard(steps: Sequence[Step], moves: Moves) -> set[tuple[int, int]]:
    """Return pairs of a GPU and one that it sends packets to, but may not have heard of when it ends.

    Scratch has two halves for launches in turn. A GPU that runs ahead would fill one that is not read.
    """
    known: dict[int, frozenset[int]] = {}  # at the end of a step: GPUs that have begun
    sent: dict[Hashable, frozenset[int]] = {}
    at: dict[int, frozenset[int]] = {}
    heard: defaultdict[int, frozenset[int]] = defaultdict(frozenset)
    pairs = set()
    for step in steps:
        sources: tuple[Hashable, ...] = step.taken if step.kind != "gr" else (("g", step.group),)
        begun = known.get(step.block, frozenset([step.gpu])).union(
            *(sent[source] for source in sources), *(at[id(other)] for other in step.after)
        )
        known[step.block] = at[id(step)] = begun
        heard[step.gpu] |= begun
        if step.sends >= 0 or step.kind == "g":
            sent[step.sends if step.kind != "g" else ("g", step.group)] = begun
        pairs |= {(moves.messages[each].source, step.gpu) for each in step.taken}
        if step.kind == "gr":
            pairs.add((moves.groups[step.group].owner, step.gpu))
    return {(source, gpu) for source, gpu in pairs if gpu not in heard[source]}

"""Where the time of a recorded step goes when it is played again: its path, and who waits for whom."""

from __future__ import annotations

from collections import Counter

from dse.answers.runs.parts import Parts, Section, Share, largest, sections
from dse.simulation.recorded.critical import bounds_of, critical_path
from dse.simulation.recorded.replay import Replay
from dse.simulation.recorded.times import is_communication

_BOUNDS = (
    "communication that takes no time and waits for nobody",
    "work and gaps that take no time",
    "the longest chain of work and communication, without gaps",
)


def parts_of_replay(replay: Replay) -> Parts:
    """Return the parts of the path to the end of the rank that ends last.

    Raises:
        InputError: the replay is a deadlock.
    """
    step = replay.step
    slowest = step.ranks[int(replay.rank_end_ns.argmax())]
    own, across = critical_path(replay, slowest), critical_path(replay)
    spent = [
        Share(f"work: {name}", ns) for name, ns in sorted(own.work_ns.items(), key=lambda item: -item[1])
    ]
    spent += [
        Share("communication", own.communication_ns),
        Share("waiting for other ranks", own.waiting_ns),
        Share("gaps", own.gap_ns, "time of the host that no node explains"),
    ]
    bounds = bounds_of(step)
    limits = (bounds.work_ns, bounds.communication_ns, bounds.critical_path_ns)
    return Parts(
        replay.step_ns,
        slowest,
        sections(
            [
                Section("parts", tuple([share for share in spent if share.ns])),
                Section("communication by group, on that rank", _groups(replay, slowest)),
                Section("who waits for whom, all ranks", _waits(replay)),
                Section(
                    "ranks on the critical path, across ranks",
                    largest({f"rank {rank}": ns for rank, ns in across.rank_ns.items()}),
                ),
                Section(
                    "bounds, which no change of the other part beats",
                    tuple([Share(name, ns, meaning) for name, ns, meaning in _named(limits)]),
                ),
            ]
        ),
        step.notes,
    )


def _named(limits: tuple[int, int, int]) -> list[tuple[str, int, str]]:
    names = ("work only", "communication only", "critical path")
    return list(zip(names, limits, _BOUNDS, strict=True))


def _groups(replay: Replay, rank: int) -> tuple[Share, ...]:
    """The time from when a node could begin until it ended, by kind and group."""
    step = replay.step
    first, end = step.rank_first[step.ranks.index(rank) :][:2].tolist()
    times: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    mask = is_communication(step)[first:end]
    for node, is_one in zip(range(first, end), mask.tolist(), strict=True):
        if is_one and step.communication[node] >= 0:
            each = step.communications[int(step.communication[node])]
            name = f"{each.kind}, {each.group or 'all ranks'}"
            times[name] += int(replay.end_ns[node] - replay.start_ns[node])
            counts[name] += 1
    return largest(times, counts)


def _waits(replay: Replay) -> tuple[Share, ...]:
    return largest({f"rank {one} for rank {other}": ns for (one, other), ns in replay.waited_for_ns.items()})

"""Why the replay of a recorded step, or what would change it, cannot be trusted."""

from __future__ import annotations

import numpy as np

from dse.simulation.recorded.critical import critical_path
from dse.simulation.recorded.replay import Replay
from dse.simulation.recorded.step import RecordedStep

_MOST_SHOWN = 4


def gap_shares(replay: Replay) -> dict[int, float]:
    """Return by rank which share of the path to its end is time of the host that no node explains.

    Raises:
        InputError: the replay is a deadlock.
    """
    paths = {rank: critical_path(replay, rank) for rank in replay.step.ranks}
    return {rank: path.gap_ns / max(path.total_ns, 1) for rank, path in paths.items()}


def reasons_for_distrust(replay: Replay) -> tuple[str, ...]:
    """Return sentences that say why a replay without changes is not trusted; none if it is.

    Each rank that is off has its times, the likely cause, and the node at which most of the difference
    begins; then follow the notes of the step.
    """
    if replay.is_trusted:
        return ()
    if replay.blocked:
        return (replay.reason, *replay.step.notes)
    off = [index for index, error in enumerate(replay.errors.tolist()) if not replay.is_near(error)]
    shares = gap_shares(replay)
    return (
        *[_why(replay, index, shares[replay.step.ranks[index]]) for index in off],
        *replay.step.notes,
    )


def doubt_of_missing_ranks(step: RecordedStep) -> str:
    """Return why no what-if of a step can be trusted, as recorded ranks waited for missing ones; else empty.

    The replay without changes is right all the same: it keeps such waits as time of communications.
    """
    recorded = set(step.ranks)
    missing = sorted({rank for each in step.communications for rank in each.members} - recorded)
    if not missing:
        return ""
    more = f" and {len(missing) - _MOST_SHOWN} more" if len(missing) > _MOST_SHOWN else ""
    ranks = f"{', '.join(map(str, missing[:_MOST_SHOWN]))}{more}"
    return (
        f"{'rank' if len(missing) == 1 else 'ranks'} {ranks} without files: the others' time of waiting for "
        "them counts as communication, which faster links shorten and faster work does not"
    )


def _why(replay: Replay, index: int, gap_share: float) -> str:
    step = replay.step
    end_ns, measured_ns = int(replay.rank_end_ns[index]), int(step.measured_ns[index])
    if measured_ns <= 0:
        return f"rank {step.ranks[index]} ends after {end_ns / 1e6:.3f} ms; its files hold no measured time"
    cause = (
        "a node waits for one that it did not wait for"
        if end_ns > measured_ns
        else "a dependency is missing, or time after the last node"
    )
    node, lost_ns = _largest_loss(replay, index)
    at = f"; most of it, {lost_ns / 1e6:+.3f} ms, at {step.names[step.name[node]]}" if node >= 0 else ""
    return (
        f"rank {step.ranks[index]} ends after {end_ns / 1e6:.3f} ms and was measured at "
        f"{measured_ns / 1e6:.3f} ms ({100 * replay.errors[index]:+.1f} %): {cause}{at}; gaps are "
        f"{100 * gap_share:.1f} % of its path"
    )


def _largest_loss(replay: Replay, index: int) -> tuple[int, int]:
    """The node of a rank before which its replay drifts most from its measured starts, and by how much."""
    step = replay.step
    path = critical_path(replay, step.ranks[index]).nodes
    if not len(path):
        return -1, 0
    drift = replay.start_ns[path] - step.start_ns[path]
    change = np.diff(drift, prepend=0)
    worst = int(np.abs(change).argmax())
    return int(path[worst]), int(change[worst])

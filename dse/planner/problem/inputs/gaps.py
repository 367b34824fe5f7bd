"""The gap of a profile, what a pass takes beyond its layers: it cannot be far below 0."""

from __future__ import annotations

from dataclasses import replace

from dse.base.errors import InputError
from dse.planner.problem.arithmetic import plain_sum
from dse.planner.problem.problem import PlanProblem
from dse.planner.problem.profiles import Profile, ProfileSet

MOST_OVERLAP = 0.05
"""Share by which layers timed one by one may take longer than the pass as a whole; more is no noise."""


def overlap_of(profile: Profile) -> float:
    """Return by which share of their sum the layers take longer than the pass; 0 where they do not."""
    return max(0.0, -profile.gap_ms / plain_sum(profile.layer_ms))


def check_gap(profile: Profile, where: str) -> None:
    """Refuse a profile whose two times contradict each other.

    Raises:
        InputError: the layers take over `MOST_OVERLAP` longer than the forward and backward pass.
    """
    layers_ms = plain_sum(profile.layer_ms)
    if overlap_of(profile) > MOST_OVERLAP:
        raise InputError(
            f"{where}: forward_backward_time_ms is {layers_ms + profile.gap_ms:.6g}, but "
            f"layer_compute_total_ms add up to {layers_ms:.6g}; a pass takes as long as its layers, give or "
            f"take {100 * MOST_OVERLAP:g} %: take both from one run, in ms"
        )


def without_overlaps(profiles: ProfileSet) -> ProfileSet:
    """Return the profiles with gaps of at least 0.

    A gap below 0 would be taken off once a micro-batch, however short the stages are.
    """
    found = {key: replace(one, gap_ms=max(0.0, one.gap_ms)) for key, one in profiles.profiles.items()}
    return replace(profiles, profiles=found)


def overlap_note(profiles: ProfileSet) -> str | None:
    """Return which profiles have gaps below 0, in words, or None if none has."""
    found = profiles.profiles
    below = [key for key, profile in found.items() if profile.gap_ms < 0]
    if not below:
        return None
    worst = max(below, key=lambda key: overlap_of(found[key]))
    return (
        f"{len(below)} of {len(found)} profiles have layers that take longer than their pass, by up to "
        f"{100 * overlap_of(found[worst]):.2g} % ({worst})"
    )


def check_gaps(problem: PlanProblem) -> None:
    """Refuse profiles whose layers take far longer than their pass.

    Raises:
        InputError: names the first of them.
    """
    for key, profile in problem.profiles.profiles.items():
        check_gap(profile, f"problem: profile of {key}")

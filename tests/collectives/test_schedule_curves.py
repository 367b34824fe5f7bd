"""The time of a schedule by size: exact, convex, and the fastest of several schedules."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import MIB, all_gather, greedy, random_graph, replay, ring

from dse.collectives import LinkModel, Schedule
from dse.collectives.search.times_by_size import Line, curve

MODELS = [LinkModel(), LinkModel("gib", "bandwidth", "ns")]


def at_size(schedule: Schedule, chunk_bytes: Fraction) -> Schedule:
    """The same sends with chunks of another size, in an order of starts that stays valid."""
    return replace(schedule, problem=replace(schedule.problem, chunk_bytes=chunk_bytes))


def test_a_ring_is_one_line() -> None:
    schedule = greedy(all_gather(ring(5)))

    made = curve(schedule)

    assert made.lines == (Line(Fraction(2 * 500_000), Fraction(2 * 20)),)
    assert made.time_ps(MIB) == schedule.time_ps == 2 * 21_471_520


@settings(max_examples=20, deadline=None)
@given(st.integers(3, 7), st.integers(0, 10**6), st.sampled_from(MODELS), st.integers(0, 40))
def test_it_is_what_a_replay_takes_at_any_size_but_for_floors(
    npus: int, seed: int, model: LinkModel, power: int
) -> None:
    problem = all_gather(random_graph(npus, 6, seed), model=model)
    schedule = greedy(problem, seed)
    made = curve(schedule)

    size = Fraction(1 << power)
    other = replace(problem, chunk_bytes=size)
    durations = (other.arrival_ps[:, None], other.held_ps[:, None])
    replayed = int(replay(schedule, *durations)[0])

    tick = 1 if model.clock == "ps" else 1000
    assert replayed <= made.time_ps(size) <= replayed + len(schedule) * tick


@settings(max_examples=20, deadline=None)
@given(st.integers(3, 7), st.integers(0, 10**6), st.sampled_from(MODELS))
def test_it_is_convex_and_never_falls(npus: int, seed: int, model: LinkModel) -> None:
    made = curve(greedy(all_gather(random_graph(npus, 6, seed), model=model), seed))

    sizes = [Fraction(1 << power) for power in range(0, 40, 4)]
    times = [made.time_ps(size) for size in sizes]
    slopes = [(b - a) / (y - x) for a, b, x, y in zip(times, times[1:], sizes, sizes[1:], strict=False)]
    assert slopes == sorted(slopes)
    assert slopes[0] >= 0
    assert [line.ps_per_byte for line in made.lines] == sorted(line.ps_per_byte for line in made.lines)


@pytest.mark.parametrize("model", MODELS)
def test_a_schedule_without_sends_takes_no_time(model: LinkModel) -> None:
    problem = all_gather(ring(3), model=model)
    import numpy as np

    nothing = Schedule.of(problem, *(np.zeros(0, kind) for kind in (np.int32, np.int32, np.int64)))

    assert curve(nothing).time_ps(MIB) == 0

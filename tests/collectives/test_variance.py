"""Schedules under variance: draws, figures, common random numbers, critical links, selection."""

from __future__ import annotations

import numpy as np
import pytest
from schedules import all_gather, greedy, random_graph, ring, torus

from dse.base.errors import InputError
from dse.collectives import LinkModel, Schedule
from dse.collectives.robust.variance import Variance, compare, select, spread
from dse.collectives.search.fixed_algorithms import fixed_algorithms


def schedule(seed: int = 0, model: LinkModel | None = None) -> Schedule:
    """An all-gather on a torus."""
    return greedy(all_gather(torus(3, 4), model=model), seed)


@pytest.mark.parametrize("model", [LinkModel(), LinkModel("gib", "bandwidth", "ns")])
def test_without_variance_every_draw_takes_the_nominal_time(model: LinkModel) -> None:
    found = spread(schedule(model=model), Variance(), 20)

    assert set(found.times_ps.tolist()) == {found.nominal_ps}
    assert found.figures["slowdown"] == 1
    assert found.figures["p99"] == found.figures["cvar95"] == found.nominal_ps


def test_factors_have_mean_1_and_the_variation_asked_for() -> None:
    from dse.collectives.robust.variance import _link_factors

    factors = _link_factors(all_gather(ring(20)), Variance(bandwidth_cv=0.3), np.random.default_rng(1), 4000)

    assert factors.shape == (40, 4000)
    assert factors.mean() == pytest.approx(1, abs=0.01)
    assert factors.std() == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize(("correlation", "different"), [("none", 40), ("node", 20), ("dimension", 1)])
def test_links_share_factors_by_node_or_dimension(correlation: str, different: int) -> None:
    from dse.collectives.robust.variance import _link_factors

    variance = Variance(bandwidth_cv=0.3, correlation=correlation)  # type: ignore[arg-type]

    factors = _link_factors(all_gather(ring(20)), variance, np.random.default_rng(1), 3)

    assert len(np.unique(factors[:, 0])) == different


def test_given_factors_slow_links_down_exactly() -> None:
    made = schedule()
    halved = [[0.5] * len(made.problem.graph)]

    found = spread(made, Variance(factors=halved), 1)

    hops = made.time_ps // made.problem.arrival_ps[0]
    assert found.times_ps.tolist() == [hops * (500_000 + 2 * 20_971_520)]


def test_figures_are_those_of_the_sorted_times() -> None:
    found = spread(schedule(), Variance(bandwidth_cv=0.2), 200)
    times = np.sort(found.times_ps)

    assert found.figures["p50"] == times[99]
    assert found.figures["p95"] == times[189]
    assert found.figures["p99"] == times[197]
    assert found.figures["worst"] == times[199]
    assert found.figures["cvar95"] == times[190:].mean()
    assert found.percentiles_ps((0, 1, 50, 95, 100)) == times[[0, 1, 99, 189, 199]].tolist()


def test_fixed_algorithms_meet_the_same_links() -> None:
    made = schedule()
    both = {"ours": made, **fixed_algorithms(made.problem).schedules}

    found = compare(both, Variance(bandwidth_cv=0.3, correlation="dimension"), 300)

    ring_and_ours = np.corrcoef(found["ours"].times_ps, found["ring"].times_ps)[0, 1]
    assert ring_and_ours > 0.999
    assert found["ours"].figures["mean"] < found["ring"].figures["mean"]


def test_the_only_way_is_always_critical_and_time_follows_its_bandwidth() -> None:
    made = greedy(all_gather(ring(2)))

    found = spread(made, Variance(bandwidth_cv=0.2), 100)

    assert found.critical_share.sum() == pytest.approx(1)
    assert found.elasticity.sum() == pytest.approx(1 - 500_000 * 100 / found.times_ps.sum())


def test_jitter_and_spikes_belong_to_sends() -> None:
    made = schedule()

    jitter = spread(made, Variance(jitter_cv=0.1), 50).figures
    spikes = spread(made, Variance(spike_share=1.0, spike_ns=1000), 3)

    assert jitter["mean"] > jitter["nominal"]
    hops = made.time_ps // made.problem.arrival_ps[0]
    assert spikes.times_ps.tolist() == [made.time_ps + hops * 1_000_000] * 3


def test_draws_do_not_depend_on_how_many_there_are() -> None:
    made = schedule()
    variance = Variance(bandwidth_cv=0.2)

    few, many = (spread(made, variance, draws, seed=7).times_ps for draws in (10, 1))

    assert few[0] == many[0]


def test_the_schedule_with_the_least_p95_is_selected() -> None:
    problem = all_gather(random_graph(7, 5, 3))
    restarts = [greedy(problem, seed) for seed in range(6)]
    variance = Variance(bandwidth_cv=0.4)

    best, values = select(restarts, "p95", variance, draws=400)

    assert values[best] == min(values) == spread(restarts[best], variance, 400).figures["p95"]
    assert (
        select(restarts, "nominal", variance, draws=1)[1][best] >= min(each.time_ps for each in restarts) * 0
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bandwidth_cv": -1.0}, "variance.bandwidth_cv is -1.0; it must be at least 0"),
        ({"straggler_share": 2.0}, "variance.straggler_share is 2.0; it must be from 0 to 1"),
        ({"straggler_slowdown": 0.5}, "variance.straggler_slowdown is 0.5; it must be at least 1"),
        ({"factors": [[1.0]]}, r"variance.factors has shape \(1, 1\); it must be \(2, 48\)"),
    ],
)
def test_what_is_out_of_range_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        spread(schedule(), Variance(**changes), 2)  # type: ignore[arg-type]


def test_an_unknown_figure_is_refused() -> None:
    with pytest.raises(InputError, match="select is p42; allowed are nominal, mean, p50"):
        select([schedule()], "p42", Variance())

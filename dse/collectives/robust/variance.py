"""Schedules under links and sends that vary: draws, their statistics, and which links decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from dse.base.errors import InputError
from dse.base.lazy import NDArray, np
from dse.collectives.problem.cut_through import NO_VARIANCE
from dse.collectives.problem.engines import refuse_engines
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.replay import Replay

Correlation = Literal["none", "node", "dimension"]
# Figures of a schedule by name, for `--select`.
SELECTIONS = ("nominal", "mean", "p50", "p95", "p99", "worst", "cvar95")
_MOST_DRAWN = 1 << 23  # numbers at a time: 64 MiB
_LANES = 8  # draws that the engine computes together


@dataclass(frozen=True)
class Variance:
    """How links and sends differ from what they are nominally; every part is off by default.

    Each link and draw has a factor on its bandwidth, lognormal with mean 1 and coefficient of variation
    `bandwidth_cv`; with `correlation` node all links out of a node have one, with dimension all links of a
    kind. A share `straggler_share` of links is `straggler_slowdown` times slower. Each send takes longer by a
    factor lognormal with mean 1 and `jitter_cv` on its serial time, and with probability
    `spike_share` by `spike_ns` of latency. `factors`, of shape (draws, links), multiply the bandwidths.
    """

    bandwidth_cv: float = 0.0
    correlation: Correlation = "none"
    straggler_share: float = 0.0
    straggler_slowdown: float = 1.0
    jitter_cv: float = 0.0
    spike_share: float = 0.0
    spike_ns: float = 0.0
    factors: Sequence[Sequence[float]] = field(default=())

    def __post_init__(self) -> None:
        """Refuse what is out of range, naming the key."""
        for key in ("bandwidth_cv", "jitter_cv", "spike_ns"):
            if getattr(self, key) < 0:
                raise InputError(f"variance.{key} is {getattr(self, key)}; it must be at least 0")
        for key in ("straggler_share", "spike_share"):
            if not 0 <= getattr(self, key) <= 1:
                raise InputError(f"variance.{key} is {getattr(self, key)}; it must be from 0 to 1")
        if self.straggler_slowdown < 1:
            raise InputError(
                f"variance.straggler_slowdown is {self.straggler_slowdown}; it must be at least 1"
            )

    @property
    def is_by_send(self) -> bool:
        """Whether sends over one link differ."""
        return self.jitter_cv > 0 or (self.spike_share > 0 and self.spike_ns > 0)


class Draws(NamedTuple):
    """Some of the draws: when chunks arrive and links are free; shape (links or sends, draws)."""

    arrival_ps: NDArray[np.int64]
    held_ps: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Spread:
    """The times of one schedule over all draws, in ps; `nominal_ps` is that of a replay without variance.

    Per link: `critical_share`, the share of draws in which it is on the critical path, and `elasticity`, by
    which share of the mean time that falls per share that its bandwidth grows (mean derivative).
    """

    times_ps: NDArray[np.int64]
    nominal_ps: int
    critical_share: NDArray[np.float64]
    elasticity: NDArray[np.float64]

    @property
    def figures(self) -> dict[str, float]:
        """Mean, standard deviation, percentiles, the mean of the worst 5 %, and slowdown against nominal."""
        times = np.sort(self.times_ps)
        p50, p95, p99 = (_percentile(times, share) for share in (50, 95, 99))
        tail = times[-max(1, -(-len(times) * 5 // 100)) :]
        return {
            "nominal": float(self.nominal_ps),
            "mean": float(times.mean()),
            "std": float(times.std()),
            "p50": p50,
            "p95": p95,
            "p99": p99,
            "worst": float(times[-1]),
            "cvar95": float(tail.mean()),
            "slowdown": float(times.mean()) / self.nominal_ps if self.nominal_ps else 1.0,
        }

    def percentiles_ps(self, percents: Sequence[int]) -> list[int]:
        """Return per per cent the least time that so many draws do not exceed; 0: the least of all."""
        times = np.sort(self.times_ps)
        return [round(_percentile(times, percent)) for percent in percents]


def _percentile(times: NDArray[np.int64], percent: int) -> float:
    """The least time that so many per cent of the draws do not exceed."""
    return float(times[max(0, -(-len(times) * percent // 100) - 1)])


def spread(schedule: Schedule, variance: Variance, draws: int, seed: int = 0) -> Spread:
    """Return how long a schedule takes under `draws` draws.

    Link factors depend on the seed, the links and the number of the draw only: schedules on the same links
    meet the same ones (common random numbers). Those of sends belong to the schedule.

    Raises:
        InputError: no draw at all, or `factors` of another shape.
    """
    if draws < 1:
        raise InputError(f"draws is {draws}; it must be at least 1")
    replay = Replay(schedule)
    problem = schedule.problem
    links = len(problem.graph)
    latency_ps = np.array([float(kind.latency_ns) * 1000 for kind in problem.graph.kinds])[
        problem.graph.kind_of
    ]
    times, on_path, serial = [], np.zeros(links), np.zeros(links)
    for part in _parts(schedule, variance, draws, seed):
        found = replay.critical(*part, per_send=variance.is_by_send)
        times.append(found.times_ps)
        on_path += found.draws
        with_latency = found.arrivals + (found.waits if problem.model.occupancy == "total" else 0)
        serial += found.path_ps - with_latency * latency_ps
    together = np.concatenate(times)
    nominal = int(replay.times_ps()[0])
    return Spread(together, nominal, on_path / draws, serial / max(1, int(together.sum())))


def compare(
    schedules: Mapping[str, Schedule], variance: Variance, draws: int, seed: int = 0
) -> dict[str, Spread]:
    """Return the spread of several schedules on the same links, with common random numbers."""
    return {name: spread(schedule, variance, draws, seed) for name, schedule in schedules.items()}


def select(
    schedules: Sequence[Schedule], figure: str, variance: Variance, draws: int = 1000, seed: int = 0
) -> tuple[int, tuple[float, ...]]:
    """Return which of several schedules of a problem has the least p95, mean …, and the figure of each.

    Raises:
        InputError: no such figure, or no schedule.
    """
    if figure not in SELECTIONS:
        raise InputError(f"select is {figure}; allowed are {', '.join(SELECTIONS)}")
    if not schedules:
        raise InputError("select: there is no schedule to select from")
    values = tuple(spread(each, variance, draws, seed).figures[figure] for each in schedules)
    return values.index(min(values)), values


def _parts(schedule: Schedule, variance: Variance, draws: int, seed: int) -> Iterator[Draws]:
    """Give the draws a few at a time, so that they fit into memory."""
    problem = schedule.problem
    rows = len(schedule) if variance.is_by_send else len(problem.graph)
    step = max(_LANES, _MOST_DRAWN // max(1, rows) // _LANES * _LANES)
    given = np.array(variance.factors, dtype=np.float64)
    if given.size and given.shape != (draws, len(problem.graph)):
        raise InputError(
            f"variance.factors has shape {given.shape}; it must be ({draws}, {len(problem.graph)}): "
            "draws, links"
        )
    if (given <= 0).any():
        raise InputError("variance.factors has a factor that is not above 0")
    # A stream of random numbers each, of which every part takes the next ones.
    links, sends = (np.random.default_rng([seed, stream]) for stream in (0, 1))
    for first in range(0, draws, step):
        count = min(step, draws - first)
        factor = _link_factors(problem, variance, links, count)
        if given.size:
            factor = factor * given[first : first + count].T
        yield _durations(schedule, variance, factor, sends)


def _link_factors(
    problem: Problem, variance: Variance, random: np.random.Generator, draws: int
) -> NDArray[np.float64]:
    """Factors on bandwidth of shape (links, draws); drawn by draw, so that parts of draws are the same."""
    graph = problem.graph
    group: dict[str, NDArray[np.integer[Any]]] = {
        "none": np.arange(len(graph)),
        "node": graph.sources,
        "dimension": graph.kind_of,
    }
    if variance.correlation not in group:
        raise InputError(f"variance.correlation is {variance.correlation}; allowed are {', '.join(group)}")
    groups = group[variance.correlation]
    count = int(groups.max()) + 1 if len(groups) else 0
    numbers = random.standard_normal((draws, count))
    slowed = random.random((draws, len(graph))) < variance.straggler_share
    factors = _lognormal(numbers, variance.bandwidth_cv)[:, groups]
    factors[slowed] /= variance.straggler_slowdown
    return np.ascontiguousarray(factors.T)


def _lognormal(normal: NDArray[np.float64], cv: float) -> NDArray[np.float64]:
    """Factors with mean 1 and a coefficient of variation, from normal numbers."""
    sigma2 = np.log1p(cv * cv)
    result: NDArray[np.float64] = np.exp(normal * np.sqrt(sigma2) - sigma2 / 2)
    return result


def _durations(
    schedule: Schedule, variance: Variance, factor: NDArray[np.float64], random: np.random.Generator
) -> Draws:
    """The times that links, or sends, take with factors on the bandwidths; whole ticks, floored."""
    problem = schedule.problem
    graph, model = problem.graph, problem.model
    if problem.cuts_through:
        raise InputError(NO_VARIANCE)
    refuse_engines(problem, "variance")
    tick_ps = model.tick_ps
    per_gb = 10**9 if model.gb == "1e9" else 2**30
    latency, serial = (
        np.array(column)[graph.kind_of][:, None]
        for column in (
            [float(kind.latency_ns) * 1000 for kind in graph.kinds],
            [float(problem.chunk_bytes * 10**12 / (kind.bandwidth_gbps * per_gb)) for kind in graph.kinds],
        )
    )
    serial = serial / factor
    if variance.is_by_send:
        link = schedule.link
        shape = (factor.shape[1], len(link))
        serial = serial[link] * _lognormal(random.standard_normal(shape), variance.jitter_cv).T
        spikes = variance.spike_share > random.random(shape).T
        latency = latency[link] + spikes * (variance.spike_ns * 1000)
    arrival = (np.floor((latency + serial) / tick_ps) * tick_ps).astype(np.int64)
    if model.occupancy == "total":
        return Draws(arrival, arrival)
    return Draws(arrival, (np.floor(serial / tick_ps) * tick_ps).astype(np.int64))

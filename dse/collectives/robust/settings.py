"""From texts of keys to failures and to variances of links, refused before any search if they are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

from dse.base.errors import InputError, did_you_mean
from dse.base.settings import check_choice
from dse.base.settings.values import Values, number, one_of, whole
from dse.collectives.problem.cut_through import NO_VARIANCE
from dse.collectives.problem.engines import refuse_engines
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.reachability import require_ways
from dse.collectives.robust.failures import Failure, lost_at_start, problem_after, without_dead
from dse.collectives.robust.repair import SLACK, check_repairable
from dse.collectives.robust.variance import SELECTIONS, Correlation, Variance

DEFAULT_DRAWS = 1000
_MOST_DRAWS = 10**6
_MOST_US = 10**12
_NUMBERS = ("bandwidth_cv", "straggler_share", "straggler_slowdown", "jitter_cv", "spike_share", "spike_ns")
# More would leave the range of times.
_MOST = {"spike_ns": 1e9, "straggler_slowdown": 1e4, "straggler_share": 1, "spike_share": 1}
_MOST_CV = 10
_PARTS = ("cv", *_NUMBERS[1:], "correlation", "draws")
# Each has an effect only with the other.
_PAIRS = (("straggler_share", "straggler_slowdown"), ("spike_share", "spike_ns"))


@dataclass(frozen=True)
class Draws:
    """How links vary, in how many draws, and which figure selects a schedule; None means the nominal time."""

    variance: Variance
    count: int = DEFAULT_DRAWS
    select: str | None = None


def failure_of(problem: Problem, values: Values) -> Failure | None:
    """Return what fails, None if nothing does.

    Raises:
        InputError: no such link or NPU, a time without a failure, a collective that cannot be repaired, or,
            of failures at the start, an NPU that nothing reaches any more; names both.
    """
    links, npus = values.get("failed_links"), values.get("failed_npus")
    if links is None and npus is None:
        if "failed_at_us" in values:
            raise InputError(
                f"failed_at_us={values['failed_at_us']} has no effect without failed_links or failed_npus; "
                "write one of them, or leave it out"
            )
        return None
    at_ps = 0
    if "failed_at_us" in values:
        number(values, "failed_at_us", None, most=_MOST_US)
        at_ps = int(Fraction(Decimal(values["failed_at_us"])) * 10**6)
    failure = Failure.parse(problem.graph, links or "", npus or "", at_ps)
    if not failure.links.any() and not failure.npus:
        key, text = ("failed_links", links) if links is not None else ("failed_npus", npus)
        raise InputError(f"{key} is '{text}', which names nothing; write such as failed_links=3-7,8-9")
    check_repairable(problem, failure)
    if not at_ps:
        lost = lost_at_start(problem, failure)
        try:
            require_ways(without_dead(problem_after(problem, failure, lost), failure))
        except InputError as error:
            raise InputError(f"after the failure the {error}, or let fewer fail") from None
    return failure


def slack_of(values: Values) -> float:
    """Return by what share of its time a repair may be slower to keep more.

    Raises:
        InputError: another word, or nothing fails.
    """
    chosen = one_of(values, "repair", ("fastest", "least_change"))
    if "repair" in values and not {"failed_links", "failed_npus"} & values.keys():
        raise InputError(
            f"repair={chosen} has no effect without failed_links or failed_npus; leave it out, or write one"
        )
    return SLACK if chosen == "least_change" else 0.0


def draws_of(problem: Problem, values: Values) -> Draws | None:
    """Return how links vary, None if they do not.

    Raises:
        InputError: a wrong part of `variance`, one without effect, `select` without a variance, or switches
            that cut through.
    """
    if "variance" not in values:
        if "select" in values:
            raise InputError(
                f"select={values['select']} has no effect without a variance; write variance=cv=0.1 too"
            )
        return None
    if problem.cuts_through:
        raise InputError(NO_VARIANCE)
    refuse_engines(problem, "variance")
    parts = _parts(values["variance"])
    numbers: dict[str, Any] = {
        "bandwidth_cv" if key == "cv" else key: number(parts, key, None)
        for key in parts
        if key not in ("correlation", "draws")
    }
    for key, value in numbers.items():
        most = _MOST.get(key, _MOST_CV)
        if value > most:
            raise InputError(f"variance: {key} is {value:g}; it must be at most {most:g}")
    if "correlation" in parts:
        check_choice("variance: correlation", parts["correlation"], ("none", "node", "dimension"))
        if not numbers.get("bandwidth_cv"):
            raise InputError("variance: correlation has no effect without cv; write cv=0.1 too")
    for pair in _PAIRS:
        for key, other in (pair, pair[::-1]):
            if key in parts and other not in parts:
                raise InputError(f"variance: {key} has no effect without {other}; write {other} too")
    variance = Variance(correlation=cast(Correlation, parts.get("correlation", "none")), **numbers)
    if not varies(variance):
        raise InputError(
            f"variance is '{values['variance']}', under which nothing varies; write such as cv=0.1"
        )
    count = whole(parts, "draws", DEFAULT_DRAWS, least=1, most=_MOST_DRAWS)
    if "select" in values:
        check_choice("select", values["select"], SELECTIONS)
    return Draws(variance, count, values.get("select"))


def varies(variance: Variance) -> bool:
    """Whether anything differs from the nominal network."""
    has_stragglers = variance.straggler_share > 0 and variance.straggler_slowdown > 1
    return variance.bandwidth_cv > 0 or has_stragglers or variance.is_by_send or bool(variance.factors)


def _parts(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in text.split(","):
        key, assigned, value = (word.strip() for word in part.partition("="))
        if key not in _PARTS:
            raise InputError(
                f"variance: unknown part '{key}'; allowed are {', '.join(_PARTS)}, such as cv=0.1"
                f"{did_you_mean(key, _PARTS)}"
            )
        if not assigned or not value:
            raise InputError(f"variance: {key} lacks its value; write such as {key}=0.1")
        if key in found:
            raise InputError(f"variance: {key} occurs twice; write it once")
        found[key] = value
    return found

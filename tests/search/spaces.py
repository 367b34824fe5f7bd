"""Small spaces for the tests of searches, and a loop that drives a search without a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from builders import TINY, dimension

from dse.points import DesignPoint, Scenario, evaluate
from dse.results import StudyRow
from dse.search import Search
from dse.search.config_view import view_of
from dse.search.view import View
from dse.space import DesignSpace
from dse.systems import CollectiveAlgorithms, SystemSpec

DEGREES = (1, 2, 4, 8, 16)
TORUS = SystemSpec(
    "torus_4x4",
    (dimension("Ring 4 @100/50"), dimension("Ring 4 @100/50")),
    CollectiveAlgorithms(*[("ring", "ring")] * 4),
    450,
    3000,
)
BASE = Scenario("test", TINY, TORUS)


def space(*constraints: str, axes: Mapping[str, tuple[object, ...]] | None = None) -> DesignSpace:
    """The full space of 16 NPUs (140 strategies) with further constraints and axes."""
    return DesignSpace(
        "full",
        *[DEGREES] * 4,
        (False, True),
        (True, False),
        ("dp * tp * sp * pp == npus", *constraints),
        tuple((axes or {}).items()),
    )


def points(of: DesignSpace) -> Iterator[DesignPoint]:
    for model, system, strategies in of.scenarios([TINY], [TORUS]):
        scenario = Scenario("test", model, system)
        yield from (DesignPoint(scenario, strategy) for strategy in strategies)


def view(of: DesignSpace) -> View:
    return view_of(of, [TINY], [TORUS], BASE)


class Rows(dict[str, StudyRow]):
    """Rows by key, evaluated when they are first asked for."""

    def of(self, point: DesignPoint) -> StudyRow:
        key = point.key
        if key not in self:
            self[key] = evaluate(point)
        return self[key]


def drive(search: Search, rows: Rows, *, backwards: bool = False, limit: int | None = None) -> list[str]:
    """Return the keys in the order of their proposals; `backwards` tells each batch from its end."""
    keys: list[str] = []
    for batch in search.batches():
        if limit is not None and len(keys) >= limit:
            break
        found = []
        for point in batch:
            keys.append(point.key)
            if backwards:
                found.append(rows.of(point))
            elif search.learns:
                search.tell(rows.of(point))
        for row in reversed(found):
            search.tell(row)
    return keys

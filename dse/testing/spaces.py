"""Small spaces for the tests of searches, and a loop that drives a search without a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dse.inputs.systems import CollectiveAlgorithms, SystemSpec
from dse.studies.points import DesignPoint, Scenario, evaluate
from dse.studies.search import Search
from dse.studies.search.config_view import view_of
from dse.studies.search.view import View
from dse.studies.space import DesignSpace
from dse.studies.store import StudyRow
from dse.testing.builders import TINY, dimension

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
        {
            **dict.fromkeys(("dp", "tp", "sp", "pp"), DEGREES),
            "weight_sharded": (False, True),
            "activation_recompute": (True, False),
        },
        ("dp * tp * sp * pp == npus", *constraints),
        tuple((axes or {}).items()),
    )


def points(whole: DesignSpace) -> Iterator[DesignPoint]:
    for model, system, strategies in whole.scenarios([TINY], [TORUS]):
        scenario = Scenario("test", model, system)
        yield from (DesignPoint(scenario, strategy) for strategy in strategies)


def view(whole: DesignSpace) -> View:
    return view_of(whole, [TINY], [TORUS], BASE)


class Rows(dict[str, StudyRow]):
    """Rows by key, evaluated when they are first asked for."""

    def row(self, point: DesignPoint) -> StudyRow:
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
            row = rows.row(point)
            keys.append(point.key)
            if backwards:
                found.append(row)
            elif search.learns:
                search.tell(row)
        for row in reversed(found):
            search.tell(row)
    return keys

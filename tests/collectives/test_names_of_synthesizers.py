"""Names of synthesizers: three that help lists, and older ones and those of BEAN TACOS that still work."""

from __future__ import annotations

import pytest

from dse.base.errors import InputError
from dse.collectives.problem.collective import Collective
from dse.collectives.problem.problem import Problem
from dse.collectives.search.settings import notes_of, synthesizer_of
from dse.collectives.search.synthesizers.base import Effort
from dse.collectives.search.synthesizers.registry import SYNTHESIZERS, make_synthesizer
from tests.collectives.link_graphs import MIB, grid, star


def test_three_names_are_listed() -> None:
    assert list(SYNTHESIZERS.own) == ["auto", "fast", "exact"]
    with pytest.raises(InputError, match=r"^synthesizer is 'best'; allowed are auto, fast, exact$"):
        synthesizer_of({"synthesizer": "best"})


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("fast", None),
        ("restarts", "synthesizer=restarts is what synthesizer=fast runs on other networks"),
        ("beam", "synthesizer=beam is a beam search as in BEAN TACOS, to compare with"),
        ("tacos", "synthesizer=tacos is BEAN TACOS's name for synthesizer=greedy trials=1"),
        (
            "beam_chunk",
            "synthesizer=beam_chunk is BEAN TACOS's name for synthesizer=beam fitness=chunk_count",
        ),
    ],
)
def test_a_name_that_is_not_listed_works_and_says_what_it_is(name: str, note: str | None) -> None:
    assert notes_of({"synthesizer": name}) == ([note] if note else [])
    assert synthesizer_of({"synthesizer": name}).name in ("fast", "restarts", "beam", "greedy", "exact")


def test_fast_takes_trees_where_the_links_are_symmetric_and_restarts_elsewhere() -> None:
    made = [
        make_synthesizer("fast").synthesize(
            Problem(graph, Collective("all_gather", graph.npus), MIB), Effort()
        )
        for graph in (grid(4, 4, wraps=True), star(5))
    ]
    assert [one.synthesizer for one in made] == ["symmetric", "restarts"]

"""Bases of symmetric schedules: checked without their translations, written so that these can be made."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import all_gather, torus

from benchmarks.link_products import Dimension, link_kind, product
from dse.collectives import LinkModel, Problem
from dse.collectives.bounds import best_bound
from dse.collectives.check.checker import check
from dse.collectives.check.symmetric import base_violations, checked
from dse.collectives.check.verdict import InvalidSchedule
from dse.collectives.files.folder import base_lines
from dse.collectives.search.symmetric import BaseSends, SymmetricSchedule
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.collectives.search.synthesizers.symmetric import Symmetric


def schedule() -> SymmetricSchedule:
    """An all-gather on a torus, kept as its base."""
    made = Symmetric().synthesize(all_gather(torus(3, 5)), Effort()).schedule
    assert isinstance(made, SymmetricSchedule)
    return made


def changed(made: SymmetricSchedule, **columns: np.ndarray) -> SymmetricSchedule:
    """The same with other columns of its base."""
    return SymmetricSchedule(made.problem, made.group, replace(made.base, **columns))


def test_the_base_of_a_synthesis_is_right() -> None:
    made = schedule()
    assert base_violations(made) == []
    assert made.held_ps == made.expand().held_ps
    assert checked(made, "symmetric") == "all sends"


def test_an_invalid_base_is_refused_with_its_rule_and_synthesizer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.collectives.search.kept.MOST_LISTED_SENDS", 10)
    made = schedule()
    assert checked(made, "symmetric") == "base"
    with pytest.raises(InvalidSchedule, match="the base of the schedule of symmetric is invalid: rule 1"):
        checked(changed(made, chunk=made.base.chunk + 1), "symmetric")


def test_a_generator_that_carries_two_chunks_at_a_time_is_found() -> None:
    made = schedule()
    base = made.base
    twice = {name: np.append(getattr(base, name), getattr(base, name)[-1]) for name in vars(base)}
    assert "rule 2: a generator carries two chunks at a time" in base_violations(changed(made, **twice))


def test_a_chunk_that_leaves_before_it_is_there_is_found() -> None:
    made = schedule()
    early = made.base.start_ps.copy()
    early[np.flatnonzero(made.base.node)[-1]] = 0
    assert "rule 3: a chunk leaves before it is there" in base_violations(changed(made, start_ps=early))


def test_an_npu_that_gets_nothing_is_found() -> None:
    made = schedule()
    last = np.argsort(made.base.start_ps)[:-1]
    base = BaseSends(*(getattr(made.base, name)[last] for name in vars(made.base)))
    short = SymmetricSchedule(made.problem, made.group, base)
    assert base_violations(short) == ["rule 4: an NPU never gets a chunk of NPU 0"]


def test_a_chunk_of_another_npu_is_found() -> None:
    made = schedule()
    assert base_violations(changed(made, chunk=made.base.chunk + 1))[0].startswith("rule 1")


def test_the_lines_of_a_base_say_all_sends() -> None:
    made = schedule()
    first, *lines = map(json.loads, base_lines(made))
    sizes = first["group"]["sizes"]
    assert sorted(sizes) == [3, 5]

    def add(node: int, by: int) -> int:
        low = (node % sizes[0] + by % sizes[0]) % sizes[0]
        return low + sizes[0] * ((node // sizes[0] + by // sizes[0]) % sizes[1])

    translated = {
        (add(line["src"], s), add(line["dst"], s), line["chunk"] + s, line["start_ps"], line["end_ps"])
        for line in lines
        for s in range(15)
    }
    plain, graph = made.expand(), made.problem.graph
    columns = (graph.sources[plain.link], graph.destinations[plain.link], plain.chunk)
    listed = zip(*(c.tolist() for c in (*columns, plain.start_ps, plain.end_ps)), strict=True)
    assert translated == set(listed)


@pytest.mark.parametrize("per_npu", [1, 3])
def test_several_chunks_of_an_npu_are_told_apart(per_npu: int) -> None:
    problem = all_gather(torus(3, 4))
    more = replace(problem, collective=replace(problem.collective, chunks_per_npu=per_npu))
    made = Symmetric().synthesize(more, Effort()).schedule
    assert isinstance(made, SymmetricSchedule)
    assert base_violations(made) == []


def with_sums(problem: Problem, name: str = "all_reduce") -> SymmetricSchedule:
    """A reduce-scatter or an all-reduce, kept as its base whatever its size."""
    other = replace(problem, collective=replace(problem.collective, name=name))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dse.collectives.search.kept.MOST_LISTED_SENDS", 0)
        patch.setattr("dse.collectives.search.kept.MOST_FITTED_SENDS", 0)
        made = synthesize(other, "fast", Effort(trials=2), compare=False).schedule
    assert isinstance(made, SymmetricSchedule)
    return made


def test_an_all_reduce_stays_a_base_of_both_halves() -> None:
    """4 x 4: 15 chunks over 4 links in 4 steps, twice, which is the bound of all sends."""
    made = with_sums(all_gather(torus(4, 4)))
    assert (len(made.base.node), len(made)) == (30, 480)
    assert made.time_ps == 8 * 21_471_520 == best_bound(made.problem).time_ps
    assert base_violations(made) == []
    assert made.held_ps == made.expand().held_ps
    assert check(made.expand()).is_valid
    marks = [json.loads(line).get("reduce", False) for line in base_lines(made)][1:]
    assert marks == [True] * 15 + [False] * 15


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.builds(
            Dimension,
            st.sampled_from(("ring", "full")),
            st.integers(2, 4),
            st.builds(link_kind, st.sampled_from((0, 500, 3000)), st.sampled_from((25, 50, 200))),
        ),
        min_size=1,
        max_size=3,
    ),
    st.integers(1, 2),
    st.sampled_from(("total", "bandwidth")),
    st.sampled_from(("all_reduce", "reduce_scatter")),
)
def test_bases_with_sums_are_right_like_all_their_sends(
    dimensions: list[Dimension], k: int, occupancy: str, name: str
) -> None:
    model = LinkModel(occupancy=occupancy)  # type: ignore[arg-type]
    problem = replace(all_gather(product(dimensions)), model=model)
    made = with_sums(replace(problem, collective=replace(problem.collective, chunks_per_npu=k)), name)
    assert base_violations(made) == []
    assert check(made.expand()).is_valid
    assert made.time_ps >= best_bound(made.problem).time_ps


@pytest.mark.parametrize("name", ["all_reduce", "reduce_scatter"])
@pytest.mark.parametrize("seed", range(6))
def test_a_base_with_a_change_is_judged_like_all_its_sends(name: str, seed: int) -> None:
    """A send is left out, comes earlier or later, or loses or gets its mark."""
    made = with_sums(all_gather(torus(3, 4)), name)
    draw = np.random.default_rng(seed)
    for row in draw.permutation(len(made.base.node))[:12]:
        others = np.arange(len(made.base.node)) != row
        columns = {column.name: getattr(made.base, column.name) for column in fields(BaseSends)}
        start_ps, reduce = columns["start_ps"].copy(), columns["reduce"].copy()
        start_ps[row] += draw.choice((-1, 1)) * 21_471_520
        reduce[row] = not reduce[row]
        for wrong in (
            changed(made, start_ps=start_ps),
            changed(made, reduce=reduce),
            changed(made, **{key: column[others] for key, column in columns.items()}),
        ):
            assert bool(base_violations(wrong)) == (not check(wrong.expand()).is_valid)


def test_an_all_gather_with_sums_is_found() -> None:
    made = schedule()
    marked = changed(made, reduce=np.ones(len(made.base.node), dtype=np.bool_))
    assert "rule 5: `reduce` where nothing is added" in base_violations(marked)

"""Bases of symmetric schedules: checked without their translations, written so that these can be made."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from schedules import all_gather, torus

from dse.collectives.check.symmetric import base_violations, checked
from dse.collectives.check.verdict import InvalidSchedule
from dse.collectives.files.base_lines import base_lines
from dse.collectives.search.symmetric import BaseSends, SymmetricSchedule
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
    monkeypatch.setattr("dse.collectives.search.symmetric.MOST_LISTED_SENDS", 10)
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

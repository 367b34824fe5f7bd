"""Stored rows become the points that they came from, or an error that says what to do."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, get_args

import pytest
from study_rows import keyed, row
from tiny_points import TINY, rows

from dse.base.errors import InputError
from dse.inputs.strategies import Strategy
from dse.inputs.systems import CollectiveAlgorithms, Dimension
from dse.simulation.simulators import NativeSimulator
from dse.simulation.workloads import Reference
from dse.studies.points import evaluate, point_of_row
from dse.studies.points.inputs import result_version
from dse.studies.store import StudyStore
from dse.studies.store.lookup import row_of_key
from dse.testing.builders import RING16, design_point


def with_options(**changes: Any) -> Any:
    first = rows(*TINY)[0]
    options = {**json.loads(first.options or ""), **changes}
    return dataclasses.replace(first, options=json.dumps(options, sort_keys=True, separators=(",", ":")))


def test_a_row_that_was_stored_is_evaluated_to_itself(tmp_path: Path) -> None:
    some = rows(*TINY)[:6]
    store = StudyStore.create(tmp_path / "study")
    store.append(some)
    for stored in some:
        found = row_of_key(store, (stored.key or "")[:12].upper())
        assert found == stored
        assert evaluate(point_of_row(found)) == stored


def test_a_row_of_the_second_reference_is_evaluated_as_such() -> None:
    """Groups of four run direct, not a ring: another time under another key, which the row remembers."""
    names = ("direct",)
    ring = Dimension("Ring", 16, 50.0, 500.0)
    on = dataclasses.replace(
        RING16,
        network=(ring,),
        collectives=CollectiveAlgorithms(names, names, names, names),
        issue_order="safe",
    )
    points = [
        design_point(Strategy(dp=4, tp=4), system=on, simulator=NativeSimulator(reference=reference))
        for reference in get_args(Reference)
    ]
    old, new = map(evaluate, points)
    assert old.key == design_point(Strategy(dp=4, tp=4), system=on).key != new.key
    assert (old.status, new.status) == ("ok", "ok")
    assert old.wall_time_ns != new.wall_time_ns
    assert point_of_row(new).scenario.simulator == NativeSimulator(reference="astra-sim-2026-03")
    assert evaluate(point_of_row(new)) == new


def test_a_row_without_inputs_says_what_to_do() -> None:
    with pytest.raises(InputError, match="is of schema version 1, which does not store the inputs"):
        point_of_row(row())


@pytest.mark.parametrize(("key", "name"), [("simulator", "astrasim"), ("workload", "stage")])
def test_a_row_of_another_program_is_refused(key: str, name: str) -> None:
    with pytest.raises(InputError, match=f"made with {key}={name}, and only {key}=native"):
        point_of_row(with_options(**{key: {"name": name}}))


def test_a_row_of_another_version_names_both() -> None:
    program = f"those of this program are of version {result_version()}"
    with pytest.raises(InputError, match=f"has results of version 99, and {program}"):
        point_of_row(with_options(result_version=99))
    with pytest.raises(InputError, match=f"was evaluated before results had a version, and {program}"):
        point_of_row(with_options(result_version=None, engine="0.2.0"))


def test_a_row_whose_inputs_are_others_is_refused() -> None:
    first, second, *_ = rows(*TINY)
    with pytest.raises(InputError, match=f"has inputs whose key is {second.key}"):
        point_of_row(dataclasses.replace(second, key=first.key))


def test_keys_are_found_by_their_first_digits(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path / "study")
    store.append([*keyed(1, 2, 16), row(dp=3, key="abcd" * 8)])
    assert row_of_key(store, "abcd").dp == 3
    assert row_of_key(store, f"{16:032x}").dp == 16
    with pytest.raises(InputError, match=r"3 points have keys that begin with 0000: 0{31}1, .* more digits"):
        row_of_key(store, "0000")
    with pytest.raises(InputError, match="has no point whose key begins with beef"):
        row_of_key(store, "beef")
    for wrong in ("abc", "wxyz", "a" * 33, ""):
        with pytest.raises(InputError, match="is not one of 4 to 32 hexadecimal digits"):
            row_of_key(store, wrong)


def test_a_study_without_keys_says_so(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path / "study")
    store.append([row()])
    with pytest.raises(InputError, match="rows of schema version 1"):
        row_of_key(store, "abcd")

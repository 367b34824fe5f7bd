"""A study of several models and systems is several questions, each with its title."""

from __future__ import annotations

import json
import random

from study_rows import keyed

from dse.answers import describe_variants, groups, render, select
from dse.answers.groups import variant_of
from dse.studies.store import StudyRow, as_table


def rows(count: int, seq_len: int, gbps: float, **changes: object) -> list[StudyRow]:
    model = json.dumps({"name": "llama70b", "seq_len": seq_len})
    name = changes.get("system", "system1")
    system = json.dumps({"name": name, "network": [{"bandwidth_gbps": gbps}, {"bandwidth_gbps": 50.0}]})
    return keyed(*range(1, count + 1), model_spec=model, system_spec=system, options="{}", **changes)


def test_one_model_on_one_system_is_one_group() -> None:
    (group,) = groups(as_table(rows(3, 1024, 100.0)))
    assert group.title == "llama70b on system1, 64 NPUs"
    assert group.table.num_rows == 3


def test_rows_of_schema_version_1_are_one_group() -> None:
    (group,) = groups(as_table(keyed(1, 2)))
    assert (group.title, group.table.num_rows) == ("llama70b on system1, 64 NPUs", 2)


def test_each_shape_of_a_model_and_each_system_is_a_group_in_order() -> None:
    table = as_table(
        [*rows(1, 2048, 100.0), *rows(2, 1024, 100.0), *rows(3, 2048, 100.0, system="system2", npus=16)]
    )
    assert [(group.title, group.table.num_rows) for group in groups(table)] == [
        ("llama70b (model.seq_len=1024) on system1, 64 NPUs", 2),
        ("llama70b (model.seq_len=2048) on system1, 64 NPUs", 1),
        ("llama70b (model.seq_len=2048) on system2, 16 NPUs", 3),
    ]


def test_variants_of_a_system_are_one_group_and_the_winner_says_which_it_is() -> None:
    slow, fast = rows(1, 1024, 100.0, wall_time_ns=9), rows(1, 1024, 400.5, wall_time_ns=5)
    (group,) = groups(as_table([*slow, *fast]))
    described = describe_variants(group.table)
    assert variant_of(slow[0], described) == "system.network.0.bandwidth_gbps=100"
    assert variant_of(fast[0], described) == "system.network.0.bandwidth_gbps=400.5"
    lines = render(select(group.table), described).splitlines()
    assert lines[3].startswith("  best ")
    assert lines[4] == "    with system.network.0.bandwidth_gbps=400.5"
    assert lines[6] == "    with system.network.0.bandwidth_gbps=100"


def test_points_of_a_single_system_have_no_variant() -> None:
    table = as_table(rows(2, 1024, 100.0))
    assert variant_of(rows(1, 1024, 100.0)[0], describe_variants(table)) == ""


def test_a_fault_in_some_rows_is_a_variant() -> None:
    whole = json.dumps({"name": "s", "faults": []})
    broken = json.dumps({"name": "s", "faults": [{"source": 0, "removed": True}]})
    table = as_table([*keyed(1, system_spec=whole), *keyed(2, system_spec=broken)])
    described = describe_variants(table)
    assert described[whole] == "system.faults=[]"
    assert described[broken] == "system.faults=[{source:0,removed:true}]"


def test_the_winner_among_equal_variants_does_not_depend_on_the_order_of_rows() -> None:
    variants = [row for gbps in (100.0, 200.0, 300.0, 400.0, 500.0) for row in rows(1, 1024, gbps)]
    winners = set()
    for seed in range(20):
        random.Random(seed).shuffle(variants)
        selection = select(as_table(variants))
        assert selection.optimum is not None
        winners.add((selection.optimum.system_spec, getattr(selection.runner_up, "system_spec", None)))
    assert len(winners) == 1


def test_a_slice_of_a_table_has_the_groups_of_its_rows() -> None:
    table = as_table([*rows(2, 2048, 100.0), *rows(3, 1024, 100.0)]).slice(1, 3)
    assert [(group.title, group.table.num_rows) for group in groups(table)] == [
        ("llama70b (model.seq_len=1024) on system1, 64 NPUs", 2),
        ("llama70b (model.seq_len=2048) on system1, 64 NPUs", 1),
    ]

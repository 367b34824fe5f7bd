"""The optimum against axes: a line for every setting, with and without a cap, however the rows are stored."""

from __future__ import annotations

import dataclasses
import json
import random
from typing import Any

import pytest
from study_rows import failed_row, row

from dse.answers import axis_studies, best, render_axes
from dse.studies.store import StudyRow, as_table

GB = 10**9


def point(
    bandwidth: float, wall: int, peak: int | None = 10 * GB, *, seq_len: int = 512, **changes: Any
) -> StudyRow:
    system = {"name": "system1", "network": [{"bandwidth_gbps": bandwidth, "npus": 64}]}
    return row(
        wall_time_ns=wall,
        peak_memory_bytes=peak,
        model_spec=json.dumps({"name": "llama70b", "seq_len": seq_len}),
        system_spec=json.dumps(system),
        options=json.dumps({"engine": "1"}),
        **changes,
    )


ROWS = [
    point(100.0, 4_000_000_000, 90 * GB, dp=64, sp=1),
    point(100.0, 5_000_000_000, dp=32, tp=2, sp=1),
    point(200.0, 3_000_000_000, 90 * GB, dp=32, tp=2, sp=1),
    point(200.0, 3_500_000_000, dp=64, sp=1),
    point(50.0, 9_000_000_000, 95 * GB, dp=64, sp=1),
]

AGAINST_BANDWIDTH = """\
llama70b on system1, 64 NPUs, as STAGE and astra-sim-2025-04 compute it (fidelity=stage): the optimum against
  system.network.0.bandwidth_gbps

                      dp  tp  sp  pp  fsdp     act.  wall time      peak  exposed  compute  MFU  tokens
                                            recomp.               memory   comm %  util. %    %   per s
without a memory cap
  bandwidth_gbps=50   64   1   1   1    no      yes        9 s  95.00 GB      2.1     92.2    -       -
  bandwidth_gbps=100  64   1   1   1    no      yes        4 s  90.00 GB      4.7     92.2    -       -
  bandwidth_gbps=200  32   2   1   1    no      yes        3 s  90.00 GB      6.3     92.2    -       -
under 80 GB
  bandwidth_gbps=50: nothing fits: the smallest peak memory is 95.00 GB
  bandwidth_gbps=100  32   2   1   1    no      yes        5 s  10.00 GB      3.8     92.2    -       -
  bandwidth_gbps=200  64   1   1   1    no      yes      3.5 s  10.00 GB      5.4     92.2    -       -

5 points: 5 ok"""


def test_every_value_of_an_axis_has_its_optimum_with_and_without_the_cap() -> None:
    (study,) = axis_studies(as_table(ROWS), memory_cap_bytes=80 * GB)
    assert study.axes == ("system.network.0.bandwidth_gbps",)
    found = [
        (
            setting.values,
            setting.optimum and setting.optimum.wall_time_ns,
            setting.capped_optimum and setting.capped_optimum.wall_time_ns,
        )
        for setting in study.settings
    ]
    assert found == [
        ((50.0,), 9_000_000_000, None),
        ((100.0,), 4_000_000_000, 5_000_000_000),
        ((200.0,), 3_000_000_000, 3_500_000_000),
    ]
    assert render_axes(study) == AGAINST_BANDWIDTH


def test_a_cap_that_binds_nowhere_repeats_nothing() -> None:
    text = render_axes(axis_studies(as_table(ROWS), memory_cap_bytes=100 * GB)[0])
    assert "under 100 GB: the cap does not bind\n\n5 points" in text
    assert text.count("bandwidth_gbps=50 ") == 1


def test_exact_figures_are_there_too() -> None:
    text = render_axes(axis_studies(as_table(ROWS))[0], exact=True)
    assert "  4000000000  90000000000  " in text


def test_axes_of_model_and_system_span_a_table_and_a_failed_setting_is_said() -> None:
    bad = dataclasses.replace(
        failed_row("deadlock", "why"),
        **{
            name: getattr(point(200.0, 1, seq_len=1024), name)
            for name in ("model_spec", "system_spec", "options")
        },
    )
    rows = [*ROWS, point(100.0, 8_000_000_000, None, seq_len=1024), bad]
    (study,) = axis_studies(as_table(rows), memory_cap_bytes=80 * GB)
    assert study.axes == ("model.seq_len", "system.network.0.bandwidth_gbps")
    assert [setting.values for setting in study.settings][-2:] == [(1024, 100.0), (1024, 200.0)]
    text = render_axes(study)
    assert "  seq_len=1024 bandwidth_gbps=200: no point is ok\n" in text
    assert text.endswith("\n7 points: 6 ok, 1 deadlock (see system.issue_order in docs/simulator.md)")


def test_one_setting_or_other_names_are_no_axis_study() -> None:
    assert axis_studies(as_table(ROWS[:2])) == []
    assert axis_studies(as_table([])) == []
    assert axis_studies(as_table([row()])) == []  # schema version 1
    other = dataclasses.replace(
        ROWS[0], system="dgx", system_spec=json.dumps({"name": "dgx", "network": [{"bandwidth_gbps": 1}]})
    )
    assert axis_studies(as_table([ROWS[0], other])) == []


def test_names_of_axes_are_as_short_as_they_are_clear() -> None:
    rows = []
    for first, second in ((1.0, 1.0), (1.0, 2.0), (2.0, 2.0)):
        network = [{"bandwidth_gbps": first}, {"bandwidth_gbps": second}]
        spec = json.dumps({"name": "system1", "network": network, "peak_tflops": first})
        rows.append(dataclasses.replace(ROWS[0], system_spec=spec))
    (study,) = axis_studies(as_table(rows))
    assert set(study.short_axes) == {"network.0.bandwidth_gbps", "network.1.bandwidth_gbps", "peak_tflops"}


def cluster(nodes: int, direct: bool = False) -> StudyRow:
    tiers = min(nodes, 2)
    rings = {"all_reduce": ["direct" if direct else "ring"] * tiers, "all_gather": ["ring"] * tiers}
    spec = {"name": "c", "accelerator": {"name": "a"}, "nodes": nodes, "collectives": rings}
    return dataclasses.replace(ROWS[0], system="c", system_spec=json.dumps(spec))


def test_rings_of_a_cluster_follow_from_its_nodes_and_other_algorithms_do_not() -> None:
    (study,) = axis_studies(as_table([cluster(1), cluster(2)]))
    assert study.axes == ("system.nodes",)
    (study,) = axis_studies(as_table([cluster(1), cluster(2), cluster(2, direct=True)]))
    assert set(study.axes) == {"system.nodes", "system.collectives.all_reduce"}


def test_the_figures_of_a_mixed_system_follow_from_its_types() -> None:
    rows = []
    for peak in (125.0, 312.0):
        spec = {"name": "m", "npu_types": [{"npus": 2, "peak_tflops": peak}], "peak_tflops": peak}
        rows.append(dataclasses.replace(ROWS[0], system="m", system_spec=json.dumps(spec)))
    (study,) = axis_studies(as_table(rows))
    assert study.axes == ("system.npu_types.0.peak_tflops",)


@pytest.mark.parametrize("seed", range(5))
def test_optima_are_those_of_the_ranking_of_each_setting(seed: int) -> None:
    chance = random.Random(seed)
    rows = [
        point(
            chance.choice([1.0, 2.0, 3.0]),
            chance.randrange(1, 20),
            chance.randrange(1, 20),
            seq_len=chance.choice([1, 2]),
            dp=chance.choice([1, 2, 4]),
        )
        for _ in range(200)
    ]
    (study,) = axis_studies(as_table(rows), memory_cap_bytes=10)
    assert len(study.settings) == 6
    for setting in study.settings:
        seq_len, bandwidth = setting.values
        same = [
            entry
            for entry in rows
            if json.loads(entry.model_spec or "")["seq_len"] == seq_len
            and json.loads(entry.system_spec or "")["network"][0]["bandwidth_gbps"] == bandwidth
        ]
        assert setting.optimum == best(same)
        assert setting.capped_optimum == best(same, memory_cap_bytes=10)
        assert setting.smallest_peak_memory_bytes == min(entry.peak_memory_bytes or 0 for entry in same)


def test_many_settings_are_cut_and_counted() -> None:
    rows = [point(float(bandwidth), 1000 - bandwidth) for bandwidth in range(1, 51)]
    (study,) = axis_studies(as_table(rows))
    lines = render_axes(study).splitlines()
    assert lines[-3:] == ["... and 10 more settings", "", "50 points: 50 ok"]

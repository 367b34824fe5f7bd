"""The command synthesize under failures and variance: figures, the repaired schedule, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_lines import run_ok

from dse.base.errors import InputError
from dse.commands import synthesize

TORUS = "topology=torus__dim=[4,4]__alpha=500__beta=50"
RING = "topology=ring__dim=[5]__alpha=500__beta=50"
HOP_PS = 21_471_520  # 500 ns + 1 MiB / 50 GB/s


def found(folder: Path, *arguments: str) -> Any:
    """The summary that the command prints."""
    line = ("synthesizer=restarts", "trials=4", "format=json")
    return json.loads(run_ok("synthesize", *arguments, *line, cwd=folder).out)


def refused(*arguments: str) -> str:
    """The message of a user error, which a command prints in one line."""
    with pytest.raises(InputError) as error:
        synthesize.main(arguments)
    assert "\n" not in str(error.value)
    return str(error.value)


def verdict(folder: Path) -> Any:
    """What the other command says of a folder."""
    return json.loads(run_ok("schedule", folder, "format=json", cwd=folder).out)


def test_a_failed_link_is_repaired_and_made_anew_to_the_bound_of_what_is_left(tmp_path: Path) -> None:
    data = found(tmp_path, TORUS, "--failed-links", "0-1", "-o", "out")
    failures = data["failures"]
    assert (failures["failed_links"], failures["failed_npus"]) == ([[0, 1], [1, 0]], [])
    assert (failures["before_ps"], data["time_ps"]) == (4 * HOP_PS, 4 * HOP_PS)
    # 15 chunks have to enter NPU 0 over the 3 links that it has left.
    assert failures["repaired_ps"] == failures["resynthesized_ps"] == failures["bound_ps"] == 5 * HOP_PS
    assert failures["kept"] >= 0.8
    assert failures["lost_chunks"] == []
    assert failures["repair_cpu_s"] > 0
    assert failures["resynthesis_cpu_s"] > 0
    assert verdict(tmp_path / "out")["time_ps"] == 4 * HOP_PS
    repaired = verdict(tmp_path / "out" / "repaired")
    assert (repaired["valid"], repaired["time_ps"], repaired["bound_ps"]) == (True, 5 * HOP_PS, 5 * HOP_PS)
    assert len((tmp_path / "out" / "repaired" / "topology.csv").read_text().splitlines()) == 2 + 62
    found(tmp_path, TORUS, "-o", "out")
    assert not (tmp_path / "out" / "repaired").exists()


@pytest.mark.parametrize(("at", "lost"), [((), [3]), (("failed_at_us=30.5",), [])])
def test_chunks_of_a_failed_npu_are_lost_unless_it_has_sent_them(
    tmp_path: Path, at: tuple[str, ...], lost: list[int]
) -> None:
    failures = found(tmp_path, TORUS, "failed_npus=3", *at, "-o", "out")["failures"]
    assert failures["failed_npus"] == [3]
    assert failures["lost_chunks"] == lost
    assert failures["failed_at_ps"] == (30_500_000 if at else 0)
    assert (failures["bound_ps"] is None) == bool(at)
    assert verdict(tmp_path / "out" / "repaired")["valid"]


@pytest.mark.parametrize("collective", ["reduce_scatter", "all_reduce", "gather", "all_to_all"])
def test_every_collective_is_repaired_after_a_failed_link(tmp_path: Path, collective: str) -> None:
    line = (RING, f"collective={collective}", "failed_links=0>1", "-o", "out")
    failures = found(tmp_path, *line)["failures"]
    assert min(failures["repaired_ps"], failures["resynthesized_ps"]) >= failures["bound_ps"] > 0
    repaired = verdict(tmp_path / "out" / "repaired")
    assert (repaired["valid"], repaired["time_ps"]) == (True, failures["repaired_ps"])


def test_the_table_shows_failures_and_variance(tmp_path: Path) -> None:
    line = (TORUS, "--failed-npus", "3", "--failed-at", "30", "--variance", "cv=0.1,draws=50")
    out = run_ok("synthesize", *line, cwd=tmp_path).out
    assert "variance      bandwidth_cv 0.1; 50 draws" in out
    assert "failure       NPUs 3, links 0>3, 2>3, 3>0, 3>2, 3>7, 3>15 and 2 more at 30 µs" in out
    assert "before        85.89 µs (85886080 ps)" in out
    assert "its bound     none: of failures at the start only" in out
    assert "lost          no chunk" in out
    assert "\nfrom scratch  " in out


def test_variance_has_figures_critical_links_and_fixed_algorithms_with_the_same_draws(tmp_path: Path) -> None:
    line = (TORUS, "variance=cv=0.3,correlation=dimension,draws=200")
    data = found(tmp_path, *line)["variance"]
    assert data["nominal_ps"] == 4 * HOP_PS
    assert data["p50_ps"] <= data["p95_ps"] <= data["p99_ps"] <= data["worst_ps"]
    assert data["p95_ps"] <= data["cvar95_ps"] <= data["worst_ps"]
    assert data["slowdown"] == pytest.approx(data["mean_ps"] / data["nominal_ps"], abs=1e-6)
    assert 0 < len(data["critical_links"]) <= 10
    shares = [link["critical_share"] for link in data["critical_links"]]
    assert shares == sorted(shares, reverse=True)
    # One factor for all links: what takes twice as long nominally does so in each draw.
    rings = data["fixed_algorithms"]["rings_up"]
    for figure in ("mean_ps", "p95_ps", "worst_ps"):
        assert rings[figure] == pytest.approx(2 * data[figure], rel=1e-6)
    assert found(tmp_path, *line)["variance"] == data


def test_the_page_draws_the_draws(tmp_path: Path) -> None:
    """A line for the schedule and each of its three best fixed algorithms; rows as in the summary."""
    data = found(tmp_path, TORUS, "variance=cv=0.3,draws=200", "-o", "varying")["variance"]
    page = (tmp_path / "varying" / "index.html").read_text(encoding="utf-8")
    assert page.count("<polyline") == 4
    assert page.count('<th scope="row">fixed algorithm: ') == 2 * len(data["fixed_algorithms"])
    first = data["critical_links"][0]
    assert f'<th scope="row">{first["src"]} → {first["dst"]}</th>' in page
    found(tmp_path, TORUS, "-o", "steady")
    assert "<polyline" not in (tmp_path / "steady" / "index.html").read_text(encoding="utf-8")


def test_stragglers_slow_the_tail(tmp_path: Path) -> None:
    line = "variance=straggler_share=0.01,straggler_slowdown=4,draws=300"
    data = found(tmp_path, RING, line)["variance"]
    # 10 links of 2 turns: none is slow in nine draws of ten, and one that is slow takes both turns.
    assert data["p50_ps"] == data["nominal_ps"] == 2 * HOP_PS
    assert data["worst_ps"] >= HOP_PS + 500_000 + 4 * 20_971_520


def test_the_schedule_with_the_least_p95_is_selected_among_restarts(tmp_path: Path) -> None:
    line = ("topology=grid__dim=[3,3]__alpha=500__beta=50", "variance=cv=0.5,draws=300", "-o", "out")
    data = found(tmp_path, *line, "--select", "p95")
    chosen = data["variance"]["select"]
    assert (chosen["figure"], chosen["candidates"]) == ("p95", 5)
    assert data["time_ps"] >= chosen["fastest_ps"]
    assert data["variance"]["p95_ps"] <= 1.05 * chosen["fastest_figure_ps"]
    assert verdict(tmp_path / "out")["time_ps"] == data["time_ps"]
    assert "the least p95 of 5 schedules" in data["why"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("failed_links=0-2",), "failed_links: the topology has no link from 0 to 2"),
        (("failed_links=0:1",), "failed_links: '0:1' is no link; write 3-7, or 3>7 for one direction"),
        (("failed_links=,",), "failed_links is ',', which names nothing"),
        (("failed_npus=5",), "failed_npus: 5 is no NPU; allowed are 0 to 4"),
        (
            ("failed_links=0-1,1-2",),
            "after the failure the topology has no way from NPU 0 to NPU 1, which all_gather needs",
        ),
        (("failed_npus=0,2",), "after the failure the topology has no way from NPU 3 to NPU 1"),
        (("failed_at_us=5",), "failed_at_us=5 has no effect without failed_links or failed_npus"),
        (("failed_links=0-1", "failed_at_us=x"), "failed_at_us is 'x'; it must be a number from 0 to 1e+12"),
        (
            ("failed_links=0-1", "failed_at_us=1e13"),
            "failed_at_us is '1e13'; it must be a number from 0 to 1e+12",
        ),
        (("failed_npus=1", "collective=all_reduce"), "all_reduce has sums to which every NPU contributes"),
        (("select=p95",), "select=p95 has no effect without a variance; write variance=cv=0.1 too"),
        (("variance=cv=0.1", "select=p96"), "select is 'p96'; allowed are nominal, mean, p50, p95"),
        (("variance=0.1",), "variance: unknown part '0.1'; allowed are cv, straggler_share"),
        (("variance=cv",), "variance: cv lacks its value; write such as cv=0.1"),
        (("variance=cv=0.1,cv=0.2",), "variance: cv occurs twice"),
        (("variance=cv=-1",), "cv is '-1'; it must be a number of at least 0"),
        (("variance=cv=1e9",), "variance: bandwidth_cv is 1e+09; it must be at most 10"),
        (("variance=draws=5",), "variance is 'draws=5', under which nothing varies"),
        (("variance=cv=0.1,draws=0",), "draws is '0'; it must be a whole number, 1 to 1000000"),
        (("variance=straggler_share=0.1",), "variance: straggler_share has no effect without straggler_slow"),
        (("variance=spike_ns=9",), "variance: spike_ns has no effect without spike_share"),
        (("variance=jitter_cv=0.1,correlation=node",), "variance: correlation has no effect without cv"),
        (("variance=cv=0.1,correlation=rack",), "variance: correlation is 'rack'; allowed are none, node"),
    ],
)
def test_what_cannot_be_asked_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    assert message in refused(RING, *arguments)


def test_an_unknown_synthesizer_is_refused() -> None:
    assert "synthesizer is 'forest'; allowed are auto" in refused(RING, "synthesizer=forest")


def test_a_torus_of_more_than_2_to_the_28_deliveries_is_solved_by_symmetry_and_stays_a_base(
    tmp_path: Path,
) -> None:
    large = "topology=torus__dim=[130,130]__alpha=500__beta=50"
    done = run_ok("synthesize", large, "format=json", "-o", "out", cwd=tmp_path)
    data = json.loads(done.out)
    assert data["npus"] == 16_900
    assert data["sends"] == 16_900 * 16_899
    assert data["optimal"]
    assert data["time_ps"] == 4225 * HOP_PS  # 16,899 chunks over 4 links
    assert data["checked"] == "base"
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"schedule.base.jsonl", "summary.json", "topology.csv"}
    with (tmp_path / "out" / "schedule.base.jsonl").open() as lines:
        assert sum(1 for _ in lines) == 1 + 16_899
    assert "failed_links=0-1 needs every send, and 285610000 deliveries are more" in refused(
        large, "failed_links=0-1"
    )
    assert "at most 268435456 can be scheduled" in refused(large, "synthesizer=restarts")


def test_a_large_mesh_is_kept_as_its_rule(tmp_path: Path) -> None:
    large = "topology=grid__dim=[80,80]__alpha=500__beta=50"
    done = run_ok("synthesize", large, "format=json", "-o", "out", cwd=tmp_path)
    data = json.loads(done.out)
    assert (data["sends"], data["synthesizer"], data["checked"]) == (6400 * 6399, "mesh", "rule")
    assert data["time_ps"] == 3200 * HOP_PS == data["bound_ps"]  # 6,399 chunks over 2 links
    done = run_ok("synthesize", large, "collective=all_reduce", "format=json", "-o", "out", cwd=tmp_path)
    data = json.loads(done.out)
    assert (data["sends"], data["checked"]) == (2 * 6400 * 6399, "rule")
    assert data["time_ps"] < 0.7 * data["barrier_ps"] == 0.7 * 6400 * HOP_PS
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"schedule.rule.jsonl", "summary.json", "topology.csv"}
    with (tmp_path / "out" / "schedule.rule.jsonl").open() as lines:
        about, *waves = map(json.loads, lines)
    assert about["mesh"] == {"sizes": [80, 80], "sums": True, "gathers": True}
    marks = [
        "".join(sorted(set(column) - {"."})) for column in zip(*(w["first"] for w in waves), strict=True)
    ]
    assert marks == [str((u + u // 80) % 2) for u in range(6400)]
    assert "failed_links=0-1 needs every send, and 40960000 deliveries are more than the 33554432" in refused(
        large, "failed_links=0-1"
    )


@pytest.mark.parametrize(
    ("collective", "halves", "bound"), [("reduce_scatter", 1, "egress"), ("all_reduce", 2, "all_sends")]
)
def test_sums_on_a_large_torus_stay_a_base_at_the_bound(
    tmp_path: Path, collective: str, halves: int, bound: str
) -> None:
    large = "topology=torus__dim=[130,130]__alpha=500__beta=50"
    done = run_ok("synthesize", large, f"collective={collective}", "format=json", "-o", "out", cwd=tmp_path)
    data = json.loads(done.out)
    assert (data["time_ps"], data["bound"], data["optimal"]) == (halves * 4225 * HOP_PS, bound, True)
    assert (data["sends"], data["checked"]) == (halves * 16_900 * 16_899, "base")
    with (tmp_path / "out" / "schedule.base.jsonl").open() as lines:
        assert sum(1 for line in lines if '"reduce":true' in line) == 16_899
    assert "export=csv needs every send" in refused(
        large, f"collective={collective}", "export=csv", "-o", tmp_path / "other"
    )

"""The commands on networks whose switches cut through: files, checks, studies, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_lines import run_dse, run_ok

HEADER = "Src,Dest,Latency (ns),Bandwidth (GB/s)"
PORTS = [f"{a},{b},500,50" for npu in range(4) for a, b in ((npu, 4), (4, npu))]
SERIAL = 20_971_520  # 1 MiB at 50 GB/s
CUT = ("npus=4", "forwarding=cut_through")


@pytest.fixture
def star(tmp_path: Path) -> Path:
    """Four NPUs round a switch."""
    file = tmp_path / "star.csv"
    file.write_text("\n".join(["5", HEADER, *PORTS, ""]))
    return file


def test_a_schedule_is_written_read_again_and_found_valid(star: Path) -> None:
    folder = star.parent / "out"
    asked = (f"topology={star}", *CUT, "collective=all_to_all", "trials=2")
    done = run_ok("synthesize", *asked, "export=trace", "-o", folder, cwd=star.parent)
    assert "star: 4 NPUs, 1 switch that cut through, 8 links" in done.out
    summary = json.loads((folder / "summary.json").read_text())
    # The port of an NPU carries three chunks one behind the other, the last has two latencies to go.
    assert summary["time_ps"] == summary["bound_ps"] == 3 * SERIAL + 1_000_000
    assert (summary["forwarding"], summary["sends"]) == ("cut_through", 24)
    assert "1 switch that cut through" not in (folder / "topology.csv").read_text()

    again = json.loads(run_ok("schedule", folder, "format=json", cwd=star.parent).out)
    assert (again["valid"], again["time_ps"]) == (True, summary["time_ps"])
    keys = (f"topology={star}", "npus=4", "collective=all_to_all")
    run_ok("schedule", folder / "schedule.csv", *keys, CUT[1], cwd=star.parent)
    stored = run_dse("schedule", folder / "schedule.csv", *keys, "forwarding=stored", cwd=star.parent)
    assert stored.code == 1
    assert "it takes 500000 ps, its link takes 21471520 ps" in stored.out


def test_a_link_that_fails_at_the_start_is_repaired_in_the_folder(star: Path) -> None:
    star.write_text("\n".join(["5", HEADER, *PORTS, "0,1,500,50", "1,0,500,50", ""]))
    asked = (f"topology={star}", *CUT, "synthesizer=restarts", "trials=2", "--failed-links", "0-1")
    folder = star.parent / "out"
    run_ok("synthesize", *asked, "-o", folder, cwd=star.parent)
    repaired = json.loads(run_ok("schedule", folder / "repaired", "format=json", cwd=star.parent).out)
    assert (repaired["valid"], repaired["time_ps"]) == (True, 3 * SERIAL + 1_000_000)


def test_the_switches_of_a_system_cut_through(tmp_path: Path) -> None:
    """Two NPUs behind a switch: 100 ns a link, and 1 MiB at 25 * 2^30 bytes a second takes 39,062,500 ps."""
    keys = ("system=dgx16", "switches=nodes", "trials=2", "synthesizer=restarts", "format=json")
    stored, cut = (
        json.loads(run_ok("synthesize", *keys, "dimensions=[1]", f"forwarding={how}", cwd=tmp_path).out)
        for how in ("stored", "cut_through")
    )
    assert (stored["time_ps"], stored["switches"], stored["optimal"]) == (2 * 39_162_500, 1, True)
    assert (cut["time_ps"], cut["switches"], cut["optimal"]) == (39_262_500, 1, True)
    whole = json.loads(run_ok("synthesize", *keys, "forwarding=cut_through", "-o", "out", cwd=tmp_path).out)
    assert (whole["npus"], whole["switches"]) == (16, 8)
    assert json.loads(run_ok("schedule", "out", "format=json", cwd=tmp_path).out)["valid"]


def test_studies_have_both_as_an_axis_and_rows_of_stored_chunks_keep_their_keys(star: Path) -> None:
    keys = (f"topology={star}", "npus=4", "study=s", "synthesizer=restarts", "trials=2", "threads=1")
    first = json.loads(run_ok("batch", *keys, "format=json", cwd=star.parent).out)
    both = run_ok("batch", *keys, "forwarding=[stored,cut_through]", "format=json", cwd=star.parent)
    assert "note: 1 of 2 were computed" in both.err
    rows = {row["forwarding"]: row for row in json.loads(both.out)}
    assert rows["stored"] == first
    assert rows["stored"]["time_ps"] == 4 * (SERIAL + 500_000)
    assert rows["cut_through"]["time_ps"] == 3 * SERIAL + 1_000_000

    table = run_ok("batch", *keys, "forwarding=[stored,cut_through]", cwd=star.parent).out.splitlines()
    place = table[0].index("forwarding")
    assert {line[place:].split()[0] for line in table[1:]} == {"stored", "cut_through"}
    assert "forwarding" not in run_ok("batch", *keys, cwd=star.parent).out


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (("npus=4", "forwarding=cut"), "forwarding is 'cut'; allowed are stored, cut_through"),
        (("forwarding=cut_through",), "forwarding=cut_through has no effect without switches; name them"),
        ((*CUT, "variance=cv=0.1"), "variance does not go with forwarding=cut_through"),
        (
            (*CUT, "failed_links=0-1", "failed_at_us=3"),
            "failed_at_us does not go with forwarding=cut_through",
        ),
        ((*CUT, "export=chakra", "-o", "out"), "switch"),
    ],
)
def test_what_does_not_go_with_it_is_one_line(star: Path, keys: tuple[str, ...], message: str) -> None:
    star.write_text("\n".join(["5", HEADER, *PORTS, "0,1,500,50", "1,0,500,50", ""]))
    done = run_dse("synthesize", f"topology={star}", "trials=1", *keys, cwd=star.parent)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert message in done.err

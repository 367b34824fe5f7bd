"""`dse batch`: lists make combinations, rows are stored and found again, mistakes are one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_lines import run_dse, run_ok

TORUS = "torus__dim=[2,3]__alpha=500__beta=50"
LINE = "grid__dim=[4]__alpha=500__beta=50"
QUICK = ("synthesizer=restarts", "trials=2", "threads=1")


def test_a_second_call_computes_what_is_new_and_prints_all_that_was_asked_for(tmp_path: Path) -> None:
    line = (f"topology={TORUS}", "collective=[all_gather,all_reduce]", "study=s", *QUICK)
    assert "note: 2 of 2 were computed" in run_ok("batch", *line, cwd=tmp_path).err
    done = run_ok("batch", *line, "chunk_bytes=[512KiB,1MiB]", "format=json", cwd=tmp_path)
    assert "note: 2 of 4 were computed" in done.err
    rows = json.loads(done.out)
    # five foreign chunks over three links into each NPU, then twice that for the sum
    assert [(row["collective"], row["chunk_bytes"], row["bound_ps"]) for row in rows] == [
        ("all_gather", "1048576", 42_943_040),
        ("all_gather", "524288", 21_971_520),
        ("all_reduce", "1048576", 85_886_080),
        ("all_reduce", "524288", 43_943_040),
    ]
    assert all(row["time_ps"] >= row["bound_ps"] for row in rows)


def test_the_number_of_chunks_is_chosen_beside_given_ones(tmp_path: Path) -> None:
    """A broadcast over a line of four: k chunks take k + 2 steps of 500 ns and 1 MiB / k at 50 bytes a ns."""
    keys = (f"topology={LINE}", "collective=broadcast", "study=s", "synthesizer=restarts", "trials=2")
    asked = (*keys, "operation_bytes=1MiB", "chunks_per_npu=[4,auto]", "threads=2", "format=json")
    rows = json.loads(run_ok("batch", *asked, cwd=tmp_path).out)
    given, chosen = sorted(rows, key=lambda row: int(row["chunks_per_npu"]))
    assert (given["chunks_per_npu"], given["time_ps"], given["split"]) == (4, 6 * 5_742_880, None)
    assert (chosen["chunks_per_npu"], chosen["chunk_bytes"], chosen["time_ps"]) == (8, "131072", 31_214_400)
    split = json.loads(chosen["split"])
    assert split["operation_bytes"] == 1 << 20
    assert (split["times_ps"]["4"], split["times_ps"]["8"]) == (6 * 5_742_880, 31_214_400)
    again = run_ok("batch", *asked, cwd=tmp_path)
    assert "note: 0 of 2 were computed" in again.err
    assert json.loads(again.out) == rows
    more = (*keys, "operation_bytes=[1MiB,1048577]", "chunks_per_npu=auto")
    assert "note: 1 of 2 were computed" in run_ok("batch", *more, cwd=tmp_path).err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("topology=a.csv",), "study is missing; write study=NAME, the folder results/NAME for the rows"),
        (("study=a/b", f"topology={TORUS}"), "study is 'a/b'; it names a folder"),
        (("study=s", f"topology=[{TORUS},{TORUS}]"), "a list has different entries"),
        (("study=s", f"topology={TORUS}", "workers=2"), "workers=2 has no effect on executor=local"),
        (("study=s", f"topology={TORUS}", "num_beams=2"), "unknown key num_beams"),
        (
            ("study=s", f"topology={TORUS}", "chunks_per_npu=[2,auto]", "chunk_bytes=1MiB"),
            "chunks_per_npu is 'auto', which cuts the bytes of the operation; write operation_bytes=BYTES",
        ),
        (("study=s", f"topology={TORUS}", "system.peak_tflops=1"), "has no effect without a system"),
        (
            ("study=s", f"topology={TORUS}", "synthesizer=beam_shortest"),
            "a study takes beam, without its keys",
        ),
    ],
)
def test_mistakes_are_one_line_and_store_nothing(line: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = run_dse("batch", *line, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert message in done.err
    assert not (tmp_path / "results").exists()

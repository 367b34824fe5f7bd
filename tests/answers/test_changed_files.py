"""A file that a system names changes under a study: sweeps warn, and answers leave former points out."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_lines import run_ok

SYSTEM = """\
name: graph
network:
  - {topology: Graph, npus: 4, bandwidth_gbps: 1, latency_ns: 0, file: links.csv}
collectives: {all_reduce: [ring], all_gather: [ring], reduce_scatter: [ring], all_to_all: [ring]}
network_model: congestion_aware
peak_tflops: 450
memory_bandwidth_gbps: 3000
"""
SWEEP = ("sweep", "system=graph.yaml", "model=tiny", "study=one")


def write_links(folder: Path, bandwidth_gbps: int) -> None:
    links = [
        f"{one},{other},500,{bandwidth_gbps}"
        for i in range(4)
        for one, other in ((i, (i + 1) % 4), ((i + 1) % 4, i))
    ]
    (folder / "links.csv").write_text("\n".join(["4", "Src,Dest,Latency (ns),Bandwidth (GB/s)", *links, ""]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two sweeps of one study, before and after the links became ten times slower."""
    (tmp_path / "graph.yaml").write_text(SYSTEM)
    write_links(tmp_path, 20)
    assert "warning" not in run_ok(*SWEEP, cwd=tmp_path).err
    write_links(tmp_path, 2)
    return tmp_path


def test_a_sweep_warns_that_the_study_holds_points_of_the_former_content(folder: Path) -> None:
    done = run_ok(*SWEEP, cwd=folder)
    (warning,) = [line for line in done.err.splitlines() if line.startswith("warning")]
    assert warning.startswith(
        "warning: study one holds points of other inputs: system.network.0.file_sha256 "
    )
    first, arrow, second = warning.split("file_sha256 ")[1].split(";")[0].split()
    assert arrow == "->"
    assert len(first) == len(second) == 8
    assert first != second
    assert "the study has better points" not in done.out


def test_answers_leave_out_points_of_the_former_content_and_say_so(folder: Path) -> None:
    run_ok(*SWEEP, cwd=folder)
    for verb in ("best", "explain", "sensitivity"):
        options = [] if verb == "best" else ["--no-switches"]
        done = run_ok(verb, "results/one", *options, cwd=folder)
        assert done.err.startswith(
            "note: links.csv has changed since 12 of 24 points were computed (digest "
        ), verb
        assert done.err.endswith(" now): they are left out\n")
        assert "45.72 ms" in done.out, verb
        assert "5.232 ms" not in done.out, verb
    former = run_ok("best", "results/one", "top=1", "by=system.network.0.file_sha256", cwd=folder)
    assert former.out.count("the fastest") == 1


def test_points_of_a_former_content_are_shown_with_a_note_where_there_are_no_others(folder: Path) -> None:
    done = run_ok("best", "results/one", cwd=folder)
    assert done.err.endswith(" now): sweep again for points of the file of today\n")
    assert "5.232 ms" in done.out


def test_the_contents_of_a_file_that_cannot_be_read_are_variants_with_a_name(folder: Path) -> None:
    run_ok(*SWEEP, cwd=folder)
    (folder / "links.csv").rename(folder / "gone.csv")
    done = run_ok("best", "results/one", cwd=folder)
    assert done.err.count("cannot be read from here: whether it has changed is not known\n") == 2
    assert "  system.network.0.file_sha256\n" in done.out
    assert done.out.count("  file_sha256=") == 2
    assert "    with system.network.0.file_sha256=" in done.out


def test_a_comparison_names_the_digest_only_where_the_name_of_the_file_is_the_same(folder: Path) -> None:
    run_ok(*SWEEP[:-1], "study=two", cwd=folder)
    said = run_ok("compare", "results/one", "results/two", cwd=folder).out
    assert "  system.network.0.file_sha256  " in said
    (folder / "links.csv").rename(folder / "other.csv")
    (folder / "graph.yaml").write_text(SYSTEM.replace("links.csv", "other.csv"))
    run_ok(*SWEEP[:-1], "study=three", cwd=folder)
    said = run_ok("compare", "results/one", "results/three", cwd=folder).out
    assert '  system.network.0.file  "links.csv" -> "other.csv"' in said
    assert "sha256" not in said

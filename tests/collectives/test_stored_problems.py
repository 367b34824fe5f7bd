"""The problem in a folder of a synthesis may be edited: what no problem has is named in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_lines import run_dse, run_ok

TOPOLOGY = "4\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n" + "".join(
    f"{npu},3,500,50\n3,{npu},500,50\n" for npu in range(3)
)
SEVERAL = {
    "chunk_size": 1000,
    "collectives": [{"collective": "all_gather", "group": [0, 1]}, {"collective": "broadcast", "root": 2}],
}


def folder_of(tmp_path: Path, *words: str) -> Path:
    (tmp_path / "t.csv").write_text(TOPOLOGY)
    (tmp_path / "several.json").write_text(json.dumps(SEVERAL))
    asked = ("topology=t.csv", "npus=3", "trials=1", "switch_copies=none", *words)
    run_ok("synthesize", *asked, "-o", "made", cwd=tmp_path)
    assert run_dse("schedule", "made", cwd=tmp_path).code == 0
    return tmp_path / "made" / "summary.json"


def answer_to(summary: Path, **entries: Any) -> str:
    """The line that `dse schedule` prints for a folder whose problem has other entries."""
    data = json.loads(summary.read_text())
    edited = {**data, "problem": {**data["problem"], **entries}}
    summary.write_text(json.dumps(edited))
    done = run_dse("schedule", "made", cwd=summary.parent.parent)
    summary.write_text(json.dumps(data))
    assert done.code == 2
    assert done.err.count("\n") == 1
    return done.err


def test_entries_of_a_stored_problem_are_checked(tmp_path: Path) -> None:
    summary = folder_of(tmp_path, "collective=scatter", "max_sends=1")
    for entries, said in (
        ({"root": 1.5}, "root is 1.5; it must be a whole number from 0 to 2"),
        ({"root": 3}, "root is 3; it must be"),
        ({"npus": 9}, "npus is 9; made/topology.csv has 4 nodes, so it must be 2 to 4"),
        ({"occupancy": "x"}, "occupancy is 'x'; allowed are total, bandwidth"),
        ({"forwarding": []}, "forwarding is '[]'; allowed are stored, cut_through"),
        ({"chunks_per_npu": 0}, "chunks_per_npu is 0"),
        ({"chunk_bytes": "99999999999999999999"}, "times may pass 2^62 ps; take smaller chunks"),
        ({"cannot_copy": [7]}, "node of cannot_copy is 7; it must be a whole number from 3 to 3"),
        ({"max_sends": [[9, 1]]}, "NPU of max_sends is 9"),
        ({"max_sends": [[0, 10**19]]}, "max_sends is 10000000000000000000"),
    ):
        assert said in answer_to(summary, **entries)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"group": []}, "it must list NPUs, each once"),
        ({"group": [0, 0]}, "it must list NPUs, each once"),
        ({"group": [0, 7]}, "NPU of a group is 7"),
        ({"root": 2}, "place of a root is 2"),
        ({"priority": None}, "priority is None"),
    ],
)
def test_parts_of_a_stored_problem_are_checked(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    summary = folder_of(tmp_path, "collective=several.json")
    first, *others = json.loads(summary.read_text())["problem"]["parts"]
    assert said in answer_to(summary, parts=[{**first, **changes}, *others])

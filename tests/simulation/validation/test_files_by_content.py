"""The files of a simulation by their content: which are taken, what is missing, what is ambiguous."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from job_folders import PAIRS, chakra_folder, recorded_folder

from dse.base.errors import InputError
from dse.simulation.validation.contents import (
    CASE_PART,
    GROUPS_PART,
    NETWORK_PART,
    OWN_SYSTEM_PART,
    PARTS,
    REMOTE_MEMORY_PART,
    SYSTEM_PART,
    holds,
    is_of_pytorch,
)
from dse.simulation.validation.parts import Files, missing_of_case, parts_of


def test_parts_are_found_under_any_names(tmp_path: Path) -> None:
    folder = chakra_folder(tmp_path / "job")
    for old, new in (
        ("system.json", "dgx.json"),
        ("network.yml", "fabric.yaml"),
        ("comm_group.json", "pairs.json"),
        ("remote_memory.json", "none.json"),
    ):
        (folder / old).rename(folder / new)
    files = Files.of_folder(folder)
    assert [path.name if (path := files.one(part)) else "" for part in PARTS] == [
        *("dgx.json", "fabric.yaml", "pairs.json", "none.json", "")
    ]
    assert files.taken(*PARTS) == [
        "dgx.json as system",
        "fabric.yaml as network",
        "pairs.json as groups",
        "none.json as remote memory",
    ]
    (folder / "run.txt").write_text("[workload] [info] sys[0] finished, 5 cycles\n")
    assert parts_of(folder).taken.startswith("run.txt as log and dgx.json as system and ")


def test_a_usual_name_goes_before_other_files_and_two_others_are_refused(tmp_path: Path) -> None:
    folder = chakra_folder(tmp_path / "job")
    for name in ("a.json", "b.json"):
        shutil.copy(folder / "comm_group.json", folder / name)
    assert Files.of_folder(folder).one(GROUPS_PART) == folder / "comm_group.json"
    (folder / "comm_group.json").unlink()
    with pytest.raises(InputError, match=r"2 files could be the groups \(a.json, b.json\); call the right"):
        Files.of_folder(folder).one(GROUPS_PART)


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("a.json", json.dumps(PAIRS), [GROUPS_PART]),
        ("a.json", "{}", []),
        ("a.json", '{"network_model": "congestion_aware", "options": []}', [CASE_PART]),
        ("a.json", '{"options": []}', [CASE_PART]),
        ("a.json", '{"status": "ok", "cases": 3}', []),
        ("a.json", '{"1": [0, "x"]}', []),
        ("a.json", '{"peak-perf": 1, "local-mem-bw": 2}', [SYSTEM_PART]),
        ("a.json", '{"memory-type": "MEMORY_POOL"}', [REMOTE_MEMORY_PART]),
        ("a.yml", "topology: [Ring]\nnpus_count: [4]\n", [NETWORK_PART]),
        ("a.yaml", "network:\n  - {topology: Ring}\n", [OWN_SYSTEM_PART]),
        ("a.yaml", "- 1\n", []),
        ("a.json", "no JSON", []),
        ("a.txt", json.dumps(PAIRS), []),
        ("a.json", '{"a":' * 50_000, []),
        ("a.json", '{"peak-perf": 1' + " " * 10, []),
        ("a.yml", "a: &a [x, x]\nb: [*a, *a]\n", []),
        ("a.yml", "\ufeff\x01", []),
        ("a.json", "", []),
    ],
)
def test_what_a_file_holds(tmp_path: Path, name: str, content: str, parts: list[object]) -> None:
    (tmp_path / name).write_text(content)
    assert [part for part in (*PARTS, OWN_SYSTEM_PART) if holds(tmp_path / name, part)] == parts


def test_missing_ranks_and_parts_are_named(tmp_path: Path) -> None:
    folder = chakra_folder(tmp_path / "job")
    assert Files.of_folder(folder).traces() == [folder / f"job.{rank}.et" for rank in range(4)]
    (folder / "job.3.et").rename(folder / "job.9.et")
    with pytest.raises(InputError, match=r"4 traces, but those of ranks 3, 4, 5, 6, 7, … are missing"):
        Files.of_folder(folder).traces()
    (folder / "system.json").unlink()
    assert missing_of_case(folder)[0] == "system.json"


def test_files_of_the_profiler_are_told_from_traces_of_chakra(tmp_path: Path) -> None:
    chakra, recorded = chakra_folder(tmp_path / "job"), recorded_folder(tmp_path / "step")
    assert not any(map(is_of_pytorch, chakra.iterdir()))
    assert all(map(is_of_pytorch, recorded.iterdir()))
    assert not is_of_pytorch(tmp_path / "nowhere.json")

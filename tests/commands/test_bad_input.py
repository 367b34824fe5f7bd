"""Wrong input of every command: exit code 2 and one line that names what, where, and what is allowed."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_lines import TINY, TINY_DGX16, edit_json, error_of, export_case, run_ok
from test_validate import record


def has(message: str, *parts: str) -> None:
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (
            ("strategy.dp=16", "model.batch_size=33", "workload.divisibility=strict"),
            ("workload.divisibility=strict", "dp 16 does not divide batch_size 33", "32, 48"),
        ),
        (("strategy.pp=16",), ("strategy.pp is 16", "more pipeline stages (16) than blocks (6", "at most 6")),
        (("strategy.dp=8",), ("dp8 tp1 sp1 pp1", "= 8 NPUs", "torus_4x4 has 16")),
        (("strategy.dp=0",), ("dp0 tp1 sp1 pp1", "= 0 NPUs", "has 16")),
        (
            ("strategy.dp=16", "system.bandwidth=1"),
            ("system.bandwidth; did you mean 'memory_bandwidth_gbps'? Keys of system are name, network,",),
        ),
        (("strategy.dp=16", "+system.peak_tflop=1"), ("system.peak_tflop", "did you mean 'peak_tflops'?")),
        (
            ("strategy.dp=16", "system.network.0.bandwidth_gbps=-100"),
            ("system.network.0.bandwidth_gbps is -100", "greater than 0"),
        ),
        (
            ("strategy.dp=16", "system.network.2.bandwidth_gbps=100"),
            ("system.network.2", "2 entries, 0 to 1"),
        ),
        (
            ("strategy.dp=16", "system.network_model=aware"),
            ("system.network_model is 'aware'", "congestion_unaware, congestion_aware"),
        ),
        (
            ("strategy.dp=16", "system.collectives.all_reduce=[rings,ring]"),
            ("system.collectives.all_reduce.0 is 'rings'", "did you mean 'ring'?"),
        ),
        (("strategy.dp=four",), ("strategy.dp is 'four'", "an integer")),
        (("format=xml",), ("format is 'xml'", "table, json")),
        (("export=not_empty", "strategy.dp=16"), ("export is 'not_empty'", "choose another folder")),
        (("model.num_layers=1",), ("model.num_layers is 1", "at least 2")),
    ],
)
def test_a_wrong_point(tmp_path: Path, arguments: tuple[str, ...], parts: tuple[str, ...]) -> None:
    has(error_of("point", *TINY, *arguments, cwd=tmp_path), *parts)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("memory_cap=80",), ("memory_cap '80' has no unit", "80GB", "80GiB")),
        (("memory_cap=80GBit",), ("memory_cap '80GBit'", "unknown unit 'GBit'", "kB, MB, GB")),
        (("model=llama7b",), ("model 'llama7b' is unknown", "gpt175b, gpt3_175b", "mean 'llama70b'?")),
        (("system=system3",), ("system 'system3' is unknown", "dgx16", "did you mean")),
        (
            ("system=dgx_h100", "system.accelerator=h100_smx"),
            ("system.accelerator is 'h100_smx'", "llowed are a100_40, ", "did you mean 'h100_sxm'?"),
        ),
        (("space=labs",), ("space 'labs' is unknown", "full, lab")),
        (("--quiet",), ("unknown option --quiet", "--help, --cfg, --config-dir")),
        (("-j4",), ("unknown option -j4",)),
        (("space.tp=[1,2",), ("override 'space.tp=[1,2' cannot be parsed", "write key=value")),
        (("tiny",), ("override 'tiny' cannot be parsed", "write key=value")),
        (("space.tp=[]",), ("space.tp is empty", "at least one value")),
        (("space.dp=[3]",), ("space 'lab' is empty", "dp * tp * sp * pp == npus", "16 NPUs")),
        (('space.constraints=["dp<=n"]',), ("space.constraints.0 'dp<=n', column 5", "unknown name 'n'")),
        (("search.samples=5",), ("search.samples is 5", "search=random")),
        (("search=random", "search.samples=0"), ("search.samples is 0", "at least 1")),
        (("study=../elsewhere",), ("study is '../elsewhere'", "a letter or digit")),
        (("executor.threads=0",), ("executor.threads is 0", "from 1 to 4096")),
        (
            ("workload.divisibility=none",),
            ("workload.divisibility is 'none'", "stage, whole, strict"),
        ),
    ],
)
def test_a_wrong_sweep(tmp_path: Path, arguments: tuple[str, ...], parts: tuple[str, ...]) -> None:
    has(error_of("sweep", *TINY, *arguments, cwd=tmp_path), *parts)
    assert list(tmp_path.iterdir()) == []


def test_a_results_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    message = error_of("sweep", *TINY, cwd=tmp_path)
    has(message, "cannot write results/tiny-torus_4x4", "Not a directory", "choose another one")


@pytest.mark.parametrize(
    "words",
    [
        ("best", "{}"),
        ("simulate", "{}"),
        ("plan", "check", "{}"),
        ("partition", "model=tiny", "devices={}"),
        ("synthesize", "topology={}"),
        ("synthesize", "topology=torus__dim=[4]", "-o", "{}"),
        ("point", "system=torus_4x4", "model=tiny", "strategy.dp=16", "export={}"),
    ],
)
def test_a_name_that_no_disk_has_is_one_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    message = error_of(*(word.format("n" * 400) for word in words), cwd=tmp_path)
    if sys.version_info < (3, 14):
        assert message.endswith(": File name too long")
    else:  # there is no such file, says Python 3.14
        assert "nnn" in message


def test_an_export_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("")
    message = error_of("point", *TINY, "strategy.dp=16", "export=files", cwd=tmp_path)
    has(message, "cannot write files", "File exists")


def test_a_study_that_does_not_exist_or_is_corrupt(tmp_path: Path) -> None:
    has(error_of("best", "results/nowhere", cwd=tmp_path), "results/nowhere is not a study", "No such file")
    run_ok("sweep", *TINY, "space.tp=[1]", "space.sp=[1]", cwd=tmp_path)
    study = tmp_path / "results" / "tiny-torus_4x4"
    (part,) = study.glob("part-*.parquet")
    part.write_bytes(part.read_bytes()[:-100])
    message = error_of("best", study, cwd=tmp_path)
    has(message, str(part), "is corrupt", "move it away and run the sweep again")


@pytest.mark.parametrize(
    ("verb", "arguments", "parts"),
    [
        ("best", ("study", "--cap", "80GB"), ("unknown option --cap", "did you mean '--caps'?")),
        ("best", (), ("STUDY is missing; write dse best STUDY",)),
        ("best", ("study", "memory_cap=80"), ("memory_cap '80' has no unit", "80GB")),
        ("validate", ("cases", "--strict"), ("unknown option --strict", "KEY=VALUE, --help")),
        (
            "validate",
            ("cases", "network_model=aware"),
            ("network_model is 'aware'", "congestion_aware"),
        ),
        ("validate", ("nowhere",), ("nowhere: no such file or folder",)),
        ("validate", ("nowhere.jsonl",), ("nowhere.jsonl: cannot be read", "No such file")),
    ],
)
def test_wrong_options(tmp_path: Path, verb: str, arguments: tuple[str, ...], parts: tuple[str, ...]) -> None:
    has(error_of(verb, *arguments, cwd=tmp_path), *parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("cases.jsonl: no case",)),
        ('\n{"id": "x", \n', ("cases.jsonl, line 2: malformed JSON at line 1",)),
        ("[1, 2]\n", ("cases.jsonl, line 1: holds list; expected an object",)),
        ('{"id": "x"}\n', ("line 1: has neither 'strategy' (a point) nor 'collective'",)),
        ('{"strategy": {}}\n', ("line 1: key 'system' is missing",)),
    ],
)
def test_malformed_json_lines(tmp_path: Path, text: str, parts: tuple[str, ...]) -> None:
    (tmp_path / "cases.jsonl").write_text(text)
    has(error_of("validate", "cases.jsonl", cwd=tmp_path), *parts)


@pytest.mark.parametrize(
    ("path", "value", "parts"),
    [
        ("strategy.dp", "4", ("strategy.dp is '4'", "an integer")),
        ("strategy.pp", 16, ("case dp4_tp4: strategy.pp is 16", "at most 6")),
        ("strategy.dp", 8, ("case dp4_tp4: the workload has 32 ranks", "16 NPUs")),
        ("model.num_layers", None, ("model.num_layers is None", "an integer")),
        (
            "system.network.0.topology",
            "Mesh",
            ("network.0.topology is 'Mesh'", "Ring, FullyConnected, Switch"),
        ),
        ("system.network.0.bandwidth_gbps", "fast", ("could not convert", "fast")),
        ("network_model", "aware", ("network_model is 'aware'", "congestion_unaware, congestion_aware")),
        ("expected.ranks", {"finish_ns": [1]}, ("wrong type or length",)),
    ],
)
def test_a_line_of_json_with_a_wrong_value(
    tmp_path: Path, path: str, value: Any, parts: tuple[str, ...]
) -> None:
    line = record()
    inner: Any = line
    *parents, last = path.split(".")
    for key in parents:
        inner = inner[int(key) if key.isdigit() else key]
    inner[last] = value
    (tmp_path / "cases.jsonl").write_text(json.dumps(line))
    has(error_of("validate", "cases.jsonl", cwd=tmp_path), *parts)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A case folder; do not change it."""
    folder = tmp_path_factory.mktemp("runs") / "case"
    export_case(folder, *TINY_DGX16, "strategy.dp=16")
    return folder


@pytest.fixture
def case(exported: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(exported, tmp_path / "case"))


def cut(trace: Path) -> None:
    trace.write_bytes(trace.read_bytes()[:-7])


def overwrite(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (lambda case: cut(case / "trace.3.et"), ("trace.3.et: byte ", "case case")),
        (
            lambda case: overwrite(case / "comm_group.json", "[0, 1,", "[0, 1, 1,"),
            ("comm_group.json: group '1' names rank 1 twice",),
        ),
        (
            lambda case: overwrite(case / "comm_group.json", "[0, 1,", "[0, 99,"),
            ("group '1' names rank 99, but there are 16 ranks",),
        ),
        (
            lambda case: edit_json(case / "system.json", **{"peak-perff": 1}),
            ("system.json: unknown key peak-perff", "did you mean 'peak-perf'?"),
        ),
        (
            lambda case: edit_json(case / "system.json", **{"roofline-enabled": False}),
            ("system.json: roofline-enabled is false", "0 (off) or 1 (on)"),
        ),
        (
            lambda case: edit_json(case / "system.json", **{"local-mem-bw": -1}),
            ("system.json: local-mem-bw is -1", "0 or greater"),
        ),
        (
            lambda case: overwrite(case / "network.yml", "[128.5714, 25]", "[128.5714, -25]"),
            ("network.yml: bandwidth.1 is -25", "greater than 0"),
        ),
        (
            lambda case: overwrite(case / "network.yml", "[8, 2]", "[8, 4]"),
            ("case case", "the workload has 16 ranks, but the network has 32 NPUs"),
        ),
        (lambda case: (case / "trace.7.et").unlink(), ("15 traces", "rank 7 is missing")),
        (lambda case: (case / "network.yml").unlink(), ("but no network.yml; complete the case",)),
        (lambda case: (case / "reference.log").unlink(), ("but no log (what ASTRA-sim printed",)),
        (
            lambda case: overwrite(case / "reference.log", "Wall time: ", "Wall time: 1."),
            ("reference.log, line 4: Wall time is 1.",),
        ),
        (
            lambda case: (case / "case.json").write_text('{"options": ["--queues=2"]}'),
            ("case.json: unknown option --queues", "--num-queues-per-dim"),
        ),
        (
            lambda case: (case / "case.json").write_text('{"options": ["--injection-scale"]}'),
            ("case.json: option --injection-scale has no value",),
        ),
        (
            lambda case: (case / "case.json").write_text('{"network_model": "unaware"}'),
            ("case.json: network_model is 'unaware'", "congestion_unaware, congestion_aware"),
        ),
        (
            lambda case: (case / "case.json").write_text('{"options":'),
            ("case.json: malformed JSON at line 1",),
        ),
    ],
)
def test_a_wrong_case_folder(case: Path, change: Callable[[Path], object], parts: tuple[str, ...]) -> None:
    change(case)
    has(error_of("validate", case, cwd=case.parent), *parts)

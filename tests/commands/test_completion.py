"""Completion of `dse` in a shell: what a word can become, and the script in a real bash."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dse.commands.completion import completions


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("s", ["schedule", "sensitivity", "simulate", "size", "status", "sweep", "synthesize", "system"]),
        ("--v", ["--version"]),
        ("nothing x", []),
        ("best --m", ["--mixed"]),
        ("best m", ["memory_cap="]),
        ("best results/", []),
        ("validate network_model=congestion_u", ["network_model=congestion_unaware"]),
        ("completion ", ["bash", "zsh"]),
        ("explore -o ", []),
        ("pipeline pro", ["probe", "profile"]),
        ("plan gr", ["group_scale=", "grow"]),
        ("plan grow no", ["nodes="]),
        ("synthesize format=", ["format=json", "format=table"]),
        ("sweep --d", ["--dry-run"]),
        ("explore --no", ["--no-open"]),
        ("explore memory", ["memory_cap="]),
        ("explore strategy.", []),
        ("sweep mod", ["model.", "model="]),
        ("sweep model=llama3_", ["model=llama3_405b", "model=llama3_70b", "model=llama3_8b"]),
        ("sweep system=torus", ["system=torus_1k", "system=torus_4x4"]),
        ("sweep system=../", []),
        ("sweep system.network.0.b", ["system.network.0.bandwidth_gbps="]),
        ("sweep memory", ["memory_cap="]),
        ("point memory", []),  # a sweep's key only
        ("point strategy.", ["strategy.activation_recompute=", "strategy.dp=", "strategy.pp="]),
        ("sweep strategy.", []),
        ("synthesize chunk", ["chunk_bytes=", "chunks_per_npu="]),
        ("synthesize system=torus", ["system=torus_1k", "system=torus_4x4"]),
        ("synthesize --", ["--help", "--output", "--save", "--verbose"]),
        ("schedule coll", ["collective="]),
        ("batch thr", ["threads="]),
        (
            "plan s",
            ["sequence_length=", "sequence_parallel=", "shard_optimizer=", "simulate=", "subsets", "sweep"],
        ),
        ("plan cluster=four", ["cluster=four_generations_4k"]),
        ("plan model=megatron_1.", ["model=megatron_1.7b"]),
        ("calibrate acc", ["accelerator="]),
        ("accuracy w", ["worst="]),
        ("synthesize synthesizer=", ["synthesizer=auto", "synthesizer=exact", "synthesizer=fast"]),
        ("partition partitioner=f", ["partitioner=fast"]),
        ("plan planner=", ["planner=auto", "planner=exact", "planner=fast"]),
    ],
)
def test_a_word_becomes(line: str, expected: list[str]) -> None:
    found = completions(line.split(" "))
    assert set(expected) <= set(found) if line == "point strategy." else found == expected


BASH = shutil.which("bash")
DRIVER = """\
eval "$(dse completion bash)"
COMP_LINE="$1" COMP_POINT="${#1}" COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
compopt() { echo "options $*"; }
_dse dse
printf '%s\\n' "${COMPREPLY[@]}"
complete -p dse
"""


@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dse val", ["validate"]),
        (
            "dse sweep model=llama70b system=torus",
            ["torus_1k", "torus_4x4"],
        ),  # bash replaces what follows the =
        ("dse sweep system.network_m", ["options -o nospace", "system.network_model="]),
        ("dse best results/ --pa", ["--pareto"]),
        ("dse best ", [""]),
    ],
)
def test_bash_completes(tmp_path: Path, line: str, expected: list[str]) -> None:
    program = tmp_path / "dse"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dse "$@"\n')
    program.chmod(0o755)
    script = f'PATH="{tmp_path}:$PATH"\n{DRIVER}'
    done = subprocess.run(
        [str(BASH), "--norc", "-c", script, "bash", line],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.splitlines() == [*expected, "complete -o default -F _dse dse"]
    assert done.stderr == ""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_reads_its_script(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "dse", "completion", "zsh"]
    script = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    subprocess.run(["zsh", "-n", "-c", script], check=True)

"""Statuses of commands in a script, shells within it, and pipes, each as bash has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.prediction.frameworks.reading import read_script
from dse.prediction.frameworks.reading.launchers import launch_of
from tests.prediction.frameworks.scripts import launched


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("[[ 7b == 70b ]]; if [ $? -eq 0 ]; then torchrun 1; else torchrun 2; fi", ["2"]),
        ("f(){ return 1; }; f; [ $? -ne 0 ] && torchrun 1", ["1"]),
        ("f(){ return 300; }; f; torchrun $? $?", ["44", "44"]),
        ("false; A=$?; true; torchrun $A $?", ["1", "0"]),
        ("f(){ for i in 1 2; do return 3; done; torchrun x; }; f; torchrun $?", ["3"]),
        ("f(){ while true; do return 3; done; }; f || torchrun $?", ["3"]),
        ("f(){ false; return; }; f; torchrun $?", ["1"]),
        ("f(){ [ 1 ] && return 1 || torchrun x; }; f; torchrun $?", ["1"]),
        ("for i in 1 2; do [ $i = 1 ]; done || torchrun $?", ["1"]),
        ("while false; do :; done; torchrun $?", ["0"]),
        ("if false; then :; fi; torchrun $?; case a in b) false;; esac; torchrun $?", ["0", "0"]),
        ("[[ a == b ]] || { [ $? -eq 1 ] && torchrun 1; }", ["1"]),
        ("(exit 1) && torchrun A || torchrun B", ["B"]),
        ("(exit 5); torchrun $?", ["5"]),
        ("f(){ (return 0); torchrun 1; }; f", ["1"]),
        ("for i in 1 2; do (break); torchrun $i; done", ["1", "2"]),
        ("for i in 1 2; do (continue; torchrun $i); done", ["1", "2"]),
        ("set -- a; shift 2 || torchrun $? $1; shift; shift; torchrun $#", ["1", "a", "0"]),
        ("while true; do ! break; done || torchrun $?", ["1"]),
        ("f(){ break; torchrun in$1; }; for i in 1 2; do f $i; done", ["in1", "in2"]),
        ("f(){ (local A=1); A=2; }; A=0; f; torchrun $A", ["2"]),
        ("f(){ if exit 3; then torchrun x; fi; }; f; torchrun y", []),
        ("eval 'exit 1'; torchrun x", []),
        ("eval false || torchrun 1", ["1"]),
        ("for i in 1 2; do d=$(dirname x); if [ $i = 1 ]; then break; fi; torchrun $i; done", []),
        ("for i in 1 2; do d=$(dirname x); if [ $i = 1 ]; then continue; fi; torchrun $i; done", ["2"]),
        ("while :; do d=$(dirname a); break; done; torchrun 1", ["1"]),
        ("f(){ local A=2; d=$(dirname a); }; A=1; f; torchrun $A; for i in 3 4; do eval break; done; "
         "torchrun $i",
         ["1", "3"]),
    ],
)  # fmt: skip
def test_statuses_are_those_of_bash(script: str, expected: list[str], tmp_path: Path) -> None:
    assert launched(script, tmp_path) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("! true | false && torchrun 1", ["1"]),
        ("! false | true && torchrun 1 || torchrun 2", ["2"]),
        ("false && echo x | torchrun a.py", []),
        ("true || echo x | torchrun a.py; torchrun b.py", ["b.py"]),
        ("echo x | torchrun a.py |& cat && torchrun b.py", ["a.py", "b.py"]),
        ("! ! true && torchrun 1", ["1"]),
        ("A=1; A=2 | cat; torchrun $A", ["1"]),
        ("false; true | torchrun $?", ["1"]),
        ("{ exit 1; } | true; torchrun 1", ["1"]),
        ("command -v bash && torchrun 1", ["1"]),
    ],
)
def test_pipes_bind_tighter_than_and_and_or(script: str, expected: list[str], tmp_path: Path) -> None:
    assert launched(script, tmp_path) == expected


WRITTEN = 'cat > r.sh <<\'EOF\'\ntorchrun "<$TP>" "<$1>"\nTP=9\nexit 4\nEOF\n'


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"{WRITTEN}export TP=2; bash r.sh a; torchrun $? $TP", ["<2>", "<a>", "4", "2"]),
        (f"{WRITTEN}TP=4 bash r.sh; torchrun ${{TP:-none}}", ["<4>", "<>", "none"]),
        (f"{WRITTEN}env TP=4 bash -x r.sh b", ["<4>", "<b>"]),
        ("export A=1; bash -c 'torchrun $A $1 $#; A=2' x y z; torchrun $A", ["1", "y", "2", "1"]),
        ("bash -c 'exit 3' || torchrun $?", ["3"]),
        ("A=1; bash -c 'torchrun ${A:-unset}'", ["unset"]),
        ("A=1 bash -c 'torchrun ${A:-unset}'; torchrun ${A:-unset}", ["1", "unset"]),
        ("set -a; A=1; set +a; B=2; bash -c 'torchrun $A ${B:-unset}'", ["1", "unset"]),
        ("f(){ torchrun f; }; export -f f; bash -c f", ["f"]),
        ("f(){ bash -c 'export A=2; torchrun $A'; return 0; }; A=1; f; torchrun $A", ["2", "1"]),
        ("f(){ bash -c 'torchrun ${A:-unset}'; }; A=1; A=2 f; f", ["2", "unset"]),
        ("A=1; eval 'A=2; B=3'; torchrun $A $B", ["2", "3"]),
        ("cat > e.sh <<'EOF'\nA=$1\nreturn 2\nEOF\n. ./e.sh 7; torchrun $? $A", ["2", "7"]),
    ],
)
def test_a_shell_of_its_own_sees_only_exported_values(
    script: str, expected: list[str], tmp_path: Path
) -> None:
    commands = read_script(script, "a.sh").commands
    if "env " in script or "-x" in script:
        assert [word for command in commands for word in command.words if "<" in word] == expected
    else:
        assert launched(script, tmp_path) == expected


def test_variables_before_a_shell_count_for_what_it_launches() -> None:
    (found,) = read_script('CUDA_VISIBLE_DEVICES=0,1 bash -c "deepspeed t.py"', "a.sh").commands
    assert launch_of(found.words, "a.sh", {}, found.environment).npus == 2


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("declare N=8; readonly M=8; bash -c 'torchrun ${N:-1} ${M:-2}'; declare -x N; export M; "
         "bash -c 'torchrun $N $M'", ["1", "2", "8", "8"]),
        ("export N=8 M=9; declare +x N; export -n M=7; bash -c 'torchrun ${N:-1} ${M:-2}'; torchrun $N $M",
         ["1", "2", "8", "7"]),
        ("f(){ local -x N=2; bash -c 'torchrun $N'; }; f; bash -c 'torchrun ${N:-1}'", ["2", "1"]),
        ("f(){ local N=2; bash -c 'torchrun $N'; }; export N=5; f; bash -c 'torchrun $N'", ["2", "5"]),
        ("f(){ declare -p N >/dev/null; torchrun $N; }; N=4; f; set -a; declare M=3; "
         "bash -c 'torchrun $M'", ["4", "3"]),
    ],
)  # fmt: skip
def test_declared_variables_reach_inner_shells_as_in_bash(
    script: str, expected: list[str], tmp_path: Path
) -> None:
    assert launched(script, tmp_path) == expected

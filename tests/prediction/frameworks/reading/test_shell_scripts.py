"""Shell scripts as data: which commands they launch, with which words."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.prediction.frameworks.reading import read_script
from tests.prediction.frameworks.scripts import words


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("A=8\ntorchrun --a $A", ["--a", "8"]),
        ("A=8;B=\"$A\"'x'\\ y\ntorchrun $B \"$B\"", ["8x", "y", "8x y"]),
        ("A=${A:-8}\nB=${A:-9}\ntorchrun $A ${B} ${C:-a b} \"${D:-a b}\"", ["8", "8", "a", "b", "a b"]),
        ("A=8 # eight\ntorchrun --a $A # --b 2\n", ["--a", "8"]),
        ("torchrun \\\n  --a 1 \\\n  --b 2\n", ["--a", "1", "--b", "2"]),
        ("torchrun ${1:-x} ${2-y}", ["x", "y"]),
        ("A=3\nB=4\ntorchrun $((A*B)) $(($A+B*2)) $(( (A + B) % 4 )) $((-7/2)) $((A-B))",
         ["12", "11", "3", "-3", "-1"]),
        ("X=(--a 1 # one\n  --b '2 3')\nX+=(--c)\ntorchrun \"${X[@]}\"", ["--a", "1", "--b", "2 3", "--c"]),
        ("X=(--a 1 --b '2 3')\ntorchrun ${X[@]} p${X[0]}s \"${X[*]}\"",
         ["--a", "1", "--b", "2", "3", "p--as", "--a 1 --b 2 3"]),
        ("X=()\ntorchrun \"${X[@]}\" a ${X[@]} b", ["a", "b"]),
        ("O=\" \\\n --a 1 \\\n --b 2 \"\ntorchrun $O", ["--a", "1", "--b", "2"]),
        ("A=x\nA+=y\ntorchrun ${A}z \"\" ''", ["xyz", "", ""]),
        ("D=fp8\n"
         "if [[ \"$D\" == \"fp8\" ]]; then A=1; elif [[ $D == bf16 ]]; then A=2; else A=3; fi\ntorchrun $A",
         ["1"]),
        ("D=bf16\nif [[ \"$D\" == \"fp8\" ]]; then A=1; elif [ $D == bf16 ]\nthen A=2\n"
         "else A=3; fi\ntorchrun $A",
         ["2"]),
        ("D=no\nif [[ $D == fp8 ]]; then A=1; elif [ $D = bf16 ]; then A=2; else A=3; fi\ntorchrun $A",
         ["3"]),
        ("N=4\nif [ $N -gt 3 ] && [ $N -lt 5 ]; then A=1; fi\n[[ $N -eq 4 || -n $Z ]] && B=2\ntorchrun $A $B",
         ["1", "2"]),
        ("N=4\n"
         "if [[ ! ( $N -ge 5 || -z $N ) && $N != 3 ]]; then if [ -z \"$Z\" ]; then A=in; fi; fi\ntorchrun $A",
         ["in"]),
        ("[[ -z $A ]] || exit 1\nA=2\n! [[ -n $B ]] && C=3\ntorchrun $A $C", ["2", "3"]),
        ("set -euo pipefail\nmkdir -p x && cd x\necho \"a $PWD\" > log 2>&1\nsource y\n"
         "torchrun a 2>&1 | tee log",
         ["a"]),
        ("export A=1 B='2 3'\ndeclare -x C=4\nexport A\ntorchrun $A \"$B\" $C", ["1", "2 3", "4"]),
        ("A=1\nunset A\n: ${B:=5}\ntorchrun ${A:-2} $B", ["2", "5"]),
        ("IFS=$'\\n\\t'\nA='a b\tc'\nX=(1 2)\ntorchrun $A \"$A\" ${X[@]} \"${X[*]}\"\nunset IFS\n",
         ["a b", "c", "a b\tc", "1", "2", "1\n2"]),
        ("A=' a  b '\nIFS=\ntorchrun $A x$A", [" a  b ", "x a  b "]),
        ("A='torchrun --x 1'\neval $A", ["--x", "1"]),
        ("torchrun --layout \"Et*3|(tt|)*29m|L\" '$A' \"\\$A\" \"a\\b\"",
         ["--layout", "Et*3|(tt|)*29m|L", "$A", "$A", "a\\b"]),
        ("torchrun ${A:+x} a\nexit 0\ntorchrun b", ["a"]),
        ("A=1\ntorchrun ${A:+--a $A}", ["--a", "1"]),
        ("L=(x 'y z')\nfor i in a $B \"${L[@]}\"; do X+=(\"<$i>\"); done\ntorchrun \"${X[@]}\"",
         ["<a>", "<x>", "<y z>"]),
        ("for i in \"$@\"\ndo read -r K V <<< \"$i\"\ndone\ntorchrun a", ["a"]),
        ("if [ ! -f y ]; then exit 1; fi\n[[ -d x && -e y ]] && A=1\ntorchrun $A", ["1"]),
        ("shift\ntorchrun ${1:-x}", ["x"]),
        ("f() { X=\"$1\"; Y+=\"<$#>\"; }\nf 'a b' c\nf\ntorchrun \"$X\" $Y", ["", "<2><0>"]),
        ("function f\n{\n  local A=2 B\n  B=3\n  C=$((A+B))\n}\nA=1\nf\ntorchrun $A ${B:-b} $C",
         ["1", "b", "5"]),
        ("f() { [ $1 -gt 2 ] && return 1; A+=$1; }\nf 1 && A+=x\nf 3 || A+=y\nA+=z\ntorchrun $A", ["1xyz"]),
        ("A=0\ng() { A=$((A+1)); f; }\nf() { if (( A < 3 )); then g; fi; }\nf\ntorchrun $A", ["3"]),
        ("A=1\nf() { B=$A; }\nA=2 f\ntorchrun $A $B", ["1", "2"]),
        ("main() {\n  torchrun \"$@\"\n}\nmain a 'b c'", ["a", "b c"]),
        ("f() { torchrun a; exit 0; } 2>&1\n{ :; f; } | tee log", ["a"]),
        ("N=4\n((N*=2+1)); ((N++)) && (( M = N == 13 ))\n"
         "torchrun $N $M $((N > 12 && !(M - 1))) $((5 >= 6 || 0))",
         ["13", "1", "1", "0"]),
        ("N=0\n(( N++ )) || A=x\n(( N -= 1 )) || A+=y\n(( $N + 1 )) && A+=z\n"
         "torchrun $A $((1+2<4==1)) $((- -N))",
         ["xyz", "1", "0"]),
    ],
)  # fmt: skip
def test_words_are_those_of_bash(script: str, expected: list[str], tmp_path: Path) -> None:
    assert words(script) == expected
    if bash := shutil.which("bash"):
        prelude = f"cd {tmp_path}\n: > y\nmkdir -p x\n: > x/y\ntorchrun() {{ printf '%s\\0' \"$@\"; }}\n"
        done = subprocess.run(
            [bash, "-c", prelude + script], capture_output=True, text=True, check=False, timeout=20, env={}
        )
        assert done.stdout.split("\0")[:-1] == expected, done.stderr


def test_commands_come_with_their_environment_and_line() -> None:
    script = "export A=1\n\nB=2 srun -N 2 python x.py --a\nexec python y.py\n"
    first, second = read_script(script, "a.sh").commands
    assert (first.words, first.environment, first.line) == (
        ("srun", "-N", "2", "python", "x.py", "--a"),
        {"A": "1", "B": "2"},
        3,
    )
    assert (second.words, second.environment, second.line) == (("python", "y.py"), {"A": "1"}, 4)


def test_another_shell_is_read_too() -> None:
    script = "T=4\nsrun -l --nodes=2 bash -c \"cd x; export A=1; torchrun --tp $T '\\$B' \\$C\"\n"
    (command,) = read_script(script, "a.sh", {"C": "3"}).commands
    assert command.words == ("srun", "-l", "--nodes=2", "torchrun", "--tp", "4", "$B", "3")
    assert command.environment == {"A": "1"}


def test_lines_for_slurm_give_counts_and_variables() -> None:
    script = "#!/bin/bash\n#SBATCH --nodes=16\n#SBATCH --gres=gpu:8 --ntasks-per-node 1 # x\n#SBATCH -n 16\n"
    found = read_script(
        script + "torchrun --nnodes $SLURM_NNODES --nproc-per-node $SLURM_GPUS_ON_NODE", "a.sh"
    )
    assert found.slurm == {"nodes": 16, "gpus-per-node": 8, "ntasks-per-node": 1, "ntasks": 16}
    assert found.commands[0].words == ("torchrun", "--nnodes", "16", "--nproc-per-node", "8")


@pytest.mark.parametrize(
    ("words", "gpus"),
    [
        ("--gres=gpu", 1),
        ("--gres gpu:h100", 1),
        ("--gres=gpu:a100-sxm4.80:4", 4),
        ("--gres=tmpfs:1T,gpu:h100:8", 8),
        ("--gres=gpu:a100:2,gpu:v100:4", 6),
    ],
)
def test_generic_resources_of_slurm_have_the_gpus_of_a_node(words: str, gpus: int) -> None:
    assert read_script(f"#SBATCH {words}\ntorchrun a.py", "a.sh").slurm == {"gpus-per-node": gpus}


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("-J llama-N4", {}),
        ("-p gpu-N4 -N2", {"nodes": 2}),
        ("-N 2 # not --nodes=4, don't", {"nodes": 2}),
        ("-J run#1 --nodes 3", {"nodes": 3}),
        ("--comment 'a --nodes=3' -vN 5", {"nodes": 5}),
        ('--comment="# \\" -N 3" -n 8', {"ntasks": 8}),
        ("--exclusive -N 2 -G=a100:16", {"nodes": 2, "gpus": 16}),
        ("--nodes=2 --nodes=2-4", {}),
        ("--nodes", {}),
    ],
)
def test_a_line_for_slurm_is_read_option_by_option(line: str, counts: dict[str, int]) -> None:
    assert read_script(f"#SBATCH {line}\ntorchrun a.py", "a.sh").slurm == counts


def test_lines_for_slurm_behind_a_command_count_for_nothing() -> None:
    script = "#!/bin/bash\n\n# a job\n#SBATCH -N 2\n##SBATCH -N 3\n \nA=1\n#SBATCH -N 4\ntorchrun a.py"
    assert read_script(script, "a.sh").slurm == {"nodes": 2}


def test_parts_of_a_heterogeneous_job_are_not_the_whole_job() -> None:
    script = "#SBATCH --nodes=2\n#SBATCH hetjob\n#SBATCH --nodes=4\ntorchrun a.py"
    assert read_script(script, "a.sh").slurm == {}


def test_given_values_stand_for_the_environment_and_for_what_commands_would_say() -> None:
    assert words("torchrun $A ${B:-1}", A="7", B="2") == ["7", "2"]
    assert words("H=$(scontrol show hostnames $X | head -n 1)\ntorchrun $H", H="node1") == ["node1"]
    assert words("H=`curl http://x`\ntorchrun $H", H="node1") == ["node1"]
    assert words('H=$(srun -N 1 -w "$X" hostname --ip-address)\ntorchrun $H', X="n", H="node1") == ["node1"]
    assert words("A=$1\ntorchrun $A", A="x") == ["x"]
    assert words('L="--a 1 --host $H:$(hostname)/x "\ntorchrun $L --b', H="h")[:3] == ["--a", "1", "--host"]
    assert read_script('torchrun $1 "$@"', "a.sh", {}, ["p", "q r"]).commands[0].words == (
        "torchrun",
        "p",
        "p",
        "q r",
    )


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("i=0; while [ $i -lt 3 ]; do i=$((i + 1)); done; torchrun $i", ["3"]),
        ("i=0; until [[ $i -ge 3 ]]\ndo i=$((i+1)); done > log 2>&1; torchrun $i", ["3"]),
        ("for ((i=1; i<8; i*=2)); do X+=$i; done; torchrun $X", ["124"]),
        ("i=0; for ((;;)); do ((i++)); if [ $i -eq 2 ]; then continue; fi; X+=$i\n"
         "if ((i > 3)); then break; fi; done; torchrun $X", ["134"]),
        ("for i in 1 2 3; do for j in 1 2; do break; done; X+=$i$j; done; torchrun $X", ["112131"]),
        ("A=1; (A=2; export A; exit 1); torchrun $A", ["1"]),
        ("f() { while true; do return; done; }; f; torchrun 5", ["5"]),
        ("while getopts 'a:' x; do A=$OPTARG; done; torchrun ${A:-4}", ["4"]),
        ("if [[ -v A ]]; then torchrun 1; else torchrun 2; fi", ["2"]),
        ("M=llama-8b; if [[ $M == llama* && $M != *70b ]]; then torchrun 1; fi", ["1"]),
        ("for i in {0..3} {2..1}; do X+=$i; done; torchrun $X {a,b-c}", ["012321", "a", "b-c"]),
        ("ls x; if [ $? -ne 0 ]; then exit 1; fi; P=$$; torchrun 1; K=$!; wait $K", ["1"]),
        ("set -e; set -- --tp 4; torchrun \"$@\" $#", ["--tp", "4", "2"]),
        ("set a b; torchrun $2 $3", ["b"]),
        ("torchrun $((0 && 1/0)) $((1 || 1/0)) $((0 ? 1/0 : 2)) $((1 ? 3 : 2**99)) $((1 && 2 && 0 || 4))",
         ["0", "1", "2", "3", "1"]),
        ("for ((i=0; i<3; ++i)); do X+=$i; done; (( --i )) && torchrun $X $i", ["012", "2"]),
        ("i=1; (( --i )) || torchrun $i", ["0"]),
        ("torchrun {01..03} {8..010} {-1..01} {3..1}",
         ["01", "02", "03", "008", "009", "010", "-1", "00", "01", "3", "2", "1"]),
        ("A=1; torchrun {} {a} a,b {$A..2} x{$A}y \"{a,b}\" b},",
         ["{}", "{a}", "a,b", "{1..2}", "x{1}y", "{a,b}", "b},"]),
        ("torchrun $((2**3)) $((2**2*3)) $((8 > 4 ? 2 : 1 ? 5 : 6)) $((-2**2))", ["8", "12", "2", "4"]),
        ("exec > >(tee -a log) 2>&1; torchrun 3 &> >(tee b)", ["3"]),
        ("M=llama-8b; if [[ $M == 'llama*' ]]; then torchrun 1; fi; torchrun 2", ["2"]),
    ],
)  # fmt: skip
def test_loops_and_subshells_run_as_in_bash(script: str, expected: list[str]) -> None:
    assert words(script) == expected


def test_a_loop_over_arguments_takes_them_off() -> None:
    script = "while [[ $# -gt 0 ]]; do case $1 in --tp) T=$2; shift 2;; *) exit 1;; esac; done\ntorchrun $T"
    assert read_script(script, "a.sh", {}, ["--tp", "8"]).commands[0].words == ("torchrun", "8")
    assert words(script.replace("$T", "${T:-1}")) == ["1"]


def test_commands_behind_wrappers_are_read() -> None:
    script = "#SBATCH --nodes=2\n[ -z $SLURM_JOB_ID ] && sbatch $0\nX=`wc -l < $HOSTS`\n"
    script += 'for ((i=0; i<2; i++)); do ssh -q node$i "cd x && numactl -N 0 torchrun --a $i"; done\n'
    commands = [command.words for command in read_script(script, "a.sh").commands]
    assert commands == [("numactl", "-N", "0", "torchrun", "--a", str(i)) for i in range(2)]


def test_a_text_that_a_script_writes_into_a_file_is_passed_over() -> None:
    script = "cat <<EOT > ds.json\n{ it's (\nEOT\ncat <<-'END' | tee x\n\tfi\n\tEND\ntorchrun 7"
    found = read_script(script, "a.sh").commands
    assert [(command.words, command.line) for command in found] == [(("torchrun", "7"), 7)]


def test_a_script_that_a_script_writes_and_starts_is_read() -> None:
    script = "T=4\ncat > run.sh << EOF\n#!/bin/bash\ntorchrun --tp $T \\$1\nEOF\n"
    (command,) = read_script(f"{script}chmod +x run.sh\nsrun -N 2 bash run.sh 8\n", "a.sh").commands
    assert command.words == ("srun", "-N", "2", "torchrun", "--tp", "4", "8")
    more = "cat >> ./run.sh <<'EOF'\ntorchrun $T\nEOF\nexport T=5\n./run.sh 1\n"
    commands = [command.words for command in read_script(script + more, "a.sh").commands]
    assert commands == [("torchrun", "--tp", "4", "1"), ("torchrun", "5")]
    odd = "cat > ds.json <<EOF\n{ ${A@Q} $$ it's\nEOF\ntorchrun 7"
    assert words(odd) == ["7"]
    circle = "cat > a.sh <<'EOF'\nbash a.sh\nEOF\nbash a.sh\n"
    with pytest.raises(InputError, match="at most 3 scripts in a script are read"):
        read_script(circle, "x.sh")


@pytest.mark.parametrize(
    "command",
    [
        "srun -N 2 python p.py --deepspeed_config ds.json",
        "mpirun -np 8 python p.py ds.json",
        "flux run -N 2 python train.py",
        "srun python train.py ds.json",
        "torchrun p.py ds.json",
    ],
)
def test_a_written_file_that_is_an_option_or_read_by_python_is_no_script(command: str) -> None:
    written = "cat > ds.json <<EOF\n{1}\nEOF\ncat > train.py <<EOF\nimport x\nEOF\n"
    (found,) = read_script(written + command, "a.sh").commands
    assert " ".join(found.words) == command


@pytest.mark.parametrize("before", ["srun -N 2", "srun -N 2 env A=1", "mpirun -np 8 bash", "nohup", "A=1"])
def test_a_written_script_behind_launchers_and_their_options_is_read(before: str) -> None:
    written = "cat > r.sh <<'EOF'\ntorchrun $1\nEOF\n"
    (found,) = read_script(f"{written}{before} ./r.sh 4 r.sh", "a.sh").commands
    assert found.words[-2:] == ("torchrun", "4")


def test_what_is_passed_over_is_noted() -> None:
    assert read_script("cd x\nmodule load y\ntorchrun a", "a.sh").notes == (
        "line 1: cd is passed over",
        "line 2: module is passed over",
    )


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("A=1\ncurl http://x\n", "a.sh: line 2: curl is no command that is read; "),
        ("torchrn x.py\n",
         "a.sh: line 1: torchrn is no command that is read; did you mean 'torchrun'? Allowed are "),
        ("A=1\n\nfor ((i=0; i<2)); do torchrun $i; done", "a.sh: line 3: this for is not read"),
        ("while true; do :; done", "a.sh: runs through more than 100000 statements"),
        ("while true; do torchrun a", "line 1: a block has no end; close it with done"),
        ("for ((;;)); do break 2; done", "line 1: break is read for one loop only"),
        ("while [ $A -gt 1 ]; do :; done", "line 1: a comparison of numbers needs A, which has no value"),
        ("case $A in $X) ;; esac", "line 1: this pattern is not read; write texts with *, ? and"),
        ("case a in a) torchrun;", "line 1: a block has no end; close it with ;; or esac"),
        ("case `date` in a) ;; esac", "line 1: a case is what a command writes, and none is run"),
        ("f() ( torchrun )", "line 1: this ( is not read; quote a text"),
        ("f() { torchrun a", "line 1: a block has no end; close it with }"),
        ("f() { f; }\nf", "a.sh: its functions call each other too deeply to be read"),
        ("A=1\ntorchrun $((--A))", "line 2: $((--A)) is not read"),
        ("(( A = 1", "line 1: ( has no end; close it with )"),
        ("(( 1 ) )", "line 1: (( has no end; close it with ))"),
        ("(( A ~ 1 ))", "line 1: $((A ~ 1)) is not read; allowed are whole numbers"),
        ("(( $A > 1 ))", "line 1: a comparison of numbers needs A, which has no value; write set=A=VALUE"),
        ("(cd x; torchrun a", "line 1: a block has no end; close it with )"),
        ("python <<EOF\nx\nEOF\n", "line 1: '<<' gives a command its input"),
        ("cat <<EOF\n`x`\nEOF\n", "line 1: ` in a text behind << would run a command"),
        ("cat <<EOF\nx\n", "line 1: << has no end; close it with the line EOF"),
        ("diff <(ls) x", "line 1: <(...) runs a command, which is never done"),
        ("torchrun 'a\nb", "line 1: ' has no end"),
        ('torchrun "a', 'line 1: " has no end'),
        ("torchrun ${A", "line 1: '${A' is not read; allowed are $NAME"),
        ("A=b\ntorchrun ${A%*-*}", "line 2: *-* is no pattern that is read; it has at most one *"),
        ("torchrun ${A@Q}", "line 1: '${A@Q}' is not read; allowed are $NAME"),
        ("torchrun $((1+", "line 1: $( has no end"),
        ("torchrun $((~3))", "line 1: $((~3)) is not read; allowed are whole numbers"),
        ("torchrun $((2**64))", "a power goes from 0 to 63, not 64"),
        ("torchrun $((9**30))", "exceeds 64 bits"),
        ("torchrun $((1 ? 2))", "lacks a : behind ?"),
        ("f() { local -n A=$1; }; f A", "line 1: A must stand for the name of another variable; write "),
        ("torchrun $((1/0))", "line 1: $((1/0)) divides by zero"),
        ("torchrun $((9999999999*9999999999))", "exceeds 64 bits"),
        ("torchrun $((08))", "08 is octal"),
        ("A=x\ntorchrun $((A+1))", "line 2: 'x' is no whole number"),
        ("if [[ 1 == 1 ]]; then A=1", "line 1: a block has no end; close it with elif or else or fi"),
        ("fi", "line 1: 'fi' has no if before it"),
        ("if ; then A=1; fi", "line 1: a condition is missing before then"),
        ("[ a =~ b ] && A=1", "line 1: this condition is not read; allowed are texts with =="),
        ("[[ a -gt b* ]] && A=1", "line 1: this condition is not read"),
        ("[ -t x ] && A=1", "line 1: this condition is not read"),
        ("for i in $1; do torchrun; ", "line 1: a block has no end; close it with done"),
        ("for i in a b\ndo read X; done", "line 2: read takes what another command or a file gives it"),
        ("[ a == a", "line 1: [ has no end"),
        ("[ x -gt 3 ] && A=1", "line 1: 'x' is no whole number"),
        ("A=$(hostname)\n[ $A == x ] && B=1",
         "line 2: a condition needs A, which has no value; write set=A=VALUE"),
        ("A=b\n[ ${A%$B} == x ] && A=1", "line 2: a condition needs B, which has no value; write set=B="),
        ("A=$(nproc)\n$A x", "line 2: the command needs A, which has no value; write set=A=VALUE"),
        ("X=(a b", "line 1: this array has no end"),
        ("X=(a | b)", "line 1: an array holds words only"),
        ("echo a; declare -A X=(b)", "line 1: X has texts as places; write X=([KEY]=VALUE ...)"),
        ("torchrun x{a,b}", "line 1: x{a,b} is a list in braces"),
        ('torchrun {"a","b"}', 'line 1: {"a","b"} is a list in braces; write out its words, or quote it'),
        ("torchrun {$A,$B}", "line 1: {$A,$B} is a list in braces"),
        ("torchrun {a,{b}}", "line 1: {a,{b}} is a list in braces"),
        ("IFS=,\ntorchrun $A", "a.sh: IFS is ',', where only blanks, tabs and line ends part words; write "),
        ("f() { local IFS=-; }; f", "a.sh: IFS is '-', where only"),
        ("A=([0]=5 [2]=6)", "line 1: A[2] leaves a gap behind 1 items, which is not read"),
        ("A=(1 2)\nunset 'A[0]'", "line 2: unset is read for a whole array, not A[0]"),
        ("torchrun $((1 && 1/0))", "divides by zero"),
        ("torchrun {1..99999}", "line 1: {1..99999} has more than 10000 numbers"),
        ("torchrun $-", "line 1: $- is known only to a shell that runs"),
        ("A=$!\n[ $A -gt 3 ] && B=1", "line 2: a comparison of numbers needs A, which has no value"),
        ("A=1\nprintf -v A %x 4\n[ $A -gt 3 ] && B=1", "line 3: a comparison of numbers needs A, which has"),
        ("torchrun a > ", "line 1: a redirection needs the name of a file"),
        ("&& torchrun", "line 1: '&&' has no command before it"),
        ("torchrun a |", "line 1: a command is missing here"),
        ("a\0b", "is no script that is read"),
    ],
)  # fmt: skip
def test_what_is_outside_the_subset_is_refused_with_its_line(script: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        read_script(script, "a.sh")
    assert message in str(refused.value)
    assert str(refused.value).startswith("a.sh")


def test_sourced_files_of_the_folder_are_read_as_data(tmp_path: Path) -> None:
    (tmp_path / "config.sh").write_text('TP=4\nOPTIONS="--tp $TP"\nexport A=1\n')
    (tmp_path / "activate").write_text("f() { select x; do :; done; }\n")
    script = ". `pwd`/config.sh\nsource venv/bin/activate\nsource /etc/no\ntorchrun $OPTIONS\n"
    found = read_script(script, "a.sh", folder=tmp_path)
    assert found.commands[0].words == ("torchrun", "--tp", "4")
    assert found.commands[0].environment == {"A": "1"}
    assert found.notes[0].startswith("line 2: activate is passed over: ")
    assert found.notes[1] == "line 3: source is passed over"
    (tmp_path / "config.sh").write_text(". config.sh\n\ncurl x\n")
    with pytest.raises(InputError, match=r"config.sh: line 3: curl is no command that is read"):
        read_script(script, "a.sh", folder=tmp_path)

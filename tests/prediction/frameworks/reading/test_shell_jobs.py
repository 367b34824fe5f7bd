"""Jobs that scripts submit, texts that they give to shells, and files that they write."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.prediction.frameworks.reading import read_document, read_script
from dse.prediction.frameworks.reading.files import Folder
from dse.prediction.frameworks.reading.shell_slurm import batch_counts
from tests.prediction.frameworks.scripts import launched

JOB = "#SBATCH --nodes=2 --gpus-per-node=8\nsrun torchrun --nnodes $SLURM_NNODES --tp ${TP:-1} --a $1\n"


def submitted(script: str, folder: Path) -> tuple[tuple[str, ...], dict[str, int]]:
    """The words of the only command of a script in a folder, with its counts."""
    (folder / "job.sh").write_text(JOB)
    found = read_script(script, "a.sh", {}, (), folder)
    (command,) = found.commands
    return command.words[2:], dict(found.slurm)


@pytest.mark.parametrize(
    ("script", "expected", "nodes"),
    [
        ("sbatch job.sh 7", ("--nnodes", "2", "--tp", "1", "--a", "7"), 2),
        ("TP=4; sbatch ./job.sh 7", ("--nnodes", "2", "--tp", "1", "--a", "7"), 2),
        ("export TP=4\nsbatch -N4 -J name job.sh 7", ("--nnodes", "4", "--tp", "4", "--a", "7"), 4),
        ("TP=4 sbatch --nodes=4 job.sh 7", ("--nnodes", "4", "--tp", "4", "--a", "7"), 4),
        (
            "export TP=4\nsbatch --export=NONE --nodes 4 job.sh 7",
            ("--nnodes", "4", "--tp", "1", "--a", "7"),
            4,
        ),
        ("export TP=4\nsbatch --export=TP job.sh 7", ("--nnodes", "2", "--tp", "4", "--a", "7"), 2),
        ("export TP=4\nsbatch --export=A,B=1 job.sh 7", ("--nnodes", "2", "--tp", "1", "--a", "7"), 2),
        ("TP=4\nsbatch --export=TP job.sh 7", ("--nnodes", "2", "--tp", "1", "--a", "7"), 2),
        ("TP=4 sbatch --export=NONE job.sh 7", ("--nnodes", "2", "--tp", "1", "--a", "7"), 2),
        ("TP=4 sbatch --export=TP job.sh 7", ("--nnodes", "2", "--tp", "4", "--a", "7"), 2),
        ("sbatch --parsable --export=ALL,TP=8 job.sh 7", ("--nnodes", "2", "--tp", "8", "--a", "7"), 2),
        (
            "sbatch <<EOF\n#!/bin/bash\n#SBATCH -N 3\nsrun torchrun --n \\$SLURM_NNODES\nEOF\n",
            ("--n", "3"),
            3,
        ),
        (
            "sbatch -N 3 --comment 'a --nodes=4' -J x-N5 job.sh 7",
            ("--nnodes", "3", "--tp", "1", "--a", "7"),
            3,
        ),
        ("sbatch -QN3 -v --gres gpu:4 job.sh 7", ("--nnodes", "3", "--tp", "1", "--a", "7"), 3),
        ("sbatch <<-'E'\n\t#!/bin/bash\n\t\t#SBATCH -N 3\n\tsrun torchrun '\tx'\n\tE\n", ("\tx",), 3),
        ("sbatch <<- E\n\t#SBATCH -N 4\nsrun torchrun a\n\t # E\n\t\tE\n", ("a",), 4),
        ("sbatch -N 5 --wrap='srun torchrun --n $SLURM_NNODES'", ("--n", "5"), 5),
        (
            "cat > a/k.sh <<'E'\ntorchrun a\nE\ncat > b/k.sh <<'E'\n#SBATCH -N 6\nsrun torchrun b\nE\n"
            "sbatch ./b/k.sh",
            ("b",),
            6,
        ),
        ("cat > w.sh <<'EOF'\n#SBATCH -N 6\nsrun torchrun $1\nEOF\nsbatch w.sh x", ("x",), 6),
    ],
)
def test_a_job_that_a_script_submits_is_read_with_its_counts(
    script: str, expected: tuple[str, ...], nodes: int, tmp_path: Path
) -> None:
    found, counts = submitted(script, tmp_path)
    assert (found, counts["nodes"]) == (expected, nodes)


def test_an_open_count_of_sbatch_is_not_that_of_the_job(tmp_path: Path) -> None:
    words, counts = submitted("sbatch -N $NODES job.sh 7", tmp_path)
    assert counts == {"gpus-per-node": 8}
    assert words[-1] == "7"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "sbatch other.sh",
            "a.sh: line 1: sbatch: other.sh is not there, so that the job is not known; check ",
        ),
        ("sbatch", "a.sh: line 1: sbatch: its script is not there"),
        ("sbatch -N", "a.sh: line 1: -N of sbatch needs a value"),
    ],
)
def test_a_job_that_is_not_there_is_refused(script: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        submitted(script, tmp_path)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("bash <<'EOF'\nA=4\ntorchrun $A\nEOF\n", ["4"]),
        ("A=9; export A; bash -s x y <<'EOF'\ntorchrun $A $1 $#\nEOF\n", ["9", "x", "2"]),
        ("A=3; bash <<EOF\ntorchrun $A \\${A:-none}\nEOF\n", ["3", "none"]),
    ],
)
def test_a_text_that_a_shell_gets_is_read(script: str, expected: list[str], tmp_path: Path) -> None:
    assert launched(script, tmp_path) == expected


def test_a_configuration_that_a_script_writes_is_read(tmp_path: Path) -> None:
    script = (
        "STAGE=2; DS=ds.json\ncat <<EOT > $DS\n"
        '{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": $STAGE}}\nEOT\n'
        "deepspeed --num_gpus 8 train.py --deepspeed --deepspeed_config $DS\n"
    )
    (tmp_path / "a.sh").write_text(script)
    found = read_document([str(tmp_path / "a.sh")])
    assert (found.framework, found.npus) == ("deepspeed", 8)
    assert found.settings["zero_optimization.stage"] == 2
    (tmp_path / "a.sh").write_text(script.replace("STAGE=2", ""))
    with pytest.raises(
        InputError, match=r"ds.json: the file needs STAGE, which has no value; write set=STAGE"
    ):
        read_document([str(tmp_path / "a.sh")])


@pytest.mark.parametrize(
    ("lines", "counts"),
    [
        ("#BSUB -nnodes 4\n#BSUB -W 2:00", {"nodes": 4}),
        (
            '#BSUB -n 64\n#BSUB -R "span[ptile=32]"\n#BSUB -gpu "num=4:mode=shared"',
            {"nodes": 2, "gpus-per-node": 4},
        ),
        ("#BSUB -n 4 -gpu num=4/task", {}),
        ("#PBS -l select=4:ncpus=64:ngpus=4", {"nodes": 4, "gpus-per-node": 4}),
        ("#PBS -l walltime=1:00,nodes=2:ppn=40:gpus=4", {"nodes": 2, "gpus-per-node": 4}),
        ("#PBS -l select=1:ngpus=2+3:ngpus=4", {}),
    ],
)
def test_lines_for_lsf_and_pbs_count_nodes_and_gpus(lines: str, counts: dict[str, int]) -> None:
    assert batch_counts(lines) == counts


@pytest.mark.parametrize(
    ("command", "tp"),
    [
        ("env TP=4 bash t.sh", "4"),
        ("TP=4 bash t.sh", "4"),
        ("TP=4; bash t.sh", "1"),
        ("export TP=4; ./t.sh", "4"),
        ("srun -N 2 --export=ALL,TP=4 bash t.sh", "4"),
        ("mpirun -np 8 -x TP=4 bash t.sh", "4"),
        ("docker run --gpus all -e TP=4 img bash t.sh", "4"),
        ("srun --export ALL,TP=4 bash -c 'python pretrain_gpt.py --tensor-model-parallel-size $TP'", "4"),
    ],
)
def test_a_script_that_is_started_sees_what_its_launchers_pass(command: str, tp: str, tmp_path: Path) -> None:
    (tmp_path / "t.sh").write_text("python pretrain_gpt.py --tensor-model-parallel-size ${TP:-1}\n")
    (tmp_path / "a.sh").write_text(command)
    found = read_document([str(tmp_path / "a.sh")], "megatron-lm")
    assert str(found.settings["--tensor-model-parallel-size"]) == tp


def test_files_of_one_name_in_several_folders_are_several(tmp_path: Path) -> None:
    write = "mkdir -p a b c x; echo A=1 > a/k.sh; echo B=1 > b/k.sh; echo A=2 >> ./b/k.sh; "
    write += "echo A=5 > c/other.sh; "
    launch = "; torchrun $A"
    assert launched(write + "source a/k.sh" + launch, tmp_path) == ["1"]
    assert launched(write + ". x/../b/k.sh" + launch, tmp_path) == ["2"]
    assert launched(write + "A=3; source k.sh" + launch, tmp_path) == ["3"]
    assert launched(write + "A=3; source $PWD/c/other.sh" + launch, tmp_path) == ["5"]


def test_a_file_that_is_named_is_no_other_that_a_script_writes(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "h").write_text("a slots=3\n")
    folder = Folder(tmp_path, {"a/h": "one", "b/h": "two", "b/g": "three"})
    names = ("a/h", "./b/h", "h", "c/h", "g", str(tmp_path / "b" / "h"), "/elsewhere/g")
    texts = [folder.text(folder.find(name)) for name in names]
    assert texts == ["one", "two", None, None, "three", "two", "three"]
    assert [folder.has(folder.find(name)) for name in ("a/h", "h", "c/h", "g")] == [True, False, True, True]

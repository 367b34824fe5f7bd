"""Launchers before a program: what they leave of the words, and how many accelerators they say."""

from __future__ import annotations

import pytest

from dse.base.errors import InputError
from dse.prediction.frameworks.reading.launchers import launch_of


@pytest.mark.parametrize(
    ("line", "program", "words", "npus"),
    [
        ("torchrun --nnodes 4 --nproc_per_node 8 p.py --a 1", "p.py", ["--a", "1"], 32),
        ("torchrun --nnodes=2 --nproc-per-node=4 -m pkg.train --a", "pkg.train", ["--a"], 8),
        ("torchrun --standalone --nproc-per-node 8 p.py", "p.py", [], 8),
        ("torchrun --nnodes 1:4 --nproc-per-node 8 p.py", "p.py", [], None),
        ("torchrun --nnodes 4:4 --nproc-per-node 8 p.py", "p.py", [], 32),
        ("torchrun --nnodes \0N\0 --nproc-per-node 8 p.py", "p.py", [], None),
        ("torchrun p.py", "p.py", [], 1),
        ("torchrun --nproc-per-node gpu p.py", "p.py", [], None),
        ("srun -N 4 --gpus-per-node=8 torchrun --nnodes 4 --nproc-per-node gpu p.py", "p.py", [], 32),
        ("srun -l --nodes=2 --ntasks-per-node=8 python -u p.py --a", "p.py", ["--a"], 16),
        ("srun -N2 -n16 --export=ALL p.py --a", "p.py", ["--a"], 16),
        ("python3 -m torch.distributed.launch --nproc_per_node=8 p.py --b", "p.py", ["--b"], 8),
        ("python -m torch.distributed.run --nnodes 2 --nproc_per_node 8 p.py", "p.py", [], 16),
        ("python -u -m maxtext.train c.yml a=1", "maxtext.train", ["c.yml", "a=1"], None),
        ("accelerate launch --num_processes 16 --num_machines 2 --use_fsdp t.py --c", "t.py", ["--c"], 16),
        ("accelerate launch --config_file f.yaml t.py", "t.py", [], None),
        ("deepspeed --num_nodes 2 --num_gpus 8 --no_local_rank t.py --d x", "t.py", ["--d", "x"], 16),
        ("deepspeed --num_gpus=4 t.py", "t.py", [], 4),
        ("deepspeed --hostfile h --num_gpus=4 t.py", "t.py", [], None),
        ("deepspeed t.py", "t.py", [], None),
        ("mpirun -np 64 -x A -mca btl tcp --bind-to none python p.py", "p.py", [], 64),
        ("env A=1 B=2 torchrun --nproc-per-node 2 p.py", "p.py", [], 2),
        ("NGPU=8 ./run_train.sh --x.y 1", "./run_train.sh", ["--x.y", "1"], 8),
        ("bash run.sh a", "run.sh", ["a"], None),
        ("/usr/bin/time -v /opt/bin/python3.11 p.py --a", "p.py", ["--a"], None),
        ("torchrun --no-python --nproc-per-node 8 python p.py", "p.py", [], 8),
        ("torchrun --nproc-per-node 8 -- p.py --a", "p.py", ["--a"], 8),
    ],
)
def test_words_behind_launchers(line: str, program: str, words: list[str], npus: int | None) -> None:
    launch = launch_of(line.split(" "), "x")
    assert (launch.program, launch.words, launch.npus) == (program, words, npus)


@pytest.mark.parametrize(
    ("line", "slurm", "npus"),
    [
        ("srun python p.py", {"nodes": 4, "gpus-per-node": 8}, 32),
        ("srun python p.py", {"nodes": 4, "ntasks-per-node": 4}, 16),
        ("srun python p.py", {"ntasks": 24}, 24),
        ("srun -N 2 python p.py", {"nodes": 4, "gpus-per-node": 8}, 16),
        ("srun torchrun --nnodes \0N\0 --nproc-per-node 8 p.py", {"nodes": 4}, 32),
        ("srun torchrun --nnodes 4 --nproc-per-node auto p.py", {"nodes": 4, "gpus-per-node": 4}, 16),
        (
            "srun torchrun --nnodes 4 --nproc-per-node gpu p.py",
            {"nodes": 4, "gpus": 32, "ntasks-per-node": 1},
            32,
        ),
        ("srun python p.py", {"nodes": 4}, None),
    ],
)
def test_lines_for_slurm_count_too(line: str, slurm: dict[str, int], npus: int | None) -> None:
    assert launch_of(line.split(" "), "x", slurm).npus == npus


def test_options_and_variables_are_kept() -> None:
    line = "A=1 accelerate launch --mixed_precision bf16 --num-processes=2 t.py"
    launch = launch_of(line.split(" "), "x")
    assert launch.environment == {"A": "1"}
    assert launch.options == {"accelerate": {"--mixed-precision": "bf16", "--num-processes": "2"}}
    assert launch.launcher == "accelerate"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("torchrun --nnodes", "x: --nnodes needs a value, and a program after it"),
        ("torchrun --nnodes 2", "x: no program follows torchrun"),
        ("srun", "x: no program follows srun"),
        ("A=1", "x: no program follows the launcher"),
        ("python -u", "x: no program follows python"),
        ("env", "x: no program follows the launcher"),
    ],
)
def test_a_command_without_a_program_is_refused(line: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        launch_of(line.split(" "), "x")
    assert str(refused.value) == message

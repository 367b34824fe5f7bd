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
        ("deepspeed --include localhost:1,4 t.py", "t.py", [], 2),
        ("deepspeed --include a:0,1,2,3@b:0,1,2,3 t.py", "t.py", [], 8),
        ("deepspeed -i a@b:0 t.py", "t.py", [], None),
        ("deepspeed --include localhost:0-3 t.py", "t.py", [], None),
        ("deepspeed --include localhost:0,1,1 t.py", "t.py", [], 2),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed --include a:0,1,2,3@b:0,1,2,3 t.py", "t.py", [], 8),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed --hostfile h --num_nodes 2 t.py", "t.py", [], None),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed --num_nodes 2 t.py", "t.py", [], None),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed --num_nodes 1 t.py", "t.py", [], 2),
        ("deepspeed --exclude a:0 t.py", "t.py", [], None),
        ("CUDA_VISIBLE_DEVICES=0,1,2,3 deepspeed t.py", "t.py", [], 4),
        ("CUDA_VISIBLE_DEVICES=0,1,2,3 deepspeed --num_gpus 2 t.py", "t.py", [], 2),
        ("CUDA_VISIBLE_DEVICES=4,5 torchrun --nproc_per_node=gpu t.py", "t.py", [], 2),
        ("CUDA_VISIBLE_DEVICES=4,5 torchrun --nproc_per_node=8 t.py", "t.py", [], 8),
        ("CUDA_VISIBLE_DEVICES=GPU-1 torchrun --nproc_per_node=gpu t.py", "t.py", [], None),
        ("mpirun -np 64 -x A -mca btl tcp --bind-to none python p.py", "p.py", [], 64),
        ("env A=1 B=2 torchrun --nproc-per-node 2 p.py", "p.py", [], 2),
        ("NGPU=8 ./run_train.sh --x.y 1", "./run_train.sh", ["--x.y", "1"], 8),
        ("bash run.sh a", "run.sh", ["a"], None),
        ("/usr/bin/time -v /opt/bin/python3.11 p.py --a", "p.py", ["--a"], None),
        ("torchrun --no-python --nproc-per-node 8 python p.py", "p.py", [], 8),
        ("torchrun --nproc-per-node 8 -- p.py --a", "p.py", ["--a"], 8),
        ("srun -Jname -N2 --gpus-per-node=8 -lu p.py", "p.py", [], 16),
        ("jsrun -n12 -r6 -a1 -g1 -c7 -bpacked:7 -dpacked -EA=1 python p.py --a", "p.py", ["--a"], 12),
        ("jsrun --nrs 2 --tasks_per_rs 6 --gpu_per_rs 6 --smpiargs=-gpu p.py", "p.py", [], 12),
        ("jsrun -n 4 -a 3 --smpiargs -gpu p.py", "p.py", [], 12),
        ("jsrun -p 8 p.py", "p.py", [], 8),
        ("jsrun -n ALL_HOSTS -g 6 p.py", "p.py", [], None),
        ("jsrun -n 4 -r 1 -g 6 torchrun --nnodes \0N\0 --nproc-per-node gpu p.py", "p.py", [], 24),
        ("flux run -N 2 -n 16 -g 1 -o mpi=spectrum python p.py --a", "p.py", ["--a"], 16),
        ("flux mini run -N4 -x torchrun --nnodes \0N\0 --nproc-per-node 8 p.py", "p.py", [], 32),
        ("flux submit --nodes=2 --tasks-per-node=1 --gpus-per-node=4 p.py", "p.py", [], 8),
        ("flux run -N 3 p.py", "p.py", [], 3),
        ("flux run p.py", "p.py", [], 1),
        ("aprun -n 64 -N 4 -cc none -d 8 python p.py --a", "p.py", ["--a"], 64),
        ("aprun -n 4 -N 1 torchrun --nnodes \0N\0 --nproc-per-node 8 p.py", "p.py", [], 32),
        ("aprun -B p.py", "p.py", [], None),
        ("ibrun -n 4 -o 0 task_affinity python p.py", "p.py", [], 4),
        ("ibrun p.py", "p.py", [], None),
        ("mpirun python p.py", "p.py", [], None),
        ("FORCE_TORCHRUN=1 NNODES=2 NPROC_PER_NODE=8 lmf train a.yaml", "lmf", ["a.yaml"], 16),
        ("NPROC_PER_NODE=4 lmf train a.yaml", "lmf", ["a.yaml"], 4),
        ("NNODES=2 lmf train a.yaml", "lmf", ["a.yaml"], None),
        ("NNODES=2 CUDA_VISIBLE_DEVICES=0,1 lmf train a.yaml", "lmf", ["a.yaml"], 4),
        ("conda run -n a torchrun --nproc-per-node 2 p.py", "p.py", [], 2),
        ("sudo -E -u a torchrun --nproc-per-node 2 p.py", "p.py", [], 2),
        (
            "srun --export=ALL,CUDA_VISIBLE_DEVICES=0 torchrun --nproc-per-node gpu p.py -x A=1",
            "p.py",
            ["-x", "A=1"],
            1,
        ),
        ("mpirun -H a:8,b:8 python p.py", "p.py", [], 16),
        ("mpirun -H a,b python p.py", "p.py", [], None),
        ("mpirun -H a:8,b:8 -npernode 4 python p.py", "p.py", [], 8),
        ("mpirun --host a:8,b:8 --map-by ppr:2:node:PE=4 python p.py", "p.py", [], 4),
        ("mpirun -np 4 -npernode 2 --report-bindings python p.py", "p.py", [], 4),
        ("mpiexec -n 16 --ppn 4 --env A=1 -genv B 2 python p.py", "p.py", [], 16),
        ("singularity exec --bind run.sh img.sif torchrun --nproc-per-node 2 p.py --a", "p.py", ["--a"], 2),
        ("docker run --rm --env-file env.sh img torchrun --nproc-per-node 2 p.py", "p.py", [], 2),
        ("docker run img run.sh torchrun --nproc-per-node 2 p.py", "p.py", [], 2),
        ("nsys profile -o out ./run.sh --launcher torchrun", "./run.sh", ["--launcher", "torchrun"], None),
        ("apptainer exec --nv run.sh --a", "run.sh", ["--a"], None),
        (
            "torchx run -s slurm -cfg partition=a dist.ddp -j 2x4 --script p.py -- --a 1",
            "p.py",
            ["--a", "1"],
            8,
        ),
        ("torchx run --dryrun dist.spmd --env A=1,B=2 -m pkg.train -j 1x8 --h gpu", "pkg.train", [], 8),
        ("torchx run dist.ddp -j 2:5x4 --script p.py", "p.py", [], None),
        ("torchx run dist.ddp -j 4 --script p.py --", "p.py", [], 4),
        ("torchx run dist.ddp --script p.py x", "p.py", ["x"], 2),
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
        ("ibrun python p.py", {"nodes": 2, "ntasks": 8}, 8),
        ("mpirun -npernode 8 -x PATH python p.py", {"nodes": 4, "gpus-per-node": 8}, 32),
        ("mpirun --map-by ppr:4:node --bind-to none python p.py", {"nodes": 4}, 16),
        ("mpirun --map-by ppr:4:socket python p.py", {"nodes": 4}, None),
        ("mpirun python p.py", {"nodes": 4, "ntasks-per-node": 8}, 32),
        ("mpirun -np 4 python p.py", {"nodes": 4, "ntasks-per-node": 8}, 4),
        ("mpirun -npernode 1 torchrun --nnodes 4 --nproc-per-node 8 p.py", {"nodes": 4}, 32),
        ("ibrun -n 4 python p.py", {"nodes": 2, "ntasks": 8}, 4),
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
        ("flux resource list", "x: flux is read with run or submit behind it; write flux run ..."),
        ("torchx status it", "x: torchx is read with run behind it; write torchx run dist.ddp ..."),
        (
            "torchx run utils.echo --msg a",
            "x: utils.echo of torchx is not read; allowed are dist.ddp and dist.spmd",
        ),
        ("torchx run dist.ddp -j 1x2", "x: no program follows torchx; write --script FILE.py or -m MODULE"),
    ],
)
def test_a_command_without_a_program_is_refused(line: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        launch_of(line.split(" "), "x")
    assert str(refused.value) == message

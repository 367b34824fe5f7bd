"""Readers of jobs: configurations of frameworks, machines, traces and recorded steps."""

from __future__ import annotations

import gzip
import runpy
from collections.abc import Callable
from pathlib import Path

from hostile.reader import GOLDEN, ROOT, Reader, contents, lines, text_of


def _configuration(path: Path) -> object:
    from dse.prediction.frameworks.reading import read_document

    return read_document([str(path)])


def _command_line(path: Path) -> object:
    from dse.prediction.frameworks.reading import read_document

    return read_document(text_of(path).split("\n"))


_SHELL_SCRIPT = """#!/bin/bash
#SBATCH --nodes=4 --gpus-per-node=8
export TP=${TP:-4}
GPUS=$((SLURM_NNODES * (8 + 0)))
many() { local N=$1; (( N *= 2 )); (( N > 8 )) && return 0; }
many "$GPUS" || { exit 1; }
ARGS=( --num-layers 32 --hidden-size 4096 # a comment
    --cp-comm-type p2p "a2a" )
if [[ "$TP" == "4" && $GPUS -gt 8 ]]; then ARGS+=( --bf16 ); elif [ -z "$X" ]; then Y='1'; else Z=2; fi
srun bash -c "torchrun --nnodes $SLURM_NNODES --nproc_per_node=8 p.py \\
    --tensor-model-parallel-size ${TP} ${ARGS[*]} --save $1/x" 2>&1 | tee log
"""
_RECIPE = """LAYERS = 4
def base(tp: int = 2):
    cfg = pretrain()
    cfg.model.tensor_model_parallel_size = tp
    return cfg
def model_pretrain_64gpu_h100_config():
    cfg = base(tp=4)
    cfg.train.micro_batch_size = LAYERS * 2 - 1
    if cfg.x: cfg.mixed_precision = bf16_mixed()
    cfg.ddp = DDPConfig(overlap_grad_reduce=True, names=["a", None, -1.5])
    return cfg
"""
_TOML = """[model]
name = "llama3"
flavor = "8B"
[training]
seq_len = 8192
a.b = [1, {c = 2.5}]
"""


def _published(*names: str) -> Callable[[Path], list[bytes]]:
    """XML of published machines, written by tests."""
    made = runpy.run_path(str(ROOT / "tests" / "inputs" / "machines" / "published_machines.py"))
    return lambda _: [made[name]().encode() for name in names]


def _samples(module: str, *names: str) -> Callable[[Path], list[bytes]]:
    """Texts that a module of tests of machines has."""

    def made(_: Path) -> list[bytes]:
        import sys

        folder = str(ROOT / "tests" / "inputs" / "machines")
        sys.path.append(folder)
        try:
            values = runpy.run_path(f"{folder}/{module}.py")
        finally:
            sys.path.remove(folder)
        return [values[name].encode() for name in names]

    return made


def _machine(path: Path) -> object:
    """Read, draw and write it: what is known of it must do for all three."""
    from dse.answers.drawn_machines import document_text
    from dse.inputs.machines import Given, Machine, read_machine
    from dse.inputs.machines.written import written_files

    found = read_machine(path)
    keys = dict.fromkeys(("nvlink", "xgmi", "pcie", "smp", "network", "fast"), "2")
    given = {f"{key}_latency_ns": text for key, text in keys.items()}
    document_text(found, Given())
    if isinstance(found, Machine):
        written_files(found, Given(), path.with_name("made.json"), None, path)
        asked = Given(given | {"smp_gbps": "20", "trunk_gbps": "100"})
        asked.used.update(asked.texts)
        return written_files(found, asked, path.with_name("made.csv"), None, path)
    asked = Given({"level2_oversubscription": "2", "level2_latency_us": "8", "between_islands_gbps": "9"})
    asked.used.update(asked.texts)
    if hasattr(found, "leaves"):
        asked = Given({**asked.texts, "system": "dgx_h100"}, {*asked.texts})
    return written_files(found, asked, path.with_name("made.yaml"), None, path)


def _unpacked(name: str) -> Callable[[Path], list[bytes]]:
    return lambda _: [gzip.decompress((GOLDEN / "traces" / name).read_bytes())]


def _recorded(*others: str) -> Callable[[Path], object]:
    """Read and replay a part of a recorded step beside the others."""

    def reading(path: Path) -> object:
        from dse.simulation.recorded.pytorch import read_recorded
        from dse.simulation.recorded.replay import replayed

        return replayed(read_recorded([path, *(GOLDEN / "traces" / name for name in others)]))

    return reading


def _devices(folder: Path) -> list[bytes]:
    """A Kineto trace with kernels; its execution trace lies beside it."""
    made = runpy.run_path(str(ROOT / "tests" / "simulation" / "recorded" / "profiler_files.py"))
    _, kineto = made["data_parallel"](0).write(folder)
    content: bytes = kineto.read_bytes()
    kineto.unlink()
    return [content]


def _recorded_devices(path: Path) -> object:
    from dse.simulation.recorded.pytorch import read_recorded
    from dse.simulation.recorded.replay import replayed

    return replayed(read_recorded([path, path.with_name("et.0.json")]))


def _part_of_a_job(name: str) -> Callable[[Path], list[bytes]]:
    """A file of a folder of traces; the others stay in `job`."""

    def made(folder: Path) -> list[bytes]:
        job = runpy.run_path(str(ROOT / "tests" / "job_folders.py"))["chakra_folder"](folder / "job")
        content: bytes = (job / name).read_bytes()
        (job / name).unlink()
        return [content]

    return made


def _job(path: Path) -> object:
    """Find a file of any name among those of a job by its content, and simulate all."""
    from dse.base.errors import InputError
    from dse.studies.recorded import RunEvaluator, found_traces
    from dse.studies.recorded.grid import cases

    traces = found_traces([str(path), *map(str, sorted((path.parent / "job").iterdir()))])
    (row,) = map(RunEvaluator().evaluate, cases(traces, {}, ()))
    if row.status == "failed":
        raise InputError(row.reason)
    return row


JOB_READERS: dict[str, Reader] = {
    "job-groups": Reader(".json", _part_of_a_job("comm_group.json"), _job),
    "job-network": Reader(".yml", _part_of_a_job("network.yml"), _job),
    "job-system": Reader(".json", _part_of_a_job("system.json"), _job),
    "kineto": Reader(
        ".json",
        _unpacked("kineto_0.json.gz"),
        _recorded("et_0.json.gz", "et_1.json.gz", "kineto_1.json.gz"),
    ),
    "kineto-devices": Reader(".json", _devices, _recorded_devices),
    "execution-trace": Reader(
        ".json",
        _unpacked("et_0.json.gz"),
        _recorded("kineto_0.json.gz", "et_1.json.gz", "kineto_1.json.gz"),
    ),
    "mlc-chakra": Reader(".et", _unpacked("chakra_0.et.gz"), _recorded()),
    "framework-scripts": Reader(".sh", lines(_SHELL_SCRIPT), _configuration),
    "framework-recipes": Reader(".py", lines(_RECIPE), _configuration),
    "framework-toml": Reader(".toml", lines(_TOML), _configuration),
    "framework-json": Reader(
        ".json",
        lines(
            '{"train_batch_size": 8, // all\n "zero_optimization": {"stage": 3, "reduce_bucket_size": 5e8}}',
            '{"framework": "maxtext", "version": "1", "gpus": 8, "flags": {"ici_fsdp_parallelism": 8}}',
        ),
        _configuration,
    ),
    "framework-yaml": Reader(
        ".yaml",
        lines(
            "distributed_type: FSDP\nnum_processes: 8\nfsdp_config: {fsdp_version: 2}\n",
            "base_config: base.yml\nmodel_name: x\nici_fsdp_parallelism: -1\nlearning_rate: 3e-5\n",
        ),
        _configuration,
    ),
    "framework-commands": Reader(
        ".txt",
        lines(
            "torchrun\n--nnodes\n2\n--nproc-per-node=8\np.py\n--num-layers\n32\n--cp-comm-type\np2p\na2a",
            "--module\nllama3\n--config\nllama3_8b\n--training.seq-len=8\nactivation-checkpoint:full",
            "model.a=[1,null]\ntrain.micro_batch_size=2\n+model.x='y'\n~ddp.z",
            "accelerate\nlaunch\n--num_processes\n8\nt.py\n--per_device_train_batch_size\n2",
        ),
        _command_line,
    ),
    "machines-nccl": Reader(".xml", _published("dgx1", "dgx2", "a100_pcie"), _machine),
    "machines-xml": Reader(".xml", _samples("test_machine_xml", "LSTOPO", "RINGS"), _machine),
    "machines-texts": Reader(".txt", _samples("test_machine_texts", "MATRIX", "TREE"), _machine),
    "machines-infragraph": Reader(".yaml", _samples("test_infragraph_documents", "SMALL"), _machine),
    "machines-times": Reader(".txt", contents("tests/golden/kernels/all_reduce_perf.txt"), _machine),
}

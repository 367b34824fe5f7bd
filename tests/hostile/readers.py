"""Readers of files and texts of others, each with valid seeds: what they refuse must be an InputError."""

from __future__ import annotations

import gzip
import itertools
import runpy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
TOPOLOGY = GOLDEN / "topologies" / "randhet_4_4_1_500_50.csv"


@dataclass(frozen=True)
class Reader:
    """A reader that takes a file of this suffix; `seeds` makes valid contents in a folder."""

    suffix: str
    seeds: Callable[[Path], Iterable[bytes]]
    read: Callable[[Path], object]


def _contents(*patterns: str) -> Callable[[Path], list[bytes]]:
    return lambda _: [path.read_bytes() for pattern in patterns for path in sorted(ROOT.glob(pattern))]


def _lines(*lines: str) -> Callable[[Path], list[bytes]]:
    return lambda _: [line.encode() for line in lines]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="surrogateescape")


def _plans(folder: Path) -> list[bytes]:
    """The plan of a small mixed cluster, with its certificate."""
    from dse.commands.plan.__main__ import main

    made = folder / "plan.json"
    main(["cluster=a100_v100", "model=megatron_1.7b", "gbs=64", "planner=exact", "-o", str(made)])
    return [made.read_bytes()]


def _check_plan(path: Path) -> object:
    from dse.planner.files.answer import read_answer
    from dse.planner.files.files import read_plan
    from dse.planner.proofs.check import check_plan

    check_plan(read_plan(path))
    return read_answer(path)


def _schedules(suffix: str) -> Callable[[Path], list[bytes]]:
    def made(folder: Path) -> list[bytes]:
        from dse.commands.synthesize import main

        main([f"topology={TOPOLOGY}", "collective=all_reduce", "trials=2", "-o", str(folder / "made")])
        return [(folder / "made" / f"schedule{suffix}").read_bytes()]

    return made


def _read_schedule(path: Path) -> object:
    from dse.commands.schedule import main

    return main([str(path), f"topology={TOPOLOGY}", "collective=all_reduce"])


def _graphs(_: Path) -> list[bytes]:
    return [
        b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        b'<key id="w" for="node" attr.name="weight" attr.type="double"><default>2</default></key>'
        b'<key id="c" for="edge" attr.name="bytes" attr.type="double"/>'
        b'<graph edgedefault="directed"><node id="a"><data key="w">3</data></node><node id="b"/>'
        b'<edge source="a" target="b"><data key="c">5</data></edge></graph></graphml>'
    ]


def _json_graphs(_: Path) -> list[bytes]:
    from dse.partition.graphs.sources.chakra import model_source
    from dse.partition.graphs.sources.json_graph import json_text
    from dse.studies.config import compose_config

    source = model_source(compose_config(["model=tiny", "model.num_layers=2"]).models[0])
    return [json_text(source, tuple(1.0 for _ in source.operators)).encode()]


def _graph(read: str) -> Callable[[Path], object]:
    def reading(path: Path) -> object:
        import importlib

        module, _, name = read.partition(":")
        return getattr(importlib.import_module(module), name)(path)

    return reading


def _model_file(path: Path) -> object:
    from dse.inputs.models.huggingface import read_model

    return read_model(path, str(path))


def _measured(path: Path) -> object:
    from dse.prediction.accuracy.comparison import compare
    from dse.prediction.measured.rows import read_rows

    for compared in compare(itertools.islice(read_rows(path), 3)):
        assert not compared.is_bug, compared.reason
    return None


def _measured_seeds(_: Path) -> list[bytes]:
    from dse.prediction.measured.published import DATA

    header, *rows = (DATA / "published.csv").read_bytes().splitlines(keepends=True)
    return [b"".join([header, *rows[at : at + 2]]) for at in range(0, len(rows), 40)]


def _log(path: Path) -> object:
    from dse.prediction.frameworks.logs.figures import read_log

    return read_log(path)


def _log_seeds(_: Path) -> list[bytes]:
    samples = runpy.run_path(str(ROOT / "tests" / "log_samples.py"))
    names = ("megatron_lm", "megatron_bridge", "torchtitan", "maxtext", "nemo", "deepspeed")
    return [samples[name]().encode() for name in names]


def _schedule_csv(path: Path) -> object:
    from dse.prediction.frameworks.writing.schedules import read_schedule_csv

    return read_schedule_csv(_text(path), "zb-v", 2, 2, 4, path.name)


def _composed(key: str, *others: str) -> Callable[[Path], object]:
    def reading(path: Path) -> object:
        from dse.inputs.strategies import Strategy
        from dse.studies.config import compose_config
        from dse.studies.points import point_of

        config = compose_config([f"{key}={path}", *others])
        return point_of(config, Strategy(dp=16))

    return reading


def _cluster(path: Path) -> object:
    from dse.planner.problem.named_clusters import named_cluster

    return named_cluster(str(path))


def _reliability(path: Path) -> object:
    from dse.prediction.frameworks.checks.clusters import cluster_of_name
    from dse.prediction.runs.reliability import reliability_named
    from dse.prediction.runs.renewal import Checkpoints, best_interval_s

    found = reliability_named(str(path))
    classes = found.classes(cluster_of_name("dgx_h100", 64, []), load_s=10.0)
    return best_interval_s(Checkpoints(1.0, 5.0), classes)


def _accelerator(path: Path) -> object:
    from dse.inputs.accelerators.accelerator import accelerator

    return accelerator(str(path))


def _kernel_rows(suffix: str) -> Callable[[Path], list[bytes]]:
    """The first rows of each table of kernels, in the form of a suffix."""

    def made(_: Path) -> list[bytes]:
        heads = [
            path.read_bytes().splitlines(keepends=True)[:6] for path in sorted(GOLDEN.glob("kernels/*.csv"))
        ]
        texts = [b"".join(lines) for lines in heads]
        return texts if suffix == ".csv" else [_as_parquet(text) for text in texts]

    return made


def _as_parquet(text: bytes) -> bytes:
    import io

    import pyarrow.csv
    import pyarrow.parquet

    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(io.BytesIO(text)), sink)
    return sink.getvalue()


def _kernel_table(path: Path) -> object:
    from dse.prediction.kernels.errors import kernel_errors
    from dse.prediction.kernels.tables import read_table

    return kernel_errors([read_table(path)])


def _kernel_constants(path: Path) -> object:
    from dse.inputs.accelerators.kernel_constants import kernel_constants

    return kernel_constants(str(path))


def _expression(path: Path) -> object:
    import pyarrow as pa

    from dse.base.errors import InputError
    from dse.base.expressions.columns import ColumnExpression
    from dse.base.expressions.scalar import Expression

    text = _text(path)
    values: dict[str, Any] = {"dp": 4, "tp": 2, "wall_time_ns": 1.5}
    table = pa.table({name: [value, None] for name, value in values.items()})

    def column(table: pa.Table, name: str) -> pa.ChunkedArray:
        if name not in table.column_names:
            raise InputError(f"unknown name {name}")
        return table[name]

    try:
        Expression(text, values).evaluate(values)
    finally:  # the two languages refuse different texts
        ColumnExpression(text, "where", column).values(table)
    return None


def _topology_name(path: Path) -> object:
    from dse.inputs.networks.named import named_network

    return named_network(_text(path))


def _custom(path: Path) -> object:
    from dse.collectives.problem.custom import read_custom

    return read_custom(path, 4)


def _override(path: Path) -> object:
    from dse.studies.config import compose_config

    return compose_config(_text(path).split("\n"))


def _configuration(path: Path) -> object:
    from dse.prediction.frameworks.reading import read_document

    return read_document([str(path)])


def _command_line(path: Path) -> object:
    from dse.prediction.frameworks.reading import read_document

    return read_document(_text(path).split("\n"))


_SHELL_SCRIPT = """#!/bin/bash
#SBATCH --nodes=4 --gpus-per-node=8
export TP=${TP:-4}
GPUS=$((SLURM_NNODES * (8 + 0)))
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


READERS: dict[str, Reader] = {
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
    "framework-scripts": Reader(".sh", _lines(_SHELL_SCRIPT), _configuration),
    "framework-recipes": Reader(".py", _lines(_RECIPE), _configuration),
    "framework-toml": Reader(".toml", _lines(_TOML), _configuration),
    "framework-json": Reader(
        ".json",
        _lines(
            '{"train_batch_size": 8, // all\n "zero_optimization": {"stage": 3, "reduce_bucket_size": 5e8}}',
            '{"framework": "maxtext", "version": "1", "gpus": 8, "flags": {"ici_fsdp_parallelism": 8}}',
        ),
        _configuration,
    ),
    "framework-yaml": Reader(
        ".yaml",
        _lines(
            "distributed_type: FSDP\nnum_processes: 8\nfsdp_config: {fsdp_version: 2}\n",
            "base_config: base.yml\nmodel_name: x\nici_fsdp_parallelism: -1\nlearning_rate: 3e-5\n",
        ),
        _configuration,
    ),
    "framework-commands": Reader(
        ".txt",
        _lines(
            "torchrun\n--nnodes\n2\n--nproc-per-node=8\np.py\n--num-layers\n32\n--cp-comm-type\np2p\na2a",
            "--module\nllama3\n--config\nllama3_8b\n--training.seq-len=8\nactivation-checkpoint:full",
            "model.a=[1,null]\ntrain.micro_batch_size=2\n+model.x='y'\n~ddp.z",
            "accelerate\nlaunch\n--num_processes\n8\nt.py\n--per_device_train_batch_size\n2",
        ),
        _command_line,
    ),
    "plans": Reader(".json", _plans, _check_plan),
    "schedules-csv": Reader(".csv", _schedules(".csv"), _read_schedule),
    "schedules-jsonl": Reader(".jsonl", _schedules(".jsonl"), _read_schedule),
    "graphml": Reader(".graphml", _graphs, _graph("dse.partition.graphs.sources.graphml:read_graphml")),
    "graphs-json": Reader(
        ".json", _json_graphs, _graph("dse.partition.graphs.sources.json_graph:read_json_graph")
    ),
    "graphs-metis": Reader(
        ".graph",
        _lines("3 2 11\n1 2 5\n1 1 5 3 7\n1 2 7\n", "4 3\n2\n1 3\n2 4\n3\n"),
        _graph("dse.partition.graphs.sources.metis:read_metis"),
    ),
    "device-matrix": Reader(
        ".csv", _lines("0,1,2\n1,0,2\n2,2,0\n"), _graph("dse.partition.graphs.sources.measured:read_matrix")
    ),
    "topology-csv": Reader(
        ".csv",
        _contents("tests/golden/topologies/rand*.csv"),
        _graph("dse.inputs.networks.csv:read_link_graph"),
    ),
    "topology-names": Reader(
        ".txt",
        _lines(
            "ring__dim=[4]",
            "grid__dim=[2,3]__alpha=0.5__beta=2",
            "torus__dim=[3,3]",
            "fc__n=5",
            "nx_path_graph__n=4",
        ),
        _topology_name,
    ),
    "config.json": Reader(".json", _contents("tests/golden/huggingface/*/config.json"), _model_file),
    "log": Reader(".log", _log_seeds, _log),
    "schedule-csv": Reader(".csv", _contents("tests/golden/schedules/torch_ZBV*.csv"), _schedule_csv),
    "measured-rows": Reader(".csv", _measured_seeds, _measured),
    "cluster": Reader(".yaml", _contents("conf/cluster/*.yaml"), _cluster),
    "reliability": Reader(".yaml", _contents("conf/reliability/*.yaml"), _reliability),
    "accelerator": Reader(".yaml", _contents("conf/accelerator/*.yaml"), _accelerator),
    "kernel-constants": Reader(".yaml", _contents("conf/kernels/*.yaml"), _kernel_constants),
    "kernels-csv": Reader(".csv", _kernel_rows(".csv"), _kernel_table),
    "kernels-parquet": Reader(".parquet", _kernel_rows(".parquet"), _kernel_table),
    "nccl-tests": Reader(
        ".txt",
        _contents("tests/golden/kernels/all_reduce_perf.txt"),
        _graph("dse.prediction.kernels.nccl_tests:read_nccl_tests"),
    ),
    "machines-nccl": Reader(".xml", _published("dgx1", "dgx2", "a100_pcie"), _machine),
    "machines-xml": Reader(".xml", _samples("test_machine_xml", "LSTOPO", "RINGS"), _machine),
    "machines-texts": Reader(".txt", _samples("test_machine_texts", "MATRIX", "TREE"), _machine),
    "machines-infragraph": Reader(".yaml", _samples("test_infragraph_documents", "SMALL"), _machine),
    "machines-times": Reader(".txt", _contents("tests/golden/kernels/all_reduce_perf.txt"), _machine),
    "system": Reader(".yaml", _contents("conf/system/*.yaml"), _composed("system", "model=tiny")),
    "model": Reader(
        ".yaml",
        _contents("conf/model/tiny.yaml", "conf/model/llama3_8b.yaml"),
        _composed("model", "system=dgx_h100"),
    ),
    "expressions": Reader(
        ".txt",
        _lines(
            "dp * tp <= 64 and not (tp == 3 or dp in (1, 2))",
            "min(dp, 2) ** 2 // 3 % 2 != -1.5e3",
            "abs(tp) / wall_time_ns > 0",
        ),
        _expression,
    ),
    "custom-collective": Reader(
        ".json",
        _lines(
            '{"chunk_size": 8, "chunks": 2, "preconditions": {"0": [0], "1": [1]},'
            ' "postconditions": {"2": [0, 1]}}'
        ),
        _custom,
    ),
    "overrides": Reader(
        ".txt",
        _lines(
            "system=torus_4x4\nmodel=tiny\nspace.dp=[1,2]\nsystem.network.0.bandwidth_gbps=2e2\nmemory_cap=80GiB"
        ),
        _override,
    ),
}

"""Readers of files and texts of others, each with valid seeds: all that they refuse is an InputError."""

from __future__ import annotations

import itertools
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hostile.job_readers import JOB_READERS
from hostile.reader import GOLDEN, ROOT, Reader, contents, lines, text_of

TOPOLOGY = GOLDEN / "topologies" / "randhet_4_4_1_500_50.csv"


def _plans(folder: Path) -> list[bytes]:
    """The plan of a small mixed cluster, with its certificate, and one with records that the engine reads."""
    from dse.commands.plan.__main__ import main

    words = ("gbs=64", "-o", str(folder / "plan.json"))
    found = []
    for asked in (
        ("cluster=a100_v100", "model=megatron_1.7b", "planner=exact"),
        ("cluster=dgx_h100", "model=mixtral_8x7b", "uniform=true"),
    ):
        main([*asked, *words])
        found.append((folder / "plan.json").read_bytes())
    return found


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
    from dse.prediction.measured.rows import DATA

    header, *rows = (DATA / "published.csv").read_bytes().splitlines(keepends=True)
    return [b"".join([header, *rows[at : at + 2]]) for at in range(0, len(rows), 40)]


def _log(path: Path) -> object:
    from dse.prediction.frameworks.logs.figures import read_log

    return read_log(path)


def _log_seeds(_: Path) -> list[bytes]:
    samples = runpy.run_path(str(ROOT / "tests" / "log_samples.py"))
    names = ("megatron_lm", "megatron_bridge", "torchtitan", "maxtext", "nemo", "deepspeed")
    return [samples[name]().encode() for name in names]


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
    from dse.inputs.models.settings import models_of_conf
    from dse.prediction.frameworks.checks.check import cluster_of_name
    from dse.prediction.runs.checkpoints import Store
    from dse.prediction.runs.reliability import reliability_named
    from dse.prediction.runs.run import FailingJob, Question
    from dse.prediction.steps.plan import Plan

    model, cluster = dict(models_of_conf())["llama3_8b"], cluster_of_name("dgx_h100", 64, [])
    return FailingJob(Question(model, Plan(), cluster, 1, reliability_named(str(path)), Store(100, 10)))


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

    text = text_of(path)
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

    return named_network(text_of(path))


def _custom(path: Path) -> object:
    from dse.collectives.problem.settings import Network, problem_of
    from dse.inputs.networks import LinkGraph

    links = [(npu, (npu + step) % 4, 500, 50) for npu in range(4) for step in (1, 3)]
    return problem_of(Network("ring", LinkGraph.of(4, 4, links)), {"collective": str(path)})


def _override(path: Path) -> object:
    from dse.studies.config import compose_config

    return compose_config(text_of(path).split("\n"))


_STAR = ("system=dgx16", "dimensions=[1]", "system.network.1.npus=4", "switches=nodes")


def _programs(name: str, *networks: tuple[str, ...]) -> Callable[[Path], list[bytes]]:
    """Programs of a runtime for an all-reduce and an all-gather, on networks and with options."""

    def made(folder: Path) -> list[bytes]:
        from dse.commands.synthesize import main

        found = []
        for number, network in enumerate(networks):
            for collective in ("all_reduce", "all_gather"):
                words = [*network, f"collective={collective}", "export=[msccl,mscclpp]", "trials=2"]
                main([*words, "-o", str(folder / f"{number}-{collective}")])
                found.append((folder / f"{number}-{collective}" / name).read_bytes())
        return found

    return made


def _msccl(path: Path) -> object:
    from dse.collectives.interpret.msccl import interpret_msccl

    return interpret_msccl(text_of(path))


def _mscclpp(path: Path) -> object:
    from dse.collectives.interpret.mscclpp import interpret_plan

    return interpret_plan(text_of(path))


def _demand(path: Path) -> object:
    from dse.collectives.problem.demands import demanded, read_demand

    return demanded(read_demand(path, 3), 3, None)


READERS: dict[str, Reader] = {
    **JOB_READERS,
    "plans": Reader(".json", _plans, _check_plan),
    "schedules-csv": Reader(".csv", _schedules(".csv"), _read_schedule),
    "schedules-jsonl": Reader(".jsonl", _schedules(".jsonl"), _read_schedule),
    "graphml": Reader(".graphml", _graphs, _graph("dse.partition.graphs.sources.graphml:read_graphml")),
    "graphs-json": Reader(
        ".json", _json_graphs, _graph("dse.partition.graphs.sources.json_graph:read_json_graph")
    ),
    "graphs-metis": Reader(
        ".graph",
        lines("3 2 11\n1 2 5\n1 1 5 3 7\n1 2 7\n", "4 3\n2\n1 3\n2 4\n3\n"),
        _graph("dse.partition.graphs.sources.metis:read_metis"),
    ),
    "device-matrix": Reader(
        ".csv", lines("0,1,2\n1,0,2\n2,2,0\n"), _graph("dse.partition.graphs.sources.measured:read_matrix")
    ),
    "topology-csv": Reader(
        ".csv",
        contents("tests/golden/topologies/rand*.csv"),
        _graph("dse.inputs.networks.csv:read_link_graph"),
    ),
    "topology-names": Reader(
        ".txt",
        lines(
            "ring__dim=[4]",
            "grid__dim=[2,3]__alpha=0.5__beta=2",
            "torus__dim=[3,3]",
            "fc__n=5",
            "nx_path_graph__n=4",
        ),
        _topology_name,
    ),
    "config.json": Reader(".json", contents("tests/golden/huggingface/*/config.json"), _model_file),
    "log": Reader(".log", _log_seeds, _log),
    "measured-rows": Reader(".csv", _measured_seeds, _measured),
    "cluster": Reader(".yaml", contents("conf/cluster/*.yaml"), _cluster),
    "reliability": Reader(".yaml", contents("conf/reliability/*.yaml"), _reliability),
    "accelerator": Reader(".yaml", contents("conf/accelerator/*.yaml"), _accelerator),
    "kernel-constants": Reader(".yaml", contents("conf/kernels/*.yaml"), _kernel_constants),
    "kernels-csv": Reader(".csv", _kernel_rows(".csv"), _kernel_table),
    "kernels-parquet": Reader(".parquet", _kernel_rows(".parquet"), _kernel_table),
    "nccl-tests": Reader(
        ".txt",
        contents("tests/golden/kernels/all_reduce_perf.txt"),
        _graph("dse.inputs.machines.nccl_tests:read_collective_times"),
    ),
    "system": Reader(".yaml", contents("conf/system/*.yaml"), _composed("system", "model=tiny")),
    "model": Reader(
        ".yaml",
        contents("conf/model/tiny.yaml", "conf/model/llama3_8b.yaml"),
        _composed("model", "system=dgx_h100"),
    ),
    "expressions": Reader(
        ".txt",
        lines(
            "dp * tp <= 64 and not (tp == 3 or dp in (1, 2))",
            "min(dp, 2) ** 2 // 3 % 2 != -1.5e3",
            "abs(tp) / wall_time_ns > 0",
        ),
        _expression,
    ),
    "custom-collective": Reader(
        ".json",
        lines(
            '{"chunk_size": 8, "chunks": 2, "preconditions": {"0": [0], "1": [1]},'
            ' "postconditions": {"2": [0, 1]}}',
            '{"collectives": [{"collective": "reduce", "group": [3, 1], "root": 1, "chunks_per_npu": 2},'
            ' {"collective": "all_reduce", "operation_bytes": "1MiB", "priority": 1}], "chunk_size": 4096}',
        ),
        _custom,
    ),
    "overrides": Reader(
        ".txt",
        lines(
            "system=torus_4x4\nmodel=tiny\nspace.dp=[1,2]\nsystem.network.0.bandwidth_gbps=2e2\nmemory_cap=80GiB"
        ),
        _override,
    ),
    "msccl-xml": Reader(".xml", _programs("schedule.xml", (f"topology={TOPOLOGY}",)), _msccl),
    "mscclpp-json": Reader(
        ".json",
        _programs("schedule.mscclpp.json", (f"topology={TOPOLOGY}",), _STAR, (*_STAR, "protocol=LL")),
        _mscclpp,
    ),
    "demand": Reader(".csv", lines("0,1,2MiB\n3,0,0\n0,5kB,0\n", "0,7\n7,0\n"), _demand),
}

"""`python -m benchmarks.partition_graphs -o DIR`: real model graphs to partition, made without downloads.

ONNX files of public architectures, workloads of conf/model, and Chakra execution traces of ranks; each in its
own format where it has one, and as the JSON graph that `dse partition` reads, weights in ns at 1 TFLOPS.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from dse.base.lazy import is_installed
from dse.inputs.strategies import Strategy
from dse.partition.graphs.sources.chakra import model_source, read_chakra
from dse.partition.graphs.sources.json_graph import json_text
from dse.partition.graphs.sources.source import Rates, Source, model_graph
from dse.simulation.workloads import generate
from dse.studies.config import compose_config

RATES = Rates(1e3, 1e3)  # 1 TFLOPS and 1 TB/s
WORKLOADS = ("llama70b", "gpt175b")
TRACES = {
    "trace_llama70b_tp4": ("llama70b", Strategy(tp=4)),
    "trace_llama70b_pp4": ("llama70b", Strategy(pp=4)),
    "trace_gpt175b_dp2_tp2": ("gpt175b", Strategy(dp=2, tp=2)),
    "trace_gpt175b_fsdp4": ("gpt175b", Strategy(dp=4, weight_sharded=True)),
}


def real_graphs(folder: Path) -> Iterator[tuple[str, Source]]:
    """Write the files of ONNX models and traces into a folder; yield every graph with its name.

    Without the package onnx its models are left out, with a note.
    """
    yield from _onnx_graphs(folder)
    for name in WORKLOADS:
        model = compose_config([f"model={name}", "model.fidelity=realistic"]).model
        yield name, model_source(model)
    for name, (model_name, strategy) in TRACES.items():
        model = compose_config([f"model={model_name}"]).model
        path = folder / f"{name}.et"
        path.write_bytes(generate(model, strategy).trace_bytes(0))
        yield name, read_chakra(path)


def _onnx_graphs(folder: Path) -> Iterator[tuple[str, Source]]:
    if not is_installed("onnx"):
        print("note: onnx is not installed (make torch): no graphs of ONNX models", file=sys.stderr)
        return
    from benchmarks.onnx_models import MODELS
    from dse.partition.graphs.sources.onnx_file import read_onnx

    for name, make in MODELS.items():
        path = folder / f"{name}.onnx"
        path.write_bytes(make(name).SerializeToString())
        yield name, read_onnx(path)


def main() -> None:
    """Write all graphs, and a line about each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the folder")
    folder: Path = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    print("| Graph | Nodes | Edges | GFLOP forward | Parameters |")
    print("|---|---|---|---|---|")
    for name, source in real_graphs(folder):
        graph = model_graph(source, "time", RATES, ())
        (folder / f"{name}.json").write_text(json_text(source, graph.node_weights))
        flops = sum(operator.flops for operator in source.operators) / 1e9
        parameters = sum(operator.parameters for operator in source.operators) / 1e6
        print(f"| {name} | {graph.nodes} | {len(graph.edges)} | {flops:.4g} | {parameters:.4g} M |")


if __name__ == "__main__":
    main()

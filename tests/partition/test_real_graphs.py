"""The graphs of public architectures that are made here have the published numbers of parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.partition.graphs.sources.onnx_file import read_onnx
from dse.partition.graphs.sources.source import by_module

pytest.importorskip("onnx", reason="ONNX files need the extra onnx: pip install 'dse[onnx]'")

from benchmarks.onnx_models import MODELS
from benchmarks.partition_graphs import TRACES, WORKLOADS


@pytest.mark.parametrize(
    ("name", "parameters", "gflops"),
    [
        # torchvision: 25,557,032 parameters, 4.09 G multiply-adds; and two statistics a channel.
        ("resnet50", 25_557_032 + 2 * 26_560, 8.2),
        # torchvision: 11,689,512 and 1.81 G; 4,800 channels.
        ("resnet18", 11_689_512 + 2 * 4_800, 3.6),
        # torchvision: 3,504,872 and 0.30 G; 17,056 channels.
        ("mobilenet_v2", 3_504_872 + 2 * 17_056, 0.6),
    ],
)
def test_parameters_and_operations_are_the_published_ones(
    tmp_path: Path, name: str, parameters: int, gflops: float
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(MODELS[name](name).SerializeToString())
    source = read_onnx(path)
    assert sum(operator.parameters for operator in source.operators) == parameters
    assert sum(operator.flops for operator in source.operators) / 1e9 == pytest.approx(gflops, rel=0.05)
    assert source.notes == ()
    assert len(by_module(source).operators) < len(source.operators)


def test_there_are_at_least_twenty_graphs() -> None:
    assert len(MODELS) + len(WORKLOADS) + len(TRACES) == 25

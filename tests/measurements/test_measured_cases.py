"""A measured row as a case: what is read from it, what is assumed, and that what is assumed is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse.measurements.cases import case_of
from dse.measurements.rows import MeasuredRow
from dse.strategies import InfeasibleStrategy
from dse.training.predict import predict

ROW = MeasuredRow(
    "a", 24, 2048, 16, 2048, "H100", 8, 64, 1.0, ffn=8192, gated=False, vocab=51200, gpus_per_node=8,
    tp=2, pp=1, dp=4, zero=1, mbs=2, recompute="none", sp=True, precision="bf16", source="own",
)  # fmt: skip


@pytest.mark.parametrize(
    ("gpu", "text", "expected"),
    [
        ("V100", "", "fp16"),
        ("V100", "mixed", "fp16"),
        ("V100", "fp16", "fp16"),
        ("A100", "", "bf16"),
        ("tpu_v5p", "", "bf16"),
        ("GB200", "MXFP8", "fp8"),
        ("GB200", "NVFP4", "fp4"),
        ("A100", "amp_bf16", "bf16"),
    ],
)
def test_a_precision_that_is_not_said_is_one_that_the_accelerator_has(
    gpu: str, text: str, expected: str
) -> None:
    case = case_of(replace(ROW, gpu=gpu, precision=text))
    assert case.plan.precision == expected
    is_told = any(f"precision {expected}" in line for line in case.assumed)
    assert is_told == (text in ("", "mixed"))


def test_a_precision_that_the_accelerator_lacks_cannot_be_expressed() -> None:
    case = case_of(replace(ROW, gpu="V100", precision="bf16"))
    with pytest.raises(InfeasibleStrategy, match="bf16, which v100_32 does not have; write fp16"):
        predict(case.model, case.plan, case.cluster)


def test_what_follows_from_the_shape_of_the_feed_forward_block_is_told() -> None:
    plain, gated, unknown = [case_of(replace(ROW, gated=gated)) for gated in (False, True, None)]
    assert "tied embeddings, biases and dropout, as the feed-forward block is not gated" in plain.assumed
    assert "untied embeddings, no biases and no dropout, as the feed-forward block is gated" in gated.assumed
    assert any("not gated (unknown)" in line for line in unknown.assumed)
    wide = case_of(replace(ROW, ffn=None))
    assert (wide.model.d_ff, "a feed-forward width of 8192, 4 x hidden" in wide.assumed) == (8192, True)


def test_degrees_of_freedom_that_a_row_leaves_open_are_told() -> None:
    found = case_of(replace(ROW, sp=None, zero=None))
    assert {"sequence parallelism", "zero 0"} <= set(found.assumed)
    odd = case_of(replace(ROW, sp=None, seq=2047, tp=2))
    assert "no sequence parallelism" in odd.assumed
    assert not odd.plan.sequence_parallel


def test_micro_batches_are_said_to_fit_only_if_they_do() -> None:
    fitting = case_of(replace(ROW, mbs=None))
    assert any(line.endswith(": the fastest that fit") for line in fitting.assumed)
    huge = case_of(replace(ROW, mbs=None, layers=240, hidden=16384, heads=128, ffn=65536))
    assert huge.plan.micro_batch == 1
    assert "micro-batches of 1: the smallest, as none is predicted to fit" in huge.assumed
    counted = case_of(replace(ROW, mbs=None, microbatches=4))
    assert counted.plan.micro_batch == 4
    assert "micro-batches of 4: the batch over the ranks and their micro-batches" in counted.assumed


def test_sharded_weights_are_gathered_ahead_whatever_the_framework_reduces_early() -> None:
    case = case_of(replace(ROW, zero=3, tp=1, dp=8, sp=False, source="MegatronSC21"))
    assert predict(case.model, case.plan, case.cluster).step_s > 0

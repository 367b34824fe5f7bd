"""Configurations of NeMo's launcher: read under the keys of Megatron Bridge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from dse.prediction.frameworks.jobs import Reading, read_job
from dse.prediction.frameworks.reading import read_document

MODEL: dict[str, Any] = {
    "micro_batch_size": 2, "global_batch_size": 256, "tensor_model_parallel_size": 4,
    "pipeline_model_parallel_size": 2, "virtual_pipeline_model_parallel_size": 4, "sequence_parallel": True,
    "encoder_seq_length": 4096, "activations_checkpoint_granularity": "full",
    "activations_checkpoint_method": "block", "activations_checkpoint_num_layers": 3, "fp8": True,
    "optim": {"name": "distributed_fused_adam", "overlap_grad_sync": True, "overlap_param_sync": True},
}  # fmt: skip
TRAINER = {"devices": 8, "num_nodes": 4, "precision": "bf16", "max_steps": 10}


def read(folder: Path, *words: str, trainer: dict[str, Any] = TRAINER, **changes: Any) -> Reading:
    path = folder / "gpt.yaml"
    path.write_text(yaml.safe_dump({"trainer": trainer, "model": {**MODEL, **changes}}), encoding="utf-8")
    return read_job(read_document([str(path), *words]), "llama3_8b")


def test_a_file_of_the_launcher_is_read_with_its_own_names(tmp_path: Path) -> None:
    reading = read(tmp_path)
    assert reading.document.npus == 32
    assert reading.job is not None, (reading.broken, reading.no_job)
    plan, model = reading.job.plan, reading.job.model
    assert (plan.dp, plan.tp, plan.pp, plan.chunks, plan.micro_batch) == (4, 4, 2, 4, 2)
    assert (plan.recompute, plan.recompute_layers, plan.precision) == ("full", 3, "fp8_delayed")
    assert (plan.zero, plan.overlap_dp) == (1, True)
    assert (model.seq_len, model.batch_size) == (4096, 256)


def test_precisions_and_defaults_are_those_of_the_launcher(tmp_path: Path) -> None:
    plain = read(tmp_path, fp8=False, optim={"name": "fused_adam"})
    assert plain.job is not None, (plain.broken, plain.no_job)
    assert (plain.job.plan.precision, plain.job.plan.zero, plain.job.plan.overlap_dp) == ("bf16", 0, False)
    half = read(tmp_path, fp8=False, trainer={**TRAINER, "precision": 16})
    assert half.facts["mixed_precision"] == "fp16_mixed"
    other = read(tmp_path, fp8=False, trainer={**TRAINER, "precision": "32-true", "num_nodes": "${nodes}"})
    assert "trainer.precision 32-true is not read: bf16 is taken" in other.document.notes
    assert other.document.npus is None


def test_overrides_come_last(tmp_path: Path) -> None:
    reading = read(tmp_path, "model.seq_length=8192")
    assert reading.job is not None
    assert reading.job.model.seq_len == 8192


def test_overrides_of_nemos_own_program_are_read_as_its_files() -> None:
    line = (
        "python examples/nlp/language_modeling/megatron_gpt_pretraining.py --config-name gpt_5b.yaml "
        "trainer.devices=8 trainer.num_nodes=2 model.micro_batch_size=2 model.global_batch_size=64 "
        "model.tensor_model_parallel_size=4 model.encoder_seq_length=2048 ++model.fp8=True "
        "model.activations_checkpoint_granularity=full"
    )
    document = read_document(line.split())
    assert (document.framework, document.npus) == ("megatron-bridge", 16)
    assert document.settings["train.micro_batch_size"] == 2
    assert document.settings["model.seq_length"] == 2048
    assert document.settings["model.recompute_granularity"] == "full"
    assert document.settings["mixed_precision"] == "bf16_with_fp8_delayed_scaling_mixed"

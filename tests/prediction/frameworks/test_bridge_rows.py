"""The settings of a Bridge recipe are predicted as the measured row with these settings is."""

from __future__ import annotations

from typing import Any

from dse.prediction.frameworks.job import Document
from dse.prediction.frameworks.jobs import read_job, write_job
from dse.prediction.measured.cases import case_of, predicted_cases
from dse.prediction.measured.hardware import overlaps_tp
from dse.prediction.measured.rows import MeasuredRow, published_rows
from dse.prediction.steps.batch import Case
from dse.prediction.steps.predict import Figures, figures
from tests.prediction.frameworks.jobs import with_listed_stages

ROWS = [row for row in published_rows() if row.source.startswith("Megatron-Bridge")]
_PRECISIONS = {
    "bf16": "bf16_mixed",
    "fp8": "bf16_with_fp8_current_scaling_mixed",
    "mxfp8": "bf16_with_mxfp8_mixed",
    "nvfp4": "bf16_with_nvfp4_mixed",
    "fp8-block": "bf16_with_fp8_subchannel_scaling_mixed",
}


def _settings(row: MeasuredRow) -> dict[str, Any]:
    """The overrides that a recipe with the settings of a row has."""
    found: dict[str, Any] = {
        "model.tensor_model_parallel_size": row.tp,
        "model.pipeline_model_parallel_size": row.pp,
        "model.context_parallel_size": row.cp,
        "model.expert_model_parallel_size": row.ep,
        "model.expert_tensor_parallel_size": row.expert_tp,
        "model.virtual_pipeline_model_parallel_size": row.vp if (row.vp or 1) > 1 else None,
        "model.sequence_parallel": bool(row.sp),
        "model.seq_length": row.seq,
        "train.micro_batch_size": row.mbs,
        "train.global_batch_size": row.gbs,
        "mixed_precision": _PRECISIONS[row.precision],
        "ddp.use_megatron_fsdp": row.zero == 3,
        "ddp.data_parallel_sharding_strategy": "optim_grads_params" if row.zero == 3 else "no_shard",
        "ddp.use_distributed_optimizer": row.zero == 1,
        "comm_overlap.tp_comm_overlap": overlaps_tp(row)
        if row.tp_comm_overlap is None
        else row.tp_comm_overlap,
        "comm_overlap.overlap_moe_expert_parallel_comm": bool(row.a2a_overlap),
        "model.moe_token_dispatcher_type": "flex" if row.dispatcher in ("hybridep", "deepep") else "alltoall",
        "model.moe_flex_dispatcher_backend": row.dispatcher if row.dispatcher != "alltoall" else None,
        "model.mtp_num_layers": row.mtp_layers,
    }
    if "|" in row.pipeline_layout:
        found["model.pipeline_model_parallel_layout"] = row.pipeline_layout
    elif "loss count" in row.pipeline_layout:
        found |= {
            "model.account_for_embedding_in_pipeline_split": True,
            "model.account_for_loss_in_pipeline_split": True,
        }
    if row.recompute.startswith("selective"):
        modules = row.recompute_modules.replace(",", "+").split("+")
        found |= {"model.recompute_granularity": "selective", "model.recompute_modules": modules}
    if row.recompute.startswith("full"):
        found |= {
            "model.recompute_granularity": "full",
            "model.recompute_method": "uniform",
            "model.recompute_num_layers": 1,
        }
    implementation, _, scope = row.cuda_graph.rpartition(":")
    if row.cuda_graph not in ("", "none"):
        parts = ["full_iteration"] if "full" in row.cuda_graph else scope.split("+")
        found |= {"model.cuda_graph_impl": implementation or "local", "model.cuda_graph_scope": parts}
    if row.offload not in ("", "none"):
        layers = int("".join(letter for letter in row.offload if letter.isdecimal()))
        found |= {"model.cpu_offloading": True, "model.cpu_offloading_num_layers": layers}
    if "moments bfloat16" in row.optimizer_detail:
        found |= {"optimizer.use_precision_aware_optimizer": True}
        found |= {"optimizer.exp_avg_dtype": "bf16", "optimizer.exp_avg_sq_dtype": "bf16"}
    return {key: value for key, value in found.items() if value is not None}


_SLIPS = {  # rows that contradict themselves
    "mb-25.11-deepseek_v3-pretrain-GB300-256-bf16-gbs4096-mbs1-tp1pp2cp1vp4ep32": "16 parts for vp 4",
    "mb-25.11-deepseek_v3-pretrain-GB300-256-mxfp8-gbs4096-mbs1-tp1pp2cp1vp4ep32": "16 parts for vp 4",
    "mb-25.09-deepseek_v3-pretrain-GB200-256-mxfp8-gbs2048-mbs1-tp1pp8cp1vp2ep64": "ep above its ranks",
}


def _rows() -> list[tuple[MeasuredRow, Figures]]:
    return [
        (row, figure)
        for row, _, figure in predicted_cases(ROWS)
        if isinstance(figure, Figures) and row.task == "pretrain" and row.id not in _SLIPS
    ]


def test_recipes_are_predicted_as_their_measured_rows() -> None:
    compared = 0
    for row, figure in _rows():
        document = Document(_settings(row), "megatron-bridge", model=row.model, npus=row.gpus, where=row.id)
        job = read_job(document).job
        assert job is not None, row.id
        assert list(figures([Case(job.model, job.plan, case_of(row).cluster)])) == [figure], row.id
        compared += 1
    assert compared == 153


def test_written_overrides_are_read_as_the_same_job() -> None:
    for row, _ in _rows():
        document = Document(_settings(row), "megatron-bridge", model=row.model, npus=row.gpus, where=row.id)
        job = read_job(document).job
        assert job is not None
        settings = write_job(job, "megatron-bridge").settings
        again = read_job(Document(settings, "megatron-bridge", model=row.model, npus=row.gpus)).job
        assert again is not None
        assert with_listed_stages(again) == with_listed_stages(job), row.id

"""Models, clusters and frameworks as the records that the engine predicts from."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from dse.base.errors import InputError
from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.models.counts import layer_parameters, parameters
from dse.inputs.models.matrices import (
    LayerKind,
    Matrix,
    adapter_matrices,
    blocks_of,
    layer_kinds,
    matrices,
    mean_keys,
)
from dse.native import _engine
from dse.prediction.steps.frameworks import Framework

_MOST_PARAMETERS = 2**53
ROW_SPLIT = {"output", "down", "state_out"}
"""Matrices of which tensor parallelism splits the inputs; of others the outputs."""

WHOLE = {"query_down", "key_value_down", "router", "index_query", "index_key", "index_weights"}
"""Matrices that every rank of tensor parallelism has."""

# The numbers of engine/src/prediction/inputs/model.hpp.
_MIXERS = {None: 0, "attention": 1, "window": 2, "state_space": 3}
_FEED_FORWARDS = {None: 0, "feed_forward": 1, "experts": 2}
_PARTS = {
    "attention": 0,
    "indexer": 1,
    "state_space": 2,
    "feed_forward": 3,
    "router": 4,
    "experts": 5,
    "shared_experts": 6,
    "projection": 7,
}
_NAMES = {"query": 1, "key": 2, "value": 3, "query_up": 4, "key_value_up": 4, "down": 5}


@functools.lru_cache(maxsize=256)
def step_model(model: ModelSpec) -> _engine.StepModel:
    """Return a model as the engine takes it."""
    return _engine.step_model(json.dumps(model_record(model)))


@functools.lru_cache(maxsize=1024)
def step_cluster(cluster: Cluster) -> _engine.StepCluster:
    """Return a cluster as the engine takes it."""
    return _engine.step_cluster(json.dumps(cluster_record(cluster)))


def framework_text(framework: Framework) -> str:
    """Return a framework as the engine reads it."""
    own = framework.memory
    keys = ("launch_us", "elementwise", "tp_overlap", "attention_factor", "attention_factor_8bit")
    memory = {key: getattr(own, key) for key in type(own).__dataclass_fields__ if key != "margin"}
    found: dict[str, Any] = {key: getattr(framework, key) for key in keys}
    return json.dumps({**found, "gradient_bytes": framework.gradient_bytes, "memory": memory})


def model_record(model: ModelSpec) -> Mapping[str, Any]:
    """Return a model as plain data, which the engine reads; see inputs/model.hpp of the engine.

    Raises:
        InputError: the model has more parameters than the engine counts.
    """
    runs = layer_kinds(model)
    kinds = list(dict.fromkeys(kind for kind, _ in runs))
    shapes: dict[tuple[str, str], int] = {}
    counts = parameters(model)
    if (count := counts.total + counts.prediction) > _MOST_PARAMETERS:
        raise InputError(
            f"model {model.name} has {count:.3g} parameters; at most {_MOST_PARAMETERS:.3g} are predicted: "
            "make a dimension smaller"
        )
    keys = (
        *("name", "d_model", "d_ff", "num_heads", "key_value_heads", "key_width", "value_width", "seq_len"),
        *("batch_size", "num_layers", "input_dim", "output_dim", "prediction_layers", "tied_embeddings"),
        *("gated_mlp", "biases", "post_norms", "query_key_norms"),
    )
    return {
        **{key: getattr(model, key) for key in keys},
        "dropout": bool(model.dropout),
        "position_parameters": counts.positions,
        "final_norm_parameters": counts.final_norm,
        **_parts(model),
        "kinds": [_kind(model, kind, shapes) for kind in kinds],
        "runs": [{"kind": kinds.index(kind), "count": count} for kind, count in runs],
    }


def _parts(model: ModelSpec) -> Mapping[str, Any]:
    """Return the parts that not every model has, or None."""
    experts, latent, sparse = model.experts, model.latent_attention, model.sparse_attention
    mixer, lora = model.state_space, model.lora
    keys = ("count", "top_k", "d_ff", "shared", "shared_width", "imbalance", "capacity_factor")
    return {
        "experts": experts
        and {
            **{key: getattr(experts, key) for key in keys},
            "groups": experts.groups or 1,
            "top_groups": experts.top_groups or 1,
        },
        "latent": latent and {"ranks": (latent.query_rank or 0) + latent.key_value_rank},
        "sparse": sparse
        and {
            **{key: getattr(sparse, key) for key in ("heads", "head_dim", "top_k")},
            "mean_keys": mean_keys(model, "dense"),
        },
        "state_space": mixer
        and {key: getattr(mixer, key) for key in ("width", "conv_width", "heads", "groups", "state")},
        "lora": lora
        and {
            "rank": lora.rank,
            "adapts_attention": lora.adapts("attention", ""),
            "adapts_feed_forward": lora.adapts("feed_forward", ""),
        },
    }


def _kind(model: ModelSpec, kind: LayerKind, shapes: dict[tuple[str, str], int]) -> Mapping[str, Any]:
    blocks, own = blocks_of(model, kind), layer_parameters(model, kind)
    return {
        "mixer": _MIXERS[blocks.mixer],
        "feed_forward": _FEED_FORWARDS[blocks.feed_forward],
        "is_prediction": kind == "prediction",
        "mean_keys": mean_keys(model, kind),
        "vectors": own.vectors,
        "norms": own.norms,
        "matrices": [_matrix(model, matrix, shapes) for matrix in matrices(model, kind)],
        "adapters": [_adapter(matrix) for matrix in adapter_matrices(model, kind)],
    }


def _matrix(model: ModelSpec, matrix: Matrix, shapes: dict[tuple[str, str], int]) -> Mapping[str, Any]:
    return {
        **{key: getattr(matrix, key) for key in ("inputs", "outputs", "count", "has_bias")},
        "name": _NAMES.get(matrix.name, 0),
        "part": _PARTS[matrix.part],
        "is_row_split": matrix.name in ROW_SPLIT,
        "is_whole": matrix.name in WHOLE,
        "is_adapted": model.lora is not None and model.lora.adapts(matrix.part, matrix.name),
        "shape": shapes.setdefault((matrix.part, matrix.name), len(shapes)),
    }


def _adapter(matrix: Matrix) -> Mapping[str, Any]:
    """Of a pair, the matrix on the side that tensor parallelism splits is split too."""
    base, _, way = matrix.name.rsplit("_", 2)
    return {
        "is_of_experts": matrix.part == "experts",
        "is_split": (base in ROW_SPLIT) == (way == "down") and base not in WHOLE,
        "weights": matrix.weights,
    }


def cluster_record(cluster: Cluster) -> Mapping[str, Any]:
    """Return a cluster as plain data, which the engine reads; see inputs/cluster.hpp of the engine."""
    found, reached, nics = cluster.accelerator, cluster.accelerator.efficiency, cluster.nics
    keys = ("matrix", "matrix_8bit", "attention", "memory", "links", "launch_us")
    tier_keys = ("name", "npus", "bandwidth_gbps", "latency_us", "in_switch_efficiency")
    return {
        "name": cluster.name,
        "tensor_algorithm": cluster.algorithms.tp,
        "data_algorithm": cluster.algorithms.dp,
        "accelerator": {
            "name": found.name,
            "peak_tflops": dict(found.peak_tflops),
            "memory_bandwidth_gbps": found.memory_bandwidth_gbps,
            "host_bandwidth_gbps": found.host_bandwidth_gbps,
            "board_power_w": found.board_power_w,
            **{key: getattr(reached, key) for key in keys},
            "matrix_4bit": reached.four_bit,
        },
        "tiers": [{key: getattr(tier, key) for key in tier_keys} for tier in cluster.tiers],
        "nics": nics and {key: getattr(nics, key) for key in ("tier", "npus_each", "bandwidth_gbps")},
    }

"""Figures of a log and the columns of its job, joined to a row of a table of measured steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dse.base.errors import InputError
from dse.base.files import csv_text
from dse.inputs.models import ModelSpec
from dse.prediction.frameworks.logs.figures import LogFigures, Spread
from dse.prediction.measured.rows import COLUMNS, REQUIRED, MeasuredRow

NEEDED = (*(name for name in REQUIRED if name not in ("id", "iter_s")), "tp", "pp")
"""The columns that a job must tell; `gbs` only where its log does not."""

_TOLERANCE = 0.05


def model_columns(model: ModelSpec) -> dict[str, Any]:
    """Return the columns that a model tells; the length of sequences and the batch are those of a run."""
    experts = model.experts
    columns: dict[str, Any] = {
        "model": model.name,
        "layers": model.num_layers,
        "hidden": model.d_model,
        "heads": model.num_heads,
        "kv_heads": model.num_kv_heads or model.num_heads,
        "head_dim": model.head_dim,
        "ffn": model.d_ff,
        "gated": model.gated_mlp,
        "vocab": model.output_dim,
        "tied_embeddings": model.tied_embeddings,
        "mtp_layers": model.prediction_layers or None,
        "mla": True if model.latent_attention else None,
    }
    if experts is not None:
        columns |= {
            "experts": experts.count,
            "topk": experts.top_k,
            "moe_ffn": experts.d_ff,
            "shared_experts": experts.shared,
            "first_dense_layers": experts.dense_layers,
        }
    return {name: value for name, value in columns.items() if value is not None}


def measured_row(log: LogFigures, job_columns: Mapping[str, Any]) -> MeasuredRow:
    """Return the row of a log; `job_columns` are the other columns, by name, of the types of `MeasuredRow`.

    The id is the name of the file where none is given, the source the framework. Data parallelism and
    micro-batches follow from the other degrees where they are not given.

    Raises:
        InputError: a column that is needed is missing, or contradicts another one or the log. Names it.
    """
    columns = {name: value for name, value in job_columns.items() if value is not None}
    where = str(log.path)
    if log.batch is not None and columns.setdefault("gbs", log.batch) != log.batch:
        raise InputError(f"{where}: gbs is {columns['gbs']}, but the log says {log.batch} sequences a step")
    if missing := [name for name in NEEDED if columns.get(name) is None]:
        raise InputError(
            f"{where}: {', '.join(missing)} missing: give {', '.join(f'{name}=…' for name in missing)}"
            + (" or model=…" if {"layers", "hidden", "heads"} & set(missing) else "")
        )
    columns.setdefault("id", log.path.stem)
    columns.setdefault("source", log.framework)
    _complete(columns, where)
    tokens = columns["gbs"] * columns["seq"] / columns["gpus"]
    seconds = _seconds(log, columns, tokens, where)
    columns["iter_s"] = seconds.median
    columns["iter_s_provenance"] = (
        f"log of {log.framework}: median of {log.steps} after {log.left_out}, "
        f"{seconds.low:.4g} to {seconds.high:.4g} s"
    )
    columns["measured_tokens_s_gpu"] = tokens / seconds.median
    columns["measured_tflops_per_gpu"] = log.tflops_gpu.median if log.tflops_gpu else None
    columns["measured_memory_gib"] = log.memory_gib
    return MeasuredRow(**columns)


def rows_csv(rows: Iterable[MeasuredRow]) -> str:
    """Return rows as a table that `read_rows` reads; columns that no row has are left out."""
    listed = list(rows)
    names = [name for name in COLUMNS if name in REQUIRED or any(_cell(row, name) != "" for row in listed)]
    return csv_text(names, ([_cell(row, name) for name in names] for row in listed))


def _cell(row: MeasuredRow, name: str) -> object:
    value = getattr(row, name)
    return "" if value is None else int(value) if isinstance(value, bool) else value


def _complete(columns: dict[str, Any], where: str) -> None:
    """Add data parallelism and micro-batches, or check them."""
    gpus, batch = columns["gpus"], columns["gbs"]
    others = columns["tp"] * columns["pp"] * columns.get("cp", 1)
    product = f"tp x pp x cp = {others}"
    if gpus % others:
        raise InputError(f"{where}: gpus is {gpus}, no multiple of {product}")
    if columns.setdefault("dp", gpus // others) != gpus // others:
        raise InputError(
            f"{where}: dp is {columns['dp']}, but gpus {gpus} over {product} is {gpus // others}"
        )
    if "mbs" in columns:
        of_pass = columns["mbs"] * columns["dp"]
        if batch % of_pass:
            raise InputError(f"{where}: gbs is {batch}, no multiple of mbs x dp = {of_pass}")
        columns.setdefault("microbatches", batch // of_pass)


def _seconds(log: LogFigures, columns: Mapping[str, Any], tokens: float, where: str) -> Spread:
    """The time of a step; `tokens` are those of a GPU."""
    if log.seconds is not None:
        counted = log.tokens_s_gpu.median * log.seconds.median if log.tokens_s_gpu else tokens
        if abs(counted / tokens - 1) > _TOLERANCE:
            raise InputError(
                f"{where}: gbs x seq / gpus is {tokens:.0f} tokens of a GPU in a step, but the log counts "
                f"{counted:.0f}; check gbs={columns['gbs']}, seq={columns['seq']} and gpus={columns['gpus']}"
            )
        return log.seconds
    if log.samples_s is not None:
        return _inverse(columns["gbs"], log.samples_s)
    assert log.tokens_s_gpu is not None  # a log without any of the three is refused
    return _inverse(tokens, log.tokens_s_gpu)


def _inverse(work: float, rate: Spread) -> Spread:
    return Spread(work / rate.median, work / rate.high, work / rate.low)

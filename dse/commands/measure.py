"""`dse measure LOG ... [KEY=VALUE ...]`: step times, tokens/s and memory of training logs, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.base.command_lines import MANY, Arguments, CommandLine
from dse.base.errors import InputError, excerpt
from dse.base.settings.values import Values, assignments, entries, file, whole
from dse.base.texts import counted, printable
from dse.commands.cli import JSON, print_json, print_notes, reading

if TYPE_CHECKING:
    from dse.prediction.frameworks.logs.figures import LogFigures, Spread
    from dse.prediction.measured.rows import MeasuredRow

JOB = {
    "model": "a model of conf/model, a YAML file like those or a config.json; it tells the shape",
    "layers": "layers",
    "hidden": "width",
    "heads": "attention heads",
    "kv_heads": "heads of keys and values",
    "head_dim": "width of a head",
    "ffn": "width of the feed-forward block",
    "gated": "whether that has a gate, 0 or 1",
    "vocab": "entries of the vocabulary",
    "tied_embeddings": "0 or 1",
    "experts": "experts of a layer",
    "topk": "experts of a token",
    "moe_ffn": "width of an expert",
    "gpu": "the accelerator, a name or alias of conf/accelerator",
    "gpus": "how many",
    "gpus_per_node": "GPUs of a node",
    "seq": "tokens of a sequence",
    "gbs": "sequences of a step, where the log does not say them",
    "mbs": "sequences of a micro-batch",
    "tp": "tensor parallelism",
    "pp": "pipeline stages",
    "dp": "data parallelism (default: what is left of gpus)",
    "cp": "context parallelism",
    "ep": "expert parallelism",
    "expert_tp": "tensor parallelism of experts",
    "zero": "0 to 3",
    "shard_ranks": "GPUs that share a copy of the weights under zero=3",
    "context": "ring, ulysses or gather",
    "schedule": "1f1b, interleaved-1f1b, gpipe, zb-h1, zb-v, v-half, v-min",
    "vp": "model chunks of a stage",
    "pipeline_layout": "layers of each part, as Et*3|(t*4|)*14tL",
    "recompute": "none, selective or full",
    "recompute_modules": "modules of selective recomputation, joined by +",
    "recompute_num_layers": "layers of a stage that are recomputed",
    "sp": "sequence parallelism, 0 or 1",
    "attention": "flash or unfused",
    "precision": "bf16, fp16, fp8 ...",
    "optimizer": "the optimizer",
    "offload": "none, optimizer or activations",
    "tp_comm_overlap": "whether tensor-parallel collectives hide, 0 or 1",
    "dispatcher": "of tokens to experts",
    "cuda_graph": "what CUDA graphs capture",
    "task": "pretrain, sft or lora",
    "hardware": "the cluster in words, such as 4x HDR",
    "nic_gbit_per_gpu": "the network of a GPU",
    "notes": "words such as compile or no overlap",
    "source": "by which errors are listed (default: the framework)",
}

_FREE = ("source", "notes")
_COUNTS = {"batch": "gbs", "micro_batch": "mbs", "seq": "seq"}

COMMAND = CommandLine(
    "measure",
    "Read what logs of Megatron-LM, Megatron Bridge, NeMo, torchtitan, DeepSpeed, MaxText, nanotron, LLM "
    "Foundry and the Trainer tell of their steps: the median over all but the first ones. With the job's "
    "columns a log becomes a row for dse accuracy and dse calibrate.",
    words={"LOG": "logs of runs of one job"},
    least=1,
    most=MANY,
    keys={
        "keys": {
            "out": "write the rows to this CSV file (docs/accuracy.md)",
            "framework": "whose logs they are, such as torchtitan (default: by their lines)",
            "config": "the configuration of the job, a file as dse check reads it, or [FILE,OVERRIDE,...]; "
            "it tells most columns",
            "set": "values of variables that a script takes from its surroundings: set=A=1,B=2",
        },
        "columns of the job": JOB,
    },
    options=JSON,
    example="gpus=64",
)


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Print the figures of logs and write their rows; return the exit code.

    Raises:
        InputError: a log cannot be read or tells no step, or a column is wrong or missing.
    """
    from dse.base.files import check_output, write_output
    from dse.prediction.frameworks.logs.figures import read_log
    from dse.prediction.frameworks.logs.rows import rows_csv

    values, out = arguments.values, file(arguments.values, "out")
    if out is not None:
        check_output(out, "out")
    columns = _columns(values)
    logs = [read_log(Path(word), values.get("framework", "")) for word in arguments.words]
    rows = _rows(logs, columns) if columns or out is not None else [None] * len(logs)
    print_notes(note for log in logs for note in log.notes)
    if "--json" in arguments.options:
        print_json([_plain(log, row) for log, row in zip(logs, rows, strict=True)])
    else:
        for log, row in zip(logs, rows, strict=True):
            print(printable(_text(log, row)))
    if out is not None:
        write_output(out, rows_csv([row for row in rows if row is not None]).encode(), "out")
    return 0


def _columns(values: Values) -> dict[str, Any]:
    """The columns of the job: those of its configuration or model, then those that are given.

    Raises:
        InputError: a given column says something else than the configuration.
    """
    from dse.prediction.frameworks.logs.rows import model_columns
    from dse.prediction.measured.rows import cell_value

    found: dict[str, Any] = {}
    if "config" in values:
        found = _configured(values)
    elif "set" in values:
        raise InputError("set is for variables of config=…; give both")
    elif "model" in values:
        from dse.prediction.frameworks.models import model_from, model_values

        found = model_columns(model_from(model_values(values["model"])))
    given = {name: cell_value(name, name, values[name]) for name in JOB if name in values and name != "model"}
    for name, value in given.items():
        if "config" in values and name not in _FREE and found.get(name, value) != value:
            raise InputError(
                f"{name} is {excerpt(value)}, but the configuration says {excerpt(found[name])}: "
                f"leave {name} out, or change the configuration"
            )
    return found | given


def _configured(values: Values) -> dict[str, Any]:
    """The columns of the job of a configuration, which given ones may complete."""
    from dse.prediction.frameworks.jobs import read_job
    from dse.prediction.frameworks.logs.jobs import job_columns
    from dse.prediction.frameworks.reading import read_document

    document = read_document(entries("config", values["config"]), "", assignments(values, "set"))
    npus = whole(values, "gpus", None, least=1) if document.npus is None else document.npus
    counts = {key: whole(values, name, None, least=1) for key, name in _COUNTS.items()}
    reading = read_job(replace(document, npus=npus), values.get("model", ""), **counts)
    if reading.job is None:
        raise InputError(f"{document.where}: says no whole job: {reading.no_job}")
    print_notes(f"{document.where}: assumed {one}" for one in reading.assumed)
    return job_columns(reading.job)


def _rows(logs: Sequence[LogFigures], columns: dict[str, Any]) -> list[MeasuredRow | None]:
    """A row for each log, with ids that differ."""
    from dse.prediction.frameworks.logs.rows import measured_row

    stems = [log.path.stem for log in logs]
    return [
        measured_row(log, {**columns, "id": stem if stems.count(stem) == 1 else str(log.path)})
        for log, stem in zip(logs, stems, strict=True)
    ]


def _text(log: LogFigures, row: MeasuredRow | None) -> str:
    parts = [f"{log.path}: {log.framework}, {counted(log.steps, 'step')}"]
    if row is not None and log.seconds is None:
        parts.append(f"{row.iter_s:,.5g} s a step")
    if row is not None and log.tokens_s_gpu is None:
        parts.append(f"{row.measured_tokens_s_gpu:,.5g} tokens/s/GPU")
    parts += [
        f"{_spread(spread)} {unit}"
        for spread, unit in (
            (log.seconds, "s a step"),
            (log.tokens_s_gpu, "tokens/s/GPU"),
            (log.samples_s, "sequences/s"),
            (log.tflops_gpu, "TFLOP/s/GPU"),
        )
        if spread is not None
    ]
    if log.memory_gib is not None:
        parts.append(f"{log.memory_gib:.4g} GiB at most")
    return "; ".join(parts)


def _spread(spread: Spread) -> str:
    return f"{spread.median:,.5g} ({spread.low:,.5g} to {spread.high:,.5g})"


def _plain(log: LogFigures, row: MeasuredRow | None) -> dict[str, Any]:
    figures = asdict(log) | {"path": str(log.path)}
    for name in ("seconds", "tokens_s_gpu", "samples_s", "tflops_gpu"):
        spread = getattr(log, name)
        figures[name] = None if spread is None else spread._asdict()
    figures["row"] = None if row is None else {name: value for name, value in asdict(row).items() if value}
    return figures

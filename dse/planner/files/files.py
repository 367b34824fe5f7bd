"""Plans in files: JSON, YAML, CSV, Parquet, a page, or a folder with all of them; and read again."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.base.errors import InputError
from dse.base.files import check_output, csv_text, read_bytes, write_files, write_output
from dse.base.lazy import pa, pq, yaml
from dse.base.plain_data import load_json_object
from dse.base.record_files import yaml_values
from dse.planner.files.records import VERSION

SUFFIXES = (".json", ".yaml", ".csv", ".parquet", ".html")
_FOLDER = ("plan.json", "plan.yaml", "plan.csv", "plan.parquet", "index.html")
_WIDTH = 110
PARTS = (
    *("planner", "cost_model", "best", "bound_ms", "gap", "optimal", "ranking", "infeasible", "provenance"),
    *("plan", "problem"),
)
STAGE_COLUMNS = {
    "stage": "number of the stage, from 0",
    "first_rank": "the first of its consecutive ranks",
    "gpus": "GPUs of the stage",
    "types": "GPUs by type, as JSON",
    "hosts": "GPUs by host, in rank order, as JSON",
    "dp": "data-parallel replicas",
    "tp": "tensor-parallel degree",
    "way": "how it runs its layers, as axes of sweeps; empty but under cost=step",
    "first_layer": "its first layer, from 0",
    "end_layer": "the layer after its last one",
    "micro_batches": "micro-batches of a step",
    "samples_per_replica": "sequences of a micro-batch on a replica, on average",
    "execution_ms": "forward and backward pass of a micro-batch, ms",
    "link_ms": "sending a micro-batch to the next stage, ms",
    "reduction_ms": "reducing its gradients, ms",
    "update_ms": "its optimizer step, ms",
    "memory_bytes": "runs [bytes, GPUs] of the memory of each GPU, in rank order, as JSON",
    "most_memory_share": "the fullest GPU's share of its capacity",
}


def check_target(path: Path) -> None:
    """Check that -o can be written, before work goes into it.

    Raises:
        InputError: the end of the name is none of `SUFFIXES`, its folder is missing, or a folder is a file.
    """
    if path.suffix in SUFFIXES:
        check_output(path, "-o")
    elif path.suffix and not path.is_dir():
        raise InputError(f"-o is '{path}'; it must end in {', '.join(SUFFIXES)}, or be a folder")
    elif path.exists() and not path.is_dir():
        raise InputError(f"-o is '{path}', which is a file; name a folder, or a file with its ending")


def write_document(path: Path, data: Mapping[str, Any]) -> list[Path]:
    """Write a document in the form that the name's end says, or all forms into a folder; return the files.

    Raises:
        InputError: it cannot be written.
    """
    if path.suffix in SUFFIXES:
        write_output(path, _content(path.suffix, data), "-o")
        return [path]
    return write_files(path, ((name, _content(Path(name).suffix, data)) for name in _FOLDER))


def read_document(path: Path) -> dict[str, Any]:
    """Return the document in a JSON, YAML or Parquet file, or that of a folder.

    Raises:
        InputError: the file cannot be read, is cut short, or is no plan.
    """
    if path.is_dir():
        path = path / "plan.json"
    if path.suffix == ".yaml":
        data = yaml_values(path, "plan")
    elif path.suffix == ".parquet":
        data = _from_parquet(path)
    elif path.suffix in (".csv", ".html"):
        raise InputError(
            f"{path}: holds no plan that can be read again; name a .json, .yaml or .parquet file, or a "
            "folder of -o"
        )
    else:
        data = load_json_object(path)
    if "version" not in data or "problem" not in data:
        raise InputError(f"{path}: is no plan; dse plan … -o FILE.json writes one")
    if data["version"] != VERSION:
        raise InputError(f"{path}: is of version {data['version']}; this release reads version {VERSION}")
    return data


def read_plan(path: Path) -> dict[str, Any]:
    """Return a document whose parts are all there; `dse plan check` says whether they are right.

    Raises:
        InputError: as `read_document`; a part is missing.
    """
    data = read_document(path)
    for part in PARTS:
        if part not in data:
            raise InputError(
                f"{path}: has no {part}; the file is cut short; dse plan … -o FILE.json writes one"
            )
    return data


def json_text(data: Mapping[str, Any]) -> str:
    """Return indented JSON; groups and lists that are short stay on one line."""
    return _indented(data, "")


def _indented(value: Any, margin: str) -> str:
    text = json.dumps(value, allow_nan=False)
    if len(margin) + len(text) <= _WIDTH or not isinstance(value, Mapping | list | tuple):
        return text
    inner = f"{margin}  "
    if isinstance(value, Mapping):
        entries = [f"{json.dumps(name)}: {_indented(entry, inner)}" for name, entry in value.items()]
        opening, closing = "{", "}"
    else:
        entries = [_indented(entry, inner) for entry in value]
        opening, closing = "[", "]"
    return opening + ",".join(f"\n{inner}{entry}" for entry in entries) + f"\n{margin}{closing}"


def yaml_text(data: Mapping[str, Any]) -> str:
    """Return YAML; numbers are those of the JSON."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    plain = _encoded(json.dumps(data, ensure_ascii=False)).decode()
    return yaml.dump(json.loads(plain), Dumper=dumper, sort_keys=False, width=110, allow_unicode=True)


def stages_csv(data: Mapping[str, Any]) -> str:
    """Return a row per stage of the best plan."""
    return csv_text(list(STAGE_COLUMNS), [list(row.values()) for row in stage_rows(data)])


def entries_csv(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return a row per entry; groups and lists are JSON."""
    header = list(dict.fromkeys(name for entry in entries for name in entry))
    rows = [[_flat(entry.get(name)) for name in header] for entry in entries]
    return csv_text(header, rows)


def _flat(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value


def stage_rows(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return flat rows of the stages of the best plan, with the columns `STAGE_COLUMNS`."""
    rows = []
    for entry in (data["best"] or {}).get("stages", ()):
        shares = [own["bytes"] / own["capacity_bytes"] for own in entry["memory"].values()]
        own = {
            "way": "",
            **entry,
            "types": json.dumps(entry["types"]),
            "hosts": json.dumps(entry["hosts"]),
            "first_layer": entry["layers"][0],
            "end_layer": entry["layers"][1],
            "memory_bytes": json.dumps(entry["memory_bytes"]),
            "most_memory_share": max(shares, default=None),
        }
        rows.append({name: own[name] for name in STAGE_COLUMNS})
    return rows


def _content(suffix: str, data: Mapping[str, Any]) -> bytes:
    if suffix == ".json":
        return (json_text(data) + "\n").encode()
    if suffix == ".yaml":
        return _encoded(yaml_text(data))
    if suffix == ".csv":
        return _encoded(stages_csv(data))
    if suffix == ".parquet":
        return _parquet(data)
    from dse.planner.page import render_page

    return _encoded(render_page(data))


def _encoded(text: str) -> bytes:
    """Return UTF-8; names of files that are no text in any encoding have question marks."""
    return text.encode("utf-8", "replace")


def _parquet(data: Mapping[str, Any]) -> bytes:
    """A row per stage; the whole document is JSON under the key `plan` of the footer."""
    kinds = {
        **dict.fromkeys(STAGE_COLUMNS, pa.int64()),
        **dict.fromkeys(("types", "hosts", "way", "memory_bytes"), pa.string()),
        **dict.fromkeys([n for n in STAGE_COLUMNS if n.endswith(("_ms", "_share"))], pa.float64()),
        "samples_per_replica": pa.float64(),
    }
    schema = pa.schema(
        [
            pa.field(name, kinds[name], metadata={"description": STAGE_COLUMNS[name]})
            for name in STAGE_COLUMNS
        ],
        {"plan": json.dumps(data, allow_nan=False)},
    )
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(stage_rows(data), schema), buffer)
    return buffer.getvalue()


def _from_parquet(path: Path) -> dict[str, Any]:

    try:
        metadata = pq.read_schema(io.BytesIO(read_bytes(path))).metadata or {}
        data = json.loads(metadata.get(b"plan", b"null"))
    except (pa.ArrowException, OSError, ValueError):
        raise InputError(f"{path}: is no Parquet file, or cut short") from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: is no plan; dse plan … -o FILE.parquet writes one")
    return data

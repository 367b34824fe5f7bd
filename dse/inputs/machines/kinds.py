"""Kinds of files: the key that takes a system, a cluster, a graph of links, or a document of a machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dse.base.errors import InputError
from dse.base.plain_data import read_yaml
from dse.inputs.machines.read import read_machine

YAML = (".yaml", ".yml")
_OF_A_SYSTEM = {"network", "accelerator", "tiers", "npu_types", "peak_tflops", "defaults"}
_KEYS = {"system": "system", "cluster": "cluster", "graph": "topology"}
_VERBS = {"system": "dse sweep, point and synthesize", "cluster": "dse plan", "graph": "dse synthesize"}
_WRITES = {"system": "-o FILE.yaml", "cluster": "as=cluster -o FILE.yaml", "topology": "-o FILE.csv"}


def kind_of(values: Any) -> str:
    """Return system or cluster, which the keys of a YAML file tell; "" for others."""
    if not isinstance(values, dict):
        return ""
    if isinstance(values.get("nodes"), list):
        return "cluster"
    return "system" if values.keys() & _OF_A_SYSTEM else ""


def refuse_other_kind(key: str, path: Path, where: str) -> None:
    """Refuse a file that another key takes; `key` is system, cluster or topology.

    A file that is nothing of these is left to the reader of `key`, which says more.

    Raises:
        InputError: says what the file is, which key takes it, and what `key` takes.
    """
    try:
        kind = "graph" if path.suffix == ".csv" else ""
        if path.suffix in YAML:
            kind = kind_of(read_yaml(path))
        if not kind:
            read_machine(path)
    except InputError:
        return
    if kind and _KEYS[kind] != key:
        raise InputError(
            f"{where}: is a {kind}, which {_KEYS[kind]}= of {_VERBS[kind]} takes; {key}= takes what "
            f"dse system show DOCUMENT {_WRITES[key]} writes"
        )
    if not kind:
        raise InputError(
            f"{where}: is a document of a machine; dse system show {path} {_WRITES[key]} writes what "
            f"{key}= takes"
        )

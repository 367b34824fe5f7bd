"""Slurm's topology.yaml as the lines of a topology.conf, which says the same of one topology."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dse.base.errors import InputError
from dse.base.texts import excerpt

_KINDS = ("tree", "block")


def is_slurm_yaml(data: Any) -> bool:
    """Whether the content of a YAML file is a list of topologies."""
    return (
        isinstance(data, list) and bool(data) and all(isinstance(e, dict) and "topology" in e for e in data)
    )


def conf_lines(topologies: list[dict[str, Any]], where: str) -> tuple[str, tuple[str, ...]]:
    """Return the lines of the topology that holds by default, and notes on others.

    Raises:
        InputError: no topology has switches or blocks; names the place of a malformed entry.
    """
    drawn = [each for each in topologies if any(kind in each for kind in _KINDS)]
    if not drawn:
        raise InputError(f"{where}: has no topology with a tree or a block, which say where nodes are")
    chosen = next((each for each in drawn if each.get("cluster_default") is True), drawn[0])
    name = excerpt(chosen["topology"])
    others = [excerpt(each["topology"]) for each in topologies if each is not chosen]
    notes = [f"topology {name} is read, not {', '.join(others)}"] if others else []
    kind = next(kind for kind in _KINDS if kind in chosen)
    place = f"{where}: {kind} of topology {name}"
    return "\n".join(_lines(chosen[kind], kind, place)), tuple(notes)


def _lines(data: Any, kind: str, place: str) -> Iterator[str]:
    if not isinstance(data, Mapping):
        raise InputError(f"{place} is {excerpt(data)}; it must hold switches or blocks")
    entry, keys = ("switch", ("children", "nodes")) if kind == "tree" else ("block", ("nodes",))
    entries = data.get("switches" if kind == "tree" else "blocks")
    for each in entries if isinstance(entries, list) else [entries]:
        if not isinstance(each, Mapping) or entry not in each:
            raise InputError(f"{place} has {excerpt(each)}; it must be {entry} with {' or '.join(keys)}")
        names = {"switch": "SwitchName", "block": "BlockName", "children": "Switches", "nodes": "Nodes"}
        words = [f"{names[key]}={_text(each[key])}" for key in (entry, *keys) if each.get(key) is not None]
        yield " ".join(words)
    if sizes := data.get("block_sizes"):
        yield f"BlockSizes={_text(sizes)}"


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else "".join(str(value).split())

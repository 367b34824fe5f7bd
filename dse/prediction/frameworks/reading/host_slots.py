"""Slots in the host files of DeepSpeed and of MPI: how many accelerators their launchers start."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dse.base.errors import InputError
from dse.prediction.frameworks.reading.files import Folder, text_of
from dse.prediction.frameworks.reading.launcher_counts import (
    HOST_FILES,
    PLACED,
    PROCESSES,
    Options,
    allotment,
    count_of,
    included,
)

_LINE = re.compile(
    r"([\w.-]+)(?:[ \t]+slots[ \t]*=[ \t]*|:)([1-9][0-9]{0,4})(?:[ \t]+max[-_]slots[ \t]*=.*)?", re.ASCII
)
_MOST_HOSTS = 100_000


def hosted_npus(options: Mapping[str, Options], folder: Folder) -> int | None:
    """Return how many accelerators a launcher starts on the hosts of its file; None where that is not known.

    Args:
        options: those of the launchers, by launcher and name.
        folder: where the file is looked for.
    """
    kind = next((name for name in HOST_FILES if name in options), "")
    own = options.get(kind, {})
    file = next((own[name] for name in HOST_FILES.get(kind, ()) if name in own), "")
    if not file or "\0" in file or len(options) > 1:
        return None
    slots = _slots(file, folder)
    if not slots:
        return None
    return _of_mpi(own, slots) if kind == "mpirun" else _of_deepspeed(own, slots)


def _of_mpi(own: Options, slots: Mapping[str, int]) -> int | None:
    """The processes of mpirun; an option that is there counts for more than slots, and may be open."""
    if own.keys() & {*PROCESSES}:
        return count_of(own, PROCESSES)
    told = allotment("mpirun", own)
    if own.keys() & {*PLACED}:
        return told.per_node * len(slots) if told.per_node and not told.nodes else None
    return sum(slots.values())


def _of_deepspeed(own: Options, slots: Mapping[str, int]) -> int | None:
    """The processes of deepspeed on all hosts, on those that it includes, or on the first of them."""
    if "--exclude" in own or "-e" in own:
        return None
    if listed := own.get("--include", own.get("-i", "")):
        counts = [included(host) if ":" in host else slots.get(host) for host in listed.split("@")]
        return sum(count or 0 for count in counts) if all(counts) else None
    nodes, each = count_of(own, ("--num-nodes",)), count_of(own, ("--num-gpus",))
    if ("--num-nodes" in own and not nodes) or ("--num-gpus" in own and not each):
        return None
    chosen = list(slots.values())[:nodes]
    return each * len(chosen) if each else sum(chosen)


def _slots(file: str, folder: Folder) -> dict[str, int]:
    """The slots of each host; none where a line says something else."""
    path = folder.find(file)
    if not folder.has(path):
        return {}
    try:
        text = folder.text(path)
        lines = (text_of(path) if text is None else text).split("\n")[:_MOST_HOSTS]
    except InputError:  # the number is asked for
        return {}
    found: dict[str, int] = {}
    for line in filter(None, (line.partition("#")[0].strip() for line in lines)):
        host = _LINE.fullmatch(line)
        if host is None or host[1] in found:
            return {}
        found[host[1]] = int(host[2])
    return found

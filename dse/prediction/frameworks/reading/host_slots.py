"""Slots in the host files of DeepSpeed and of MPI: how many accelerators their launchers start."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dse.base.errors import InputError
from dse.prediction.frameworks.reading.files import Folder, text_of
from dse.prediction.frameworks.reading.launcher_counts import Options, allotment, count_of

_LINE = re.compile(
    r"([\w.-]+)(?:[ \t]+slots[ \t]*=[ \t]*|:)([1-9][0-9]{0,4})(?:[ \t]+max[-_]slots[ \t]*=.*)?", re.ASCII
)
_FILES: Mapping[str, tuple[str, ...]] = {
    "deepspeed": ("--hostfile", "-H"),
    "mpirun": ("--hostfile", "-hostfile", "--machinefile", "-machinefile", "-f"),
}
_MOST_HOSTS = 100_000


def hosted_npus(options: Mapping[str, Options], folder: Folder) -> int | None:
    """Return how many accelerators a launcher starts on the hosts of its file; None where that is not known.

    Args:
        options: those of the launchers, by launcher and name.
        folder: where the file is looked for.
    """
    kind = next((name for name in _FILES if name in options), "")
    own = options.get(kind, {})
    file = next((own[name] for name in _FILES.get(kind, ()) if name in own), "")
    if not file or "\0" in file or len(options) > 1:
        return None
    slots = _slots(file, folder)
    if not slots:
        return None
    if kind == "mpirun":
        told = allotment(kind, own)
        each = told.per_node
        return None if told.nodes else each * len(slots) if each else sum(slots.values())
    if "--exclude" in own or "-e" in own:
        return None
    if included := own.get("--include", own.get("-i", "")):
        hosts = [host.partition(":") for host in included.split("@")]
        counts = [len({*some.split(",")}) if some else slots.get(host) for host, _, some in hosts]
        return sum(count or 0 for count in counts) if all(counts) else None
    nodes, each = count_of(own, ("--num-nodes",)), count_of(own, ("--num-gpus",))
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

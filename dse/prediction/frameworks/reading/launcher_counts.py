"""How many accelerators launchers say: those of schedulers and MPI, and those of frameworks within."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from dse.prediction.frameworks.reading.shell_slurm import gpus_per_node
from dse.prediction.frameworks.reading.values import missing_in

_COUNTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "torchrun": (("--nnodes",), ("--nproc-per-node",)),
    "deepspeed": (("--num-nodes",), ("--num-gpus",)),
}
PROCESSES = ("-np", "-n", "-c", "--np", "--n")
_PER_NODE = ("-N", "-npernode", "--npernode", "-ppn", "--ppn", "-perhost", "--perhost")
_MAPPED, _MPI_HOSTS = ("--map-by", "-map-by"), ("-H", "-host", "--host", "-hosts", "--hosts")
PLACED = (*_PER_NODE, *_MPI_HOSTS, *_MAPPED)
"""Options of mpirun with which slots alone do not say how many processes there are."""
_PER_RESOURCE = re.compile(r"ppr:([1-9][0-9]{0,3}):node(?::.*)?", re.ASCII | re.IGNORECASE)

HOST_FILES: Mapping[str, tuple[str, ...]] = {
    "deepspeed": ("--hostfile", "-H"),
    "mpirun": ("--hostfile", "-hostfile", "--machinefile", "-machinefile", "-f"),
}
"""Options that name a file of hosts."""
_FILTERS = {"--include", "-i", "--exclude", "-e"}
Options = Mapping[str, str]


class Allotment(NamedTuple):
    """Nodes, accelerators of each, and all accelerators, as far as the words of a launcher say."""

    nodes: int | None = None
    per_node: int | None = None
    total: int | None = None


def _of_srun(own: Options) -> Allotment:
    """Its tasks say no total here: each of them may have several GPUs."""
    return Allotment(
        count_of(own, ("-N", "--nodes")), count_of(own, ("--gpus-per-node", "--ntasks-per-node"))
    )


def _of_jsrun(own: Options) -> Allotment:
    """-n resource sets, -r of them on a host, each with -g GPUs, or with -a tasks where it has none."""
    sets, on_host = count_of(own, ("-n", "--nrs")), count_of(own, ("-r", "--rs-per-host"))
    each = count_of(own, ("-g", "--gpu-per-rs")) or count_of(own, ("-a", "--tasks-per-rs")) or 1
    nodes = sets // on_host if sets and on_host and sets % on_host == 0 else None
    total = _product(sets, each) if sets else count_of(own, ("-p", "--np"))
    return Allotment(nodes, _product(on_host, each), total)


def _of_flux(own: Options) -> Allotment:
    """-n tasks (one a node where only -N is given), each with -g GPUs or none of its own."""
    nodes = count_of(own, ("-N", "--nodes"))
    per_node = count_of(own, ("--gpus-per-node",)) or count_of(own, ("--tasks-per-node",))
    if per_node:
        return Allotment(nodes, per_node, _product(nodes, per_node))
    tasks = count_of(own, ("-n", "--ntasks")) if "-n" in own or "--ntasks" in own else nodes or 1
    total = _product(tasks, count_of(own, ("-g", "--gpus-per-task")) or 1)
    return Allotment(nodes, total // nodes if nodes and total and total % nodes == 0 else None, total)


def _of_aprun(own: Options) -> Allotment:
    """-n processes (one by default; -B takes those of the batch job), -N of them on a node."""
    total = count_of(own, ("-n", "--pes")) if "-n" in own or "--pes" in own or "-B" in own else 1
    on_node = count_of(own, ("-N", "--pes-per-node"))
    return Allotment(total // on_node if total and on_node and total % on_node == 0 else None, on_node, total)


def _of_ibrun(own: Options) -> Allotment:
    return Allotment(total=count_of(own, PROCESSES))


def _of_mpi(own: Options) -> Allotment:
    """-np processes; or so many a node, of the hosts that -H lists; or the slots of these hosts."""
    hosts = next((own[name].split(",") for name in _MPI_HOSTS if name in own), [])
    slots = [_whole(host.partition(":")[2]) for host in hosts]
    mapped = _PER_RESOURCE.fullmatch(next((own[name] for name in _MAPPED if name in own), ""))
    per_node = count_of(own, _PER_NODE) or (int(mapped[1]) if mapped else None)
    total = count_of(own, PROCESSES)
    if total is None and hosts and not own.keys() & {*PROCESSES, *_PER_NODE, *_MAPPED}:
        total = sum(slot or 0 for slot in slots) if all(slots) else None
    names = {host.partition(":")[0] for host in hosts}
    return Allotment(len(names) or None, per_node, total)


_ALLOTMENTS: Mapping[str, Callable[[Options], Allotment]] = {
    "srun": _of_srun,
    "jsrun": _of_jsrun,
    "flux": _of_flux,
    "aprun": _of_aprun,
    "ibrun": _of_ibrun,
    "mpirun": _of_mpi,
}
ALLOTTING = tuple(_ALLOTMENTS)
"""Launchers that start any command, on what a scheduler or MPI gives it."""


def allotment(launcher: str, options: Options) -> Allotment:
    """Return what the words of a launcher say; `launcher` is one of `ALLOTTING`."""
    return _ALLOTMENTS[launcher](options)


def _product(one: int | None, other: int | None) -> int | None:
    return one * other if one and other else None


def count_of(options: Options, names: Sequence[str]) -> int | None:
    """The number that the first option present gives; None if it is absent, open or a range."""
    for name in names:
        if name in options:
            text = options[name].rpartition(":")[2] if name.startswith("--gpus") else options[name]
            low, _, high = text.partition(":")
            return _whole(text if not high else low if low == high else "")
    return None


def _whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[1-9][0-9]{0,6}", text, re.ASCII) else None


def _torchrun_variables(environment: Options) -> dict[str, str]:
    """The options that variables give to torchrun: PET_NNODES is --nnodes."""
    names = [name for side in _COUNTS["torchrun"] for name in side]
    variables = {name: "PET" + name[1:].replace("-", "_").upper() for name in names}
    return {name: environment[known] for name, known in variables.items() if known in environment}


def launched_npus(
    options: Mapping[str, Options], environment: Options, slurm: Mapping[str, int]
) -> int | None:
    """Return how many accelerators a command line has; None where nothing says it.

    Args:
        options: those of its launchers, from the outermost on.
        environment: its variables.
        slurm: counts that a script asks for, as `slurm_counts` returns them.
    """
    kind = next((name for name in reversed([*options]) if name not in ALLOTTING), "")
    if kind == "accelerate":
        return count_of(options[kind], ("--num-processes",))
    found = {name: _ALLOTMENTS[name](own) for name, own in options.items() if name in ALLOTTING}
    nodes = next((one.nodes for one in found.values() if one.nodes), None) or slurm.get("nodes")
    of_node = gpus_per_node(slurm) if kind in _COUNTS else slurm.get("gpus-per-node")
    own_each = next((one.per_node for one in found.values() if one.per_node), None)
    per_node = own_each or of_node or slurm.get("ntasks-per-node")
    if kind in _COUNTS:
        return _of_framework(kind, options[kind], environment, nodes, per_node)
    nearest = next(reversed([*found]), "srun")
    if nearest == "mpirun":
        return found[nearest].total or _of_slots(options[nearest], environment, slurm, nodes)
    own = options.get("srun", {})
    total = count_of(own, ("-n", "--ntasks", "-G", "--gpus")) or slurm.get("gpus") or slurm.get("ntasks")
    said = found[nearest].total if nearest in found else None
    number = _whole(environment.get("NGPU") or environment.get("WORLD_SIZE") or "")
    return said or _product(nodes, per_node) or total or number


def _of_slots(own: Options, environment: Options, slurm: Mapping[str, int], nodes: int | None) -> int | None:
    """The processes of mpirun without a number: so many a node, or one on each slot that it is given."""
    if own.keys() & {*PROCESSES, *PLACED}:
        return None if own.keys() & {*PROCESSES} else _product(nodes, _of_mpi(own).per_node)
    tasks = slurm.get("ntasks") or _product(nodes, slurm.get("ntasks-per-node"))
    return _whole(environment.get("OMPI_UNIVERSE_SIZE", "")) or tasks


def included(text: str) -> int | None:
    """Return the GPUs of HOST:0,1@HOST:0,1, as deepspeed takes them; None where a host has all of its own.

    Deepspeed refuses a slot that is no number, such as 0-3.
    """
    slots = [host.partition(":")[2].split(",") for host in text.split("@")]
    is_known = all(slot.strip().isdecimal() for host in slots for slot in host)
    return sum(len({*map(int, host)}) for host in slots) if is_known else None


def _visible(environment: Options) -> int | None:
    """The GPUs that a variable leaves a process to see on its node."""
    names = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
    listed = [environment[name].split(",") for name in names if environment.get(name)]
    return len(listed[0]) if listed and all(each.strip().isdecimal() for each in listed[0]) else None


def _of_framework(
    kind: str, options: Options, environment: Options, nodes: int | None, per_node: int | None
) -> int | None:
    """Nodes times processes of each that torchrun or deepspeed starts, on the nodes of what is around it."""
    if kind == "torchrun":
        options = {**_torchrun_variables(environment), **options}
    here, there = _COUNTS[kind]
    is_said = [any(name in options for name in names) for names in (here, there)]
    counts = [count_of(options, here), count_of(options, there)]
    nodes = counts[0] if is_said[0] and counts[0] else 1 if not is_said[0] and kind == "torchrun" else nodes
    has_file = bool(options.keys() & {*HOST_FILES["deepspeed"]})
    if kind == "deepspeed" and not is_said[0] and nodes is None and not has_file:
        nodes = 1
    if kind == "deepspeed" and options.keys() & _FILTERS:
        return included(options.get("--include", options.get("-i", "")))
    # Deepspeed heeds the variable only where neither a host file nor an option chooses GPUs.
    if kind == "torchrun" or not (has_file or is_said[1] or (is_said[0] and nodes != 1)):
        per_node = _visible(environment) or per_node
    is_open = is_said[1] and (options[there[0]] in ("gpu", "auto") or missing_in(options[there[0]]))
    per_node = counts[1] or (per_node if is_open or kind == "deepspeed" else None if is_said[1] else 1)
    return _product(nodes, per_node)

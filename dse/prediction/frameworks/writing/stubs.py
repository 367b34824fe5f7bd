"""The files that start a job with torchrun, Slurm or Kubernetes: text only, nothing is run here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dse.base.errors import InputError
from dse.base.settings.checks import check_choice
from dse.prediction.frameworks.writing.kubernetes import manifest
from dse.prediction.frameworks.writing.ranks import host_file, node_names, node_order
from dse.prediction.frameworks.writing.script import PORT, Program, node_script, rank_script

PLACED_BY = "ranks on the nodes of {}.hosts, neighbours in this order ({})"
"""A comment of scripts whose ranks are placed."""

_MOST_NAME = 40
_SPREAD = (
    "the order of axes spreads the ranks of a node over several ones, which needs a process for each GPU: "
    "write it for slurm"
)


@dataclass(frozen=True)
class Placement:
    """Where ranks run: the slot of each rank (none: as they are numbered), and names of the nodes."""

    slot_of_rank: Sequence[int] = ()
    hosts: Sequence[str] = ()


def launch_files(
    kind: str, program: Program, name: str, placement: Placement | None = None
) -> dict[str, str]:
    """Return the texts of the files that start a program, by their names, the one to start with first.

    `kind` is one of `KINDS`. `name` becomes that of the files and of the job, in small letters, digits and -.

    Raises:
        InputError: the kind is unknown, or has no means for the placement; a name of a host is none.
    """
    check_choice("launcher", kind, tuple(KINDS))
    placement = placement or Placement()
    slots = tuple(placement.slot_of_rank) or tuple(range(program.npus))
    if len(slots) != program.npus:
        raise InputError(f"the placement has {len(slots)} ranks; nodes of GPUs hold {program.npus}")
    node_names(program.nodes, placement.hosts)
    return KINDS[kind](program, job_name(name), Placement(slots, placement.hosts))


def job_name(text: str) -> str:
    """Return a name that files, Slurm and Kubernetes allow."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower())[:_MOST_NAME].strip("-")
    return words or "job"


def _torchrun(program: Program, name: str, placement: Placement) -> dict[str, str]:
    nodes = node_order(placement.slot_of_rank, program.per_node)
    if nodes is None:
        raise InputError(_SPREAD)
    first = placement.hosts[nodes[0]] if placement.hosts else ""
    files = {f"{name}.sh": node_script(program, _title(name, program, placement), first)}
    if program.nodes > 1:  # the n-th line is the host of NODE_RANK=n
        files[f"{name}.hosts"] = _node_lines(nodes, program, placement)
    return files


def _kubernetes(program: Program, name: str, placement: Placement) -> dict[str, str]:
    if placement.hosts or node_order(placement.slot_of_rank, program.per_node) != tuple(range(program.nodes)):
        raise InputError(
            "kubernetes places pods itself, so hosts and orders of axes are lost: write it for slurm"
        )
    return {f"{name}.yaml": manifest(program, name, node_script(program, name))}


def _slurm(program: Program, name: str, placement: Placement) -> dict[str, str]:
    nodes = node_order(placement.slot_of_rank, program.per_node)
    by_rank = nodes is None
    is_placed = by_rank or nodes != tuple(range(program.nodes))
    tasks = program.npus if by_rank else program.nodes
    head = [
        *("#!/bin/bash", f"#SBATCH --job-name={name}", f"#SBATCH --nodes={program.nodes}"),
        f"#SBATCH --ntasks={tasks}",
        f"#SBATCH --ntasks-per-node={tasks // program.nodes}",
        f"#SBATCH --gpus-per-node={program.per_node}",
    ]
    if placement.hosts:
        head.append(f"#SBATCH --nodelist={','.join(placement.hosts)}")
    lines = [*head, "set -euo pipefail", ""]
    if is_placed:
        lines += _host_lines(name, bool(placement.hosts))
    else:
        lines.append('MASTER_ADDR="$(scontrol show hostnames "${SLURM_JOB_NODELIST}" | sed -n 1p)"')
    lines += [f'MASTER_PORT="${{MASTER_PORT:-{PORT}}}"', "export MASTER_ADDR MASTER_PORT", ""]
    options = f"--ntasks={tasks}" + (" --distribution=arbitrary" if is_placed else "")
    lines.append(f"srun {options} bash {name}.sh")
    title = _title(name, program, placement)
    script = rank_script(program, title) if by_rank else node_script(program, title)
    files = {f"{name}.sbatch": "\n".join([*lines, ""]), f"{name}.sh": script}
    if is_placed:
        whole = _node_lines(nodes, program, placement) if nodes is not None else ""
        files[f"{name}.hosts"] = whole or host_file(placement.slot_of_rank, program.per_node, placement.hosts)
    return files


def _title(name: str, program: Program, placement: Placement) -> str:
    """The name of a job and, where ranks do not fill nodes one by one, what `dse check` reads of them."""
    if tuple(placement.slot_of_rank) == tuple(range(program.npus)):
        return name
    return f"{name}, {PLACED_BY.format(name, ' '.join(node_names(program.nodes, placement.hosts)))}"


def _node_lines(nodes: Sequence[int], program: Program, placement: Placement) -> str:
    names = node_names(program.nodes, placement.hosts)
    return "".join(f"{names[node]}\n" for node in nodes)


def _host_lines(name: str, is_named: bool) -> list[str]:
    """Lines that give Slurm a host for each task; placeholders of the file become nodes of the job."""
    if not is_named:
        program = 'NR == FNR { node["NODE" (NR - 1)] = $1; next } { print node[$1] }'
        return [
            f'export SLURM_HOSTFILE="{name}.${{SLURM_JOB_ID}}.hosts"',
            f"""MASTER_ADDR="$(scontrol show hostnames "${{SLURM_JOB_NODELIST}}" | awk '{program}' - """
            f"""{name}.hosts | tee "${{SLURM_HOSTFILE}}" | sed -n 1p)\"""",
        ]
    return [f"export SLURM_HOSTFILE={name}.hosts", 'MASTER_ADDR="$(sed -n 1p "${SLURM_HOSTFILE}")"']


KINDS: dict[str, Callable[[Program, str, Placement], dict[str, str]]] = {
    "torchrun": _torchrun,
    "slurm": _slurm,
    "kubernetes": _kubernetes,
}
"""Launchers by name."""

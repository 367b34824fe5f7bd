"""Lines for Slurm in a shell script, and the variables that they make."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SBATCH = re.compile(r"^#SBATCH[ \t]+(.*)$", re.MULTILINE)
_PARTS = re.compile(r"^#SBATCH[ \t]+(?:het|pack)job\b", re.MULTILINE)
_DIRECTIVE = re.compile(r"--([a-z-]{1,40})[ =]{1,40}(\S{1,200})|-([NnG])[ =]{0,40}(\S{1,200})", re.ASCII)
_SHORT = {"N": "nodes", "n": "ntasks", "G": "gpus"}
_COUNT = re.compile(r"(?:[A-Za-z0-9_.-]+:)*([1-9][0-9]{0,6})", re.ASCII)


def slurm_counts(text: str) -> dict[str, int]:
    """Return what `#SBATCH` lines ask for: nodes, ntasks, ntasks-per-node, gpus, gpus-per-node.

    Parts of a heterogeneous job have counts of their own, so that none is of the whole job.
    """
    found: dict[str, int] = {}
    if _PARTS.search(text):
        return found
    for line in _SBATCH.findall(text):
        for option in _DIRECTIVE.finditer(line):
            name, value = option[1] or _SHORT[option[3]], option[2] or option[4]
            if name == "gres":
                name, value = "gpus-per-node", str(_gpus(value))
            count = _COUNT.fullmatch(value)
            if count and name in ("nodes", "ntasks", "ntasks-per-node", "gpus", "gpus-per-node"):
                found[name] = int(count[1])
    return found


def _gpus(resources: str) -> int:
    """The GPUs in a list of generic resources: of each kind a number, or one."""
    entries = [entry for entry in resources.split(",") if entry.split(":")[0] == "gpu"]
    return sum(int(count[1]) if (count := _COUNT.fullmatch(entry)) else 1 for entry in entries)


def gpus_per_node(counts: Mapping[str, int]) -> int | None:
    """Return how many GPUs a node of a job has; None if its counts do not say it."""
    nodes, gpus = counts.get("nodes", 0), counts.get("gpus", 0)
    return counts.get("gpus-per-node") or (gpus // nodes if nodes and gpus and gpus % nodes == 0 else None)


def slurm_variables(counts: Mapping[str, int]) -> dict[str, str]:
    """Return the variables that Slurm sets in a job with these counts."""
    found = {f"SLURM_{name.upper().replace('-', '_')}": value for name, value in counts.items()}
    if counts:
        found |= {"SLURM_JOB_ID": 1, "SLURM_JOBID": 1}
    if "nodes" in counts:
        found |= {"SLURM_NNODES": counts["nodes"], "SLURM_JOB_NUM_NODES": counts["nodes"]}
        if "ntasks-per-node" in counts:
            found.setdefault("SLURM_NTASKS", counts["nodes"] * counts["ntasks-per-node"])
    if per_node := gpus_per_node(counts):
        found["SLURM_GPUS_ON_NODE"] = per_node
    if "SLURM_NTASKS" in found:
        found["SLURM_NPROCS"] = found["SLURM_NTASKS"]
    return {name: str(value) for name, value in found.items()}

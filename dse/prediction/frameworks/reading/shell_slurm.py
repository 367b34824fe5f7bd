"""Lines for Slurm, LSF and PBS in a shell script, and the variables that those for Slurm make."""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Mapping

_SBATCH = re.compile(r"^#SBATCH[ \t]+(.*)$", re.MULTILINE)
_PARTS = re.compile(r"^#SBATCH[ \t]+(?:het|pack)job\b", re.MULTILINE)
_COMMANDS = re.compile(r"^(?![ \t]*(?:#|\r?$))", re.MULTILINE)
_WORD = re.compile(r"""\#.*|(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""")
"""A word of a line, or the comment that ends it: # within a word begins none."""
_SHORT = {"-N": "nodes", "-n": "ntasks", "-G": "gpus"}
_COUNTED = frozenset({"nodes", "ntasks", "ntasks-per-node", "gpus", "gpus-per-node"})
_NAMES_OF_FLAGS = """
-h --help -H --hold -I --ignore-pbs -k --no-kill -O --overcommit -s --oversubscribe -Q --quiet -v
--verbose -V --version -W --wait --contiguous --exclusive --parsable --requeue --no-requeue --reboot
--spread-job --stepmgr --test-only --usage --use-min-nodes --get-user-env --propagate --nice
"""
_FLAGS = frozenset(_NAMES_OF_FLAGS.split())
_BSUB = re.compile(r"^#BSUB[ \t]+(.*)$", re.MULTILINE)
_OF_LSF: Mapping[str, re.Pattern[str]] = {
    "nodes": re.compile(r"-nnodes[ \t]+([1-9][0-9]{0,6})(?![\w,])", re.ASCII),
    "slots": re.compile(r"-n[ \t]+([1-9][0-9]{0,6})(?![\w,])", re.ASCII),
    "slots-per-node": re.compile(r"\bptile=([1-9][0-9]{0,6})", re.ASCII),
    "gpus-per-node": re.compile(
        r"-gpu[ \t]+[\"']?(?:[^\"'\n]{0,99}:)?num=([1-9][0-9]{0,3})(?![\w/])", re.ASCII
    ),
}
_PBS = re.compile(r"^#PBS[ \t]+-l[ \t]*(\S{1,300})", re.MULTILINE)
_CHUNKS = re.compile(r"(?:^|,)(select|nodes)=([1-9][0-9]{0,6})(?![\w+.-])([^,+]*)(?![^,]*\+)", re.ASCII)
_OF_CHUNK = re.compile(r":(ngpus|gpus|mpiprocs)=([1-9][0-9]{0,3})(?=[:,]|$)", re.ASCII)
_PBS_NAMES = {"ngpus": "gpus-per-node", "gpus": "gpus-per-node", "mpiprocs": "ntasks-per-node"}
_COUNT = re.compile(r"(?:[A-Za-z0-9_.-]+:)*([1-9][0-9]{0,6})", re.ASCII)


def slurm_counts(text: str) -> dict[str, int]:
    """Return what `#SBATCH` lines ask for: nodes, ntasks, ntasks-per-node, gpus, gpus-per-node.

    Slurm heeds the lines before the first command. Parts of a heterogeneous job have counts of their own, so
    that none is of the whole job.
    """
    found: dict[str, int] = {}
    text = _head(text)
    if _PARTS.search(text):
        return found
    for line in _SBATCH.findall(text):
        words = deque(shlex.split(word[0])[0] for word in _WORD.finditer(line) if not word[0].startswith("#"))
        while words and words[0].startswith("-"):
            option, value = take_option(words)
            found = counted(found, option, value or "")
    return found


def take_option(words: deque[str]) -> tuple[str, str | None]:
    """Take an option of sbatch off the words: its name and value; None where that is missing.

    A value stands behind = or in the next word; that of a letter may follow it at once.
    """
    word = words.popleft()
    option, has_value, value = word.partition("=")
    if not word.startswith("--"):  # flags of a letter may stand before it, as in -vN4
        at = next((at for at, letter in enumerate(word) if at and f"-{letter}" not in _FLAGS), 0)
        option, value = (f"-{word[at]}", word[at + 1 :].removeprefix("=")) if at else (word[:2], "")
        has_value = value
    if has_value or option in _FLAGS:
        return option, value
    return option, words.popleft() if words else None


def counted(counts: Mapping[str, int], option: str, value: str) -> dict[str, int]:
    """Return counts with the one that an option of sbatch says; a range or an open value leaves none."""
    name = _SHORT.get(option, option.removeprefix("--"))
    if name == "gres":
        each = _gpus(value)
        return {**counts, "gpus-per-node": each} if each else dict(counts)
    if name not in _COUNTED:
        return dict(counts)
    count = _COUNT.fullmatch(value)
    others = {key: number for key, number in counts.items() if key != name}
    return {**others, name: int(count[1])} if count else others


def _head(text: str) -> str:
    """The lines of a script before its first command."""
    begin = _COMMANDS.search(text)
    return text[: begin.start()] if begin else text


def batch_counts(text: str) -> dict[str, int]:
    """Return the nodes and the GPUs of each for which `#BSUB` or `#PBS` lines ask, by the names of Slurm.

    Slots are cores, so that they tell the nodes only. Chunks of several kinds, joined by +, are not counted.
    """
    found: dict[str, int] = {}
    for line in _BSUB.findall(text):
        found |= {name: int(told[1]) for name, form in _OF_LSF.items() if (told := form.search(line))}
    slots, each = found.pop("slots", 0), found.pop("slots-per-node", 0)
    if slots and each and slots % each == 0:
        found.setdefault("nodes", slots // each)
    for line in _PBS.findall(_head(text)):
        if chunks := _CHUNKS.search(line):
            found |= {"nodes": int(chunks[2])}
            found |= {_PBS_NAMES[name]: int(count) for name, count in _OF_CHUNK.findall(chunks[3])}
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

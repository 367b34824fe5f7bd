"""Launchers before a program on a command line: srun, torchrun, accelerate, deepspeed, mpirun, python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from dse.base.errors import InputError
from dse.base.texts import excerpt
from dse.prediction.frameworks.reading.missing import missing_in, readable
from dse.prediction.frameworks.reading.shell_slurm import gpus_per_node

_LAUNCHER_NAMES = "srun mpirun mpiexec torchrun accelerate deepspeed python bash"
_PREFIXES = frozenset(["command", "env", "exec", "nice", "nohup", "stdbuf", "time"])
_SHELLS = frozenset({"bash", "sh"})
_PYTHON = re.compile(r"python(?:3(?:\.[0-9]+)?)?", re.ASCII)
_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=", re.ASCII)
_TORCHRUN = (
    "torch.distributed.run",
    "torch.distributed.launch",
    "accelerate.commands.launch",
    "deepspeed.launcher.runner",
)
LAUNCHERS = (*sorted(_PREFIXES), *_LAUNCHER_NAMES.split())

_FLAGS = {
    "srun": """-l --label -u --unbuffered -v --verbose -Q --quiet -k --no-kill -O --overcommit -s -K -E -X
        --oversubscribe --overlap --exclusive --exact --kill-on-bad-exit --wait-all-nodes --pty --preserve-env
        --no-container-mount-home --container-writable --container-remap-root --no-container-entrypoint
        --disable-status""",
    "torchrun": "--standalone --no-python --use-env --run-path -m --module",
    "accelerate": """--multi-gpu --use-fsdp --use-deepspeed --use-megatron-lm --use-parallelism-config --cpu
        --tpu --no-python -m --module -q --quiet --same-network --debug --enable-cpu-affinity --use-xpu""",
    "deepspeed": """--force-multi --no-ssh --no-ssh-check --no-local-rank --no-python --module -m
        --bind-cores-to-rank --elastic-training --save-pid --enable-each-rank-log""",
    "mpirun": "--allow-run-as-root --oversubscribe --tag-output -tag-output --report-bindings -v -q",
    "python": "-u -B -O -OO -E -s -S -I -q -b -bb -v",
}
_PAIRS = frozenset({"-mca", "--mca", "-gmca", "--gmca"})
_COUNTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "torchrun": (("--nnodes",), ("--nproc-per-node",)),
    "deepspeed": (("--num-nodes",), ("--num-gpus",)),
    "srun": (("-N", "--nodes"), ("--gpus-per-node", "--ntasks-per-node")),
}


@dataclass
class Launch:
    """A program and its words; `options` are those of the launchers before it, by launcher and name.

    Names of options have dashes for underscores. `npus` is None where nothing says how many there are.
    """

    program: str = ""
    words: list[str] = field(default_factory=list)
    options: dict[str, dict[str, str]] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    npus: int | None = None

    @property
    def launcher(self) -> str:
        """The launcher nearest to the program, or an empty string."""
        return next((name for name in reversed(self.options) if name != "srun"), "")


def is_launched(words: Sequence[str]) -> bool:
    """Whether a command is of a launcher, of Python, or of a script by its path."""
    name = PurePosixPath(words[0]).name
    return (
        name in LAUNCHERS or name in _SHELLS or bool(_PYTHON.fullmatch(name)) or name.endswith((".py", ".sh"))
    )


def launch_of(
    words: Sequence[str],
    where: str,
    slurm: Mapping[str, int] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Launch:
    """Part a command into launchers, program and the program's words.

    Args:
        words: of the command.
        where: how messages call it.
        slurm: counts that a script asks for, as `slurm_counts` returns them.
        environment: variables set for the command; the launch gets them too.

    Raises:
        InputError: no program follows the launcher; an option lacks its value.
    """
    launch, rest = Launch(), list(words)
    for _ in range(len(words) + 1):
        while rest and _ASSIGNED.match(rest[0]):
            name, _, value = rest.pop(0).partition("=")
            launch.environment[name] = value
        if not rest:
            raise InputError(f"{where}: no program follows the launcher")
        name = PurePosixPath(rest[0]).name
        if not _step(launch, name, rest, where):
            break
    launch.environment = {**(environment or {}), **launch.environment}
    launch.npus = _npus(launch, slurm or {})
    return launch


def _step(launch: Launch, name: str, rest: list[str], where: str) -> bool:
    """Take one launcher off the words; return whether more may follow."""
    if name in _PREFIXES:
        del rest[0]
        while rest and rest[0].startswith("-"):
            del rest[0]
        return True
    if name in ("srun", "mpirun", "mpiexec", "torchrun"):
        kind = "mpirun" if name == "mpiexec" else name
        _take_options(launch, kind, rest, where)
        return kind in ("srun", "mpirun") or not _is_program(launch, kind, rest)
    if name in ("accelerate", "deepspeed"):
        if name == "accelerate" and rest[1:2] == ["launch"]:
            del rest[1]
        _take_options(launch, name, rest, where)
        return not _is_program(launch, name, rest)
    if _PYTHON.fullmatch(name):
        return _python(launch, rest, where)
    if name in _SHELLS and rest[1:] and not rest[1].startswith("-"):
        del rest[0]
    launch.program, launch.words = rest[0], rest[1:]
    return False


def _python(launch: Launch, rest: list[str], where: str) -> bool:
    flags = _FLAGS["python"].split()
    del rest[0]
    while rest and (rest[0] in flags or rest[0] in ("-W", "-X")):
        del rest[: 2 if rest[0] in ("-W", "-X") else 1]
    if rest[:1] == ["-m"] and len(rest) > 1:
        del rest[0]
        if rest[0] in _TORCHRUN:
            kinds = ("torchrun", "torchrun", "accelerate", "deepspeed")
            kind = kinds[_TORCHRUN.index(rest[0])]
            _take_options(launch, kind, rest, where)
            return not _is_program(launch, kind, rest)
    if not rest:
        raise InputError(f"{where}: no program follows python")
    launch.program, launch.words = rest[0], rest[1:]
    return False


def _is_program(launch: Launch, kind: str, rest: list[str]) -> bool:
    """Take the program after a launcher, unless that starts another command."""
    if "--no-python" in launch.options[kind] or not rest:
        return False
    launch.program, launch.words = rest[0], rest[1:]
    return True


def _take_options(launch: Launch, kind: str, rest: list[str], where: str) -> None:
    """Move the options of a launcher, whose name comes first, from the words to the launch."""
    options, flags = launch.options.setdefault(kind, {}), frozenset(_FLAGS[kind].split())
    place = 1
    while place < len(rest) and rest[place].startswith("-"):
        word = rest[place]
        if word == "--":
            place += 1
            break
        name, has_value, value = word.partition("=")
        name = name if name[:2] != "--" else "--" + name[2:].replace("_", "-")
        short = re.fullmatch(r"(-[A-Za-z])([0-9]+)", word, re.ASCII)
        place += 1
        if short:
            name, value = short[1], short[2]
        elif name in _PAIRS:
            place += 2
        elif not has_value and name not in flags:
            if place >= len(rest):
                raise InputError(f"{where}: {excerpt(readable(word))} needs a value, and a program after it")
            value = rest[place]
            place += 1
        options[name] = value
    del rest[:place]
    if not rest:
        raise InputError(f"{where}: no program follows {kind}")


def _count(options: Mapping[str, str], names: Sequence[str]) -> int | None:
    """The number that the first option present gives; None if it is absent, open or a range."""
    for name in names:
        if name in options:
            text = options[name].rpartition(":")[2] if name.startswith("--gpus") else options[name]
            low, _, high = text.partition(":")
            same = text if not high else low if low == high else ""
            return int(same) if re.fullmatch(r"[1-9][0-9]{0,6}", same, re.ASCII) else None
    return None


def _torchrun_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The options that variables give to torchrun: PET_NNODES is --nnodes."""
    names = [name for side in _COUNTS["torchrun"] for name in side]
    variables = {name: "PET" + name[1:].replace("-", "_").upper() for name in names}
    return {name: environment[known] for name, known in variables.items() if known in environment}


def _npus(launch: Launch, slurm: Mapping[str, int]) -> int | None:
    own = launch.options.get("srun", {})
    nodes = _count(own, _COUNTS["srun"][0]) or slurm.get("nodes")
    kind = launch.launcher
    of_node = gpus_per_node(slurm) if kind in _COUNTS else slurm.get("gpus-per-node")
    per_node = _count(own, _COUNTS["srun"][1]) or of_node or slurm.get("ntasks-per-node")
    options = launch.options.get(kind, {})
    if kind == "torchrun":
        options = {**_torchrun_variables(launch.environment), **options}
    if kind == "accelerate":
        return _count(options, ["--num-processes"])
    if kind == "mpirun":
        return _count(options, ["-np", "-n", "-c", "--np"])
    if kind in _COUNTS:
        here, there = _COUNTS[kind]
        is_said = [any(name in options for name in names) for names in (here, there)]
        counts = [_count(options, here), _count(options, there)]
        nodes = (
            counts[0] if is_said[0] and counts[0] else 1 if not is_said[0] and kind == "torchrun" else nodes
        )
        if kind == "deepspeed" and not is_said[0] and nodes is None:
            nodes = 1 if "--hostfile" not in options and "-H" not in options else None
        is_open = is_said[1] and (options[there[0]] in ("gpu", "auto") or missing_in(options[there[0]]))
        per_node = counts[1] or (per_node if is_open or kind == "deepspeed" else None if is_said[1] else 1)
        return nodes * per_node if nodes and per_node else None
    total = _count(own, ["-n", "--ntasks", "-G", "--gpus"]) or slurm.get("gpus") or slurm.get("ntasks")
    if nodes and per_node:
        return nodes * per_node
    if total:
        return total
    number = launch.environment.get("NGPU") or launch.environment.get("WORLD_SIZE") or ""
    return int(number) if re.fullmatch(r"[1-9][0-9]{0,6}", number, re.ASCII) else None

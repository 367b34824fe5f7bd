"""Launchers before a program on a command line: of schedulers, of MPI, of frameworks, and Python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from dse.base.errors import InputError, excerpt
from dse.prediction.frameworks.reading.launcher_counts import ALLOTTING, launched_npus
from dse.prediction.frameworks.reading.values import readable

_LAUNCHER_NAMES = (
    "srun jsrun flux aprun ibrun mpirun mpiexec torchrun torchx accelerate deepspeed python bash"
)
_PREFIXES = frozenset({"command", "env", "exec", "nice", "nohup", "stdbuf", "time"})
_WRAPPER_NAMES = """
apptainer chrt conda docker enroot ncu nsys numactl mamba micromamba pixi podman poetry py-spy
rocprof rocprofv2 rocprofv3 shifter singularity sudo taskset timeout unbuffer uv xvfb-run
"""
_WRAPPERS = frozenset(_WRAPPER_NAMES.split())
"""Programs that run the command behind their options, whatever those are."""
TRAINERS = frozenset({"axolotl", "llamafactory-cli", "lmf", "trl"})
"""Programs of a Trainer: their first word says what they do."""
_OF_IBRUN = frozenset({"tacc_affinity", "task_affinity"})  # bind what follows to cores
SHELLS = frozenset({"bash", "sh"})
_PYTHON = re.compile(r"python(?:3(?:\.[0-9]+)?)?", re.ASCII)
ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=", re.ASCII)
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
    "jsrun": "-i --immediate -Q --allocate-only",
    "flux": "-x --exclusive --dry-run -v --verbose --quiet -l --label-io -u --unbuffered --watch --pty",
    "aprun": "-b --bypass-app-transfer -B --batch-args -C --reconnect -q --quiet -ss -T --sync-output",
    "ibrun": "-v",
    "torchrun": "--standalone --no-python --use-env --run-path -m --module",
    "accelerate": """--multi-gpu --use-fsdp --use-deepspeed --use-megatron-lm --use-parallelism-config --cpu
        --tpu --no-python -m --module -q --quiet --same-network --debug --enable-cpu-affinity --use-xpu""",
    "deepspeed": """--force-multi --no-ssh --no-ssh-check --no-local-rank --no-python --module -m
        --bind-cores-to-rank --elastic-training --save-pid --enable-each-rank-log""",
    "mpirun": """--allow-run-as-root --oversubscribe --nooversubscribe --tag-output -tag-output
        --report-bindings -report-bindings --display-map -display-map --display-allocation --line-buffer
        --use-hwthread-cpus --timestamp-output --merge-stderr-to-stdout --no-vni --genvall -genvall --genvnone
        -genvnone -l -prepend-rank --verbose --quiet -v -q""",
    "torchx": "--dryrun --wait --log",
    "python": "-u -B -O -OO -E -s -S -I -q -b -bb -v",
}
_PAIRS = frozenset({"-mca", "--mca", "-gmca", "--gmca", "-genv", "--genv", "-env", "--prtemca"})
_PASSING = frozenset({"--export", "--env", "-x", "-e", "-E"})
"""Options by which launchers and containers set variables for what they start."""
_ONE_LETTER = frozenset({"srun", "jsrun", "flux"})  # one dash, one letter: -bpacked:7 is -b with its value
_OF_TORCHX = {"-m": "--module", "--m": "--module", "--script": "--script", "-j": "-j", "--j": "-j"}


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
        """The launcher of a framework that is nearest to the program, or an empty string."""
        return next((name for name in reversed(self.options) if name not in ALLOTTING), "")


def is_launched(words: Sequence[str]) -> bool:
    """Whether a command is of a launcher, of Python, or of a script by its path."""
    name = PurePosixPath(words[0]).name
    if name in _WRAPPERS:
        return _wrapped(words) > 0
    return (
        name in LAUNCHERS
        or name in SHELLS
        or name in TRAINERS
        or bool(_PYTHON.fullmatch(name))
        or name.endswith((".py", ".sh"))
    )


def _wrapped(words: Sequence[str]) -> int:
    """The place of the command that a wrapper runs; 0 if there is none.

    A file behind an option is its value where a launcher follows.
    """
    others = [(at, word) for at, word in enumerate(words) if at and "=" not in word and word not in _PREFIXES]
    places = [at for at, word in others if is_launched([word])]
    named = [at for at in places if not words[at].endswith((".py", ".sh"))]
    values = [at for at in places if words[at - 1].startswith("-") and at not in named]
    return next((at for at in places if at not in values or at > max(named, default=0)), 0)


def started_at(words: Sequence[str], where: str) -> int:
    """Return the place of the command that schedulers, MPI and wrappers start; 0 if they start none."""
    rest = list(words)
    with suppress(InputError):  # a command without a program is refused where it is asked for
        for _ in words:
            while rest and ASSIGNED.match(rest[0]):
                del rest[0]
            name = PurePosixPath(rest[0]).name if rest else ""
            starts = name in _PREFIXES or name in _OF_IBRUN or name in (*ALLOTTING, "mpiexec")
            if not starts and not (name in _WRAPPERS and _wrapped(rest)):
                return len(words) - len(rest) if rest else 0
            _step(Launch(), name, rest, where)
    return 0


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
        while rest and ASSIGNED.match(rest[0]):
            name, _, value = rest.pop(0).partition("=")
            launch.environment[name] = value
        if not rest:
            raise InputError(f"{where}: no program follows the launcher")
        name = PurePosixPath(rest[0]).name
        if not _step(launch, name, rest, where):
            break
    taken = words[: len(words) - len(launch.words)]
    launch.environment = {**(environment or {}), **variables_passed(taken), **launch.environment}
    options = {**launch.options, **_of_trainer(launch)}
    launch.npus = launched_npus(options, launch.environment, slurm or {})
    return launch


def variables_passed(words: Sequence[str]) -> dict[str, str]:
    """Return the variables that words before a program set: NAME=VALUE, or options such as --export."""
    found: dict[str, str] = {}
    for at, word in enumerate(words):
        option, has_value, value = word.partition("=")
        texts = [word]
        if option in _PASSING:
            texts = [value if has_value else "".join(words[at + 1 : at + 2])]
            texts = texts[0].split(",") if option.startswith("--") else texts
        found |= {
            name: text
            for name, sign, text in (t.partition("=") for t in texts)
            if sign and name.isidentifier()
        }
    return found


def _of_trainer(launch: Launch) -> dict[str, dict[str, str]]:
    """The options with which LLaMA-Factory starts torchrun: two variables say nodes and GPUs of each."""
    names = {"NNODES": "--nnodes", "NPROC_PER_NODE": "--nproc-per-node"}
    found = {option: launch.environment[name] for name, option in names.items() if name in launch.environment}
    if launch.launcher or not found or PurePosixPath(launch.program).name not in ("llamafactory-cli", "lmf"):
        return {}
    return {"torchrun": {"--nproc-per-node": "auto", **found}}


def _step(launch: Launch, name: str, rest: list[str], where: str) -> bool:
    """Take one launcher off the words; return whether more may follow."""
    if place := _wrapped(rest) if name in _WRAPPERS else 0:
        del rest[:place]
        return True
    if name in _PREFIXES or name in _OF_IBRUN:
        del rest[0]
        while rest and rest[0].startswith("-"):
            del rest[0]
        return True
    if name == "torchx":
        return _torchx(launch, rest, where)
    if name in ALLOTTING or name in ("mpiexec", "torchrun"):
        kind = "mpirun" if name == "mpiexec" else name
        if kind == "flux":
            _take_action(rest, where)
        _take_options(launch, kind, rest, where)
        return kind in ALLOTTING or not _is_program(launch, kind, rest)
    if name in ("accelerate", "deepspeed"):
        if name == "accelerate" and rest[1:2] == ["launch"]:
            del rest[1]
        _take_options(launch, name, rest, where)
        return not _is_program(launch, name, rest)
    if _PYTHON.fullmatch(name):
        return _python(launch, rest, where)
    if name in SHELLS and rest[1:] and not rest[1].startswith("-"):
        del rest[0]
    if name in TRAINERS:
        launch.program, launch.words = rest[0], rest[2:]
        return False
    if rest[0].endswith(".sh") and rest[1:] and is_launched(rest[1:]):  # a script that runs its arguments
        del rest[0]
        return True
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


def _take_action(rest: list[str], where: str) -> None:
    """Take `run` or `submit` off the words of Flux, in its older spelling behind `mini`."""
    place = 2 if rest[1:2] == ["mini"] else 1
    if rest[place : place + 1] not in (["run"], ["submit"]):
        raise InputError(f"{where}: flux is read with run or submit behind it; write flux run ...")
    del rest[1 : place + 1]


def _torchx(launch: Launch, rest: list[str], where: str) -> bool:
    """Take a component of TorchX that starts torchrun: its -j NxM is --nnodes=N --nproc-per-node=M."""
    if rest[1:2] != ["run"]:
        raise InputError(f"{where}: torchx is read with run behind it; write torchx run dist.ddp ...")
    del rest[0]
    _take_options(launch, "torchx", rest, where)
    component = rest[0].rpartition(".")[2]
    if component not in ("ddp", "spmd"):
        raise InputError(
            f"{where}: {excerpt(readable(rest[0]))} of torchx is not read; allowed are dist.ddp and dist.spmd"
        )
    rest.append("")  # what is run stands among the options
    _take_options(launch, "torchx", rest, where)
    rest.pop()
    told = launch.options.pop("torchx")
    found = {name: told[option] for option, name in _OF_TORCHX.items() if option in told}
    program = found.get("--script") or found.get("--module")
    if not program:
        raise InputError(f"{where}: no program follows torchx; write --script FILE.py or -m MODULE")
    nodes, _, each = found.get("-j", "1x2" if component == "ddp" else "1x1").rpartition("x")
    launch.options["torchrun"] = {"--nnodes": nodes or "1", "--nproc-per-node": each}
    for item in filter(None, told.get("--env", "").split(",")):
        name, _, value = item.partition("=")
        launch.environment[name] = value
    launch.program, launch.words = program, rest
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
        short = re.fullmatch(r"(-[A-Za-z])" + ("(.+)" if kind in _ONE_LETTER else "([0-9]+)"), word, re.ASCII)
        place += 1
        if short:
            name, value = (short[1], short[2].removeprefix("=")) if short[1] not in flags else (word, "")
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

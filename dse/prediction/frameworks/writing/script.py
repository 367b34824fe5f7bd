"""The script that every node of a job runs: named blanks, environment, and the command, safely quoted."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from dse.base.errors import InputError, excerpt
from dse.base.texts import counted, is_whole

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ADDRESS = "MASTER_ADDR:?the host of node 0"
PORT = 29500
Starter = Literal["torchrun", "python", "accelerate"]


class Blank(NamedTuple):
    """A word, or a part of one, that the user fills in by the variable `name`."""

    name: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Program:
    """A program that a job runs on `nodes` of `per_node` GPUs.

    `words` are arguments, the program first; `starter` runs them: torchrun and accelerate a process for each
    GPU, python one for each node. `blanks` say by variable what the user fills in. `environment` are
    variables with values.
    """

    words: Sequence[str | Blank]
    nodes: int
    per_node: int
    environment: Mapping[str, str] = field(default_factory=dict)
    blanks: Mapping[str, str] = field(default_factory=dict)
    starter: Starter = "torchrun"

    def __post_init__(self) -> None:
        """Check what a shell must be able to hold.

        Raises:
            InputError: a count is below 1, a name of a variable is none, a text has a character that no
                command line holds, or a blank has no meaning.
        """
        for name, count in (("nodes", self.nodes), ("per_node", self.per_node)):
            if count < 1:
                raise InputError(f"{name} is {count}; it must be at least 1")
        if not self.words:
            raise InputError("the program has no words; it must have at least one")
        for name in (*self.environment, *self.blanks):
            if not _NAME.fullmatch(name):
                raise InputError(
                    f"'{excerpt(name)}' is no name of a variable; it must have letters, digits and _"
                )
        for word in (*self.words, *self.environment.values()):
            if isinstance(word, Blank) and word.name not in self.blanks:
                raise InputError(
                    f"the blank {excerpt(word.name)} has no meaning; blanks are {', '.join(self.blanks)}"
                )
            for text in (word,) if isinstance(word, str) else (word.before, word.after):
                if "\0" in text or not is_whole(text):
                    raise InputError(f"'{excerpt(text)}' has a character that no command line can hold")

    @property
    def npus(self) -> int:
        """How many GPUs it runs on."""
        return self.nodes * self.per_node


def quoted(word: str | Blank) -> str:
    """Return a word as bash reads it back; the variable of a blank is the only one that bash replaces."""
    if isinstance(word, str):
        return shlex.quote(word)
    before, after = (shlex.quote(text) if text else "" for text in (word.before, word.after))
    return f'{before}"${{{word.name}}}"{after}'


def node_script(program: Program, title: str, first_host: str = "") -> str:
    """Return the script that each node runs, with NODE_RANK from 0 and MASTER_ADDR, unless there is one node.

    `title` is a comment. `first_host` is the address of node 0 where it is known.
    """
    start = {"torchrun": _torchrun, "accelerate": _accelerate}.get(program.starter, _python)(program)
    is_lone = program.nodes == 1
    meeting = [] if is_lone else _meeting(first_host)
    if program.starter == "python" and not is_lone:  # as MaxText on GPUs reads them
        meeting += [
            f"export NODE_RANK NNODES={program.nodes}",
            'export JAX_COORDINATOR_IP="${MASTER_ADDR}" JAX_COORDINATOR_PORT="${MASTER_PORT}"',
        ]
    return _script(program, title, meeting, start)


def rank_script(program: Program, title: str) -> str:
    """Return the script of a Slurm task for each GPU, which is a rank of torch.distributed.

    Raises:
        InputError: the program starts one process a node.
    """
    if program.starter != "torchrun":
        raise InputError(
            "a process for each GPU: the program starts one for each node, so its order is its own"
        )
    meeting = [
        *_meeting("")[2:],
        "export MASTER_ADDR MASTER_PORT",
        'export RANK="${SLURM_PROCID}" LOCAL_RANK="${SLURM_LOCALID}"',
        f"export WORLD_SIZE={program.npus} LOCAL_WORLD_SIZE={program.per_node}",
    ]
    return _script(program, title, meeting, "python")


def plain(text: str) -> str:
    """Return a text without characters that mean something to a shell."""
    return re.sub(r"[^A-Za-z0-9 .,:;_()/=-]", "", text) or "a value"


def _script(program: Program, title: str, meeting: Iterable[str], start: str) -> str:
    size = f"{counted(program.nodes, 'node')} of {counted(program.per_node, 'GPU')}"
    lines = ["#!/bin/bash", f"# {plain(title)}: {size}.", "set -euo pipefail"]
    if program.blanks:
        lines += ["", "# Fill in: by the environment, or by lines NAME=VALUE here.", *_checks(program.blanks)]
    settings = [f"export {name}={quoted(value)}" for name, value in program.environment.items()]
    for part in (settings, list(meeting)):
        lines += ["", *part] if part else []
    command = " \\\n    ".join([start, *_lines(program.words)])
    return "\n".join([*lines, "", command, ""])


def _checks(blanks: Mapping[str, str]) -> list[str]:
    """Return lines that end a script where a blank has not been filled in."""
    return [f': "${{{name}:?{plain(meaning)}}}"' for name, meaning in blanks.items()]


def _meeting(first_host: str) -> list[str]:
    address = f'MASTER_ADDR="${{MASTER_ADDR:-{first_host}}}"' if first_host else f': "${{{_ADDRESS}}}"'
    return [
        'NODE_RANK="${NODE_RANK:-${SLURM_PROCID:-}}"',
        ': "${NODE_RANK:?the number of this node, from 0}"',
        address,
        f'MASTER_PORT="${{MASTER_PORT:-{PORT}}}"',
    ]


def _torchrun(program: Program) -> str:
    if program.nodes == 1:
        return f"torchrun --standalone --nproc-per-node {program.per_node}"
    return (
        f"torchrun --nnodes {program.nodes} --nproc-per-node {program.per_node} "
        '--node-rank "${NODE_RANK}" --master-addr "${MASTER_ADDR}" --master-port "${MASTER_PORT}"'
    )


def _accelerate(program: Program) -> str:
    start = f"accelerate launch --num_machines {program.nodes} --num_processes {program.npus}"
    if program.nodes == 1:
        return start
    return (
        f'{start} --machine_rank "${{NODE_RANK}}" --main_process_ip "${{MASTER_ADDR}}" '
        '--main_process_port "${MASTER_PORT}"'
    )


def _python(program: Program) -> str:
    del program
    return "python"


def _lines(words: Sequence[str | Blank]) -> Iterator[str]:
    """The words, an option with its values on one line."""
    line: list[str] = []
    is_option = False
    for word in words:
        begins = isinstance(word, str) and word.startswith("-")
        if line and (begins or not is_option):
            yield " ".join(line)
            line = []
        if not line:
            is_option = begins
        line.append(quoted(word))
    yield " ".join(line)

"""Nodes of a shell script: what each kind of statement holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from dse.prediction.frameworks.reading.shell_tokens import Input, Part, Token

Word = tuple[Part, ...]
Node = Union[
    "Simple",
    "Test",
    "Choice",
    "Case",
    "Chain",
    "Loop",
    "Repeat",
    "Subshell",
    "Function",
    "Pipeline",
    "Redirected",
]
"""A statement; Python 3.10 reads this at run time."""


@dataclass(frozen=True)
class Assignment:
    """NAME=word, NAME=(items) or NAME[place]=word; `adds` where it is +=."""

    name: str
    adds: bool
    word: Word
    items: tuple[Word, ...] | None
    line: int
    place: Word = ()


@dataclass(frozen=True)
class Simple:
    """A command: assignments before it, and its words; arrays may stand after export.

    `text` is its input behind <<, `target` the file that its output goes to, `adds` where that is >>.
    `streams` are descriptors with the words behind their > or >&, in order.
    """

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    line: int
    exported: tuple[Assignment, ...] = ()
    text: Input | None = None
    target: Word = ()
    adds: bool = False
    streams: tuple[tuple[str, Word], ...] = ()


@dataclass(frozen=True)
class Test:
    """A condition: the tokens between [[ and ]]."""

    tokens: tuple[Token, ...]
    line: int


@dataclass(frozen=True)
class Function:
    """Statements that a name stands for from here on."""

    name: str
    body: tuple[Node, ...]
    line: int


@dataclass(frozen=True)
class Choice:
    """If, elif, else: conditions with what follows; the last condition may be empty, for else."""

    branches: tuple[tuple[tuple[Node, ...], tuple[Node, ...]], ...]
    line: int


@dataclass(frozen=True)
class Case:
    """Case: a text, and patterns with the statements that follow where one of them fits."""

    text: Word
    branches: tuple[tuple[tuple[str, ...], tuple[Node, ...]], ...]
    line: int


@dataclass(frozen=True)
class Loop:
    """For a variable over words; None: over the arguments of the script."""

    name: str
    words: tuple[Word, ...] | None
    body: tuple[Node, ...]
    line: int


@dataclass(frozen=True)
class Repeat:
    """While, until, or for ((before; condition; after)); no condition always holds."""

    before: tuple[Node, ...]
    condition: tuple[Node, ...]
    after: tuple[Node, ...]
    body: tuple[Node, ...]
    is_until: bool
    line: int


@dataclass(frozen=True)
class Subshell:
    """Statements in parentheses: what they assign stays inside."""

    body: tuple[Node, ...]
    line: int


@dataclass(frozen=True)
class Pipeline:
    """Commands in a pipe, or a single one, whose status `is_negated` by a ! before it."""

    commands: tuple[Node, ...]
    is_negated: bool
    line: int


@dataclass(frozen=True)
class Redirected:
    """A block behind which redirections stand: `streams` as those of a command."""

    block: Node
    streams: tuple[tuple[str, Word], ...]
    line: int


@dataclass(frozen=True)
class Chain:
    """Statements joined by && or ||."""

    first: Node
    others: tuple[tuple[str, Node], ...]
    line: int

"""Shells within a shell script: jobs that it submits, texts that shells get, other hosts, and $(...)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from dse.base.errors import InputError, excerpt
from dse.base.files import is_file
from dse.prediction.frameworks.reading.files import Written, text_of
from dse.prediction.frameworks.reading.launchers import SHELLS, started_at, variables_passed
from dse.prediction.frameworks.reading.shell_builtins import BUILTINS
from dse.prediction.frameworks.reading.shell_inputs import INPUTS, Inputs, echoed, printed
from dse.prediction.frameworks.reading.shell_jobs import submission
from dse.prediction.frameworks.reading.shell_nodes import Pipeline, Simple, Word
from dse.prediction.frameworks.reading.shell_slurm import counted, slurm_counts, slurm_variables
from dse.prediction.frameworks.reading.shell_syntax import EXPORTS, Statements
from dse.prediction.frameworks.reading.shell_tokens import Part
from dse.prediction.frameworks.reading.shell_words import IN_ORDER, Variables
from dse.prediction.frameworks.reading.values import missing_in, readable

MOST_TEXT = 250_000
MOST_SHELLS = 3
_TAKES_TEXT = re.compile(r"-[a-z]{0,4}c[a-z]{0,4}")
_REMOTE_VALUES = tuple(f"-{letter}" for letter in "FJRfiloptuwx")
WITHOUT_OUTPUT = frozenset(
    {":", "true", "false", "set", "[", "test", "eval", ".", "source", "", *EXPORTS, *BUILTINS, *INPUTS}
)


@dataclass(frozen=True)
class Command:
    """A command that launches a program: its words, variables set for it and those exported, and its line."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    line: int


@dataclass
class _Stream:
    """A place where texts are written; `is_open` where some of them are not known."""

    texts: list[str] = field(default_factory=list)
    is_open: bool = False


class Processes(Inputs):
    """Interprets commands that start shells; each sees the variables that are exported."""

    def __init__(self, variables: Variables, folder: Path | None) -> None:
        super().__init__(variables)
        self.commands: list[Command] = []
        self._folder = folder
        self.slurm: dict[str, int] = {}  # of the last job that the script submits
        self._shells = 0
        self.files = Written()
        self._output: _Stream | None = None  # of the $(...) that is read
        self._errors = _Stream()
        self._output_status = 0
        variables.output_of = self._output_of

    def _output_of(self, part: Part) -> str | None:
        """Return the output of a command made of functions, echo and printf; None for any other."""
        self.variables.grow(len(part.text), f"line {part.line}")
        before, noted = len(self.commands), len(self.variables.notes)
        try:
            nodes = Statements(part.text, self.variables.where, part.line).all()
        except InputError:
            return None
        kept = self._output, self._errors
        self._output = written = _Stream()
        status, own = self.variables.status, 0
        try:
            with self._apart():
                self._ends_on_failure = self._ends_on_failure and self._inherits_errexit
                own = self.run(nodes)
        except InputError:  # the command is not read, and asked for where its output matters
            written.is_open = True
        finally:
            self._output, self._errors = kept
        self.variables.status = status
        self._output_status = 0 if written.is_open else own
        del self.commands[before:]
        notes = self.variables.notes
        notes[noted:] = [note for note in notes[noted:] if note.endswith(IN_ORDER)]
        return None if written.is_open else "".join(written.texts).rstrip("\n")

    @contextmanager
    def _redirected(self, streams: Sequence[tuple[str, Word]]) -> Iterator[None]:
        """Let output of $(...) go to other places, in the order of the redirections."""
        kept = self._output, self._errors
        for descriptor, word in streams if self._output else ():
            target = self.variables.text(word)
            found = {"&1": self._output, "&2": self._errors}.get(target) or _Stream()
            is_known = target in ("&1", "&2") or not target.startswith(("&", ">(", "/dev/fd/", "/dev/std"))
            if not is_known or missing_in(target):
                self._open_streams()
                found = _Stream(is_open=True)
            if descriptor == "1":
                self._output = found
            elif descriptor == "2":
                self._errors = found
            elif target.startswith("&"):
                self._open_streams()
        try:
            yield
        finally:
            self._output, self._errors = kept

    def _open_streams(self) -> None:
        for stream in filter(None, (self._output, self._errors)):
            stream.is_open = True

    def _pipeline(self, node: Pipeline) -> int:
        if len(node.commands) > 1:  # the last command changes what the others write
            self._open_streams()
        return super()._pipeline(node)

    def _print(self, name: str, words: Sequence[str], node: Simple) -> None:
        """Add to the output of $(...): files are not read."""
        text = None
        if name in ("echo", "printf"):
            text = echoed(words) if name == "echo" else printed(words)
        elif name == "cat" and node.text is not None and not words:
            text = self.variables.text(node.text.parts)
        if text is None or self._output is None:
            self._open_streams()
        else:
            self._output.texts.append(text)

    def _submit(self, words: Sequence[str], node: Simple) -> int:
        """Read the job that sbatch would start, with the counts of its options and of its script."""
        place = self._place(node.line)
        told = submission(words, place)
        name = readable(told.words[0]) if told.words else ""
        path = self._folder / name if self._folder and name else None
        if told.wrapped:
            text = told.wrapped
        elif not told.words and node.text is not None:
            text = self.variables.text(node.text.parts)
        elif name in self.files:
            text = self.files[name]
        elif path is not None and is_file(path):
            text = text_of(path)[:MOST_TEXT].replace("\0", "")
        else:
            problem = f"{excerpt(name or 'its script', 100)} is not there, so that the job is not known"
            raise InputError(f"{place}: sbatch: {problem}; check the script that it submits")
        self.slurm = slurm_counts(text)
        for option, value in told.options:
            self.slurm = counted(self.slurm, option, value)
        own = {**slurm_variables(self.slurm), **told.variables}
        prefix = ["env", *([] if told.keeps else ["-i"]), *(f"{key}={value}" for key, value in own.items())]
        before = len(self.commands)
        exported = dict(self._exported)
        if not told.keeps:
            self._exported = {name: None for name in exported if name in told.names}
            passed = tuple(item for item in node.assignments if item.name in told.names)
            node = replace(node, assignments=passed)
        status = self._process(text, node, prefix, told.words[1:])
        self._exported = exported
        started = [replace(one, words=one.words[len(prefix) :]) for one in self.commands[before:]]
        self.commands[before:] = started
        return status

    def _piped(self, words: list[str], node: Simple) -> int:
        """Read a text that a shell takes from behind <<."""
        at = next((at for at, word in enumerate(words) if PurePosixPath(readable(word)).name in SHELLS), -1)
        rest = [word for word in words[at + 1 :] if not word.startswith(("-", "+"))]
        if at < 0 or node.text is None or (rest and "-s" not in words[at + 1 :]):
            problem = f"{excerpt(readable(words[0]))} gets its input behind <<, which is not read"
            raise InputError(f"{self._place(node.line)}: {problem}; write a file")
        return self._process(self.variables.text(node.text.parts), node, words[:at], rest)

    def _inner(self, words: Sequence[str], place: str) -> tuple[int, str, Sequence[str]] | None:
        """The place of a shell in a command, the script that it runs if that is known, and its arguments."""
        first = started_at(words, place)
        for at, word in enumerate(words):
            behind, has_text, is_shell = at, False, PurePosixPath(readable(word)).name in SHELLS
            if is_shell:
                behind += 1
                while words[behind : behind + 1] and words[behind].startswith(("-", "+")):
                    has_text = has_text or _TAKES_TEXT.fullmatch(words[behind]) is not None
                    behind += 2 if words[behind] in ("-o", "+o", "-O") else 1
            if has_text and behind < len(words):
                return at, words[behind], words[behind + 2 :]
            name = readable(words[behind]) if behind < len(words) else ""
            if name in self.files and (is_shell or at == first):
                return at, self.files[name], words[behind + 1 :]
        return None

    def _remote(self, words: list[str], node: Simple) -> int:
        """Read what runs on another host, whose name follows the options of ssh."""
        at = 1
        while at < len(words) and words[at].startswith("-"):
            at += 2 if words[at] in _REMOTE_VALUES else 1
        at += words[0] == "ssh"
        return self._process(" ".join(words[at:]), node) if words[at:] else 0

    def _process(
        self, text: str, node: Simple, prefix: Sequence[str] = (), arguments: Sequence[str] = ()
    ) -> int:
        """Read a text that another shell runs: of the variables, it sees those that are exported.

        `prefix` launches that shell, such as srun with its options.
        """
        values, before = self.variables, len(self.commands)
        own: dict[str, str | list[str]] = {item.name: values.text(item.word) for item in node.assignments}
        own |= variables_passed(prefix)
        uses_arguments = values.uses_arguments
        with self._deeper(node.line), self._apart():
            self._exported |= dict.fromkeys(own)
            seen = {**self._exported, **values.given}
            values.values = {name: value for name, value in values.values.items() if name in seen} | own
            self._functions = {name: body for name, body in self._functions.items() if name in seen}
            self._locals, self._exports_all, values.numbers = [], False, set()
            self._ends_on_failure, self._joins_failures, self._inherits_errexit = False, False, False
            values.positional, values.is_function, values.status = tuple(arguments), True, 0
            status = self.run(Statements(text, values.where, node.line).all())
        values.uses_arguments = uses_arguments
        self.commands[before:] = [replace(c, words=(*prefix, *c.words)) for c in self.commands[before:]]
        return status

    @contextmanager
    def _deeper(self, line: int) -> Iterator[None]:
        if self._shells >= MOST_SHELLS:
            raise InputError(f"{self._place(line)}: at most {MOST_SHELLS} scripts in a script are read")
        self._shells += 1
        try:
            yield
        finally:
            self._shells -= 1

"""Shell scripts read as data: which programs a script would launch, with which words. Nothing is executed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from dse.base.errors import InputError, excerpt, unknown
from dse.base.files import is_file
from dse.prediction.frameworks.reading.conditions import holds
from dse.prediction.frameworks.reading.files import text_of
from dse.prediction.frameworks.reading.launchers import ASSIGNED, LAUNCHERS, is_launched, started_at
from dse.prediction.frameworks.reading.shell_builtins import BUILTINS, Builtins
from dse.prediction.frameworks.reading.shell_nodes import Simple
from dse.prediction.frameworks.reading.shell_slurm import slurm_counts, slurm_variables
from dse.prediction.frameworks.reading.shell_syntax import EXPORTS, Statements
from dse.prediction.frameworks.reading.shell_words import Variables
from dse.prediction.frameworks.reading.values import OUTPUT, ask, mark, missing_in, readable

_MOST_WORDS = 100_000
_MOST_SHELLS = 3
_MOST_TEXT = 250_000
_MOST_COMMANDS = 100
_PASSED_NAMES = """
. : cat cd chmod clear conda cp date dcgmi df du echo find free git grep hash head hostname id ln ls
lscpu mkdir ml module mv nvidia-smi pip popd printenv printf ps pushd pwd rm rmdir rocm-smi rocminfo
rsync sacct sacctmgr scontrol set shopt sinfo sleep sort source spack squeue tail tar tee trap true type
ulimit umask uname uptime wait wc which whoami
"""
_SHELLS = ("sh", "bash")
_TAKES_TEXT = re.compile(r"-[a-z]{0,4}c[a-z]{0,4}")
_REMOTE = ("ssh", "pdsh")
_REMOTE_VALUES = tuple(f"-{letter}" for letter in "FJRfiloptuwx")
_SILENT = (":", "true", "set", "echo", "mkdir")  # commands that change no word of others
_PASSED = frozenset(_PASSED_NAMES.split())


@dataclass(frozen=True)
class Command:
    """A command that launches a program: its words, variables set for it and those exported, and its line."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    line: int


@dataclass(frozen=True)
class Script:
    """Commands in order, how many nodes and GPUs the lines for Slurm ask for, and what was passed over."""

    commands: tuple[Command, ...]
    slurm: Mapping[str, int]
    notes: tuple[str, ...]
    uses_arguments: bool


def read_script(
    text: str,
    where: str,
    given: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
    folder: Path | None = None,
) -> Script:
    """Return the commands that a script would launch; `given` are its environment, `arguments` its $1, $2.

    Files that it sources are read too, as data, where they are in `folder`.

    Raises:
        InputError: something is outside the subset that is read, named with its line; bounds are exceeded.
    """
    if len(text) > _MOST_TEXT or "\0" in text:
        problem = f"at most {_MOST_TEXT} characters, none of them NUL, are allowed"
        raise InputError(f"{where}: is no script that is read; {problem}")
    slurm = slurm_counts(text)
    known = {**slurm_variables(slurm), **(given or {})}
    reader = _Interpreter(Variables(where, known, tuple(arguments)), folder)
    try:
        reader.run(Statements(text, where).all())
    except RecursionError:
        raise InputError(f"{where}: its functions call each other too deeply to be read") from None
    return Script(
        tuple(reader.commands), slurm, tuple(reader.variables.notes), reader.variables.uses_arguments
    )


class _Interpreter(Builtins):
    def __init__(self, variables: Variables, folder: Path | None) -> None:
        super().__init__(variables)
        self.commands: list[Command] = []
        self._folder = folder
        self._shells = 0
        self._files: dict[str, str] = {}

    def _simple(self, node: Simple) -> int:
        if not node.words:
            for assignment in node.assignments:
                self._assign(assignment)
            return 0
        words = self._words(node)
        name = words[0] if words else ""
        if name in ("cat", "tee") and node.text is not None:
            self._write(node, words)
        if name in self._functions:
            return self._call(name, words[1:], node)
        if name in ("[", "test"):
            if name == "[" and words[-1] != "]":
                raise InputError(f"{self._place(node.line)}: [ has no end; close it with ]")
            return int(not holds(words[1:-1] if name == "[" else words[1:], self.variables, node.line))
        if name in EXPORTS:
            self._export(node, words)
            return 0
        if name in BUILTINS:
            return self._builtin(name, words[1:], node)
        if name == "eval":
            with self._deeper(node.line):
                return self.run(Statements(" ".join(words[1:]), self.variables.where, node.line).all())
        if name == "exec":
            status = self._launch(words[1:], node)
            self._is_over = self._is_over or len(words) > 1
            return status
        if name == "false" or (name == "getopts" and not self.variables.positional):
            return 1
        if name in (".", "source") and (sourced := self._sourced(words[1:], node)) is not None:
            return sourced
        if name == "command" and words[1:2] in (["-v"], ["-V"]):
            return 0
        if name == "set":
            self._set(words[1:])
        if name == "printf" and words[1:2] == ["-v"] and words[2:]:
            self.variables.assign(words[2], mark(OUTPUT, is_computed=True))
        if name in _PASSED:
            note = f"line {node.line}: {name} is passed over"
            if name not in _SILENT and note not in self.variables.notes:
                self.variables.notes.append(note)
            return 0
        return self._launch(words, node)

    def _write(self, node: Simple, words: Sequence[str]) -> None:
        """Keep a text that a script writes into a file, which it may start later."""
        target = self.variables.text(node.target) if node.target else words[-1] if len(words) > 1 else ""
        name = PurePosixPath(readable(target)).name
        if node.text is not None and name:
            older = self._files.pop(name, "")
            with suppress(InputError):  # a text of what only a shell knows is no script that is read
                self._files[name] = older * node.adds + self.variables.text(node.text.parts)

    def _words(self, node: Simple) -> list[str]:
        words = list[str]()
        for word in node.words:
            words += self.variables.fields(word)
            if len(words) > _MOST_WORDS:
                raise InputError(
                    f"{self._place(node.line)}: at most {_MOST_WORDS} words a command are allowed"
                )
        return words

    def _sourced(self, words: Sequence[str], node: Simple) -> int | None:
        """Read a file that the script wrote, or one of its folder; one outside the subset is passed over."""
        name = readable(words[0]).rpartition("/")[2] if words else ""
        path = self._folder / name if self._folder and name else None
        is_there = name in self._files or (path is not None and is_file(path))
        if not is_there or self._shells >= _MOST_SHELLS:
            return None
        values, where = self.variables, self.variables.where
        before = values.positional, values.is_function
        try:
            if path is None or name in self._files:
                nodes = Statements(self._files[name], where, node.line).all()
            else:
                where = str(path)
                nodes = Statements(text_of(path)[:_MOST_TEXT].replace("\0", ""), where).all()
        except InputError as error:
            values.notes.append(f"line {node.line}: {name} is passed over: {error}")
            return 0
        if words[1:]:
            values.positional, values.is_function = tuple(words[1:]), True
        where, values.where = values.where, where
        with self._deeper(node.line):
            status = self.run(nodes)
        values.where, self._has_returned = where, False
        if words[1:]:
            values.positional, values.is_function = before
        return status

    def _launch(self, words: list[str], node: Simple) -> int:
        if not words:
            return 0
        place = self._place(node.line)
        if missing_in(words[0]):
            raise ask(words[0], place, "the command")
        if words[0] in _REMOTE:
            return self._remote(words, node)
        if found := self._inner(words, place):
            at, text, arguments = found
            return self._process(text, node, words[:at], arguments)
        if not is_launched(words):
            problem = f"{place}: {excerpt(readable(words[0]))} is no command that is read"
            known = sorted({*LAUNCHERS, *_PASSED, *EXPORTS, "if"})
            raise InputError(
                unknown(problem, words[0], known, f"allowed are {', '.join(known)}, and NAME=VALUE")
            )
        if len(self.commands) >= _MOST_COMMANDS:
            raise InputError(f"{place}: launches more than {_MOST_COMMANDS} programs, the most that are read")
        environment = {name: self._scalar(name) for name in self._exported}
        environment |= {item.name: self.variables.text(item.word) for item in node.assignments}
        self.commands.append(Command(tuple(words), environment, node.line))
        return 0

    def _inner(self, words: Sequence[str], place: str) -> tuple[int, str, Sequence[str]] | None:
        """The place of a shell in a command, the script that it runs if that is known, and its arguments."""
        first = started_at(words, place)
        for at, word in enumerate(words):
            behind, has_text, is_shell = at, False, PurePosixPath(readable(word)).name in _SHELLS
            if is_shell:
                behind += 1
                while words[behind : behind + 1] and words[behind].startswith(("-", "+")):
                    has_text = has_text or _TAKES_TEXT.fullmatch(words[behind]) is not None
                    behind += 2 if words[behind] in ("-o", "+o", "-O") else 1
            if has_text and behind < len(words):
                return at, words[behind], words[behind + 2 :]
            name = PurePosixPath(readable(words[behind])).name if behind < len(words) else ""
            if name in self._files and (is_shell or at == first):
                return at, self._files[name], words[behind + 1 :]
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
        own |= {word.partition("=")[0]: word.partition("=")[2] for word in prefix if ASSIGNED.match(word)}
        uses_arguments = values.uses_arguments
        with self._deeper(node.line), self._apart():
            self._exported |= dict.fromkeys(own)
            seen = {**self._exported, **values.given}
            values.values = {name: value for name, value in values.values.items() if name in seen} | own
            self._functions = {name: body for name, body in self._functions.items() if name in seen}
            self._locals, self._exports_all = [], False
            values.positional, values.is_function, values.status = tuple(arguments), True, 0
            status = self.run(Statements(text, values.where, node.line).all())
        values.uses_arguments = uses_arguments
        self.commands[before:] = [replace(c, words=(*prefix, *c.words)) for c in self.commands[before:]]
        return status

    @contextmanager
    def _deeper(self, line: int) -> Iterator[None]:
        self._shells += 1
        if self._shells > _MOST_SHELLS:
            raise InputError(f"{self._place(line)}: at most {_MOST_SHELLS} scripts in a script are read")
        yield
        self._shells -= 1

    def _scalar(self, name: str) -> str:
        value = self.variables.values.get(name, self.variables.given.get(name, ""))
        return value if isinstance(value, str) else " ".join(value)

"""Shell scripts read as data: which programs a script would launch, with which words. Nothing is executed."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from dse.base.errors import InputError, excerpt, unknown
from dse.base.files import is_file
from dse.prediction.frameworks.reading.conditions import holds
from dse.prediction.frameworks.reading.files import text_of
from dse.prediction.frameworks.reading.launchers import LAUNCHERS, is_launched
from dse.prediction.frameworks.reading.shell_builtins import BUILTINS
from dse.prediction.frameworks.reading.shell_inputs import INPUTS, echoed, printed
from dse.prediction.frameworks.reading.shell_nodes import Simple
from dse.prediction.frameworks.reading.shell_processes import (
    MOST_SHELLS,
    MOST_TEXT,
    WITHOUT_OUTPUT,
    Command,
    Processes,
)
from dse.prediction.frameworks.reading.shell_slurm import batch_counts, slurm_counts, slurm_variables
from dse.prediction.frameworks.reading.shell_syntax import EXPORTS, Statements
from dse.prediction.frameworks.reading.shell_words import Variables
from dse.prediction.frameworks.reading.values import ask, missing_in, readable

_MOST_WORDS = 100_000
_MOST_COMMANDS = 100
_PASSED_NAMES = """
. : cat cd chmod clear conda cp date dcgmi df du echo find free git grep hash head hostname id ln ls
lscpu mkdir ml module mv nvidia-smi pip popd printenv printf ps pushd pwd rm rmdir rocm-smi rocminfo
rsync sacct sacctmgr scontrol set shopt sinfo sleep sort source spack squeue tail tar tee trap true type
ulimit umask uname uptime wait wc which whoami
"""
_REMOTE = ("ssh", "pdsh")
_SILENT = (":", "true", "set", "echo", "mkdir")  # commands that change no word of others
_PASSED = frozenset(_PASSED_NAMES.split())


@dataclass(frozen=True)
class Script:
    """Commands in order, how many nodes and GPUs the lines for Slurm ask for, and what was passed over.

    `files` are texts that the script writes, by their paths, `end_line` is the line of its exit, or 0.
    """

    commands: tuple[Command, ...]
    slurm: Mapping[str, int]
    notes: tuple[str, ...]
    uses_arguments: bool
    files: Mapping[str, str]
    end_line: int


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
    if len(text) > MOST_TEXT or "\0" in text:
        problem = f"at most {MOST_TEXT} characters, none of them NUL, are allowed"
        raise InputError(f"{where}: is no script that is read; {problem}")
    slurm = slurm_counts(text)
    known = {**slurm_variables(slurm), **(given or {})}
    slurm = slurm or batch_counts(text)
    reader = _Interpreter(Variables(where, known, tuple(arguments)), folder)
    try:
        reader.run(Statements(text, where).all())
    except RecursionError:
        raise InputError(f"{where}: its functions call each other too deeply to be read") from None
    return Script(
        tuple(reader.commands),
        reader.slurm or slurm,
        tuple(reader.variables.notes),
        reader.variables.uses_arguments,
        reader.files,
        reader.end_line,
    )


class _Interpreter(Processes):
    def _simple(self, node: Simple) -> int:
        if not node.words:
            self._output_status = 0
            for assignment in node.assignments:
                self._assign(assignment)
            return self._output_status
        words = self._words(node)
        name = words[0] if words else ""
        if self._output and name not in self._functions and name not in WITHOUT_OUTPUT:
            self._print(name, words[1:], node)
        if name in ("cat", "tee") and node.text is not None:
            with suppress(InputError):  # a text of what only a shell knows is no file that is read
                self._write(node, words, self.variables.text(node.text.parts))
        if name in ("echo", "printf") and node.target:
            told = echoed(words[1:]) if name == "echo" else printed(words[1:])
            self._write(node, words[:1], told or "")
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
            if self._output and not words[1:]:
                raise InputError(f"{self._place(node.line)}: exec leads the output of $(...) elsewhere")
            status = self._launch(words[1:], node)
            self._is_over = self._is_over or len(words) > 1
            return status
        if name == "false":
            return 1
        if name in INPUTS:
            return self._input(name, words[1:], node)
        if name in (".", "source") and (sourced := self._sourced(words[1:], node)) is not None:
            return sourced
        if name == "command" and words[1:2] in (["-v"], ["-V"]):
            return 0
        if name == "set":
            self._set(words[1:])
        if name == "shopt" and "inherit_errexit" in words and words[1] in ("-s", "-u"):
            self._inherits_errexit = words[1] == "-s"
        if name == "printf" and words[1:2] == ["-v"] and words[2:]:
            self._formatted(words, node)
        if name in _PASSED and (name, words[1:2]) != ("conda", ["run"]):
            note = f"line {node.line}: {name} is passed over"
            if name not in _SILENT and note not in self.variables.notes:
                self.variables.notes.append(note)
            return 0
        return self._launch(words, node)

    def _write(self, node: Simple, words: Sequence[str], text: str) -> None:
        """Keep a text that a script writes into a file, which it may start or name later."""
        target = self.variables.text(node.target) if node.target else words[-1] if len(words) > 1 else ""
        path = posixpath.normpath(readable(target))
        if PurePosixPath(path).name and not target.startswith(("&", "/dev/")):
            self.files[path] = self.files.get(path, "") * node.adds + text

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
        file = readable(words[0]) if words else ""
        name = file.rpartition("/")[2]
        path = self._folder / name if self._folder and name else None
        is_there = file in self.files or (path is not None and is_file(path))
        if not is_there or self._shells >= MOST_SHELLS:
            return None
        values, where = self.variables, self.variables.where
        before = values.positional, values.is_function
        try:
            if path is None or file in self.files:
                nodes = Statements(self.files[file], where, node.line).all()
            else:
                where = str(path)
                nodes = Statements(text_of(path)[:MOST_TEXT].replace("\0", ""), where).all()
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
        if words[0] == "sbatch":
            return self._submit(words[1:], node)
        if words[0] in _REMOTE:
            return self._remote(words, node)
        if node.text is not None:
            return self._piped(words, node)
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

    def _scalar(self, name: str) -> str:
        value = self.variables.values.get(name, self.variables.given.get(name, ""))
        return value if isinstance(value, str) else " ".join(value)

"""Shell scripts read as data: which programs a script would launch, with which words. Nothing is executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from dse.base.errors import InputError, excerpt, unknown
from dse.base.files import is_file
from dse.prediction.frameworks.reading.conditions import holds
from dse.prediction.frameworks.reading.files import text_of
from dse.prediction.frameworks.reading.launchers import LAUNCHERS, is_launched, started_at
from dse.prediction.frameworks.reading.shell_flow import Flow
from dse.prediction.frameworks.reading.shell_nodes import Assignment, Simple
from dse.prediction.frameworks.reading.shell_slurm import slurm_counts, slurm_variables
from dse.prediction.frameworks.reading.shell_syntax import Statements
from dse.prediction.frameworks.reading.shell_words import Variables
from dse.prediction.frameworks.reading.values import OUTPUT, ask, mark, missing_in, readable

_MOST_WORDS = 100_000
_MOST_SHELLS = 3
_MOST_TEXT = 250_000
_MOST_COMMANDS = 100
_EXPORTS = frozenset({"export", "declare", "local", "readonly", "typeset"})
_PASSED_NAMES = """
. : cat cd chmod clear conda cp date dcgmi df du echo find free git grep hash head hostname id ln ls
lscpu mkdir ml module mv nvidia-smi pip popd printenv printf ps pushd pwd rm rmdir rocm-smi rocminfo
rsync sacct sacctmgr scontrol set shopt sinfo sleep sort source spack squeue tail tar tee trap true type
ulimit umask uname uptime wait wc which whoami
"""
_SHELLS = ("sh", "bash", "/bin/sh", "/bin/bash")
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


class _Interpreter(Flow):
    def __init__(self, variables: Variables, folder: Path | None) -> None:
        super().__init__(variables)
        self.commands: list[Command] = []
        self._folder = folder
        self._shells = 0
        self._files: dict[str, str] = {}
        self._locals: list[dict[str, str | list[str] | None]] = []

    def _simple(self, node: Simple) -> bool:
        if not node.words:
            for assignment in node.assignments:
                self._assign(assignment)
            return True
        words = self._words(node)
        name = words[0] if words else ""
        if name in ("cat", "tee") and node.text is not None:
            self._write(node, words)
        if name in self._functions:
            return self._call(name, words[1:], node)
        if name in ("[", "test"):
            if name == "[" and words[-1] != "]":
                raise InputError(f"{self._place(node.line)}: [ has no end; close it with ]")
            return holds(words[1:-1] if name == "[" else words[1:], self.variables, node.line)
        if name in _EXPORTS:
            return self._export(node, words)
        if name in ("unset", "exit", "return", "exec", "eval", "shift", "break", "continue"):
            return self._builtin(name, words[1:], node)
        if name == "false" or (name == "getopts" and not self.variables.positional):
            return False
        if name in (".", "source") and self._sourced(words[1:2], node):
            return True
        if name == "set":
            self._set(words[1:])
        if name == "printf" and words[1:2] == ["-v"] and words[2:]:
            self.variables.assign(words[2], mark(OUTPUT, is_computed=True))
        if name in _PASSED:
            note = f"line {node.line}: {name} is passed over"
            if name not in _SILENT and note not in self.variables.notes:
                self.variables.notes.append(note)
            return True
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

    def _assign(self, assignment: Assignment) -> None:
        name, values = assignment.name, self.variables
        if assignment.items is not None:
            items = [field for item in assignment.items for field in values.fields(item)]
            before = values.values.get(name, [])
            older = [before] if isinstance(before, str) else before
            values.assign(name, [*older, *items] if assignment.adds else items)
            return
        if name in values.given and len(assignment.word) == 1 and assignment.word[0].kind == "command":
            values.assign(name, values.given[name])
            return
        text = values.text(assignment.word)
        older_text = values.values.get(name, values.given.get(name, "")) if assignment.adds else ""
        if isinstance(older_text, list):
            text, older_text = f"{older_text[0] if older_text else ''}{text}", ""
        values.assign(name, older_text + text)

    def _export(self, node: Simple, words: Sequence[str]) -> bool:
        is_local = words[0] in ("local", "declare", "typeset") and bool(self._locals)
        for assignment in node.exported:
            self._declare(assignment.name, is_local)
            self._assign(assignment)
        for word in words[1:]:
            name, is_assigned, value = word.partition("=")
            if word.startswith("-"):
                if "A" in word or "n" in word:
                    kind = "arrays have numbers as places" if "A" in word else "write the name itself"
                    raise InputError(f"{self._place(node.line)}: {word} is not read; {kind}")
                continue
            self._declare(name, is_local)
            if is_assigned:
                self.variables.assign(name, value)
        return True

    def _declare(self, name: str, is_local: bool) -> None:
        """Make a variable one of commands, or of the function that runs: then its value comes back."""
        if is_local:
            self._locals[-1].setdefault(name, self.variables.values.pop(name, None))
        else:
            self._exported[name] = None

    def _call(self, name: str, words: Sequence[str], node: Simple) -> bool:
        """Run a function: its words are the arguments, and variables before it are its own."""
        values = self.variables
        before = values.positional, values.uses_arguments, values.is_function
        self._locals.append({})
        for assignment in node.assignments:
            self._locals[-1].setdefault(assignment.name, values.values.get(assignment.name))
            self._assign(assignment)
        values.positional, values.is_function = tuple(words), True
        succeeds = self.run(self._functions[name])
        values.positional, values.uses_arguments, values.is_function = before
        self._has_returned = False
        for own, value in self._locals.pop().items():
            values.values.pop(own, None)
            if value is not None:
                values.values[own] = value
        return succeeds

    def _builtin(self, name: str, words: Sequence[str], node: Simple) -> bool:
        if name == "unset":
            for word in words:
                self.variables.values.pop(word, None)
        elif name == "exit":
            self._is_over = True
        elif name in ("break", "continue"):
            if words and words != ["1"]:
                raise InputError(f"{self._place(node.line)}: {name} is read for one loop only")
            self._leaves = name if self._loops else ""
        elif name == "return":
            self._has_returned = True
            return words[:1] in ([], ["0"])
        elif name == "eval":
            self._shell(" ".join(words), node)
        elif name == "shift":
            count = self.variables.number(words[0], node.line) if words else 1
            self.variables.positional = self.variables.positional[max(count, 0) :]
        elif words:
            self._launch(list(words), node)
            self._is_over = True
        return True

    def _set(self, words: Sequence[str]) -> None:
        """Take the arguments that `set` gives the script: those behind --, or all that begin with no sign."""
        if "--" in words:
            self.variables.positional = tuple(words[words.index("--") + 1 :])
            self.variables.is_function = True  # none of them is open
        elif words and not words[0].startswith(("-", "+")):
            self.variables.positional, self.variables.is_function = tuple(words), True

    def _sourced(self, words: Sequence[str], node: Simple) -> bool:
        """Read a file of the script's folder that it sources; one outside the subset is passed over."""
        path = self._folder / readable(words[0]).rpartition("/")[2] if self._folder and words else None
        if path is None or not is_file(path) or self._shells >= _MOST_SHELLS:
            return False
        before = self.variables.where
        try:
            nodes = Statements(text_of(path)[:_MOST_TEXT].replace("\0", ""), str(path)).all()
        except InputError as error:
            self.variables.notes.append(f"line {node.line}: {path.name} is passed over: {error}")
            return True
        self._shells += 1
        self.variables.where = str(path)
        self.run(nodes)
        self.variables.where, self._has_returned = before, False
        self._shells -= 1
        return True

    def _launch(self, words: list[str], node: Simple) -> bool:
        if not words:
            return True
        place = self._place(node.line)
        if missing_in(words[0]):
            raise ask(words[0], place, "the command")
        first = started_at(words, place)
        for at, word in enumerate(words):
            is_started = at == first or (at > 0 and words[at - 1] in _SHELLS)
            if is_started and PurePosixPath(readable(word)).name in self._files:
                return self._run_written(words, at, node)
        if words[0] in _REMOTE:
            return self._remote(words, node)
        for at in range(1, len(words) - 1):
            if words[at] in ("-c", "-lc") and words[at - 1] in _SHELLS:
                return self._shell(words[at + 1], node, words[: at - 1])
        if not is_launched(words):
            problem = f"{place}: {excerpt(readable(words[0]))} is no command that is read"
            known = sorted({*LAUNCHERS, *_PASSED, *_EXPORTS, "if"})
            raise InputError(
                unknown(problem, words[0], known, f"allowed are {', '.join(known)}, and NAME=VALUE")
            )
        if len(self.commands) >= _MOST_COMMANDS:
            raise InputError(f"{place}: launches more than {_MOST_COMMANDS} programs, the most that are read")
        environment = {name: self._scalar(name) for name in self._exported}
        environment |= {item.name: self.variables.text(item.word) for item in node.assignments}
        self.commands.append(Command(tuple(words), environment, node.line))
        return True

    def _run_written(self, words: list[str], at: int, node: Simple) -> bool:
        """Read a file that the script wrote before, with the words behind it as its arguments."""
        values = self.variables
        before = values.positional, values.uses_arguments
        values.positional = tuple(words[at + 1 :])
        prefix = words[: at - 1 if at and words[at - 1] in _SHELLS else at]
        text = self._files[PurePosixPath(readable(words[at])).name]
        found = self._shell(text, node, prefix)
        values.positional, values.uses_arguments = before
        return found

    def _remote(self, words: list[str], node: Simple) -> bool:
        """Read what runs on another host, whose name follows the options of ssh."""
        at = 1
        while at < len(words) and words[at].startswith("-"):
            at += 2 if words[at] in _REMOTE_VALUES else 1
        at += words[0] == "ssh"
        return self._shell(" ".join(words[at:]), node) if words[at:] else True

    def _shell(self, text: str, node: Simple, prefix: Sequence[str] = ()) -> bool:
        """Read a text that another shell would run: with the same variables, and as data too.

        `prefix` is what launches that shell, such as srun with its options.
        """
        self._shells += 1
        if self._shells > _MOST_SHELLS:
            raise InputError(f"{self._place(node.line)}: at most {_MOST_SHELLS} scripts in a script are read")
        before = len(self.commands)
        self.run(Statements(text, self.variables.where, node.line).all())
        self._is_over = False
        self._shells -= 1
        self.commands[before:] = [replace(c, words=(*prefix, *c.words)) for c in self.commands[before:]]
        return True

    def _scalar(self, name: str) -> str:
        value = self.variables.values.get(name, self.variables.given.get(name, ""))
        return value if isinstance(value, str) else " ".join(value)

    def _place(self, line: int) -> str:
        return f"{self.variables.where}: line {line}"

"""Commands of a shell itself: assignments, exports, calls of functions, and ends of loops and scripts."""

from __future__ import annotations

from collections.abc import Sequence

from dse.base.errors import InputError
from dse.prediction.frameworks.reading.shell_flow import Flow
from dse.prediction.frameworks.reading.shell_nodes import Assignment, Simple

BUILTINS = frozenset({"unset", "exit", "return", "shift", "break", "continue"})


class Builtins(Flow):
    """Interprets commands that change variables, or where the script goes on."""

    def _assign(self, assignment: Assignment) -> None:
        name, values = assignment.name, self.variables
        if self._exports_all:
            self._exported[name] = None
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

    def _export(self, node: Simple, words: Sequence[str]) -> None:
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

    def _declare(self, name: str, is_local: bool) -> None:
        """Make a variable one of commands, or of the function that runs: then its value comes back."""
        if is_local:
            self._locals[-1].setdefault(name, self.variables.values.pop(name, None))
        else:
            self._exported[name] = None

    def _call(self, name: str, words: Sequence[str], node: Simple) -> int:
        """Run a function: its words are the arguments, and variables before it are its own."""
        values = self.variables
        before = values.positional, values.uses_arguments, values.is_function, self._loops
        self._loops = 0
        self._locals.append({})
        passed = {assignment.name for assignment in node.assignments} - self._exported.keys()
        self._exported |= dict.fromkeys(passed)
        for assignment in node.assignments:
            self._locals[-1].setdefault(assignment.name, values.values.get(assignment.name))
            self._assign(assignment)
        values.positional, values.is_function = tuple(words), True
        status = self.run(self._functions[name])
        values.positional, values.uses_arguments, values.is_function, self._loops = before
        self._has_returned = False
        self._exported = {name: None for name in self._exported if name not in passed}
        for own, value in self._locals.pop().items():
            values.values.pop(own, None)
            if value is not None:
                values.values[own] = value
        return status

    def _builtin(self, name: str, words: Sequence[str], node: Simple) -> int:
        if name == "unset":
            for word in words:
                if "[" in word:
                    raise InputError(f"{self._place(node.line)}: unset is read for a whole array, not {word}")
                self.variables.values.pop(word, None)
                self._exported.pop(word, None)
        elif name in ("exit", "return"):
            self._is_over, self._has_returned = self._is_over or name == "exit", name == "return"
            if not words:
                return self.variables.status
            return int(words[0]) & 255 if words[0].isdecimal() else 1
        elif name == "shift":
            count = self.variables.number(words[0], node.line) if words else 1
            known = self.variables.positional
            if count > len(known) and (known or self.variables.is_function):
                return 1  # nothing is shifted then
            self.variables.positional = known[max(count, 0) :]
        else:
            if words and words != ["1"]:
                raise InputError(f"{self._place(node.line)}: {name} is read for one loop only")
            self._leaves = name if self._loops else ""
        return 0

    def _set(self, words: Sequence[str]) -> None:
        """Take the arguments that `set` gives the script: those behind --, or all that begin with no sign."""
        if words[:1] in (["-a"], ["+a"]) or words[1:2] == ["allexport"]:
            self._exports_all = words[0].startswith("-")
        if "--" in words:
            self.variables.positional = tuple(words[words.index("--") + 1 :])
            self.variables.is_function = True  # none of them is open
        elif words and not words[0].startswith(("-", "+")):
            self.variables.positional, self.variables.is_function = tuple(words), True

    def _place(self, line: int) -> str:
        return f"{self.variables.where}: line {line}"

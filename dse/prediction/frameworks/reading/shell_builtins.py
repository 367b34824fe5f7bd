"""Commands of a shell itself: assignments, exports, calls of functions, and ends of loops and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dse.base.errors import InputError
from dse.prediction.frameworks.reading.shell_arrays import Table, placed
from dse.prediction.frameworks.reading.shell_flow import Flow
from dse.prediction.frameworks.reading.shell_nodes import Assignment, Simple, Word
from dse.prediction.frameworks.reading.shell_tokens import Part
from dse.prediction.frameworks.reading.values import ask, missing_in

BUILTINS = frozenset({"unset", "exit", "return", "shift", "break", "continue"})

_FIRST = (Part("text", "0", True, 0),)


class Builtins(Flow):
    """Interprets commands that change variables, or where the script goes on."""

    def _assign(self, assignment: Assignment) -> None:
        values = self.variables
        name = values.aliases.get(assignment.name, assignment.name)
        assignment = replace(assignment, name=name)
        if assignment.adds and assignment.items is None and name in values.numbers:
            problem = f"declare -i makes {name} a number, to which += adds"
            raise InputError(f"{self._place(assignment.line)}: {problem}; write {name}=$(({name} + ...))")
        if self._exports_all:
            self._exported[name] = None
        if assignment.items is not None:
            values.assign(name, self._items(assignment))
            return
        if assignment.place:
            before = values.values.get(name, [])
            items = [before] if isinstance(before, str) else before
            self._put(items, assignment, assignment.place, assignment.word, adds=assignment.adds)
            return
        if name in values.given and len(assignment.word) == 1 and assignment.word[0].kind == "command":
            values.assign(name, values.given[name])
            return
        text = values.text(assignment.word)
        older_text = values.values.get(name, values.given.get(name, "")) if assignment.adds else ""
        present = values.values.get(name)
        if isinstance(present, Table):
            self._put(present, assignment, _FIRST, assignment.word, adds=assignment.adds)
        elif isinstance(present, list):  # a text changes the first item only
            first = present[0] if assignment.adds and present else ""
            values.assign(name, [first + text, *present[1:]])
        else:
            values.assign(name, f"{older_text}{text}")

    def _items(self, assignment: Assignment) -> list[str]:
        """The items of an array, some of which may have their places."""
        name, values = assignment.name, self.variables
        before = values.values.get(name, [])
        found: list[str] = Table() if isinstance(before, Table) else []
        if assignment.adds:
            found = [before] if isinstance(before, str) else before
        for item in assignment.items or ():
            if told := placed(item):
                place, adds, value = told
                found = self._put(found, assignment, place, value, adds=adds)
            elif isinstance(found, Table):
                problem = f"{name} has texts as places; write {name}=([KEY]=VALUE ...)"
                raise InputError(f"{self._place(assignment.line)}: {problem}")
            else:
                found = [*found, *values.fields(item)]
        return found

    def _put(
        self, items: list[str], assignment: Assignment, place: Word, value: Word, *, adds: bool
    ) -> list[str]:
        """Return an array with an item at a place, and assign it.

        Raises:
            InputError: the place is open, or would leave a gap.
        """
        name, values, where = assignment.name, self.variables, self._place(assignment.line)
        key = values.text(place)
        if missing_in(key):
            raise ask(key, where, f"the place in {name}")
        if isinstance(items, Table):
            older = items.get(key) or "" if adds else ""
            found: list[str] = Table({**dict(items.items()), key: older + values.text(value)}.items())
        else:
            at = values.place_of(key, assignment.line)
            at += len(items) if at < 0 else 0
            if not 0 <= at <= len(items):
                problem = f"{name}[{at}] leaves a gap behind {len(items)} items, which is not read"
                raise InputError(f"{where}: {problem}; assign the places in order")
            older = items[at] if adds and at < len(items) else ""
            found = [*items[:at], older + values.text(value), *items[at + 1 :]]
        values.assign(name, found)
        return found

    def _export(self, node: Simple, words: Sequence[str]) -> None:
        flags, off = ("".join(word[1:] for word in words[1:] if word.startswith(sign)) for sign in "-+")
        exports = "x" in flags or (words[0] == "export" and "n" not in flags)
        hides = "x" in off or (words[0] == "export" and "n" in flags)
        if "p" in flags or (flags.strip("g") in ("f", "F") and not exports):  # it writes what is declared
            return
        if letter := next((each for each in "ulcI" if each in flags), ""):
            problem = f"{words[0]} -{letter} changes what is assigned, which is not read"
            raise InputError(f"{self._place(node.line)}: {problem}; assign the value as it is used")
        is_local = words[0] in ("local", "declare", "typeset") and bool(self._locals) and "g" not in flags
        if "n" in flags and words[0] != "export":
            told = [f"{one.name}={self.variables.text(one.word)}" for one in node.exported]
            self._name([*told, *words[1:]], node)
            return
        for assignment in [self._expanded(one) for one in node.exported]:
            self._declare(assignment.name, is_local, exports=exports, is_table="A" in flags)
            self._count(assignment.name, flags, off)
            self._assign(assignment)
            if hides:
                self._exported.pop(assignment.name, None)
        for word in words[1:]:
            name, is_assigned, value = word.partition("=")
            if word.startswith(("-", "+")):
                continue
            is_exported = exports or (self._exports_all and bool(is_assigned))
            self._declare(name, is_local, exports=is_exported, is_table="A" in flags)
            self._count(name, flags, off)
            if is_assigned:
                self.variables.assign(name, value)
            if hides:
                self._exported.pop(name, None)

    def _expanded(self, assignment: Assignment) -> Assignment:
        """An assignment with its value: a local variable may take the one around it of the same name."""
        values, line = self.variables, assignment.line
        is_given = assignment.name in values.given and [part.kind for part in assignment.word] == ["command"]
        if is_given or assignment.place:
            return assignment
        if assignment.items is None:
            text = values.text(assignment.word)
            return replace(assignment, word=(Part("text", text, True, line),) if text else ())
        items = list[Word]()
        for item in assignment.items:
            is_placed = placed(item) is not None
            items += (
                [item] if is_placed else [(Part("text", one, True, line),) for one in values.fields(item)]
            )
        return replace(assignment, items=tuple(items))

    def _name(self, words: Sequence[str], node: Simple) -> None:
        """Let names stand for others, as declare -n does."""
        for name, is_said, other in (word.partition("=") for word in words if not word.startswith("-")):
            if missing_in(other):
                raise ask(other, self._place(node.line), f"the name behind {name}")
            if not (is_said and other.isidentifier() and other != name):
                problem = f"{name} must stand for the name of another variable; write {name}=NAME"
                raise InputError(f"{self._place(node.line)}: {problem}")
            self.variables.aliases[name] = self.variables.aliases.get(other, other)

    def _declare(self, name: str, is_local: bool, *, exports: bool, is_table: bool) -> None:
        """Make a variable one of the function that runs, after which its value comes back, or of commands."""
        if is_local:
            self._locals[-1].setdefault(name, self.variables.values.pop(name, None))
            self.variables.numbers.discard(name)
        if exports:
            self._exported[name] = None
        if is_table and not isinstance(self.variables.values.get(name), Table):
            self.variables.assign(name, Table())

    def _count(self, name: str, flags: str, off: str) -> None:
        """Make a variable a number with -i, and a text with +i."""
        numbers = self.variables.numbers
        if "i" in flags:
            numbers.add(name)
        elif "i" in off:
            numbers.discard(name)

    def _call(self, name: str, words: Sequence[str], node: Simple) -> int:
        """Run a function: its words are the arguments, and variables before it are its own."""
        values = self.variables
        before = values.positional, values.uses_arguments, values.is_function, self._loops, values.aliases
        values.aliases = dict(values.aliases)
        self._loops = 0
        self._locals.append({})
        exported, numbers = self._exported.copy(), set(values.numbers)
        self._exported |= dict.fromkeys(assignment.name for assignment in node.assignments)
        for assignment in node.assignments:
            self._locals[-1].setdefault(assignment.name, values.values.get(assignment.name))
            self._assign(assignment)
        values.positional, values.is_function = tuple(words), True
        status = self.run(self._functions[name])
        values.positional, values.uses_arguments, values.is_function, self._loops, values.aliases = before
        self._has_returned = False
        found = self._locals.pop()
        kept = {name: None for name in self._exported if name not in found}
        self._exported = kept | {name: None for name in exported if name in found}
        values.numbers = (values.numbers - found.keys()) | (numbers & found.keys())
        for own, value in found.items():
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
                self.variables.numbers.discard(word)
        elif name in ("exit", "return"):
            self._is_over, self._has_returned = self._is_over or name == "exit", name == "return"
            self.end_line = node.line if name == "exit" else self.end_line
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
        for at, word in enumerate(words[: words.index("--")] if "--" in words else words):
            if word[:1] not in ("-", "+"):
                continue
            is_on, letters = word[0] == "-", word[1:]
            named = words[at + 1] if letters.endswith("o") and words[at + 1 :] else ""
            if "a" in letters or named == "allexport":
                self._exports_all = is_on
            if "e" in letters or named == "errexit":
                self._ends_on_failure = is_on
            if named == "pipefail":
                self._joins_failures = is_on
        if "--" in words:
            self.variables.positional = tuple(words[words.index("--") + 1 :])
            self.variables.is_function = True  # none of them is open
        elif words and not words[0].startswith(("-", "+")):
            self.variables.positional, self.variables.is_function = tuple(words), True

    def _place(self, line: int) -> str:
        return f"{self.variables.where}: line {line}"

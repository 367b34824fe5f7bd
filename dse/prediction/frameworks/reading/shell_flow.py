"""How a shell script runs from statement to statement: choices, loops, chains and subshells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from dse.base.errors import InputError
from dse.prediction.frameworks.reading.conditions import chosen, holds
from dse.prediction.frameworks.reading.shell_nodes import (
    Case,
    Chain,
    Choice,
    Function,
    Loop,
    Node,
    Pipeline,
    Redirected,
    Repeat,
    Simple,
    Subshell,
    Test,
    Word,
)
from dse.prediction.frameworks.reading.shell_words import Variables
from dse.prediction.frameworks.reading.values import without_unset

_MOST_STEPS = 100_000


class Flow(ABC):
    """Interprets statements; each has a status, 0 where it succeeds, as in bash.

    What a simple command does is left to the class of a reader.
    """

    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        self._steps = 0
        self._exported: dict[str, None] = {}
        self._exports_all = False
        self._ends_on_failure, self._joins_failures = False, False  # as set -e and pipefail have it
        self._inherits_errexit = False  # whether set -e holds in $(...) too
        self._guards = 0
        self.end_line = 0  # of the last exit
        self._functions: dict[str, Sequence[Node]] = {}
        self._locals: list[dict[str, str | list[str] | None]] = []
        self._is_over = False
        self._has_returned = False
        self._loops = 0
        self._leaves = ""
        self._option_place, self._rest_of_option = 0, ""  # of getopts: further letters in the same word

    @abstractmethod
    def _simple(self, node: Simple) -> int:
        """Interpret a command; return its status."""

    @abstractmethod
    def _redirected(self, streams: Sequence[tuple[str, Word]]) -> AbstractContextManager[None]:
        """Let output go to other places."""

    def run(self, nodes: Sequence[Node]) -> int:
        """Interpret statements; return the status of the last."""
        status = 0
        for node in nodes:
            if self._is_left:
                return self.variables.status
            self._count_step()
            status = self._one(node) if isinstance(node, Chain) else self._checked(node)
        return status

    def _checked(self, node: Node) -> int:
        """Run a statement; with set -e the script is over where one fails that no condition holds."""
        status = self._one(node)
        bare = node.block if isinstance(node, Redirected) else node
        is_command = isinstance(bare, (Simple, Test, Subshell, Pipeline))
        is_command = is_command and not (isinstance(node, Pipeline) and node.is_negated)
        if status and self._ends_on_failure and is_command and not (self._guards or self._is_left):
            self.variables.notes.append(
                f"line {node.line}: a command fails, and set -e ends the script there"
            )
            self._is_over, self.end_line = True, node.line
        return status

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Let statements fail, as in a condition."""
        self._guards += 1
        try:
            yield
        finally:
            self._guards -= 1

    @property
    def _is_left(self) -> bool:
        """Whether no further statement of a block runs."""
        return self._is_over or self._has_returned or bool(self._leaves)

    def _count_step(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise InputError(f"{self.variables.where}: runs through more than {_MOST_STEPS} statements")

    def _one(self, node: Node) -> int:
        status = self._status_of(node)
        self.variables.status = status
        return status

    def _status_of(self, node: Node) -> int:
        if isinstance(node, Choice):
            for condition, body in node.branches:
                if not condition or self._holds(condition) or self._is_left:
                    return self.run(body)
            return 0
        if isinstance(node, Test):
            return int(not holds(node.tokens, self.variables, node.line))
        if isinstance(node, Case):
            return self.run(chosen(node, self.variables))
        if isinstance(node, Chain):
            return self._chain(node)
        if isinstance(node, Pipeline):
            return self._pipeline(node)
        if isinstance(node, Loop):
            return self._loop(node)
        if isinstance(node, Repeat):
            return self._repeat(node)
        if isinstance(node, Subshell):
            with self._apart():
                return self.run(node.body)
        if isinstance(node, Function):
            self._functions[node.name] = node.body
            return 0
        with self._redirected(node.streams):
            return self._one(node.block) if isinstance(node, Redirected) else self._simple(node)

    def _holds(self, condition: Sequence[Node]) -> bool:
        with self._guarded():
            return self.run(condition) == 0

    def _loop(self, loop: Loop) -> int:
        values, status = list(self.variables.positional), 0
        if loop.words is None:
            self.variables.uses_arguments = True
        else:
            values = [value for word in loop.words for value in self.variables.fields(word)]
        for value in values:
            if value and not without_unset(value):
                continue
            self.variables.assign(loop.name, value)
            status, goes_on = self._once(loop.body)
            if not goes_on:
                break
        return status

    def _repeat(self, loop: Repeat) -> int:
        self.run(loop.before)
        status, goes_on = 0, True
        while goes_on and (not loop.condition or self._holds(loop.condition) != loop.is_until):
            if self._is_left:
                break
            self._count_step()
            status, goes_on = self._once(loop.body)
            if goes_on:
                self.run(loop.after)
        return self.variables.status if self._is_left else status

    def _once(self, body: Sequence[Node]) -> tuple[int, bool]:
        """Run the body of a loop once; return its status and whether the loop goes on."""
        self._loops += 1
        status = self.run(body)
        self._loops -= 1
        leaves, self._leaves = self._leaves, ""
        return status, leaves != "break" and not self._is_left

    @contextmanager
    def _apart(self) -> Iterator[None]:
        """Let statements run as in a shell of their own, whose variables, functions and exit stay there."""
        values = self.variables
        kept = values.values, values.positional, values.is_function, values.aliases, values.where
        numbers, values.numbers = values.numbers, set(values.numbers)
        own = self._exported, self._exports_all, self._functions, self._locals, self._loops
        values.values, self._exported = dict(values.values), dict(self._exported)
        values.aliases = dict(values.aliases)
        self._functions, self._locals = dict(self._functions), [dict(each) for each in self._locals]
        self._loops = 0  # no break in there leaves a loop around it
        settings = self._ends_on_failure, self._joins_failures, self._inherits_errexit
        try:
            yield
        finally:  # $(...) goes on where a statement of it is not read
            self._ends_on_failure, self._joins_failures, self._inherits_errexit = settings
            values.values, values.positional, values.is_function, values.aliases, values.where = kept
            self._exported, self._exports_all, self._functions, self._locals, self._loops = own
            values.numbers = numbers
            self._is_over, self._has_returned, self._leaves = False, False, ""

    def _pipeline(self, node: Pipeline) -> int:
        """Run commands, each in a shell of its own where several are in a pipe; the last gives the status."""
        status, failed, before = 0, 0, self.variables.status
        for command in node.commands:
            self.variables.status = before
            with (
                self._guarded() if node.is_negated else nullcontext(),
                self._apart() if len(node.commands) > 1 else nullcontext(),
            ):
                status = self._one(command)
            failed = status or failed
        status = failed if self._joins_failures else status
        is_negated = node.is_negated and not (self._is_over or self._has_returned)
        return int(status == 0) if is_negated else status

    def _chain(self, chain: Chain) -> int:
        with self._guarded():
            status = self._one(chain.first)
        for operator, node in chain.others:
            if (status == 0) == (operator == "&&") and not self._is_left:
                with self._guarded() if node is not chain.others[-1][1] else nullcontext():
                    status = self._checked(node)
        return status

"""How a shell script runs from statement to statement: choices, loops, chains and subshells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from dse.base.errors import InputError
from dse.prediction.frameworks.reading.conditions import chosen, holds
from dse.prediction.frameworks.reading.shell_nodes import (
    Case,
    Chain,
    Choice,
    Function,
    Loop,
    Node,
    Repeat,
    Simple,
    Subshell,
    Test,
)
from dse.prediction.frameworks.reading.shell_words import Variables
from dse.prediction.frameworks.reading.values import without_unset

_MOST_STEPS = 100_000


class Flow(ABC):
    """Interprets statements; what a simple command does is left to the class of a reader."""

    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        self._steps = 0
        self._exported: dict[str, None] = {}
        self._functions: dict[str, Sequence[Node]] = {}
        self._is_over = False
        self._has_returned = False
        self._loops = 0
        self._leaves = ""

    @abstractmethod
    def _simple(self, node: Simple) -> bool:
        """Interpret a command; return whether it succeeds."""

    def run(self, nodes: Sequence[Node]) -> bool:
        """Interpret statements; return whether the last succeeds."""
        succeeds = True
        for node in nodes:
            if self._is_left:
                break
            self._count_step()
            succeeds = self._one(node)
        return succeeds

    @property
    def _is_left(self) -> bool:
        """Whether no further statement of a block runs."""
        return self._is_over or self._has_returned or bool(self._leaves)

    def _count_step(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise InputError(f"{self.variables.where}: runs through more than {_MOST_STEPS} statements")

    def _one(self, node: Node) -> bool:
        if isinstance(node, Choice):
            for condition, body in node.branches:
                if not condition or self.run(condition):
                    return self.run(body)
            return True
        if isinstance(node, Test):
            return holds(node.tokens, self.variables, node.line)
        if isinstance(node, Case):
            return self.run(chosen(node, self.variables))
        if isinstance(node, Chain):
            return self._chain(node)
        if isinstance(node, Loop):
            return self._loop(node)
        if isinstance(node, Repeat):
            return self._repeat(node)
        if isinstance(node, Subshell):
            return self._subshell(node)
        if isinstance(node, Function):
            self._functions[node.name] = node.body
            return True
        return self._simple(node)

    def _loop(self, loop: Loop) -> bool:
        values = list(self.variables.positional)
        if loop.words is None:
            self.variables.uses_arguments = True
        else:
            values = [value for word in loop.words for value in self.variables.fields(word)]
        for value in values:
            if value and not without_unset(value):
                continue
            self.variables.assign(loop.name, value)
            if not self._goes_on(loop.body):
                break
        return True

    def _repeat(self, loop: Repeat) -> bool:
        self.run(loop.before)
        while not loop.condition or self.run(loop.condition) != loop.is_until:
            self._count_step()
            if not self._goes_on(loop.body):
                break
            self.run(loop.after)
        return True

    def _goes_on(self, body: Sequence[Node]) -> bool:
        """Run the body of a loop once; return whether the loop goes on."""
        self._loops += 1
        self.run(body)
        self._loops -= 1
        leaves, self._leaves = self._leaves, ""
        return leaves != "break" and not self._is_left

    def _subshell(self, node: Subshell) -> bool:
        """Run statements whose variables, functions and exit are their own."""
        values = self.variables
        before = dict(values.values), values.positional, dict(self._exported), dict(self._functions)
        succeeds = self.run(node.body)
        values.values, values.positional, self._exported, self._functions = before
        self._is_over = False
        return succeeds

    def _chain(self, chain: Chain) -> bool:
        succeeds = self._one(chain.first) != (0 in chain.negated)
        for place, (operator, node) in enumerate(chain.others, 1):
            if operator == "|" or succeeds == (operator == "&&"):
                succeeds = self._one(node) != (place in chain.negated)
        return succeeds

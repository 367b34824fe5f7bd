"""One function as JavaScript: its parameters and statements."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from typing import Any

from dse.base.pages.translated_expressions import Expressions, plain, stored


class FunctionCode(Expressions, ast.NodeVisitor):
    """One function of the package in a module of a page."""

    def statement(self, name: str) -> str:
        """Return the function as a statement."""
        return f"function {name}(...$) {self._body(is_member=False)}"

    def member(self, record: str, name: str, *, is_property: bool) -> str:
        """Return the function as a method or property of a class."""
        body = self._body(is_member=True)
        if is_property:
            return f'Object.defineProperty({record}.prototype, "{name}", {{ get(...$) {body} }});'
        return f"{record}.prototype.{name} = function (...$) {body};"

    def _body(self, *, is_member: bool) -> str:
        node: Any = self._node
        given = node.args
        names = [each.arg for each in given.args][int(is_member) :]
        keys = [each.arg for each in given.kwonlyargs]
        rest, others = ([each.arg] if each else [] for each in (given.vararg, given.kwarg))
        bound = [*names, *rest, *keys, *others]
        inner = [each for each in dict.fromkeys(stored(node)) if each not in bound]
        self._own |= {*bound, *inner, *(["self"] if is_member else [])}
        lines = ["const self = this;"] if is_member else []
        if bound:
            placed = zip(names[len(names) - len(given.defaults) :], given.defaults, strict=True)
            pairs = [pair for pair in (*placed, *zip(keys, given.kw_defaults, strict=True)) if pair[1]]
            options = [f"{name}: {json.dumps(value)}" for name, value in (("keys", keys),) if value]
            options += [f"{name}: true" for name, value in (("rest", rest), ("others", others)) if value]
            defaults = ", ".join(f"{name}: () => {self._of(value)}" for name, value in pairs)
            options += [f"defaults: {{ {defaults} }}"] if defaults else []
            more = f", {{ {', '.join(options)} }}" if options else ""
            lines.append(f'let [{", ".join(map(plain, bound))}] = py.bind($, "{" ".join(names)}"{more});')
        if inner:
            lines.append(f"let {', '.join(map(plain, inner))};")
        return "\n".join(["{", *lines, *self._block(node.body), "}"])

    def _block(self, body: Iterable[ast.stmt]) -> list[str]:
        return [line for each in body if (line := self._of(each))]

    def _braces(self, body: Iterable[ast.stmt]) -> str:
        return "\n".join(["{", *self._block(body), "}"])

    def visit_Expr(self, node: ast.Expr) -> str:
        """An expression, or nothing in place of a docstring."""
        return "" if isinstance(node.value, ast.Constant) else f"{self._of(node.value)};"

    def visit_Return(self, node: ast.Return) -> str:
        """The end of a function."""
        return f"return {self._of(node.value) if node.value else 'null'};"

    def visit_Raise(self, node: ast.Raise) -> str:
        """An error."""
        return f"throw {self._of(node.exc)};" if node.exc else self.generic_visit(node)

    def visit_If(self, node: ast.If) -> str:
        """A choice."""
        orelse = f" else {self._braces(node.orelse)}" if node.orelse else ""
        return f"if ({self._truth(node.test)}) {self._braces(node.body)}{orelse}"

    def visit_For(self, node: ast.For) -> str:
        """A loop."""
        head = f"for ({self._of(node.target)} of {self._of(node.iter)})"
        return self.generic_visit(node) if node.orelse else f"{head} {self._braces(node.body)}"

    def visit_While(self, node: ast.While) -> str:
        """A loop as long as something holds."""
        head = f"while ({self._truth(node.test)})"
        return self.generic_visit(node) if node.orelse else f"{head} {self._braces(node.body)}"

    def visit_Break(self, node: ast.Break) -> str:  # noqa: ARG002
        """The end of a loop."""
        return "break;"

    def visit_Continue(self, node: ast.Continue) -> str:  # noqa: ARG002
        """The next turn of a loop."""
        return "continue;"

    def visit_Assign(self, node: ast.Assign) -> str:
        """A value for one name, several, or an entry."""
        *others, last = node.targets
        return "".join([f"{self._of(each)} = " for each in others]) + self._put(last, self._of(node.value))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> str:
        """The same with a type."""
        return self._put(node.target, self._of(node.value)) if node.value else ""

    def visit_AugAssign(self, node: ast.AugAssign) -> str:
        """The same with an operation; what is added to a list makes a new one."""
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        return self._put(node.target, self._of(ast.copy_location(ast.BinOp(read, node.op, node.value), node)))

    def _put(self, target: ast.expr, value: str) -> str:
        if isinstance(target, ast.Subscript):
            return f"py.put({self._of(target.value)}, {self._of(target.slice)}, {value});"
        return f"{self._of(target)} = {value};"

"""Functions of the package as a module of a page, so that a page has no second copy of their rules.

The translator follows a function to all that it names: functions, dataclasses, constants. Of classes it takes
the methods that may be called. `python.js` has the values and operations of Python.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dse.base.pages.translated_expressions import Expressions, plain, stored
from dse.base.records import hints_of, is_record, without_none


def translated(roots: Sequence[Callable[..., Any]], runtime: str) -> str:
    """Return a module that exports functions under their names; `runtime` is its way to `python.js`.

    Raises:
        ValueError: a function has something that a page cannot have; names file and line.
    """
    program = Program()
    names = [program.name_of(root) for root in roots]
    program.complete()
    return "\n".join(
        [f'import * as py from "{runtime}";', *program.parts, f"export {{ {', '.join(names)} }};", ""]
    )


class Program:
    """All that is translated so far: each part stands after those that it needs when it is read."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.parts: list[str] = []
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []  # a number of an object is its own as long as it lives
        self._asked = {"__post_init__"}
        self._members: set[tuple[type, str]] = set()

    def name_of(self, value: Any, wanted: str = "") -> str:
        """Return the name of a function, class or table, which the module has from now on."""
        value = value if isinstance(value, type) or not callable(value) else inspect.unwrap(value)
        if id(value) not in self._names:
            wanted, taken = wanted or value.__name__, set(self._names.values())
            name = next(
                each for each in (wanted, *(f"{wanted}{n}" for n in range(2, 99))) if each not in taken
            )
            self._names[id(value)] = name
            self._kept.append(value)
            if isinstance(value, type):
                self.parts.append(self._record(value, name))
            elif callable(value):
                self.parts.append(FunctionCode(self, value).statement(name))
            else:
                self.parts.append(f"const {name} = {self.literal(value)};")
        return self._names[id(value)]

    def literal(self, value: Any) -> str:
        """Return a value that is known when the page is made."""
        if value is None or isinstance(value, bool):
            return json.dumps(value)
        if isinstance(value, int):
            return f"{value}n"
        if isinstance(value, float):
            return repr(value) if math.isfinite(value) else f"{'-' if value < 0 else ''}Infinity"
        if isinstance(value, str):
            return json.dumps(value, ensure_ascii=False)
        if fields := _fields(type(value)):
            return f"new {self.name_of(type(value))}({self._listed(getattr(value, name) for name in fields)})"
        if isinstance(value, tuple | list):
            return f"[{self._listed(value)}]"
        if isinstance(value, set | frozenset):
            return f"new Set([{self._listed(sorted(value))}])"
        if isinstance(value, Mapping):
            return f"new py.Dict([{self._listed(value.items())}])"
        if callable(value):
            return self.name_of(value)
        raise ValueError(f"a page cannot have {value!r}")

    def ask(self, name: str) -> None:
        """Remember that a method of this name may be called."""
        self._asked.add(name)

    def complete(self) -> None:
        """Translate the methods that are asked for, until these ask for no others."""
        while found := [
            (record, name)
            for record in self._kept
            if isinstance(record, type)
            for name in vars(record)
            if name in self._asked and (record, name) not in self._members
        ]:
            for record, name in found:
                self._members.add((record, name))
                member = vars(record)[name]
                function = member.fget if isinstance(member, property) else getattr(member, "func", member)
                if inspect.isfunction(function):
                    code, is_property = FunctionCode(self, function), function is not member
                    self.parts.append(code.member(self.name_of(record), name, is_property=is_property))

    def _listed(self, values: Any) -> str:
        return ", ".join(map(self.literal, values))

    def _record(self, record: type, name: str) -> str:
        known = _fields(record)
        if not known:
            raise ValueError(f"a page cannot have the class {record.__name__}, which has no fields")
        hints, fields = hints_of(record), []
        for field, default in known.items():
            kind = without_none(hints[field])
            read = "py.real" if kind is float else "null"
            if is_record(kind):
                read = f"(value) => py.converted(value, {self.name_of(kind)})"
            made = "null" if default is dataclasses.MISSING else f"() => {self._made(default)}"
            fields.append(f'["{field}", {made}, {read}]')
        return f"class {name} extends py.Record {{}}\n{name}.fields = [{', '.join(fields)}];"

    def _made(self, default: Any) -> str:
        if not isinstance(default, type):
            return self.literal(default)
        return f"py.{default.__name__}()" if default in (list, dict) else f"new {self.name_of(default)}()"


def _fields(record: Any) -> dict[str, Any]:
    """The fields of a dataclass or named tuple, with defaults or their makers; none of another type."""
    missing = dataclasses.MISSING
    if is_record(record):
        return {
            each.name: each.default if each.default_factory is missing else each.default_factory
            for each in dataclasses.fields(record)
        }
    defaults = getattr(record, "_field_defaults", {})
    return {name: defaults.get(name, missing) for name in getattr(record, "_fields", ())}


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

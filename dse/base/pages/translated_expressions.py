"""Expressions of a function as JavaScript: the part of Python that rules are written in.

Anything else is an error when a page is made. Whole numbers are BigInt; `python.js` has the operations.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import inspect
import itertools
import json
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from dse.base.errors import InputError
from dse.base.records import converted

RUNTIME = "python.js"
_BUILTINS: tuple[Any, ...] = (all, any, dict, enumerate, len, list, range, repr, set, sorted, str, sum, zip)
_LIBRARY: tuple[Any, ...] = (divmod, itertools.groupby, itertools.pairwise, math.prod)
_RUNTIME: Mapping[Any, str] = {
    **{each: each.__name__ for each in (*_BUILTINS, *_LIBRARY, converted)},
    **{each: f"new {each.__name__}" for each in (InputError, ValueError)},
    min: "least",
    max: "most",
    tuple: "list",
    bool: "truth",
    float: "real",
    difflib.get_close_matches: "nearest",
}
"""Functions and classes that python.js has."""

_TYPES = {int: "int", float: "float", bool: "bool", str: "str", list: "list", Mapping: "dict", dict: "dict"}
_ARITHMETIC: Mapping[type, str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
}
_ORDER: Mapping[type, str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_RESERVED = {
    *("case", "catch", "default", "delete", "do", "export", "function"),
    *("let", "new", "py", "switch", "this", "var"),
}
"""Names of Python that JavaScript or a module uses otherwise."""

_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp, ast.Lambda)


class Names(Protocol):
    """The module in which a function stands: it has all that the function names."""

    def name_of(self, value: Any, wanted: str = "") -> str:
        """Return the name of a function, class or table there."""

    def literal(self, value: Any) -> str:
        """Return a value that is known when the page is made."""

    def ask(self, name: str) -> None:
        """Remember that a method of this name may be called."""


class Expressions(ast.NodeVisitor):
    """Expressions of a function: own names are those of JavaScript, others are looked up where it stands."""

    def __init__(self, program: Names, function: Any) -> None:
        """Read the source of a function."""
        self._program = program
        self._function = function
        source, self._line = inspect.getsourcelines(function)
        (self._node,) = ast.parse(textwrap.dedent("".join(source))).body
        self._own: set[str] = set()

    def generic_visit(self, node: ast.AST) -> str:
        """Refuse all that has no method here."""
        line = self._line + getattr(node, "lineno", 1) - 1
        file = inspect.getsourcefile(self._function)
        raise ValueError(f"{file}:{line}: a page cannot have {type(node).__name__}: {ast.unparse(node)}")

    def _of(self, node: ast.AST) -> str:
        text: str = self.visit(node)
        return text

    def _listed(self, nodes: Iterable[ast.AST]) -> str:
        return ", ".join(map(self._of, nodes))

    def _truth(self, node: ast.AST) -> str:
        """A condition, of which JavaScript has its own idea unless it is true or false."""
        if isinstance(node, ast.BoolOp):
            sign = " && " if isinstance(node.op, ast.And) else " || "
            return f"({sign.join(map(self._truth, node.values))})"
        text = self._of(node)
        is_plain = isinstance(node, ast.Compare) or text.startswith(("!", "py.isinstance("))
        return text if is_plain else f"py.truth({text})"

    # ---- names and calls
    def visit_Constant(self, node: ast.Constant) -> str:
        """A constant; a text may be the name of an attribute."""
        if isinstance(node.value, str):
            self._program.ask(node.value)
        return self._program.literal(node.value)

    def visit_Name(self, node: ast.Name) -> str:
        """An own name, or one of where the function was defined."""
        return plain(node.id) if node.id in self._own else self._known(node, self._found(node), node.id)

    def _found(self, node: ast.expr) -> Any:
        """The value of a name that is not the function's own, or of an attribute of a module; else None."""
        if isinstance(node, ast.Name) and node.id not in self._own:
            names = self._function.__globals__
            return names[node.id] if node.id in names else getattr(builtins, node.id)
        if not isinstance(node, ast.Attribute):
            return None
        owner = self._found(node.value)
        is_static = inspect.ismodule(owner) or (owner is dict and node.attr == "fromkeys")
        return getattr(owner, node.attr) if is_static else None

    def _known(self, node: ast.AST, value: Any, name: str) -> str:
        if value is None or isinstance(value, bool | int | float | str):
            return self._program.literal(value)
        if callable(value) and value in _RUNTIME:
            return f"py.{_RUNTIME[value]}".replace("py.new ", "new py.")
        try:
            return self._program.name_of(value, name)
        except (TypeError, OSError):  # it has no source
            return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> str:
        """A field or property, or a name of a module."""
        if (found := self._found(node)) is not None:
            return "py.fromkeys" if found == dict.fromkeys else self._known(node, found, node.attr)
        self._program.ask(node.attr)
        return f"{self._of(node.value)}.{node.attr}"

    def visit_Call(self, node: ast.Call) -> str:
        """A call; a few functions are operations of JavaScript."""
        target, found = node.func, self._found(node.func)
        if found is isinstance:
            return f"py.isinstance({self._of(node.args[0])}, [{', '.join(self._types(node.args[1]))}])"
        if found is getattr:
            return f"{self._of(node.args[0])}[{self._of(node.args[1])}]"
        given = ", ".join(
            [*map(self._of, node.args), *([self._keywords(node.keywords)] if node.keywords else [])]
        )
        if isinstance(target, ast.Attribute) and found is None:
            self._program.ask(target.attr)
            return f'py.call({self._of(target.value)}, "{target.attr}"{", " if given else ""}{given})'
        is_record = isinstance(found, type) and found not in _RUNTIME
        return f"{'new ' if is_record else ''}{self._of(target)}({given})"

    def _keywords(self, keywords: Iterable[ast.keyword]) -> str:
        pairs = [
            f'["{each.arg}", {self._of(each.value)}]' if each.arg else f"...{self._of(each.value)}.items()"
            for each in keywords
        ]
        return f"new py.Keywords([{', '.join(pairs)}])"

    def _types(self, node: ast.expr) -> list[str]:
        if isinstance(node, ast.BinOp):
            return [*self._types(node.left), *self._types(node.right)]
        found = self._found(node)
        return [json.dumps(_TYPES[found]) if found in _TYPES else self._of(node)]

    # ---- operations
    def visit_BoolOp(self, node: ast.BoolOp) -> str:
        """The first operand that decides."""
        name = "and" if isinstance(node.op, ast.And) else "or"
        *others, last = map(self._of, node.values)
        for each in reversed(others):
            last = f"py.{name}({each}, () => {last})"
        return last

    def visit_UnaryOp(self, node: ast.UnaryOp) -> str:
        """A denial or a negative number."""
        if isinstance(node.op, ast.Not):
            return f"!({self._truth(node.operand)})"
        return f"-{self._of(node.operand)}" if isinstance(node.op, ast.USub) else self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> str:
        """Arithmetic."""
        if type(node.op) not in _ARITHMETIC:
            return self.generic_visit(node)
        return f"py.{_ARITHMETIC[type(node.op)]}({self._of(node.left)}, {self._of(node.right)})"

    def visit_Compare(self, node: ast.Compare) -> str:
        """One comparison, or a chain of some."""
        pairs = itertools.pairwise(map(self._of, (node.left, *node.comparators)))
        tests = [_compared(sign, *pair) for sign, pair in zip(node.ops, pairs, strict=True)]
        return tests[0] if len(tests) == 1 else f"({' && '.join(tests)})"

    def visit_IfExp(self, node: ast.IfExp) -> str:
        """A choice of values."""
        return f"({self._truth(node.test)} ? {self._of(node.body)} : {self._of(node.orelse)})"

    def visit_NamedExpr(self, node: ast.NamedExpr) -> str:
        """A value that gets a name on its way."""
        return f"({self._of(node.target)} = {self._of(node.value)})"

    # ---- values of several parts
    def visit_Starred(self, node: ast.Starred) -> str:
        """All of a list."""
        return f"...{self._of(node.value)}"

    def visit_Tuple(self, node: ast.Tuple) -> str:
        """A tuple, which is a list here."""
        return f"[{self._listed(node.elts)}]"

    def visit_List(self, node: ast.List) -> str:
        """A list."""
        return f"[{self._listed(node.elts)}]"

    def visit_Set(self, node: ast.Set) -> str:
        """A set."""
        return f"new Set([{self._listed(node.elts)}])"

    def visit_Dict(self, node: ast.Dict) -> str:
        """A dictionary."""
        pairs = [
            f"[{self._of(key)}, {self._of(value)}]" if key else f"...{self._of(value)}.items()"
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return f"new py.Dict([{', '.join(pairs)}])"

    def visit_Subscript(self, node: ast.Subscript) -> str:
        """An entry, or a part without steps."""
        if not isinstance(node.slice, ast.Slice):
            return f"py.item({self._of(node.value)}, {self._of(node.slice)})"
        ends = [self._of(each) if each else "null" for each in (node.slice.lower, node.slice.upper)]
        is_plain = node.slice.step is None
        return (
            f"py.slice({self._of(node.value)}, {', '.join(ends)})" if is_plain else self.generic_visit(node)
        )

    def visit_JoinedStr(self, node: ast.JoinedStr) -> str:
        """A text with values in it."""
        return f'[{self._listed(node.values)}].join("")'

    def visit_FormattedValue(self, node: ast.FormattedValue) -> str:
        """A value in a text; of formats only those such as .3g are known."""
        value = self._of(node.value)
        if node.format_spec is None:
            return f"py.{'repr' if node.conversion == ord('r') else 'str'}({value})"
        wanted = ast.unparse(node.format_spec)[2:-1]
        is_general = wanted.startswith(".") and wanted.endswith("g")
        return f"py.general({value}, {wanted[1:-1]})" if is_general else self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> str:
        """A function of one expression."""
        names = [each.arg for each in node.args.args]
        with self._inside(names):
            return f"(({', '.join(map(plain, names))}) => {self._of(node.body)})"

    def visit_ListComp(self, node: ast.ListComp) -> str:
        """A list by a loop."""
        return self._comprehension(node.elt, node.generators)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> str:
        """The same, read at once."""
        return self._comprehension(node.elt, node.generators)

    def visit_SetComp(self, node: ast.SetComp) -> str:
        """A set by a loop."""
        return f"new Set({self._comprehension(node.elt, node.generators)})"

    def visit_DictComp(self, node: ast.DictComp) -> str:
        """A dictionary by a loop."""
        pair = ast.Tuple([node.key, node.value], ast.Load())
        return f"new py.Dict({self._comprehension(pair, node.generators)})"

    def _comprehension(self, element: ast.expr, generators: list[ast.comprehension]) -> str:
        first = self._of(generators[0].iter)  # it is read outside
        targets = [name for each in generators for name in stored(each)]
        with self._inside(targets):
            loops = ""
            for index, each in enumerate(generators):
                loops += f"for (const {self._of(each.target)} of {self._of(each.iter) if index else first}) "
                loops += "".join([f"if ({self._truth(test)}) " for test in each.ifs])
            return f"[...(function* () {{ {loops}yield {self._of(element)}; }})()]"

    @contextmanager
    def _inside(self, names: Iterable[str]) -> Iterator[None]:
        """Names that the function has inside one expression only."""
        own = self._own
        self._own = own | set(names)
        yield
        self._own = own


def _compared(sign: ast.cmpop, left: str, right: str) -> str:
    if type(sign) in _ORDER:
        return f"({left} {_ORDER[type(sign)]} {right})"
    if isinstance(sign, ast.Is | ast.IsNot):
        return f"({left} {'===' if isinstance(sign, ast.Is) else '!=='} {right})"
    name = "equal" if isinstance(sign, ast.Eq | ast.NotEq) else "within"
    return f"{'!' if isinstance(sign, ast.NotEq | ast.NotIn) else ''}py.{name}({left}, {right})"


def stored(node: ast.AST) -> Iterator[str]:
    """Yield the names that get values outside the expressions that have names of their own."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        if not isinstance(child, _COMPREHENSIONS):
            yield from stored(child)


def plain(name: str) -> str:
    """Return an own name of a function as JavaScript can have it."""
    return f"{name}_" if name in _RESERVED else name

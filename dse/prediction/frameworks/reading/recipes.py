"""Recipes in Python, read by their syntax tree and never imported: what their functions set with literals."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from typing import Any

from dse.base.errors import InputError, excerpt, unknown
from dse.prediction.frameworks.reading.literals import OPEN, literal, name_of

_MOST_DEPTH = 20
_MOST_STATEMENTS = 100_000
_MOST_NESTING = 200
_NPUS = re.compile(r"_([1-9][0-9]{0,6})gpus?(?:_|$)", re.ASCII)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Recipe:
    """The settings that a function of a recipe file makes, by dotted key."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def npus(self) -> int | None:
        """The accelerators in a name such as model_pretrain_64gpu_h100_bf16_config."""
        found = _NPUS.search(self.name)
        return int(found[1]) if found else None


def read_recipe(text: str, where: str, function: str = "") -> Recipe:
    """Return what a function of a file sets: the named one, or the only one that none of the others calls.

    Raises:
        InputError: the file is no Python, no function sets anything, or several do and none is named.
    """
    tree = _parsed(text, where)
    functions = {node.name: node for node in tree.body if isinstance(node, Function)}
    constants: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = literal(node.value, constants)
            if value is not OPEN:
                constants[node.targets[0].id] = value
    if function:
        if function not in functions:
            problem = f"{where}: has no function {excerpt(function)}"
            raise InputError(unknown(problem, function, functions, _names(functions)))
        return _read(functions[function], functions, constants, where)
    found = [_read(node, functions, constants, where) for node in _outermost(functions)]
    found = [recipe for recipe in found if recipe.settings]
    if len(found) != 1:
        problem = "several functions set something" if found else "no function sets anything that can be read"
        raise InputError(
            f"{where}: {problem}; write FILE FUNCTION; {_names([recipe.name for recipe in found])}"
        )
    return found[0]


def _names(functions: Any) -> str:
    return f"functions are {', '.join(sorted(functions)[:40]) or 'none'}"


def _parsed(text: str, where: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in texts of others
            tree = ast.parse(text)
    except SyntaxError as error:
        raise InputError(f"{where}: line {error.lineno or 1}: is no Python: {excerpt(error.msg)}") from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise InputError(
            f"{where}: is no Python that is read: {excerpt(error) or 'nested too deeply'}"
        ) from None
    level: list[ast.AST] = [tree]
    for _ in range(_MOST_NESTING):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return tree
    raise InputError(f"{where}: is nested deeper than {_MOST_NESTING} levels, the most allowed")


def _outermost(functions: dict[str, Function]) -> list[Function]:
    called = {
        name_of(node.func)
        for function in functions.values()
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
    }
    return [node for name, node in functions.items() if name not in called and not name.startswith("_")]


def _read(node: Function, functions: dict[str, Function], constants: dict[str, Any], where: str) -> Recipe:
    reader = _Reader(functions, constants, where, Recipe(node.name))
    reader.call(node, [], {}, 0)
    reader.recipe.notes = list(dict.fromkeys(reader.recipe.notes))[:100]
    return reader.recipe


@dataclass
class _Reader:
    functions: dict[str, Function]
    constants: dict[str, Any]
    where: str
    recipe: Recipe
    statements: int = 0

    def call(self, node: Function, values: list[Any], named: dict[str, Any], depth: int) -> None:
        """Read a function with the literal arguments of its caller."""
        if depth > _MOST_DEPTH:
            raise InputError(
                f"{self.where}: {node.name} is called {_MOST_DEPTH} levels deep, the most allowed"
            )
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        local = dict(self.constants) if len(self.constants) < 1000 else {}
        for name, default in zip(names[::-1], node.args.defaults[::-1], strict=False):
            local[name] = literal(default, self.constants)
        for argument, standard in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            local[argument.arg] = literal(standard, self.constants) if standard else OPEN
        local |= dict(zip(names, values, strict=False)) | named
        self._body(node.body, local, depth, is_sure=True)

    def _body(self, body: list[ast.stmt], local: dict[str, Any], depth: int, *, is_sure: bool) -> None:
        for node in body:
            self.statements += 1
            if self.statements > _MOST_STATEMENTS:
                raise InputError(
                    f"{self.where}: its functions have more than {_MOST_STATEMENTS} statements in all"
                )
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    self._assign(target, node.value, local, depth)
            elif isinstance(node, ast.Return | ast.Expr) and isinstance(node.value, ast.Call):
                self._value("", node.value, local, depth)
            elif isinstance(node, ast.If):
                test = literal(node.test, local)
                if test is not OPEN:
                    self._body(node.body if test else node.orelse, local, depth, is_sure=is_sure)
                else:
                    self.recipe.notes.append(
                        f"line {node.lineno}: both ways of a condition are read, the last counts"
                    )
                    self._body([*node.body, *node.orelse], local, depth, is_sure=False)
            elif isinstance(node, ast.With):
                self._body(node.body, local, depth, is_sure=is_sure)
            elif isinstance(node, ast.For | ast.While | ast.Try):
                self.recipe.notes.append(f"line {node.lineno}: a loop or try is left out")

    def _assign(self, target: ast.expr, value: ast.expr, local: dict[str, Any], depth: int) -> None:
        if isinstance(target, ast.Name):
            local[target.id] = literal(value, local)
            if isinstance(value, ast.Call):
                self._value("", value, local, depth)
            return
        key = name_of(target)
        _, _, key = key.partition(".")  # the variable that holds the configuration
        if key:
            self._value(key, value, local, depth)

    def _value(self, key: str, node: ast.expr, local: dict[str, Any], depth: int) -> None:
        """Set a key to a literal, or to what a call says of it."""
        value = literal(node, local)
        if value is not OPEN:
            if key:
                self.recipe.settings[key] = value
            return
        if isinstance(node, ast.List) and node.elts and all(isinstance(item, ast.Call) for item in node.elts):
            calls = [name_of(item.func) for item in node.elts if isinstance(item, ast.Call)]
            self.recipe.settings[key] = calls
            return
        if not isinstance(node, ast.Call):
            self._left_out(key, node)
            return
        name = name_of(node.func)
        arguments = [literal(argument, local) for argument in node.args]
        if name in self.functions and not key:
            named = {item.arg: literal(item.value, local) for item in node.keywords if item.arg}
            self.call(self.functions[name], arguments, named, depth + 1)
            return
        if key:
            self._called(key, name, arguments, node)
        elif not node.keywords and "." not in name and not name.endswith("Config"):
            self.recipe.notes.append(
                f"line {node.lineno}: {excerpt(name)} is not in this file, its settings are unknown"
            )
        for item in node.keywords:
            if item.arg is not None and (key or name.endswith(("Config", "Container"))):
                self._value(f"{key}.{item.arg}" if key else item.arg, item.value, local, depth + 1)

    def _called(self, key: str, name: str, arguments: list[Any], node: ast.Call) -> None:
        """Set a key to what makes it: the only argument of a function, its name, or a kind of Config."""
        last = name.rpartition(".")[2]
        if len(arguments) == 1 and isinstance(arguments[0], str) and not node.keywords:
            self.recipe.settings[key] = arguments[0]
        elif last == "Config" and "." in name:
            self.recipe.settings[key] = name
        elif last and not arguments and not node.keywords and not last.endswith("Config"):
            self.recipe.settings[key] = last
        elif not node.keywords:
            self._left_out(key, node)

    def _left_out(self, key: str, node: ast.expr) -> None:
        if key:
            self.recipe.settings.pop(key, None)
            self.recipe.notes.append(f"line {node.lineno}: {excerpt(key)} is no literal and is left out")

"""Joins the ES modules of a page into one script: imports first, each module in a scope of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markupsafe import Markup

_IMPORT = re.compile(r'^import (?:(?:\* as (\w+)|\{([^}]*)\}) from )?"(\.[^"]*)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export \{([^}]*)\};\n", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*(?:.|\n)*?\*/[ \t]*)\n", re.MULTILINE)
_EMPTY = re.compile(r"\n{2,}")
_TIGHT = re.compile(
    r"""
    (?P<kept>                                            # texts and patterns stand as they are
        "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
        | `(?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\})*`
        | (?:(?<=[(,=:!&|?\[{;>])|(?<=[(,=:!&|?\[{;>][ ])|(?<=return[ ]))
          /(?![/*])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/
    )
    | [ ]*//.*                                           # a comment behind code
    | [ ]*(?P<sign>[{}()\[\];,=*<>?:&|!%]|(?<![+-][ ])[+-](?![ ]?[+-]))[ ]*
    """,
    re.VERBOSE,
)


class _Module(NamedTuple):
    """A module as it stands in its file; an import is (name of the whole, {name there: name here}, path)."""

    path: Path
    imports: list[tuple[str, dict[str, str], Path]]
    exports: dict[str, str]
    body: str


def joined(
    *entries: Path, table: str = "modules", made: Mapping[Path, Callable[[], str]] | None = None
) -> Markup:
    """Return one script that runs the modules which `entries` import, and then the entries.

    A module may write `import { a, b as c } from "./x.js";`, `import * as x from "./x.js";` and
    `export { a, b as c };`. The script is without comments and blanks around signs. What the modules export
    stands in the constant `table` by the stem of their files, for tests and for a browser's console. A module
    that has no file is `made` when one imports it.

    Raises:
        ValueError: modules import each other in a circle, a module exports no such name, two files have one
            stem, or an import or export is of another form.
    """
    from markupsafe import Markup

    modules = _in_order(entries, made or {})
    by_path = {module.path: module for module in modules}
    names = [module.path.stem for module in modules]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"two modules of a page are named {doubled[0]}.js; rename one")
    for module in modules:
        for _, imported, path in module.imports:
            if unknown := sorted(set(imported) - set(by_path[path].exports)):
                raise ValueError(f"{module.path} imports {unknown[0]}, which {path.name} does not export")
    return Markup("".join([f"const {table}={{}};\n", *(_scoped(module, table) for module in modules)]))


def _in_order(entries: Sequence[Path], made: Mapping[Path, Callable[[], str]]) -> list[_Module]:
    """The modules, each after those that it imports."""
    found: dict[Path, _Module] = {}
    open_paths: list[Path] = []

    def visit(path: Path) -> None:
        if path in open_paths:
            circle = " -> ".join(each.name for each in [*open_paths[open_paths.index(path) :], path])
            raise ValueError(f"modules of a page import in a circle: {circle}")
        if path in found:
            return
        open_paths.append(path)
        module = _read(path, made[path]() if path in made else path.read_text(encoding="utf-8"))
        for _, _, needed in module.imports:
            visit(needed)
        open_paths.pop()
        found[path] = module

    for entry in entries:
        visit(_plain(entry))
    return list(found.values())


def _read(path: Path, text: str) -> _Module:
    text = text if text.endswith("\n") else text + "\n"
    imports = [
        (whole, dict(_pairs(names)), _plain(path.parent / file))
        for whole, names, file in _IMPORT.findall(text)
    ]
    exports = {there: here for names in _EXPORT.findall(text) for here, there in _pairs(names)}
    body = _EXPORT.sub("", _IMPORT.sub("", text))
    if other := _OTHER.search(body):
        raise ValueError(f"{path} has an import or export that the joiner cannot read: {other[0]}")
    return _Module(path, imports, exports, body)


def _pairs(names: str) -> Iterator[tuple[str, str]]:
    """Pairs of names before and after `as`, equal ones where there is none."""
    for part in filter(None, map(str.strip, names.split(","))):
        first, _, second = part.partition(" as ")
        yield first, second or first


def _scoped(module: _Module, table: str) -> str:
    lines = ['"use strict";']
    for whole, names, path in module.imports:
        if whole:
            lines.append(f"const {whole} = {table}.{path.stem};")
        if names:
            lines.append(f"const {{ {_listed(names)} }} = {table}.{path.stem};")
    lines += [line.lstrip(" ") for line in _COMMENT.sub("", module.body).splitlines()]
    if module.exports:
        lines.append(f"return {{ {_listed(module.exports)} }};")
    script = f"{table}.{module.path.stem} = (() => {{\n" + "\n".join(lines) + "\n})();\n"
    return _EMPTY.sub("\n", _TIGHT.sub(lambda found: found["kept"] or found["sign"] or "", script))


def _listed(names: dict[str, str]) -> str:
    return ", ".join(one if one == other else f"{one}: {other}" for one, other in names.items())


def _plain(path: Path) -> Path:
    """The path without `..`, so that one file has one path."""
    return Path(os.path.normpath(path))

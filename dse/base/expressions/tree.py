"""The nodes of an expression: immutable nodes, each with the column (from 1) at which it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Constant:
    """A number, a text, true, false, or None for null."""

    value: float | str | bool | None
    column: int


@dataclass(frozen=True)
class Name:
    """A name, perhaps with parts: `tp`, `system.network.0.npus`."""

    name: str
    column: int


@dataclass(frozen=True)
class Apply:
    """A function or an operator of numbers: `+`, `negate`, `min` … and its operands."""

    function: str
    operands: tuple[Node, ...]
    column: int


@dataclass(frozen=True)
class Not:
    """True where its operand is false."""

    operand: Node
    column: int


@dataclass(frozen=True)
class Every:
    """Operands joined by `and`."""

    operands: tuple[Node, ...]
    column: int


@dataclass(frozen=True)
class Some:
    """Operands joined by `or`."""

    operands: tuple[Node, ...]
    column: int


@dataclass(frozen=True)
class Compare:
    """A chain such as `1 < dp <= tp`: one sign (==, !=, <, <=, >, >=) fewer than operands."""

    signs: tuple[str, ...]
    operands: tuple[Node, ...]
    column: int


@dataclass(frozen=True)
class OneOf:
    """Whether the operand is one of the constants: `tp in (1, 2)`."""

    operand: Node
    options: tuple[Constant, ...]
    column: int


@dataclass(frozen=True)
class IsNull:
    """Whether the operand has no value."""

    operand: Node
    column: int


Node: TypeAlias = Constant | Name | Apply | Not | Every | Some | Compare | OneOf | IsNull


def parts(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below a node, in the order of the text."""
    if isinstance(node, Constant | Name):
        return ()
    if isinstance(node, Not | IsNull):
        return (node.operand,)
    if isinstance(node, OneOf):
        return (node.operand, *node.options)
    return node.operands


def names(node: Node) -> Iterator[Name]:
    """Iterate over the names in a tree, in the order of the text."""
    if isinstance(node, Name):
        yield node
    for part in parts(node):
        yield from names(part)


def to_json(node: Node, named: Callable[[str], str]) -> dict[str, Any]:
    """Return a tree as JSON: a constant, a name, or what is done to other trees.

    An operator is `{"do": name, "of": [trees]}`, a comparison has the signs between its operands, and `in`
    has its options after the operand. `named` says how names are written.
    """
    if isinstance(node, Constant):
        return {"constant": node.value}
    if isinstance(node, Name):
        return {"name": named(node.name)}
    done = node.function if isinstance(node, Apply) else _DONE[type(node)]
    made: dict[str, Any] = {"do": done, "of": [to_json(part, named) for part in parts(node)]}
    return {**made, "signs": list(node.signs)} if isinstance(node, Compare) else made


_DONE = {Not: "not", Every: "and", Some: "or", Compare: "compare", OneOf: "in", IsNull: "is null"}

"""The grammar of constraints, objectives, budgets, conditions and costs, and its parser.

::

    or       = and {"or" and}
    and      = not {"and" not}
    not      = "not" not | test
    test     = sum [["not"] ("in" "(" constants ")" | "between" sum "and" sum) | "is" ["not"] "null"
                   | sign sum {sign sum}]                 sign: = == <> != < <= > >=
    sum      = product {("+" | "-") product}
    product  = unary {("*" | "/" | "//" | "%") unary}
    unary    = ("+" | "-") unary | power
    power    = atom ["**" unary]
    atom     = number | size such as 80GB | 'text' | true | false | null | name | function "(" or {"," or} ")"
               | "(" or ")"

Keywords may be written in capitals. Functions are min, max, abs and log2. `//` and `%` round down.
"""

from __future__ import annotations

import math
import re
from typing import NoReturn

from dse.base.errors import InputError, excerpt, shortened
from dse.base.expressions.tree import (
    Apply,
    Compare,
    Constant,
    Every,
    IsNull,
    Name,
    Node,
    Not,
    OneOf,
    Some,
    parts,
)
from dse.base.texts import is_whole
from dse.base.units import parse_bytes

ALLOWED = (
    "allowed are names, numbers (80GB too), 'texts', true, false, + - * / // % **, comparisons, and, or, "
    "not, in (...), between, is null, parentheses, min, max, abs and log2"
)
FUNCTIONS = {"min": (2, None), "max": (2, None), "abs": (1, 1), "log2": (1, 1)}
"""The least and the greatest number of arguments; None where there is no greatest."""

_SHOWN = 400  # characters of a text in a message
MAX_LENGTH = 2000
MAX_DEPTH = 50
_KEYWORDS = frozenset({"and", "or", "not", "in", "is", "null", "between", "true", "false"})
_SIGNS = {"=": "==", "==": "==", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<text>'(?:[^']|'')*')
  | (?P<size>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[kKMGT]i?B\b)
  | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
  | (?P<name>[^\W\d]\w*(?:\.\w+)*)
  | (?P<sign>\*\*|//|<>|<=|>=|==|!=|[-+*/%()<>=,])
  | (?P<end>$)
    )""",
    re.VERBOSE,
)


def parse(text: str, key: str) -> Node:
    """Return the tree of an expression; `key` is how messages call it, such as `where`.

    Raises:
        InputError: anything outside the grammar; names the column (from 1) and what is allowed.
    """
    if len(text) > MAX_LENGTH:
        raise InputError(f"{key} has {len(text)} characters; at most {MAX_LENGTH} are allowed")
    folded = " ".join(text.split())
    half = next((column for column, letter in enumerate(folded, 1) if not is_whole(letter)), None)
    if half is not None:
        raise error(folded, key, half, "a byte is not UTF-8")
    root = _Parser(folded, key).whole()
    level = [root]
    for _ in range(MAX_DEPTH):
        level = [below for node in level for below in parts(node)]
    if level:  # what evaluates a tree is recursive
        raise error(folded, key, level[0].column, f"nested deeper than {MAX_DEPTH} levels")
    return root


def error(text: str, key: str, column: int, problem: str) -> InputError:
    """Return what to raise over the part of a text at `column`."""
    shown = shortened(text)
    if len(shown) > _SHOWN:
        shown = f"…{text[max(0, column - _SHOWN // 2) : column + _SHOWN // 2]}…"
    return InputError(f"{key} '{shown}', column {column}: {problem}; {ALLOWED}")


class _Parser:
    """Recursive descent over tokens, one of which is looked at before it is taken."""

    def __init__(self, text: str, key: str) -> None:
        self._text = text
        self._key = key
        self._position = 0
        self._depth = 0
        self._advance()

    def whole(self) -> Node:
        node = self._disjunction()
        if self._kind != "end":
            self._fail(f"'{self._word}' is not expected here")
        return node

    def _advance(self) -> None:
        token = _TOKEN.match(self._text, self._position)
        if token is None:
            rest = self._text[self._position :].lstrip()
            self._column = len(self._text) - len(rest) + 1
            self._fail(f"'{rest[:10]}' is not allowed")
        self._kind = str(token.lastgroup)
        self._word = token[self._kind]
        self._column = token.start(self._kind) + 1
        self._position = token.end()
        if self._kind == "name" and self._word.lower() in _KEYWORDS:
            self._kind, self._word = "keyword", self._word.lower()

    def _fail(self, problem: str, column: int | None = None) -> NoReturn:
        raise error(self._text, self._key, self._column if column is None else column, problem)

    def _at(self, *words: str) -> bool:
        return self._kind in ("keyword", "sign") and self._word in words

    def _take(self, *words: str) -> bool:
        found = self._at(*words)
        if found:
            self._advance()
        return found

    def _expect(self, word: str, problem: str) -> None:
        if not self._take(word):
            self._fail(problem)

    def _deeper(self, by: int = 1) -> None:
        self._depth += by
        if self._depth > MAX_DEPTH:
            self._fail(f"nested deeper than {MAX_DEPTH} levels")

    def _disjunction(self) -> Node:
        self._deeper()
        column, operands = self._column, [self._conjunction()]
        while self._take("or"):
            operands.append(self._conjunction())
        self._depth -= 1
        return operands[0] if len(operands) == 1 else Some(tuple(operands), column)

    def _conjunction(self) -> Node:
        column, operands = self._column, [self._negation()]
        while self._take("and"):
            operands.append(self._negation())
        return operands[0] if len(operands) == 1 else Every(tuple(operands), column)

    def _negation(self) -> Node:
        column = self._column
        if not self._take("not"):
            return self._test()
        self._deeper()
        operand = self._negation()
        self._depth -= 1
        return Not(operand, column)

    def _test(self) -> Node:
        column, left = self._column, self._sum()
        if self._take("is"):
            negated = self._take("not")
            self._expect("null", "after 'is' comes null, or not null")
            return _negated(IsNull(left, column), negated)
        negated = self._take("not")
        if self._take("in"):
            return _negated(OneOf(left, self._options(), column), negated)
        if self._take("between"):
            low = self._sum()
            self._expect("and", "a between has the form X between LOW and HIGH")
            return _negated(Compare(("<=", "<="), (low, left, self._sum()), column), negated)
        if negated:
            self._fail("after this 'not' comes in, or between")
        signs, operands = [], [left]
        while self._kind == "sign" and self._word in _SIGNS:
            signs.append(_SIGNS[self._word])
            self._advance()
            operands.append(self._sum())
        if not signs:
            return left
        for operand in operands:
            if isinstance(operand, Constant) and operand.value is None:
                self._fail("nothing equals null; write 'is null' or 'is not null'", operand.column)
        return Compare(tuple(signs), tuple(operands), column)

    def _options(self) -> tuple[Constant, ...]:
        self._expect("(", "after 'in' comes a list such as (1, 2)")
        options = []
        while True:
            node = self._unary()
            if isinstance(node, Apply) and node.function == "negate":
                (operand,) = node.operands
                if isinstance(operand, Constant) and isinstance(operand.value, int | float):
                    node = Constant(-operand.value, node.column)
            if not isinstance(node, Constant):
                self._fail("a list has constants only", node.column)
            options.append(node)
            if not self._take(","):
                break
        self._expect(")", "the list behind 'in' is not closed")
        return tuple(options)

    def _sum(self) -> Node:
        column, left = self._column, self._product()
        while self._at("+", "-"):
            sign = self._word
            self._advance()
            left = Apply(sign, (left, self._product()), column)
        return left

    def _product(self) -> Node:
        column, left = self._column, self._unary()
        while self._at("*", "/", "//", "%"):
            sign = self._word
            self._advance()
            left = Apply(sign, (left, self._unary()), column)
        return left

    def _unary(self) -> Node:
        column, sign = self._column, self._word
        if not self._take("+", "-"):
            return self._power()
        self._deeper()
        operand = self._unary()
        self._depth -= 1
        return operand if sign == "+" else Apply("negate", (operand,), column)

    def _power(self) -> Node:
        column, base = self._column, self._atom()
        if not self._take("**"):
            return base
        self._deeper()
        exponent = self._unary()
        self._depth -= 1
        return Apply("**", (base, exponent), column)

    def _atom(self) -> Node:
        kind, word, column = self._kind, self._word, self._column
        if kind == "end":
            self._fail("the expression ends too early")
        if self._take("("):
            node = self._disjunction()
            if not self._take(")"):
                self._fail("'(' was never closed", column)
            return node
        if kind == "sign" or (kind == "keyword" and word not in ("true", "false", "null")):
            self._fail(f"'{word}' is not expected here")
        self._advance()
        if kind == "name":
            return self._call(word, column) if self._at("(") else Name(word, column)
        return Constant(self._constant(kind, word, column), column)

    def _call(self, function: str, column: int) -> Node:
        if function not in FUNCTIONS:
            self._fail(f"'{excerpt(function)}(…)' is not allowed", column)
        self._take("(")
        arguments = [] if self._at(")") else [self._disjunction()]
        while self._take(","):
            arguments.append(self._disjunction())
        if not self._take(")"):
            self._fail(f"the arguments of {function} are not closed")
        least, most = FUNCTIONS[function]
        if len(arguments) < least or (most is not None and len(arguments) > most):
            expected = "one argument" if most == 1 else "two or more arguments"
            self._fail(f"{function} takes {expected}", column)
        return Apply(function, tuple(arguments), column)

    def _constant(self, kind: str, word: str, column: int) -> float | str | bool | None:
        if kind == "keyword":
            return {"true": True, "false": False, "null": None}[word]
        if kind == "text":
            return word[1:-1].replace("''", "'")
        if kind == "size":
            return parse_bytes(word, self._key)
        if not math.isfinite(float(word)):  # of whole numbers too: a column has no others
            self._fail("the number is too large", column)
        return int(word) if word.isdecimal() else float(word)


def _negated(node: Node, negated: bool) -> Node:
    return Not(node, node.column) if negated else node

"""Words and tokens of a shell script as nodes: assignments, patterns, and what (( )) does."""

from __future__ import annotations

import re

from dse.prediction.frameworks.reading.shell_arrays import placed
from dse.prediction.frameworks.reading.shell_nodes import Assignment, Chain, Node, Simple, Word
from dse.prediction.frameworks.reading.shell_tokens import Part, Token

_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=", re.ASCII)
_PLACED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[", re.ASCII)
_SET = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:([-+])\2\s*$|([-+*/%]?)=(?!=))", re.ASCII)
_STEPPED = re.compile(r"\s*([-+])\1\s*([A-Za-z_][A-Za-z0-9_]*)\s*", re.ASCII)


def plain(word: Word) -> str:
    """Return a word that is one text without quotes; an empty text for any other."""
    return word[0].text if len(word) == 1 and word[0].kind == "text" and not word[0].is_quoted else ""


def counted(part: Part) -> Node:
    """Return what (( )) does: NAME=, NAME+=, NAME++ and ++NAME assign, and what is not 0 holds."""
    if stepped := _STEPPED.fullmatch(part.text):  # ++NAME is NAME+=1
        text = f"{stepped[2]}{stepped[1]}=1"
        part = part._replace(text=text, word=(part.word[0]._replace(text=text),))
    line, found = part.line, _SET.match(part.text)
    if not found:
        return _is_not_0(part)
    name, step, sign = found.groups("")
    first = part.word[0]._replace(text=part.word[0].text[found.end() :])
    head, end = (f"{name}{step}1", "") if step else (f"{name}{sign}(", ")") if sign else ("", "")
    word = (first._replace(text=head), first, *part.word[1:], first._replace(text=end))
    value = Assignment(name, False, (part._replace(word=word),), None, line)
    told = first._replace(text=f"{name}-({step}1)" if step else name)  # NAME++ tells the old value
    holds = _is_not_0(part._replace(word=(told,)))
    return Chain(Simple((value,), (), line), (("&&", holds),), line)


def _is_not_0(part: Part) -> Simple:
    test, sign, zero = (part._replace(kind="text", text=text) for text in ("test", "-ne", "0"))
    return Simple((), ((test,), (part,), (sign,), (zero,)), part.line)


def assignment(token: Token) -> Assignment | None:
    """Return the assignment that a token is; None for another word."""
    if token.kind == "array":
        name, adds = token.text.rstrip("+="), token.text.endswith("+=")
        return Assignment(name, adds, (), token.items, token.line)
    first = token.parts[0]
    found = _ASSIGNED.match(first.text) if first.kind == "text" and not first.is_quoted else None
    if found is None:
        return _placed(token)
    rest = first._replace(text=first.text[found.end() :])
    word = (*([rest] if rest.text else []), *token.parts[1:])
    return Assignment(found[1], bool(found[2]), word, None, token.line)


def _placed(token: Token) -> Assignment | None:
    """NAME[PLACE]=VALUE."""
    first = token.parts[0]
    found = _PLACED.match(first.text) if first.kind == "text" and not first.is_quoted else None
    if found is None:
        return None
    item = placed((first._replace(text=first.text[found.end() - 1 :]), *token.parts[1:]))
    return Assignment(found[1], item[1], item[2], None, token.line, item[0]) if item else None

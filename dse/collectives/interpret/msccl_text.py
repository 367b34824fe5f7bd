"""MSCCL XML as its runtimes read it, by hand: the rules of the text, and the nodes of a program."""

from __future__ import annotations

import re
from typing import NamedTuple

from dse.base.errors import InputError, excerpt

_NODE = re.compile(r'<(/?)([A-Za-z]+)((?: [A-Za-z_]+="[^"]*")*)(/?)>')
_ATTRIBUTE = re.compile(r' ([A-Za-z_]+)="([^"]*)"')
_WHOLE = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_BETWEEN = re.compile(r"[ \r\n]*(?:<!--.*?-->[ \r\n]*)*", re.DOTALL)
_INSIDE = {"": ("algo",), "algo": ("gpu",), "gpu": ("tb",), "tb": ("step",), "step": ()}
_NUMBERS = {
    "algo": ("nchunksperloop", "nchannels", "ngpus", "minBytes", "maxBytes", "inplace", "outofplace"),
    "gpu": ("id", "i_chunks", "o_chunks", "s_chunks"),
    "tb": ("id", "send", "recv", "chan"),
    "step": ("s", "srcoff", "dstoff", "cnt", "depid", "deps", "hasdep"),
}
_WORDS: dict[str, dict[str, tuple[str, ...] | None]] = {
    "algo": {"coll": None, "proto": ("Simple", "LL128", "LL")},
    "step": {
        "type": ("s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop"),
        "srcbuf": ("i", "o", "s"),
        "dstbuf": ("i", "o", "s"),
    },
}
_MOST_ATTRIBUTES, _MOST_LETTERS = 16, 254


class Node(NamedTuple):
    """An element: its attributes as text and as numbers, and what is in it."""

    tag: str
    words: dict[str, str]
    numbers: dict[str, int]
    inside: list[Node]


def read_nodes(text: str, name: str) -> Node:
    """Return the `algo` of a text; `name` is what messages call the file.

    Raises:
        InputError: a runtime would not read the text; names the line, what was got and what is allowed.
    """
    position, line, open_nodes = 0, 1, [Node("", {}, {}, [])]
    while True:
        between = _BETWEEN.match(text, position)
        before, position = position, between.end() if between else position
        line += text.count("\n", before, position)
        if position == len(text):
            break
        found = _NODE.match(text, position)
        where = f"{name}, line {line}"
        if found is None:
            got = excerpt(text[position : position + 60].split("\n")[0])
            raise InputError(
                f"{where}: '{got}' is no node; expected <TAG KEY=\"VALUE\" …> with one space before each key"
            )
        position = found.end()
        closes, tag, attributes, ends = found.groups()
        if closes:
            if open_nodes[-1].tag != tag:
                raise InputError(f"{where}: </{tag}> closes <{open_nodes[-1].tag}>")
            open_nodes.pop()
            continue
        node = _node(tag, attributes, open_nodes[-1].tag, where)
        open_nodes[-1].inside.append(node)
        if not ends:
            open_nodes.append(node)
    if len(open_nodes) > 1:
        raise InputError(f"{name}: <{open_nodes[-1].tag}> is not closed")
    if len(open_nodes[0].inside) != 1:
        raise InputError(f"{name}: has {len(open_nodes[0].inside)} nodes algo; it must have one")
    return open_nodes[0].inside[0]


def _node(tag: str, text: str, outer: str, where: str) -> Node:
    if tag not in _INSIDE[outer]:
        allowed = ", ".join(_INSIDE[outer]) or "nothing"
        raise InputError(f"{where}: <{tag}> is inside <{outer or 'the file'}>; allowed is {allowed}")
    pairs = _ATTRIBUTE.findall(text)
    words = dict(pairs)
    if len(pairs) > _MOST_ATTRIBUTES or len(words) < len(pairs):
        raise InputError(f"{where}: {len(pairs)} keys; at most {_MOST_ATTRIBUTES}, each once, are read")
    if any(len(part) > _MOST_LETTERS for pair in pairs for part in pair):
        raise InputError(f"{where}: a key or value is longer than {_MOST_LETTERS} letters")
    for key, allowed_words in _WORDS.get(tag, {}).items():
        if key not in words or (allowed_words and words[key] not in allowed_words):
            expected = ", ".join(allowed_words or ("a name",))
            raise InputError(f"{where}: {key} is '{excerpt(words.get(key, ''))}'; expected {expected}")
    numbers = {}
    for key in _NUMBERS[tag]:
        if not _WHOLE.fullmatch(words.get(key, "")):
            raise InputError(f"{where}: {key} is '{excerpt(words.get(key, ''))}'; expected a whole number")
        numbers[key] = int(words[key])
    return Node(tag, words, numbers, [])

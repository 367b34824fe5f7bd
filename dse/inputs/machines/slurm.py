"""Slurm's topology.conf: nodes below switches (topology/tree) or in blocks (topology/block).

Names are host lists such as `tux[0-3,12],gpu07`. Link speeds of the file have arbitrary units, so they are
passed over. What a node is, the file does not say.

Slurm's topology.yaml as the lines of a topology.conf, which says the same of one topology.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dse.base.errors import InputError, excerpt

MOST_NODES = 200_000
_LINE = re.compile(r"^[ \t]{0,40}(SwitchName|BlockName|BlockSizes)[ \t]{0,9}=", re.IGNORECASE | re.MULTILINE)
_WORD = re.compile(r"(?P<key>[A-Za-z]{1,20})[ \t]{0,9}=[ \t]{0,9}(?P<value>\S{1,200000})")
_PART = re.compile(r"(?P<low>[0-9]{1,9})(?:-(?P<high>[0-9]{1,9}))?", re.ASCII)
_KEYS = {
    "switchname": ("switchname", "switches", "nodes", "linkspeed"),
    "blockname": ("blockname", "nodes"),
    "blocksizes": ("blocksizes",),
}


@dataclass(frozen=True)
class HostTree:
    """Hosts by their leaf switches or blocks, and the switches above.

    `leaves` are names of hosts by leaf; `levels` say for each level above which leaves each switch joins, up
    to one that joins all, if there is one. `kind` is tree or block.
    """

    name: str
    kind: str
    leaves: tuple[tuple[str, tuple[str, ...]], ...]
    levels: tuple[tuple[tuple[str, tuple[int, ...]], ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def hosts(self) -> int:
        """How many hosts there are."""
        return sum(len(hosts) for _, hosts in self.leaves)


def is_slurm_topology(text: str) -> bool:
    """Whether a text has a line of such a file."""
    return _LINE.search(text) is not None


def host_tree(text: str, where: str, name: str) -> HostTree:
    """Return the tree of a topology.conf.

    Raises:
        InputError: with its line: an unknown key, a malformed host list, a host or switch that occurs twice,
            a switch that is not described, both kinds of lines, or switches that form no tree.
    """
    rows = list(_rows(text, where))
    blocks = [row for row in rows if "blockname" in row[1]]
    switches = [row for row in rows if "switchname" in row[1]]
    if blocks and switches:
        raise InputError(
            f"{where}: line {blocks[0][0]}: has blocks, but switches above; a file has one of them"
        )
    if blocks:
        leaves = [
            (row["blockname"], _hosts(row.get("nodes", ""), f"{where}: line {at}")) for at, row in blocks
        ]
        sizes = next((row["blocksizes"] for _, row in rows if "blocksizes" in row), "")
        notes = [f"BlockSizes {excerpt(sizes)} is for jobs, not for links: passed over"] if sizes else []
        tree = HostTree(name, "block", _unique(leaves, where), (), tuple(notes))
    else:
        tree = _tree(switches, where, name)
    if not tree.hosts:
        raise InputError(f"{where}: names no nodes")
    return tree


def _rows(text: str, where: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the keys and values of each line that has some, with its number."""
    for at, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        words = _WORD.findall(line)
        row = {key.lower(): value for key, value in words}
        first = next(iter(row), "")
        unknown = next((key for key in row if key not in _KEYS.get(first, ())), None)
        if first not in _KEYS or unknown is not None or len(row) < len(words) or _WORD.sub("", line).strip():
            raise InputError(
                f"{where}: line {at}: '{excerpt(line)}' is no line of a topology.conf; it must be SwitchName "
                "with Switches or Nodes, or BlockName with Nodes, or BlockSizes"
            )
        yield at, row


def _tree(switches: list[tuple[int, dict[str, str]]], where: str, name: str) -> HostTree:
    leaves = [
        (row["switchname"], _hosts(row["nodes"], f"{where}: line {at}"))
        for at, row in switches
        if "nodes" in row
    ]
    notes = []
    if any("linkspeed" in row for _, row in switches):
        notes.append("LinkSpeed has no unit in Slurm: passed over")
    below: dict[str, list[str]] = {}
    for at, row in switches:
        if ("nodes" in row) == ("switches" in row):
            raise InputError(f"{where}: line {at}: a switch has Nodes or Switches, one of them")
        if row["switchname"] in below:
            raise InputError(f"{where}: line {at}: {excerpt(row['switchname'])} occurs twice")
        below[row["switchname"]] = list(_hosts(row.get("switches", ""), f"{where}: line {at}"))
    number_of = {leaf: number for number, (leaf, _) in enumerate(leaves)}
    levels = []
    known: dict[str, tuple[int, ...]] = {leaf: (number,) for leaf, number in number_of.items()}
    left = [switch for switch in below if switch not in number_of]
    while left:
        ready = [switch for switch in left if all(child in known for child in below[switch])]
        if not ready:
            missing = next((c for s in left for c in below[s] if c not in below), left[0])
            raise InputError(f"{where}: switch {excerpt(missing)} is not described, or contains itself")
        level = []
        for switch in ready:
            joined = [leaf for child in below[switch] for leaf in known[child]]
            if len(joined) > len(leaves):
                raise InputError(f"{where}: switch {excerpt(switch)} has a switch below it twice")
            level.append((switch, tuple(dict.fromkeys(joined))))
        known |= dict(level)
        levels.append(tuple(level))
        left = [switch for switch in left if switch not in known]
    return HostTree(name, "tree", _unique(leaves, where), tuple(levels), tuple(notes))


def _unique(leaves: list[tuple[str, tuple[str, ...]]], where: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    seen: set[str] = set()
    for leaf, hosts in leaves:
        twice = next((host for host in hosts if host in seen), None)
        if twice is not None or len(set(hosts)) < len(hosts):
            raise InputError(f"{where}: {excerpt(leaf)} has {excerpt(twice or 'a node')}, which occurs twice")
        seen.update(hosts)
    return tuple(leaves)


def _hosts(text: str, where: str) -> tuple[str, ...]:
    """Return the names of a host list; `tux[0-2]` are tux0, tux1 and tux2."""
    found: list[str] = []
    for word in _words(text, where):
        found += _expanded(word, where, MOST_NODES - len(found))
    return tuple(found)


def _words(text: str, where: str) -> list[str]:
    words, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if depth not in (0, 1):
            break
        if letter == "," and depth == 0:
            words.append(text[start:at])
            start = at + 1
    words.append(text[start:])
    if depth or (text and not all(words)):
        raise InputError(f"{where}: '{excerpt(text)}' is no list of names, such as tux[0-3,12]")
    return [word for word in words if word]


def _expanded(word: str, where: str, most: int) -> list[str]:
    head, bracket, rest = word.partition("[")
    if not bracket:
        names = [head]
    else:
        inside, _, tail = rest.partition("]")
        names = []
        for part in inside.split(","):
            span = _PART.fullmatch(part)
            low, high = (int(span["low"]), int(span["high"] or span["low"])) if span else (1, 0)
            if span is None or high < low or len(names) + high - low >= most:
                raise InputError(
                    f"{where}: '{excerpt(part)}' in '{excerpt(word)}' is no range such as 0-3, or there are "
                    f"more than {MOST_NODES} names"
                )
            names += [f"{head}{number:0{len(span['low'])}d}" for number in range(low, high + 1)]
        if tail:
            names = [name + end for end in _expanded(tail, where, most) for name in names][: most + 1]
    if len(names) > most:
        raise InputError(f"{where}: has more than {MOST_NODES} names, the most allowed")
    return names


_KINDS = ("tree", "block")


def is_slurm_yaml(data: Any) -> bool:
    """Whether the content of a YAML file is a list of topologies."""
    return (
        isinstance(data, list) and bool(data) and all(isinstance(e, dict) and "topology" in e for e in data)
    )


def conf_lines(topologies: list[dict[str, Any]], where: str) -> tuple[str, tuple[str, ...]]:
    """Return the lines of the topology that holds by default, and notes on others.

    Raises:
        InputError: no topology has switches or blocks; names the place of a malformed entry.
    """
    drawn = [each for each in topologies if any(kind in each for kind in _KINDS)]
    if not drawn:
        raise InputError(f"{where}: has no topology with a tree or a block, which say where nodes are")
    chosen = next((each for each in drawn if each.get("cluster_default") is True), drawn[0])
    name = excerpt(chosen["topology"])
    others = [excerpt(each["topology"]) for each in topologies if each is not chosen]
    notes = [f"topology {name} is read, not {', '.join(others)}"] if others else []
    kind = next(kind for kind in _KINDS if kind in chosen)
    place = f"{where}: {kind} of topology {name}"
    return "\n".join(_lines(chosen[kind], kind, place)), tuple(notes)


def _lines(data: Any, kind: str, place: str) -> Iterator[str]:
    if not isinstance(data, Mapping):
        raise InputError(f"{place} is {excerpt(data)}; it must hold switches or blocks")
    entry, keys = ("switch", ("children", "nodes")) if kind == "tree" else ("block", ("nodes",))
    entries = data.get("switches" if kind == "tree" else "blocks")
    for each in entries if isinstance(entries, list) else [entries]:
        if not isinstance(each, Mapping) or entry not in each:
            raise InputError(f"{place} has {excerpt(each)}; it must be {entry} with {' or '.join(keys)}")
        names = {"switch": "SwitchName", "block": "BlockName", "children": "Switches", "nodes": "Nodes"}
        words = [f"{names[key]}={_text(each[key])}" for key in (entry, *keys) if each.get(key) is not None]
        yield " ".join(words)
    if sizes := data.get("block_sizes"):
        yield f"BlockSizes={_text(sizes)}"


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else "".join(str(value).split())

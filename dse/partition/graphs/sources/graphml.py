"""GraphML files as graphs: nodes and edges in their order, weights, memory and bytes as attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from dse.base.errors import InputError, excerpt
from dse.base.files import read_bytes
from dse.base.xml_files import refuse_declarations
from dse.partition.graphs.sources.attributes import Attributes, attributed
from dse.partition.graphs.sources.source import Source

_SPACE = "{http://graphml.graphdrawing.org/xmlns}"


@dataclass(frozen=True)
class _Key:
    """An attribute: its name, the elements that may have it, and its value where they do not."""

    name: str
    of: str
    default: str | None

    def is_for(self, kind: str) -> bool:
        """Whether a `node` or an `edge` may have it."""
        return self.of in ("all", kind)


def read_graphml(path: Path) -> Source:
    """Read a GraphML graph.

    Attributes are those of `dse.partition.graphs.sources.attributes`. The default of a key is for the
    elements that its `for` names: `node`, `edge` or `all`. Edges of an undirected graph lead from the node
    that comes first in the file.

    Raises:
        InputError: malformed XML (with its line), an unknown or repeated node, no number for an attribute,
            data of a key that the file lacks or has for other elements.
    """
    content = read_bytes(path)
    refuse_declarations(content, str(path))
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # the latter of encodings
        raise InputError(f"{path}: malformed XML: {error}") from None
    graph = _graph_of(path, root)
    keys = {
        key.get("id", ""): _Key(
            key.get("attr.name", ""), key.get("for", "all"), key.findtext(f"{_SPACE}default")
        )
        for key in root.findall(f"{_SPACE}key")
    }
    nodes: dict[str, Attributes] = {}
    for element in graph.findall(f"{_SPACE}node"):
        identity = element.get("id", "")
        if identity in nodes:
            raise InputError(f"{path}: node '{excerpt(identity)}' occurs twice")
        nodes[identity] = _attributes(path, element, keys)
    number_of = {identity: number for number, identity in enumerate(nodes)}
    is_directed = graph.get("edgedefault", "directed") == "directed"
    edges = []
    for element in graph.findall(f"{_SPACE}edge"):
        ends = []
        for end in ("source", "target"):
            identity = element.get(end, "")
            if identity not in number_of:
                raise InputError(f"{path}: an edge has the {end} '{excerpt(identity)}', which is no node")
            ends.append(number_of[identity])
        directed = element.get("directed", "true" if is_directed else "false") == "true"
        ends = ends if directed else sorted(ends)
        edges.append((ends[0], ends[1], _attributes(path, element, keys)))
    return attributed(str(path), nodes.items(), edges)


def _graph_of(path: Path, root: ElementTree.Element) -> ElementTree.Element:
    graphs = root.findall(f"{_SPACE}graph")
    if len(graphs) != 1:
        raise InputError(f"{path}: has {len(graphs)} <graph> of {_SPACE.strip('{}')}; it must have one")
    for tag in ("hyperedge", f"node/{_SPACE}graph"):
        if graphs[0].find(f"{_SPACE}{tag}") is not None:
            raise InputError(
                f"{path}: has a {'hyperedge' if tag == 'hyperedge' else 'graph inside a node'}; "
                "it must have nodes and edges only"
            )
    return graphs[0]


def _attributes(path: Path, element: ElementTree.Element, keys: Mapping[str, _Key]) -> dict[str, str]:
    """Return the attributes of a node or an edge: defaults of the keys for such elements, then its own."""
    kind = element.tag.removeprefix(_SPACE)
    an_element = "an edge" if kind == "edge" else f"a {kind}"
    found = {key.name: key.default for key in keys.values() if key.default is not None and key.is_for(kind)}
    for data in element.findall(f"{_SPACE}data"):
        identity = data.get("key", "")
        key = keys.get(identity)
        if key is None:
            raise InputError(
                f"{path}: {an_element} has data of '{excerpt(identity)}', which is no <key> of the file"
            )
        if not key.is_for(kind):
            raise InputError(
                f"{path}: {an_element} has data of the key '{excerpt(identity)}', which is for "
                f'\'{excerpt(key.of)}\'; write for="{kind}" or for="all" in that key'
            )
        found[key.name] = (data.text or "").strip()
    return found

"""XML of others, bounded: no entities, nothing fetched, limits of size, depth and elements."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from dse.base.errors import InputError, excerpt
from dse.base.files import read_bytes

MOST_BYTES = 2**26
MOST_DEPTH = 200
MOST_ELEMENTS = 300_000


def read_xml(path: Path, most_bytes: int = MOST_BYTES) -> Element:
    """Return the root element of an XML file; tags of a namespace are `{uri}tag`, as ElementTree has them.

    A document type that only names a DTD, as lstopo writes it, is passed over; the DTD is not read.

    Raises:
        InputError: an unreadable or too large file, malformed XML (with its line), too many or too deep
            elements, a document type that declares something, or an entity.
    """
    return xml_root(read_bytes(path, most_bytes), str(path))


def xml_root(content: bytes, where: str) -> Element:
    """Return the root element of an XML document; `where` is how messages call it.

    Raises:
        InputError: as `read_xml`.
    """
    reader = _Reader(where)
    try:
        reader.parser.Parse(content, True)
    except (expat.ExpatError, LookupError, ValueError) as error:  # the latter two of encodings
        raise InputError(f"{where}: malformed XML: {excerpt(error, 100)}") from None
    return reader.builder.close()


def refuse_declarations(content: bytes, where: str) -> None:
    """Refuse what may stand before the root element and declares something, in any encoding.

    A faster parser may read the document afterwards, as entities are declared nowhere else.

    Raises:
        InputError: a document type that declares something, or malformed XML before the root element.
    """
    guard = _Guard(where)

    def start(*_: Any) -> None:
        raise _RootReachedError

    guard.parser.StartElementHandler = start
    try:
        guard.parser.Parse(content, True)
    except _RootReachedError:
        return
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise InputError(f"{where}: malformed XML: {excerpt(error, 100)}") from None


class _RootReachedError(Exception):
    """The root element begins."""


class _Guard:
    """A parser that refuses declarations and entities."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.parser = parser = expat.ParserCreate(namespace_separator="}")
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
        parser.ExternalEntityRefHandler = self._entity
        parser.SkippedEntityHandler = self._entity

    def _doctype(self, _name: str, _system: Any, _public: Any, has_subset: int) -> None:
        if has_subset:
            raise InputError(f"{self.where}: {self._line()}its document type declares something; remove it")

    def _entity(self, *_: Any) -> int:
        raise InputError(f"{self.where}: {self._line()}has an entity, &name;; none is allowed")

    def _line(self) -> str:
        return f"line {self.parser.CurrentLineNumber}: "


class _Reader(_Guard):
    """A guarded parser that builds the tree, within limits."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.depth, self.elements = 0, 0
        self.builder = TreeBuilder()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self.builder.data

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        self.elements += 1
        if self.depth > MOST_DEPTH:
            raise InputError(f"{self.where}: {self._line()}nested deeper than {MOST_DEPTH} elements")
        if self.elements > MOST_ELEMENTS:
            raise InputError(f"{self.where}: has more than {MOST_ELEMENTS} elements, the most allowed")
        self.builder.start(_named(tag), {_named(name): text for name, text in attributes.items()})

    def _end(self, tag: str) -> None:
        self.depth -= 1
        self.builder.end(_named(tag))


def _named(name: str) -> str:
    return f"{{{name}" if "}" in name else name

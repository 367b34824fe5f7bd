"""XML of others: entities are refused in any encoding, a DTD that is only named is passed over."""

from __future__ import annotations

import pytest

from dse.base.errors import InputError
from dse.base.xml_files import refuse_declarations, xml_root

BOMB = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;&b;">]><a>&c;</a>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_that_declares_is_refused(encoding: str) -> None:
    content = f'<?xml version="1.0" encoding="{encoding}"?>{BOMB}'.encode(encoding)
    for read in (refuse_declarations, xml_root):
        with pytest.raises(InputError, match="x: line 1: its document type declares something; remove it"):
            read(content, "x")


def test_a_dtd_that_is_only_named_is_passed_over() -> None:
    content = b'<!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0"/>'
    refuse_declarations(content, "x")
    assert xml_root(content, "x").get("version") == "2.0"


def test_the_guard_reads_no_further_than_the_root() -> None:
    refuse_declarations(b"<a><b></a>", "x")
    with pytest.raises(InputError, match="x: malformed XML: mismatched tag"):
        xml_root(b"<a><b></a>", "x")


def test_namespaces_are_part_of_tags() -> None:
    root = xml_root(b'<a xmlns="urn:one" c="1"><b xmlns:o="urn:two" o:d="2"/></a>', "x")
    assert (root.tag, root[0].tag, root[0].attrib) == ("{urn:one}a", "{urn:one}b", {"{urn:two}d": "2"})


@pytest.mark.parametrize(
    "content", [b"", b"text", b'<?xml version="1.0" encoding="none"?><a/>', b"<a>\x00</a>"]
)
def test_other_files_are_refused(content: bytes) -> None:
    with pytest.raises(InputError, match="x: malformed XML"):
        xml_root(content, "x")

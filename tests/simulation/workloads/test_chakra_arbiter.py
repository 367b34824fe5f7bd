"""mlc-chakra, which reads what dse writes: by its schema, node for node, and by its program."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dse.inputs.strategies import Strategy
from dse.native import _engine
from dse.simulation.workloads import generate
from dse.testing.builders import TINY, coll, comp, encode, recv, send

schema = pytest.importorskip(
    "chakra.schema.protobuf.et_def_pb2", reason="mlc-chakra is not installed: make arbiters"
)
STRATEGIES = (
    Strategy(dp=4, tp=2),
    Strategy(tp=2, sp=2, pp=2, activation_recompute=True),
    Strategy(dp=2, pp=4, weight_sharded=True),
)


def _messages(content: bytes) -> Iterator[bytes]:
    """The messages of a trace file, each behind its length in seven bits a byte."""
    place = 0
    while place < len(content):
        length = shift = 0
        while True:
            byte = content[place]
            place += 1
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        yield content[place : place + length]
        place += length


def _value(attribute: Any) -> Any:
    kind = attribute.WhichOneof("value")
    value = None if kind is None else getattr(attribute, kind)
    return list(value.values) if hasattr(value, "values") else value


def _as_chakra_reads(content: bytes) -> list[dict[str, Any]]:
    first, *others = _messages(content)
    schema.GlobalMetadata().ParseFromString(first)
    found = []
    for message in others:
        node = schema.Node()
        node.ParseFromString(message)
        found.append(
            {
                "id": node.id,
                "name": node.name,
                "type": node.type,
                "ctrl_deps": list(node.ctrl_deps),
                "data_deps": list(node.data_deps),
                "duration_micros": node.duration_micros,
                "attributes": {attribute.name: _value(attribute) for attribute in node.attr},
            }
        )
    return found


def _as_read_here(content: bytes) -> list[dict[str, Any]]:
    found = []
    for node in _engine.parse_trace(content, "trace").nodes():
        attributes = {name: value for name, (_, value) in node["attributes"].items()}
        found.append({key: node[key] for key in node if key != "attributes"} | {"attributes": attributes})
    return found


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_chakra_reads_every_node_of_a_point(strategy: Strategy) -> None:
    made = generate(TINY, strategy)
    for rank in {0, made.rank_count - 1}:
        content = made.trace_bytes(rank)
        read = _as_chakra_reads(content)
        own = _as_read_here(content)
        assert len(read) == made.counts(rank).nodes
        for theirs, ours in zip(read, own, strict=True):
            assert {key: ours[key] for key in theirs} == theirs


def test_chakra_reads_every_kind_of_node() -> None:
    nodes = [comp(1, micros=7), coll(2, 0, 100, group="1", after=[1]), send(3, 1, 5), recv(4, 1, 6)]
    read = _as_chakra_reads(encode(nodes))
    assert [node["type"] for node in read] == [
        schema.COMP_NODE,
        schema.COMM_COLL_NODE,
        schema.COMM_SEND_NODE,
        schema.COMM_RECV_NODE,
    ]
    assert read[0]["duration_micros"] == 7
    assert read[1]["data_deps"] == [1]
    assert read[1]["attributes"]["comm_type"] == schema.ALL_REDUCE


def test_its_program_turns_an_exported_trace_into_json(tmp_path: Path) -> None:
    trace, *_ = generate(TINY, Strategy(dp=2)).export(tmp_path)
    output = tmp_path / "trace.json"
    program = Path(sys.executable).with_name("chakra_jsonizer")
    subprocess.run([program, "--input_filename", trace, "--output_filename", output], check=True)
    decoder, text, place, names = json.JSONDecoder(), output.read_text(), 0, []
    while place < len(text):
        value, place = decoder.raw_decode(text, place)
        names.append(value.get("name"))
    assert len(names) == 1 + generate(TINY, Strategy(dp=2)).counts(0).nodes

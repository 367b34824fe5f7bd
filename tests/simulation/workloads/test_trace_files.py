"""Reading and writing execution traces and groups files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.native import _engine
from dse.simulation.simulators import NativeSimulator
from dse.simulation.workloads import read_groups, read_workload, workload_of
from dse.testing.builders import (
    ALL_REDUCE,
    BOOL,
    BOOLS,
    INT32,
    INT64,
    NONE,
    STRING,
    STRINGS,
    UINT64,
    Node,
    coll,
    comp,
    encode,
    finish,
    load,
    recv,
    send,
    system,
    workload,
)

DOUBLE, FLOAT, UINT32 = 3, 5, 11

UINT64S = st.integers(0, 2**64 - 1)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
VALUES = st.one_of(
    st.tuples(st.just(NONE), st.none()),
    st.tuples(st.just(DOUBLE), st.floats(allow_nan=False)),
    st.tuples(st.just(FLOAT), st.floats(allow_nan=False, width=32)),
    st.tuples(st.just(INT32), st.integers(-(2**31), 2**31 - 1)),
    st.tuples(st.just(INT64), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just(UINT32), st.integers(0, 2**32 - 1)),
    st.tuples(st.just(UINT64), UINT64S),
    st.tuples(st.just(BOOL), st.booleans()),
    st.tuples(st.just(BOOLS), st.lists(st.booleans(), max_size=5)),
    st.tuples(st.just(STRING), TEXTS),
    st.tuples(st.just(STRINGS), st.lists(TEXTS, max_size=5)),
)
NODES = st.fixed_dictionaries(
    {
        "id": UINT64S,
        "name": TEXTS,
        "type": st.integers(0, 7),
        "duration_micros": UINT64S,
        "ctrl_deps": st.lists(UINT64S, max_size=4),
        "data_deps": st.lists(UINT64S, max_size=4),
        "attributes": st.dictionaries(TEXTS, VALUES, max_size=5),
    }
)

TRACE = [
    comp(1, ops=5, size=7, micros=300, writes={"a": 200}),
    send(200, to=1, size=1000, tag=3, after=[1], reads={"a": 200}),
    coll(70_000, ALL_REDUCE, 4096, group="left", control=[1, 200]),
]


@settings(max_examples=200, deadline=None)
@given(st.lists(NODES, max_size=4))
def test_any_nodes_survive_writing_and_reading(nodes: list[Node]) -> None:
    content = _engine.trace_file(nodes).encode()
    trace = _engine.parse_trace(content, "trace")
    assert trace.nodes() == nodes
    assert trace.node_count == len(nodes)
    assert trace.encode() == content


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_corrupt_byte_is_an_error_at_a_byte_of_the_file_or_another_trace(data: st.DataObject) -> None:
    content = bytearray(encode(TRACE))
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        trace = _engine.parse_trace(bytes(content), "bad.0.et")
    except InputError as error:
        problem = str(error)
    else:
        assert trace.node_count <= len(TRACE)
        return
    match = re.match(r"bad\.0\.et: byte (\d+): .", problem)
    assert match is not None, problem
    assert int(match[1]) <= len(content)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_a_trace_or_an_input_error(content: bytes) -> None:
    try:
        trace = _engine.parse_trace(content, "x")
    except InputError as error:
        problem = str(error)
    else:
        problem = (
            "" if trace.node_count <= len(content) else f"{trace.node_count} nodes in {len(content)} bytes"
        )
    assert not problem or re.match(r"x: byte \d+: .", problem)


def _ends_of_messages(content: bytes) -> list[int]:
    """Byte offsets behind the metadata message and behind every node, by the length prefixes alone."""
    ends, at = [], 0
    while at < len(content):
        length = shift = 0
        while True:
            byte = content[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        at += length
        ends.append(at)
    return ends


def test_every_truncation_is_an_error_with_file_and_offset_or_ends_behind_a_message(tmp_path: Path) -> None:
    content = encode(TRACE)
    ends = _ends_of_messages(content)
    assert len(ends) == 1 + len(TRACE)
    path = tmp_path / "trace.0.et"
    for length in range(len(content) + 1):
        path.write_bytes(content[:length])
        if length in ends:
            assert _engine.read_trace_file(str(path)).node_count == ends.index(length)
            continue
        with pytest.raises(InputError) as caught:
            _engine.read_trace_file(str(path))
        match = re.fullmatch(re.escape(str(path)) + r": byte (\d+): (.+)", str(caught.value))
        assert match is not None, str(caught.value)
        begin = max((end for end in ends if end < length), default=0)
        assert begin <= int(match[1]) <= length


def test_a_truncated_trace_among_good_ones_is_named(tmp_path: Path) -> None:
    paths = [tmp_path / f"trace.{rank}.et" for rank in range(2)]
    paths[0].write_bytes(encode([comp(1)]))
    paths[1].write_bytes(encode([comp(1)])[:-1])
    with pytest.raises(
        InputError, match=rf"{re.escape(str(paths[1]))}: byte \d+: length \d+, expected at most"
    ):
        read_workload(paths)


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "trace.0.et"
    with pytest.raises(InputError, match=f"{re.escape(str(missing))}: cannot be read: No such file"):
        read_workload([missing])


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        (comp(1, after=[2]), "rank 0: node 1 (node1): waits for node 2, which is not in the file"),
        (comp(1, control=[9]), "rank 0: node 1 (node1): waits for node 9, which is not in the file"),
        (comp(1, after=[1]), "rank 0: every node waits for another one; no node can start"),
        (coll(1, 3, 10), "rank 0: node 1 (node1): comm_type is 3; allowed are 0 all-reduce, 2 all-gather"),
        (coll(1, 0, 10, group="x"), "pg_name 'x' is a communicator group, but no groups are given"),
        (send(1, to=1, size=0), "comm_size is 0; a message needs at least 1 byte"),
        (coll(1, 0, -1), "attribute 'comm_size' is -1; it must be at least 0"),
    ],
)
def test_nodes_that_cannot_run_are_named(node: Node, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        workload([node])
    assert problem in str(caught.value)


@pytest.mark.parametrize("peer", [2, -1])
def test_a_peer_that_does_not_exist_is_an_input_error(peer: int) -> None:
    with pytest.raises(InputError, match=rf"rank 0: node 1 \(node1\): .*{peer}"):
        workload([send(1, to=peer, size=10)], [comp(1)])


@pytest.mark.parametrize(
    ("make", "required"),
    [
        (lambda: coll(1, ALL_REDUCE, 10), ["comm_type", "comm_size"]),
        (lambda: send(1, to=1, size=10), ["comm_dst", "comm_size", "comm_tag"]),
        (lambda: recv(1, source=1, size=10), ["comm_src", "comm_size", "comm_tag"]),
        (lambda: load(1, 10), ["tensor_size"]),
    ],
)
def test_a_missing_attribute_is_named(make: Callable[[], Node], required: list[str]) -> None:
    for name in required:
        node = make()
        del node["attributes"][name]
        with pytest.raises(InputError) as caught:
            workload([node], [comp(1)])
        assert str(caught.value) == f"rank 0: node 1 (node1): attribute '{name}' is missing"


@pytest.mark.parametrize("name", ["num_ops", "tensor_size"])
def test_a_compute_node_needs_its_roofline_attributes_only_with_the_roofline(name: str) -> None:
    node = comp(1, micros=2)
    del node["attributes"][name]
    work = workload([node], [comp(1, micros=2)])
    with pytest.raises(
        InputError, match=r"rank 0: node 1 \(node1\): num_ops and tensor_size must be present"
    ):
        NativeSimulator().simulate(work, system())
    assert finish(work, system(roofline_enabled=False)) == [2000, 2000]


def test_tensor_lists_are_needed_only_when_memory_is_tracked() -> None:
    node = comp(1, ops=10**9, size=10**8)
    del node["attributes"]["outputs"]
    work = workload([node], [comp(1, ops=10**9, size=10**8)])
    with pytest.raises(InputError, match=r"rank 0: node 1 \(node1\): attribute 'outputs' is missing"):
        NativeSimulator().simulate(work, system(track_local_memory=True))
    assert finish(work, system()) == [33333, 33333]


def test_an_odd_tensor_list_is_an_input_error_when_memory_is_tracked() -> None:
    node = comp(1)
    node["attributes"]["inputs"] = (STRINGS, ["a", "1.0", "b"])
    with pytest.raises(InputError, match="'inputs' has an odd number of entries"):
        NativeSimulator().simulate(workload([node], [comp(1)]), system(track_local_memory=True))


def test_a_float_where_an_integer_is_read_is_an_error_and_any_integer_width_is_accepted() -> None:
    node = coll(1, ALL_REDUCE, 10)
    for kind in (INT32, INT64, UINT32, UINT64):
        node["attributes"]["comm_size"] = (kind, 10)
        assert workload([node], [node]).counts(0).comm_bytes == 10
    node["attributes"]["comm_size"] = (DOUBLE, 10.0)
    with pytest.raises(InputError, match="attribute 'comm_size' is not an integer"):
        workload([node], [node])


def test_of_a_repeated_id_the_last_node_counts() -> None:
    slow, fast = comp(1, micros=9), comp(1, micros=2)
    work = workload([slow, fast], [fast, slow])
    assert work.counts(0).nodes == 1
    assert finish(work, system(roofline_enabled=False)) == [2000, 9000]


def test_the_first_attribute_of_a_name_counts() -> None:
    # Two messages joined are one message with the attributes of both.
    messages = [encode([coll(1, ALL_REDUCE, size)]) for size in (2000, 100)]
    metadata_end = _ends_of_messages(messages[0])[0]
    node = b"".join(message[metadata_end + 1 :] for message in messages)
    assert len(node) < 128  # the length takes one byte
    work = workload_of([messages[0][:metadata_end] + bytes([len(node)]) + node])
    assert work.counts(0).comm_bytes == 2000


def test_metadata_nodes_are_refused() -> None:
    node = comp(1) | {"type": 1}
    with pytest.raises(InputError, match=r"rank 0: node 1 \(node1\): metadata nodes cannot be run"):
        workload([node])


def test_a_trace_of_pytorch_is_named_as_such() -> None:
    """Chakra's converter gives each of its nodes an rf_id; CPU operations among them could be replayed."""
    nodes = [comp(1, cpu=True), comp(2) | {"type": 1, "name": "## process_group:init ##"}, coll(3, 0, 10)]
    for node in nodes:
        node["attributes"]["rf_id"] = (UINT64, node["id"])
    message = (
        "rank 0 is a trace of PyTorch (its nodes have an rf_id), which dse simulate plays again; "
        "the first node that cannot be run is node "
    )
    for left_out, named in ([], "2 (## process_group:init ##)"), ([2], "3 (node3)"):
        nodes[2]["attributes"].pop("comm_type", None)
        kept = [node for node in nodes if node["id"] not in left_out]
        with pytest.raises(InputError) as caught:
            workload(kept)
        assert str(caught.value) == message + named


def test_a_trace_without_nodes_is_refused() -> None:
    with pytest.raises(InputError, match="rank 0: the trace has no nodes"):
        workload([])


def test_files_of_more_than_100_000_nodes_are_read(tmp_path: Path) -> None:
    count = 120_000
    nodes = [comp(i, micros=1, after=[i - 1] if i > 1 else []) for i in range(1, count + 1)]
    paths = [tmp_path / f"trace.{rank}.et" for rank in range(2)]
    for path in paths:
        path.write_bytes(encode(nodes))
    work = read_workload(paths)
    assert work.counts(1).nodes == count
    assert work.counts(1).data_deps == count - 1
    assert finish(work, system(roofline_enabled=False)) == [1000 * count, 1000 * count]


def _groups_file(folder: Path, content: Any) -> Path:
    path = folder / "comm_group.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_groups_keep_their_names_and_orders(tmp_path: Path) -> None:
    groups = {"b": [3, 1], "a": [0, 2]}
    assert list(read_groups(_groups_file(tmp_path, groups)).items()) == [("b", [3, 1]), ("a", [0, 2])]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"left": [0, 1, 0]}, "group 'left' names rank 0 twice; a rank is a member once"),
        ({"left": []}, "group 'left' is []; it must be a list of at least one rank"),
        ({"left": 3}, "group 'left' is 3; it must be a list of at least one rank"),
        ({"left": [0, -1]}, "group 'left' has the member -1; members are ranks from 0"),
        ({"left": [0, "1"]}, "group 'left' has the member '1'; members are ranks from 0"),
        ({"left": [True]}, "group 'left' has the member True; members are ranks from 0"),
        ('{"left": [0', "comm_group.json"),
        ([[0, 1]], "comm_group.json"),
    ],
)
def test_wrong_groups_are_named_with_their_file(tmp_path: Path, content: Any, problem: str) -> None:
    path = _groups_file(tmp_path, content)
    with pytest.raises(InputError) as caught:
        read_groups(path)
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)


def test_a_group_with_a_rank_beyond_the_traces_is_refused() -> None:
    with pytest.raises(InputError, match="group 'left' names rank 2, but there are 2 ranks"):
        workload([comp(1)], [comp(1)], groups={"left": [0, 2]})


def test_a_group_with_a_rank_twice_is_refused_without_a_file_too() -> None:
    with pytest.raises(InputError, match="group 'left' names rank 1 twice"):
        workload([comp(1)], [comp(1)], groups={"left": [1, 1]})


def test_a_node_on_a_group_without_its_rank_is_refused() -> None:
    nodes = [coll(1, ALL_REDUCE, 100, group="left")]
    with pytest.raises(InputError, match="pg_name 'left' is a group that rank 1 is not in"):
        workload(nodes, nodes, groups={"left": [0]})

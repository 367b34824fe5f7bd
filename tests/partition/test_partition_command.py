"""`dse partition`: answers, files, comparisons, and bad input in one line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from command_lines import ClosedOutput

from dse.base.errors import InputError
from dse.base.trace_nodes import trace_of
from dse.commands.partition import main
from dse.partition.search.partitioners import PARTITIONERS
from dse.simulation.workloads.nodes import compute_node

GOLDEN = Path(__file__).parents[1] / "golden" / "partition" / "optima.json"
CHAIN = {
    "node_weights": [4, 2, 6, 4],
    "edges": [[0, 1], [1, 2], [2, 3]],
    "edge_bytes": [10, 20, 30],
    "names": ["a", "b", "c", "d"],
}


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    path = tmp_path / "chain.json"
    path.write_text(json.dumps(CHAIN))
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert main([*arguments, "format=json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_instances_with_known_optima_are_solved_from_their_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "g.json"
    for instance in json.loads(GOLDEN.read_text())["small"][:6]:
        path.write_text(json.dumps(instance))
        found = printed(capsys, f"graph={path}")
        assert found["cost"] == pytest.approx(instance["optimum"])
        assert (found["objective"], found["optimal"]) == ("sharding_cost", True)
        assert found["bound"] == pytest.approx(instance["optimum"])
        assert len(found["labels"]) == len(instance["node_weights"])
        assert {"partitioner", "seconds"} <= found.keys()


def test_chain_on_two_devices(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Loads 6 and 10, or 12 and 4: the bottleneck is 10."""
    found = printed(capsys, f"graph={chain}", "devices=2", "objective=pipeline_bottleneck")
    assert (found["cost"], found["labels"]) == (10, [0, 0, 1, 1])


def test_constraints_change_the_answer(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = (f"graph={chain}", "devices=2", "objective=pipeline_bottleneck")
    assert printed(capsys, *line, "pinned={c:0}")["cost"] == 12
    assert printed(capsys, *line, "together=[[b,c]]")["labels"] == [0, 0, 0, 1]
    assert printed(capsys, *line, "speeds=[3,1]")["cost"] == 4
    assert printed(capsys, *line, "speeds=[1,3]", "free_order=true")["cost"] == 4


def test_switches_of_a_topology_hold_nothing(
    chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two NPUs around a switch, over which messages take two links of 1 ns and 1 ns a byte."""
    path = tmp_path / "star.csv"
    links = "".join(f"{npu},2,1,1\n2,{npu},1,1\n" for npu in (0, 1))
    path.write_text(f"3\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n{links}")
    line = (f"graph={chain}", f"devices={path}")
    assert set(printed(capsys, *line, "npus=2")["labels"]) == {0, 1}
    assert set(printed(capsys, *line)["labels"]) == {0, 1, 2}
    with pytest.raises(InputError, match=r"npus is 4; .*star\.csv has 3 nodes, so it must be 2 to 3"):
        main([*line, "npus=4"])
    matrix = tmp_path / "matrix.csv"
    matrix.write_text("0,1\n1,0\n")
    with pytest.raises(InputError, match=r"npus=2 has no effect on .*matrix\.csv, which is a matrix"):
        main([f"graph={chain}", f"devices={matrix}", "npus=2"])


def test_names_of_several_nodes_choose_none_of_them(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    content = {"node_weights": [1, 2, 3, 4], "edges": [], "names": ["x", "x", "y", "z"]}
    path.write_text(json.dumps(content))
    for key in ("pinned={x:1}", "together=[[x,y]]"):
        with pytest.raises(InputError, match="names node 'x', but nodes 0, 1 have that name"):
            main([f"graph={path}", "devices=2", key])
    with pytest.raises(InputError, match=r"needs 3 of weight, it has 2\.06 by imbalance=0\.03: node 2 "):
        main([f"graph={path}", "devices=5", "objective=process_mapping"])


def test_memory_holds_the_micro_batches_of_the_schedule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Adam keeps 4 x 20 bytes of node 1, and GPipe its 2 bytes of each of 32 micro-batches."""
    path = tmp_path / "g.json"
    content = {"parameter_bytes": [10, 20, 30], "activation_bytes": [1, 2, 3]}
    path.write_text(json.dumps({"node_weights": [1, 2, 3], "edges": [[0, 1], [1, 2]], **content}))
    line = (f"graph={path}", "devices=2", "objective=pipeline_bottleneck")
    assert printed(capsys, *line, "memory=126B")["cost"] == 3
    assert printed(capsys, *line, "memory=123B", "microbatches=1")["cost"] == 3
    assert printed(capsys, *line, "memory=126B", "microbatches=32", "schedule=zb-h1")["cost"] == 3
    with pytest.raises(InputError, match="device 0 needs 144 bytes of memory, it has 126: node 1 "):
        main([*line, "memory=126B", "microbatches=32", "schedule=gpipe"])


def test_folder_has_json_parquet_page_and_timeline(
    chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    line = (f"graph={chain}", "devices=2", "objective=pipeline_bottleneck", "microbatches=4")
    assert main([*line, "-o", str(folder)]) == 0
    text = capsys.readouterr().out
    assert "pipeline_bottleneck 10 ns, proven optimal" in text
    assert "a step with 1f1b and 4 micro-batches" in text
    stored = json.loads((folder / "partition.json").read_text())
    assert stored["operators"] == {"a": 0, "b": 0, "c": 1, "d": 1}
    nodes = pq.read_table(folder / "nodes.parquet").to_pydict()
    assert (nodes["name"], nodes["device"]) == (["a", "b", "c", "d"], [0, 0, 1, 1])
    devices = pq.read_table(folder / "devices.parquet").to_pydict()
    assert (devices["weight"], devices["sent_bytes"]) == ([6, 10], [20, 0])
    assert json.loads((folder / "trace.json").read_text())["traceEvents"]
    page = (folder / "index.html").read_text()
    assert "http" not in page.replace("http-equiv", "")
    assert '<tr data-pair="0 1"><td class="n">0</td><td class="n">1</td><td class="n" data-of="20' in page
    # One micro-batch is 6 + 10 forward, twice that backward; four of them on two stages.
    assert stored["step"]["closed_form_ns"] == 3 * 30 + 48


def test_several_partitioners_and_stored_partitions_are_compared(
    chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"labels": [0, 1, 1, 1]}))
    line = (f"graph={chain}", "devices=2", "objective=pipeline_bottleneck", f"compare={other}")
    found = printed(capsys, *line, "partitioner=[exact,fast]")
    assert [one["cost"] for one in found] == [10, 10, 12]
    assert found[2]["partitioner"] == str(other)
    assert main([*line]) == 0
    assert "+20.00 %" in capsys.readouterr().out


def test_a_proof_of_one_partitioner_holds_for_all_partitions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The work of 10 ns on two devices is a bound of 5 ns; exact proves 6 ns."""
    path, other = tmp_path / "g.json", tmp_path / "other.json"
    path.write_text(json.dumps({"node_weights": [1, 2, 3, 4], "edges": [[0, 1], [1, 2], [2, 3]]}))
    other.write_text(json.dumps({"labels": [0, 1, 1, 1]}))
    line = (f"graph={path}", "devices=2", "objective=pipeline_bottleneck", f"compare={other}")
    found = printed(capsys, *line, "partitioner=[fast,exact]")
    assert [(one["partitioner"], one["cost"], one["bound"], one["optimal"]) for one in found] == [
        *(("multilevel", 6, 6, True), ("exact", 6, 6, True), (str(other), 9, 6, False))
    ]


def test_weights_beyond_the_end_of_time_have_no_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = tmp_path / "g.json", tmp_path / "out"
    line = (f"graph={path}", "devices=2", "objective=pipeline_bottleneck")
    for weight, size in ((1e100, 1), (1e3, 1e30)):
        graph = {"node_weights": [weight, weight], "edges": [[0, 1]], "edge_bytes": [size]}
        path.write_text(json.dumps(graph))
        with pytest.raises(InputError, match=r"a step has .* are weights in ns, and edges in bytes\?"):
            main([*line, "schedule=gpipe"])
        assert main([*line, "-o", str(folder)]) == 0
        assert "step" not in json.loads((folder / "partition.json").read_text())
        assert "\nnote: no step is shown: a step has " in capsys.readouterr().err


def test_table_of_devices_as_csv(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"graph={chain}", "devices=2", "objective=pipeline_bottleneck", "format=csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["device"], row["nodes"], row["received_bytes"]) for row in rows] == [
        ("0", "2", "0.0"),
        ("1", "2", "20.0"),
    ]


def test_model_on_a_system_keeps_its_memory(capsys: pytest.CaptureFixture[str]) -> None:
    line = ("model=llama70b", "model.num_layers=2", "devices=torus_4x4", "system.network.0.npus=2")
    line += ("system.network.1.npus=2", "nodes=modules", "objective=pipeline_bottleneck")
    with pytest.raises(InputError, match="memory"):
        main([*line, "memory=1MB"])
    found = printed(capsys, *line, "memory=100TB")
    assert found["optimal"]
    assert len(found["labels"]) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "graph is missing; write graph=FILE"),
        (("graph={chain}",), "devices is missing"),
        (
            ("graph={chain}", "devices=5"),
            "has 4 nodes for 5 devices, each of which gets one under objective=sharding_cost; take at most 4",
        ),
        (("graph={chain}", "devices=0"), "devices is 0; a number of devices must be whole and at least 1"),
        (("graph={chain}", "devices=2", "objectiv=x"), "unknown key objectiv.*did you mean 'objective'"),
        (("graph={chain}", "devices=2", "objective=x"), "objective is 'x'; allowed are sharding_cost"),
        (("graph={chain}", "devices=2", "partitioner=x"), "partitioner.*x"),
        (("graph={chain}", "devices=2", "weight=flops"), "weight=flops has no effect on .*are given"),
        (("graph={chain}", "devices=2", "dims={{a:1}}"), "dims={a:1} has no effect"),
        (("graph={chain}", "devices=2", "micro_batch=1"), "micro_batch=1 has no effect"),
        (("graph={chain}", "devices=2", "tflops=1"), "tflops=1 has no effect here"),
        (("graph={chain}", "devices=2", "optimizer=sgd"), "optimizer=sgd has no effect"),
        (("graph={chain}", "devices=2", "nodes=modules"), "its weights are given"),
        (("graph={chain}", "devices=2", "imbalance=1"), "imbalance=1 has no effect on objective=sharding"),
        (("graph={chain}", "devices=2", "free_order=true"), "free_order=true has no effect"),
        (("graph={chain}", "devices=2", "matrix=distance"), "matrix=distance has no effect"),
        (("graph={chain}", "devices=2", "npus=2"), "npus=2 has no effect; it is for devices=FILE.csv"),
        (("graph={chain}", "devices=2", "system.endpoint_delay_ns=1"), "has no effect on devices=2"),
        (("graph={chain}", "devices=2", "model.num_layers=1"), "has no effect without model=NAME"),
        (("graph={chain}", "devices=2", "pinned={{x:0}}"), "pinned names node 'x'"),
        (("graph={chain}", "devices=2", "pinned={{a:2}}"), "NODE:DEVICE with devices 0 to 1"),
        (("graph={chain}", "devices=2", "together=a,b"), "together is 'a,b'"),
        (("graph={chain}", "devices=2", "speeds=[1,2,3]"), "speeds has 3 values, but there are 2 devices"),
        (("graph={chain}", "devices=2", "memory=1"), "memory '1' has no unit"),
        (("graph={chain}", "devices=2", "time_limit=0"), "time_limit is '0'; it must be a number above 0"),
        (("graph={chain}", "devices=2", "seed=x"), "seed is 'x'"),
        (("graph={chain}", "devices=2", "partitioner=exact", "restarts=2"), "restarts=2 has no effect"),
        (("graph={chain}", "devices=2", "format=xml"), "format is 'xml'"),
        (("graph={chain}", "devices=2", "graph={chain}"), "graph occurs twice"),
        (("graph={chain}", "devices=2", "compare={chain}"), "labels is None"),
        (("graph={chain}", "devices=2", "--fast"), "unknown option --fast"),
        (
            ("graph={chain}", "devices=2", "seed=1234567890123456"),
            "a whole number, 0 to 1000000000000000",
        ),
        (
            ("graph={chain}", "devices=2", "time_limit=1e300"),
            "time_limit is '1e300'; .* above 0 and at most 1e",
        ),
        (("graph={chain}", "devices=2", "pinned={{a:0,0:1}}"), "pinned puts node '0' on devices 0 and 1"),
        (("graph={chain}", "devices=2", "pinned={{a:²}}"), "NODE:DEVICE with devices 0 to 1"),
        (("graph={chain}", "devices=2", "pinned={{²:0}}"), "pinned names node '²'"),
        (("graph={chain}", "devices=2", "partitioner=[exact"), "lacks a bracket"),
        (("graph={chain}", "devices=2", "memory=1GB"), "memory=1GB has no effect on .* need no memory"),
        (
            ("graph={chain}", "devices=2", "speeds=[1,2]"),
            "has no effect on objective=sharding_cost of weights",
        ),
        (
            ("graph={chain}", "devices=2", "objective=pipeline_bottleneck", "microbatches=999999999"),
            "microbatches is 999999999; with 2 stages a simulated step has at most 131072",
        ),
        (("graph={chain}", "devices=1e3"), "devices is 1e3; a number of devices must be whole"),
        (("graph={chain}", "devices=9999999"), "devices is 9999999; a number of devices must be"),
        (("graph={chain}", "devices=none.csv"), "none.csv: cannot be read"),
        (("graph={chain}", "devices=fc__n=2000"), "devices is 'fc__n=2000'; it must be a system, a cluster"),
        (("graph=x.txt", "devices=2"), "it must end in .json"),
        (("graph={chain}", "model=llama70b", "devices=2"), "write one of graph=FILE and model=NAME"),
        (("graph={chain}", "devices=2", "-o", "{chain}"), "is a file"),
    ],
)
def test_bad_input_is_named(chain: Path, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        main([argument.format(chain=chain) for argument in arguments])
    assert "\n" not in str(caught.value)


def test_mixed_cluster_has_unequal_devices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "chain.json"
    count = 32
    edges = [[v, v + 1] for v in range(count - 1)]
    path.write_text(json.dumps({"node_weights": [1e9] * count, "edges": edges, "edge_bytes": [1e6] * 31}))
    line = (f"graph={path}", "devices=a100_v100", "objective=pipeline_bottleneck", "free_order=true")
    found = printed(capsys, *line, "time_limit=1")
    # A V100 does 125 TFLOPS, an A100 312: two nodes on each A100 take 2 s, and 1e6 bytes some microseconds.
    assert 2e9 <= found["cost"] < 2.001e9
    with pytest.raises(InputError, match="has no effect on devices=a100_v100, which is no system"):
        main([*line, "system.endpoint_delay_ns=1"])


@pytest.mark.parametrize("partitioner", ["auto", "fast", "exact", "multilevel"])
def test_every_partitioner_prints_json(
    chain: Path, partitioner: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = printed(capsys, f"graph={chain}", "devices=2", f"partitioner={partitioner}")
    assert found["cost"] == 2  # a and d apart from b and c: loads of 8 each, two edges cut
    assert found["partitioner"] == ("exact" if partitioner in ("auto", "exact") else "multilevel")
    assert found["bound"] <= 2


def test_many_devices_are_refused_before_any_matrix_is_made(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_text(json.dumps({**CHAIN, "parts": 10**9}))
    with pytest.raises(InputError, match="there are 1000000000 devices; at most 2048"):
        main([f"graph={path}"])
    path.write_text(json.dumps({"node_weights": [1] * 3000, "edges": [], "parts": 2500}))
    with pytest.raises(InputError, match="there are 2500 devices; at most 2048"):
        main([f"graph={path}"])


def test_cycle_is_named_by_few_nodes_and_the_beginnings_of_their_names(tmp_path: Path) -> None:
    path = tmp_path / "cyclic.json"
    kernel = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
    names = ["a", kernel, *"cdefg"]
    edges = [[v, (v + 1) % 7] for v in range(7)]
    path.write_text(json.dumps({"node_weights": [1] * 7, "edges": edges, "names": names}))
    with pytest.raises(InputError) as caught:
        main([f"graph={path}", "devices=2"])
    assert str(caught.value) == (
        f"{path}: 1 (void at::native::vectorized_el…) → 2 (c) → 3 (d) → 4 (e) → 3 more nodes → "
        "1 (void at::native::vectorized_el…) is a cycle; a model graph must have none"
    )


@pytest.mark.parametrize("objective", ["pipeline_bottleneck", "process_mapping", "latency"])
def test_devices_may_stay_empty(chain: Path, objective: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Five devices for four nodes; links are free, and a device may hold all under the imbalance."""
    line = (f"graph={chain}", "devices=5", f"objective={objective}")
    line += ("imbalance=4",) if objective == "process_mapping" else ()
    found = printed(capsys, *line)
    assert found["cost"] == {"pipeline_bottleneck": 6, "process_mapping": 0, "latency": 16}[objective]
    assert found["optimal"]
    assert main([*line, "format=csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 5
    assert "0" in {row["nodes"] for row in rows}


def test_weights_that_are_all_0_are_refused(tmp_path: Path) -> None:
    trace = tmp_path / "trace.0.et"
    trace.write_bytes(trace_of([compute_node(0, 5, ()), compute_node(1, 7, (0,))]))
    with pytest.raises(InputError, match=r"weight=parameters is 0 for every node.*; write weight=time"):
        main([f"graph={trace}", "devices=2"])
    assert main([f"graph={trace}", "devices=2", "weight=time"]) == 0
    path = tmp_path / "g.json"
    path.write_text(json.dumps({**CHAIN, "node_weights": [0] * 4}))
    with pytest.raises(InputError, match="every weight is 0, so that objective=latency has no time to minim"):
        main([f"graph={path}", "devices=2", "objective=latency"])
    path.write_text(json.dumps({key: CHAIN[key] for key in ("node_weights", "edges")}))
    assert main([f"graph={path}", "devices=2"]) == 0


def test_a_search_that_its_time_limit_stopped_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "grid.json"
    side = 40
    edges = [[v, v + 1] for v in range(side * side) if v % side < side - 1]
    edges += [[v, v + side] for v in range(side * (side - 1))]
    path.write_text(json.dumps({"node_weights": [1] * side**2, "edges": edges}))
    line = (f"graph={path}", "devices=4", "objective=process_mapping")
    notes = printed(capsys, *line, "time_limit=0.2")["notes"]
    assert any(note.startswith("the time limit of 0.2 s stopped the search") for note in notes)
    notes = printed(capsys, *line, "partitioner=fast", "restarts=2")["notes"]
    assert notes == []


def test_only_searches_without_a_proof_have_a_time_limit_of_their_own() -> None:
    own = {name: PARTITIONERS.load(name).default_time_limit_s for name in PARTITIONERS.own}
    assert own == {"auto": None, "fast": 30, "exact": None}


def test_memory_that_does_not_suffice_names_device_need_and_capacity(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_text(json.dumps({**CHAIN, "memory_bytes": [5e9, 1e9, 1e9, 1e9]}))
    with pytest.raises(InputError, match=r"device .*5000000000.*4000000000"):
        main([f"graph={path}", "devices=2", "memory=4GB"])


def test_who_stops_reading_still_gets_the_folder(
    chain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout", ClosedOutput())
    with pytest.raises(BrokenPipeError):
        main([f"graph={chain}", "devices=2", "-o", str(tmp_path / "answer")])
    assert json.loads((tmp_path / "answer" / "partition.json").read_text())["optimal"]

"""Graphs from CSV files: reading and its errors, routes, heterogeneous links, switches, static routes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from shapes import AWARE, MODELS, UNAWARE, Message, arrivals, fabric, links, pairs, steps, system

from dse.base.errors import InputError
from dse.inputs.systems import SystemSpec, read_graph
from dse.simulation.simulators.native import native_system
from dse.testing.builders import ALL_GATHER, coll, finish, workload

SAMPLES = Path(__file__).parents[2] / "golden" / "topologies"
ALL = Path(__file__).parents[4] / "shared" / "golden" / "topologies"
HEADER = "Src,Dest,Latency (ns),Bandwidth (GB/s)"
# File, nodes, links, and when a ring all-gather of 10^6 bytes of each node ends: congestion-aware, -unaware.
FILES = [
    ("dgxring_8_4_500_50.csv", 32, 288, 1_489_376, 817_211),
    ("hetmesh_8_8_500_50.csv", 64, 224, 2_844_916, 1_323_140),
    ("hypercube_6_500_50.csv", 64, 384, 7_743_240, 1_323_140),
    ("mesh_16_16_500_50.csv", 256, 960, 10_809_390, 5_357_060),
    ("randhet_4_4_1_500_50.csv", 16, 64, 613_550, 273_660),
    ("rfs_2_4_4_500_50.csv", 32, 224, 1_896_989, 702_816),
    ("rfs_4_8_4_500_50.csv", 128, 1536, 17_846_765, 2_799_748),
    ("switch2d_8_4_500_50.csv", 32, 320, 1_879_989, 736_316),
    ("torus_4_4_4_500_50.csv", 64, 384, 3_886_600, 1_302_140),
    ("torus_8_8_500_50.csv", 64, 256, 2_569_160, 1_296_140),
]


@pytest.mark.parametrize(("name", "nodes", "edges", "aware", "unaware"), FILES)
def test_files_of_the_golden_set_are_read_and_simulated(
    name: str, nodes: int, edges: int, aware: int, unaware: int
) -> None:
    path = next((folder / name for folder in (SAMPLES, ALL) if (folder / name).is_file()), None)
    if path is None:
        pytest.skip("no folder shared/golden beside the repository")
    graph = read_graph(path)
    assert (graph.devices, len(graph.links)) == (nodes, edges)
    work = workload(*[[coll(1, ALL_GATHER, 10**6)]] * nodes)
    times = {model: max(finish(work, system(f"Graph {nodes} {path}", model=model))) for model in MODELS}
    assert times == {AWARE: aware, UNAWARE: unaware}
    of = fabric(f"Graph {nodes} {path}")
    assert set(of.links) == {
        (link.source, link.destination, link.latency_ns, link.bandwidth_bytes_per_ns) for link in graph.links
    }
    existing = links(of)
    assert all(existing.issuperset(steps(of.route(a, b))) for a, b in pairs(of))


# Three NPUs and a switch; a GB/s is a byte per ns here.
#
#   0 --(500, 50)--> 1 --(500, 50)--> 2      slow, 2 x 500 ns
#   0 --(100, 50)--> 3 --(100, 25)--> 2      by the switch: less latency, a slower link
STAR = f"""4
{HEADER}
0,1,500,50
1,2,500,50
2,1,500,50
1,0,500,50
0,3,100,50
3,2,100,25
2,3,0.5,100
3,0,0.5,100
"""


@pytest.fixture
def star(tmp_path: Path) -> Path:
    path = tmp_path / "star.csv"
    path.write_text(STAR)
    return path


def test_unequal_links_and_a_switch_have_literal_times(star: Path) -> None:
    aware, unaware = (system(f"Graph 3 {star}", model=model) for model in MODELS)
    of = fabric(aware)
    assert (of.npus, of.devices) == (3, 4)
    # of 2^20 bytes, the way over the switch takes 200 + 20972 + 41943 ns, that over NPU 1 1000 + 2 x 20972
    assert of.route(0, 2) == [0, 1, 2]
    assert of.route(2, 0) == [2, 3, 0]
    assert arrivals(aware, Message(0, 2, 1000)) == [2 * 520]
    assert arrivals(unaware, Message(0, 2, 1000)) == [1000 + 20]
    assert arrivals(aware, Message(2, 0, 1000)) == [10 + 10]  # 0.5 + 10 each, cut
    assert arrivals(unaware, Message(2, 0, 1000)) == [11]  # 0.5 + 0.5 + 10


def test_the_unaware_model_adds_latencies_and_takes_the_slowest_link(tmp_path: Path) -> None:
    path = tmp_path / "chain.csv"
    path.write_text(f"3\n{HEADER}\n0,1,500,50\n1,2,100,25\n2,0,1,1\n")
    assert arrivals(system(f"Graph 3 {path}", model=UNAWARE), Message(0, 2, 1000)) == [500 + 100 + 40]
    assert arrivals(system(f"Graph 3 {path}"), Message(0, 2, 1000)) == [520 + 140]


def test_ties_go_to_the_lower_id(tmp_path: Path) -> None:
    path = tmp_path / "square.csv"
    path.write_text("4\n" + HEADER + "".join(f"\n{a},{b},500,50" for a, b in links(fabric("Mesh2D 2x2"))))
    of = fabric(f"Graph 4 {path}")
    assert [of.route(a, b) for a, b in [(0, 3), (3, 0), (1, 2), (2, 1)]] == [
        *([0, 1, 3], [3, 1, 0], [1, 0, 2], [2, 0, 1])
    ]


def test_static_routes_replace_shortest_ones(star: Path, tmp_path: Path) -> None:
    routes = tmp_path / "routes.csv"
    routes.write_text("Src,Dest,Via\n0,2,3\n2,0,1\n0,1,3 2\n")
    on = system(f"Graph 3 {star}")
    on = replace(on, network=(replace(on.network[0], routes=str(routes)),))
    of = fabric(on)
    assert [of.route(0, 2), of.route(2, 0), of.route(0, 1), of.route(1, 0)] == [
        *([0, 3, 2], [2, 1, 0], [0, 3, 2, 1], [1, 0])
    ]
    assert arrivals(on, Message(0, 2, 1000)) == [120 + 140]
    assert arrivals(replace(on, network_model=UNAWARE), Message(0, 2, 1000)) == [100 + 100 + 40]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0,2,1\n", "line 1: expected the header Src,Dest,Via"),
        ("Src,Dest,Via\n0,2\n", "line 2: has 2 fields; expected Src,Dest,Via"),
        ("Src,Dest,Via\n0,x,1\n", "line 2: Dest is 'x'; expected 0 to"),
        ("Src,Dest,Via\n0,2,1 y\n", "line 2: Via is 'y'; expected 0 to"),
        ("Src,Dest,Via\n0,2,3\n\n0,2,1\n", "line 4: the route from 0 to 2 occurs twice"),
        ("Src,Dest,Via\n1,0,3\n", "the route from 1 to 0 needs a link from 1 to 3"),
        ("Src,Dest,Via\n0,3,\n", "the route from 0 to 3 is not between two NPUs (0 to 2)"),
    ],
)
def test_a_wrong_static_route_is_named(star: Path, tmp_path: Path, text: str, problem: str) -> None:
    routes = tmp_path / "routes.csv"
    routes.write_text(text)
    on = system(f"Graph 3 {star}")
    with pytest.raises(InputError) as caught:
        native_system(replace(on, network=(replace(on.network[0], routes=str(routes)),)))
    assert problem in str(caught.value)


def test_a_graph_is_a_dimension_like_others(star: Path) -> None:
    """Three columns of the star, joined row by row by rings of their own; switches come once a column."""
    of = fabric(f"Graph 3 {star},Ring 3")
    assert (of.npus, of.devices) == (9, 9 + 3)
    assert of.route(0, 8) == [0, 1, 2, 8]
    assert of.route(8, 0) == [8, 11, 6, 0]
    assert len(of.links) == 3 * 8 + 3 * 6


# Errors


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: expected the number of nodes, then a header line"),
        ("3\n", "line 1: expected the number of nodes, then a header line"),
        (f"{HEADER}\n0,1,1,1\n", "line 1: expected the number of nodes, then a header line"),
        (f"x\n{HEADER}\n", "line 1: the number of nodes is 'x'; expected 2 to"),
        (f"1\n{HEADER}\n", "line 1: the number of nodes is '1'; expected 2 to"),
        (f"-3\n{HEADER}\n", "line 1: the number of nodes is '-3'; expected 2 to"),
        ("3\n0,1,500,50\n1,2,500,50\n", "line 2: is '0,1,500,50'; expected the header Src,Dest,Latency"),
        ("3\nSrc,Dest\n0,1,1,1\n", "line 2: is 'Src,Dest'; expected the header"),
        (f"3\n{HEADER}\n0,1,500,50\n1,2,500\n", "line 4: has 3 fields; expected 4: Src,Dest"),
        (f"3\n{HEADER}\n0,1,500,50,9\n", "line 3: has 5 fields; expected 4"),
        (f"3\n{HEADER}\n0,3,500,50\n", "line 3: Dest is '3'; expected 0 to 2"),
        (f"3\n{HEADER}\n-1,2,500,50\n", "line 3: Src is '-1'; expected 0 to 2"),
        (f"3\n{HEADER}\n1.0,2,500,50\n", "line 3: Src is '1.0'; expected 0 to 2"),
        (f"3\n{HEADER}\n0,1,5,5\n\n2,2,500,50\n", "line 5: links node 2 to itself"),
        (f"3\n{HEADER}\n0,1,5,5\n1,0,5,5\n0,1,5,9\n", "line 5: the link 0 to 1 occurs twice; add the"),
        (f"3\n{HEADER}\n0,1,-1,50\n", "line 3: latency is -1 and bandwidth 50; the latency must be at least"),
        (f"3\n{HEADER}\n0,1,1,0\n", "line 3: latency is 1 and bandwidth 0; the latency must be at least 0"),
        (f"3\n{HEADER}\n0,1,1,-5\n", "the bandwidth above 0"),
        (f"3\n{HEADER}\n0,1,fast,50\n", "line 3: latency is 'fast'; expected a number"),
        (f"3\n{HEADER}\n0,1,1,inf\n", "line 3: bandwidth is 'inf'; expected a number"),
        (f"3\n{HEADER}\n0,1,nan,1\n", "line 3: latency is 'nan'; expected a number"),
        (f"3\n{HEADER}\n0,1,1.7e308,1\n", "line 3: latency is 1.7e308 and bandwidth 1; neither a hop nor"),
        (f"3\n{HEADER}\n0,1,9007199254740992,1\n", "may take 2^53 ns (104 days) or longer"),
        (f"3\n{HEADER}\n0,1,1,1e-16\n", "nor a byte may take 2^53 ns (104 days) or longer"),
        (f"3\n{HEADER}\n0,1,1,5e-324\n", "line 3: latency is 1 and bandwidth 5e-324; neither a hop"),
    ],
)
def test_an_error_names_file_and_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "graph.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_graph(path)
    assert str(caught.value).startswith(f"{path}, line ")
    assert problem in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: cannot be read: .*No such file"):
        read_graph(tmp_path / "none.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe3")
    with pytest.raises(InputError, match=r"binary\.csv: is not UTF-8 text"):
        read_graph(tmp_path / "binary.csv")


def test_blank_lines_and_blanks_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "graph.csv"
    path.write_text(f"2\n{HEADER}\n\n 0, 1, 500, 50\r\n1,0,1e2,0.5\n\n")
    assert [tuple(vars(link).values()) for link in read_graph(path).links] == [
        *((0, 1, 500.0, 50.0), (1, 0, 100.0, 0.5))
    ]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("npus", "lines", "pair"),
    [
        (3, "0,1,5,5\n1,0,5,5", "from NPU 2 to NPU 0"),
        (3, "0,1,5,5\n1,2,5,5", "from NPU 1 to NPU 0"),  # one way only
        (2, "0,2,5,5\n1,2,5,5\n2,1,5,5", "from NPU 1 to NPU 0"),  # a switch that does not lead back
    ],
)
def test_a_graph_that_is_not_connected_names_two_npus(
    tmp_path: Path, model: str, npus: int, lines: str, pair: str
) -> None:
    path = tmp_path / "graph.csv"
    path.write_text(f"3\n{HEADER}\n{lines}\n")
    with pytest.raises(InputError) as caught:
        native_system(system(f"Graph {npus} {path}", model=model))
    assert str(caught.value) == f"{path}: the graph is not connected: there is no way {pair}"


def test_a_switch_that_nobody_needs_may_be_out_of_reach(tmp_path: Path) -> None:
    path = tmp_path / "graph.csv"
    path.write_text(f"3\n{HEADER}\n0,1,500,50\n1,0,500,50\n0,2,5,5\n")
    assert arrivals(system(f"Graph 2 {path}"), Message(0, 1, 1000)) == [520]


def test_a_graph_with_fewer_nodes_than_npus_is_refused(star: Path) -> None:
    with pytest.raises(InputError, match=r"star\.csv: has 4 nodes, but the dimension has 5 NPUs"):
        native_system(system(f"Graph 5 {star}"))


def test_a_graph_needs_a_file_and_others_have_none(star: Path) -> None:
    graph, ring = system(f"Graph 3 {star}"), system("Ring 3")

    def changed(on: SystemSpec, **fields: str | None) -> SystemSpec:
        return replace(on, network=(replace(on.network[0], **fields),))  # type: ignore[arg-type]

    with pytest.raises(InputError, match=r"system\.network\.0\.file is missing; Graph needs a CSV file"):
        changed(graph, file=None)
    with pytest.raises(InputError, match=r"system\.network\.0\.file is set, but Ring has none"):
        changed(ring, file=str(star))
    with pytest.raises(InputError, match=r"system\.network\.0\.routes is set, but only Graph has static"):
        changed(ring, routes=str(star))

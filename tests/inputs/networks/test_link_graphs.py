"""Graphs of links from CSV files, names and systems: exact numbers, and errors that name the line."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.inputs.networks.csv import decimal, link_graph_csv, read_link_graph
from dse.inputs.networks.graph import LinkGraph
from dse.inputs.networks.named import is_named, named_network
from dse.inputs.systems import Dimension, SystemSpec
from dse.inputs.systems.fields import CollectiveAlgorithms
from dse.inputs.systems.links import link_graph
from dse.native import _engine
from dse.simulation.simulators.native import native_system

HEADER = "Src,Dest,Latency (ns),Bandwidth (GB/s)"
PAIR = "0,1,0.1,33.3333333\n1,0,500,50.0\n"


def written(folder: Path, *lines: str) -> Path:
    file = folder / "t.csv"
    file.write_text("\n".join(lines))
    return file


def rows(graph: LinkGraph) -> list[tuple[int, int, Fraction, Fraction]]:
    ends = zip(graph.sources.tolist(), graph.destinations.tolist(), graph.kind_of.tolist(), strict=True)
    return [(source, to, *graph.kinds[kind]) for source, to, kind in ends]


def test_decimals_are_read_as_they_are_written(tmp_path: Path) -> None:
    graph = read_link_graph(written(tmp_path, "2", HEADER, PAIR))
    assert rows(graph) == [
        (0, 1, Fraction(1, 10), Fraction(333333333, 10000000)),
        (1, 0, Fraction(500), Fraction(50)),
    ]


def test_equal_numbers_written_differently_are_one_kind(tmp_path: Path) -> None:
    graph = read_link_graph(written(tmp_path, "2", HEADER, "0,1,5e2,50", "1,0,500,50.00"))
    assert len(graph.kinds) == 1


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["2", HEADER, "0,2,1,1"], "line 3: Dest is '2'; expected 0 to 1"),
        (["2", HEADER, "-1,1,1,1"], "line 3: Src is '-1'; expected 0 to 1"),
        (["2", HEADER, "0,1,1,1", "1,1,1,1"], "line 4: links node 1 to itself"),
        (["2", HEADER, "0,1,1,1", "0,1,2,2"], "line 4: the link 0 to 1 occurs twice"),
        (["2", HEADER, "0,1,-1,1"], "line 3: latency is -1 and bandwidth 1; the latency must be at least 0"),
        (["2", HEADER, "0,1,1,0"], "line 3: latency is 1 and bandwidth 0"),
        (["2", HEADER, "0,1,1,-5"], "the bandwidth above 0"),
        (["2", HEADER, "0,1,nan,1"], "line 3: latency is 'nan'; expected a number"),
        (["2", HEADER, "0,1,1,inf"], "line 3: bandwidth is 'inf'; expected a number"),
        (["2", HEADER, "0,1,1"], "line 3: has 3 fields; expected 4"),
        (["2", HEADER, "0,1,1,1,1"], "line 3: has 5 fields; expected 4"),
        (["two", HEADER, "0,1,1,1"], "line 1: the number of nodes is 'two'"),
        (["1", HEADER], "line 1: the number of nodes is '1'; expected 2 to 1048576"),
        ([HEADER, "0,1,1,1"], "line 1: expected the number of nodes, then a header line"),
        (["2", "0,1,1,1"], "line 2: is '0,1,1,1'; expected the header"),
        ([], "line 1: expected the number of nodes, then a header line"),
        (
            ["2", HEADER, "0,1,1,1", "", "1,0,1e-99999999,1"],
            "line 5: latency is '1e-99999999'; its exponent must be from -999 to 999",
        ),
        (["2", HEADER, f"0,1,0.{'0' * 1000}1,1"], "line 3: latency is '0.000"),
        (["4", HEADER, "0,1,1,1", "1,0,1,1"], "NPU 2 and 1 others have no link; give it one"),
        (["3", HEADER, "0,1,1,1", "1,0,1,1"], "NPU 2 has no link"),
    ],
)
def test_a_wrong_file_is_an_error_with_its_line(tmp_path: Path, lines: list[str], message: str) -> None:
    file = written(tmp_path, *lines)
    with pytest.raises(InputError) as error:
        read_link_graph(file)
    assert str(file) in str(error.value)
    assert message in str(error.value)


def test_nodes_from_npus_on_are_switches(tmp_path: Path) -> None:
    star = written(tmp_path, "3", HEADER, "0,2,1,1", "2,1,1,1", "1,2,1,1", "2,0,1,1")
    graph = read_link_graph(star, npus=2)
    assert (graph.npus, graph.nodes) == (2, 3)
    with pytest.raises(InputError, match=r"npus is 4; .* has 3 nodes, so it must be 2 to 3"):
        read_link_graph(star, npus=4)


Links = dict[tuple[int, int], tuple[Fraction, Fraction]]


@st.composite
def graphs(draw: st.DrawFn) -> LinkGraph:
    """Strongly connected, with decimals of some digits."""
    nodes = draw(st.integers(2, 6))
    ends = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(
        lambda pair: pair[0] != pair[1]
    )
    latency = st.decimals(0, 1000, places=3).map(Fraction)
    bandwidth = st.decimals("0.001", 1000, places=4).map(Fraction)
    links: Links = {(i, (i + 1) % nodes): (Fraction(0), Fraction(1)) for i in range(nodes)}
    links |= draw(st.dictionaries(ends, st.tuples(latency, bandwidth)))
    return LinkGraph.of(nodes, nodes, [(*pair, *kind) for pair, kind in links.items()])


@given(graphs())
@settings(max_examples=30, deadline=None)
def test_what_is_written_is_read_again(graph: LinkGraph) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "g.csv"
        file.write_text(link_graph_csv(graph))
        assert rows(read_link_graph(file)) == rows(graph)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(50), "50"),
        (Fraction(1, 8), "0.125"),
        (Fraction(100, 3), "33." + "3" * 30),
        (Fraction(0), "0"),
        (Fraction(1, 10**9), "0.000000001"),
    ],
)
def test_numbers_are_written_as_decimals(value: Fraction, text: str) -> None:
    assert decimal(value) == text


@pytest.mark.parametrize(
    ("name", "nodes", "links", "sizes"),
    [
        ("grid__dim=[4,4]", 16, 48, (4, 4)),
        ("torus__dim=[4,4]", 16, 64, (4, 4)),
        ("torus__dim=[2,3]", 6, 18, (2, 3)),
        ("fc__n=5", 5, 20, (5,)),
        ("ring__dim=[5]", 5, 10, (5,)),
        ("tree__r=2__h=2", 7, 12, ()),
        ("nx_star_graph__n=4", 5, 8, ()),
    ],
)
def test_named_networks_have_links_both_ways(
    name: str, nodes: int, links: int, sizes: tuple[int, ...]
) -> None:
    if name.startswith("nx_"):
        pytest.importorskip("networkx")
    assert is_named(name)
    network = named_network(name)
    assert (network.graph.nodes, len(network.graph), network.sizes) == (nodes, links, sizes)
    assert set(network.graph.number_of) == {(b, a) for a, b in network.graph.number_of}
    assert network.graph.kinds == ((0, 1),)


def test_the_closing_link_of_a_ring_can_be_slow() -> None:
    graph = named_network("ring__dim=[5]__slow=0.1__alpha=500__beta=50").graph
    kinds = {ends[:2]: ends[2:] for ends in ((s, d, *k) for s, d, *k in rows(graph))}
    assert kinds[4, 0] == kinds[0, 4] == (500, 5)
    assert kinds[0, 1] == (500, 50)


def test_a_proportion_of_the_links_has_the_second_numbers() -> None:
    graph = named_network("grid__dim=[4,4]__beta=50__beta2=5__alpha2=7__proportion=0.25").graph
    second = [row for row in rows(graph) if row[2:] == (7, 5)]
    assert len(second) == 12
    assert {(b, a) for a, b, *_ in second} == {(a, b) for a, b, *_ in second}
    again = named_network("grid__dim=[4,4]__beta=50__beta2=5__alpha2=7__proportion=0.25__seed=0").graph
    assert rows(again) == rows(graph)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("toruss__dim=[4]", "begins with 'toruss'; allowed are grid, torus, fc, ring, tree, nx_GENERATOR"),
        ("torus__dims=[4]", "torus has no argument dims; allowed are dim, alpha"),
        ("torus__alpha=1", "dim is missing, such as torus__dim=[4,4]"),
        ("torus__dim=[0]", "dim is '[0]'; it must be sizes such as [4,4]"),
        ("torus__dim=4x4", "dim is '4x4'"),
        ("ring__dim=[4,4]", "a ring has one size"),
        ("fc__n=1", "n is '1'; it must be a whole number, 2 to 4096"),
        ("fc__n=4__beta=0", "beta is '0'; it must be a number above 0"),
        ("fc__n=4__alpha=-1", "alpha is '-1'; it must be a number of at least 0"),
        ("fc__n=4__beta2=3", "proportion and at least one of alpha2 and beta2 belong together"),
        ("fc__n=4__seed=3", "seed has no effect without proportion"),
        ("fc__n=4__beta2=3__proportion=2", "proportion is 2; it must be 0 to 1"),
        ("fc__n", "'n' must be an argument"),
        ("tree__r=9__h=9", "has too many nodes"),
        ("fc__n=5__alpha=1e9999", "alpha is '1e9999'; its exponent must be from -999 to 999"),
        ("nx_star_graph__n=2000000", "n is 2000000; at most 1048576 are allowed"),
        ("nx_complete_graph__n=20000", "up to 399980000 links; at most 67108864 are allowed"),
        ("nx_no_graph__n=4", "networkx has no graph generator 'no_graph'"),
        ("nx_star_graph__m=4", "networkx says: star_graph() missing 1 required positional argument: 'n'"),
        ("nx_gn_graph__n=4", "has directed links; only graphs that are not directed are read"),
        ("nx_trivial_graph__n=1", "networkx says: "),
        ("nx_empty_graph__n=1", "has 1 nodes; it must have 2 to 1048576"),
        ("nx_empty_graph__n=2", "NPU 0 and 1 others have no link"),
    ],
)
def test_a_wrong_name_is_an_error(name: str, message: str) -> None:
    if name.startswith("nx_"):
        pytest.importorskip("networkx")
    with pytest.raises(InputError) as error:
        named_network(name)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "name",
    [
        "grid__dim=[" + "1," * 100_000 + "2]",
        "grid__dim=[" + "9" * 4000 + ",2]",
        "ring__dim=[4]__alpha=1" + "0" * 4000,
        "ring__dim=[4]__" + "x" * 4000,
        "ring__" + "x" * 4000 + "=1",
        "toruss" * 1000 + "__dim=[4]",
        "nx_star_graph__" + "x" * 4000 + "=1",
    ],
)
def test_messages_on_names_are_short(name: str) -> None:
    if name.startswith("nx_"):
        pytest.importorskip("networkx")
    with pytest.raises(InputError) as error:
        named_network(name)
    assert len(str(error.value)) < 400


def system(*network: Dimension) -> SystemSpec:
    ring = ("ring",) * len(network)
    return SystemSpec("s", network, CollectiveAlgorithms(ring, ring, ring, ring), 1.0, 1.0)


@pytest.mark.parametrize(
    "network",
    [
        (Dimension("Ring", 4, 50.0, 500.0), Dimension("Switch", 3, 25.0, 100.5)),
        (Dimension("Switch", 3, 50.0, 1.0), Dimension("FullyConnected", 2, 25.0, 2.0)),
        (Dimension("Switch", 2, 50.0, 1.0), Dimension("Switch", 3, 25.0, 2.0)),
        (Dimension("FatTree", 4, 50.0, 1.0, (2, 2, 1)),),
        (Dimension("Mesh2D", 6, 50.0, 1.0, (2, 3)), Dimension("Ring", 2, 1.0, 1.0)),
        (Dimension("Torus3D", 8, 50.0, 1.0, (2, 2, 2)),),
        (Dimension("Hypercube", 8, 50.0, 1.0),),
    ],
)
def test_a_systems_links_with_switch_nodes_are_those_of_the_simulation(
    network: tuple[Dimension, ...],
) -> None:
    graph = link_graph(system(*network), switches="nodes")
    fabric = _engine.Fabric(native_system(system(*network)))
    assert (graph.npus, graph.nodes) == (fabric.npus, fabric.devices)
    ours = {(s, d): (float(a), float(b * 2**30 / 10**9)) for s, d, a, b in rows(graph)}
    assert ours == {(s, d): (a, pytest.approx(b)) for s, d, a, b in fabric.links}


def test_an_unrolled_switch_shares_its_port_among_all_others() -> None:
    graph = link_graph(system(Dimension("Switch", 4, 50.0, 500.0)))
    assert len(graph) == 12
    assert graph.kinds == ((1000, Fraction(50, 3)),)
    assert graph.nodes == 4


def test_one_dimension_alone_has_its_own_npus() -> None:
    both = system(Dimension("Ring", 4, 50.0, 500.0), Dimension("FullyConnected", 3, 25.0, 100.0))
    graph = link_graph(both, [1])
    assert (graph.npus, len(graph), graph.kinds) == (3, 6, ((100, 25),))
    with pytest.raises(InputError, match="network dimension 2: s has dimensions 0 to 1"):
        link_graph(both, [2])


def test_a_graph_dimension_counts_its_file_s_gigabytes(tmp_path: Path) -> None:
    file = written(tmp_path, "2", HEADER, "0,1,0.5,50", "1,0,0.5,50")
    graph = link_graph(system(Dimension("Graph", 2, 1.0, 0.0, file=str(file))))
    assert graph.kinds == ((Fraction(1, 2), Fraction(50 * 10**9, 2**30)),)

"""The page of a schedule: what it holds, and in a real browser no error, no request, and chunks that move."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from chromium import Chromium

from dse.collectives import Collective, Problem, Schedule
from dse.collectives.files.summary import summary
from dse.collectives.page import page, render_page
from dse.collectives.page.layout import layout
from dse.collectives.page.ways_back import arrivals, critical_path
from dse.collectives.problem.settings import Network, Size
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers import Effort
from dse.inputs.networks import LinkGraph
from dse.inputs.networks.named import named_network


def pages(name: str, collective: str) -> str:
    network = named_network(name)
    problem = Problem(network.graph, Collective(collective, network.graph.npus), Fraction(1000))
    result = synthesize(problem, "restarts", Effort(trials=1))
    known = Network(name, network.graph, network.sizes)
    return render_page(result.schedule, known, summary(result, known, Size(Fraction(1000))))


def seek(browser: Chromium, step: int) -> str:
    """Move the slider, and return what the page says then."""
    said: str = browser.evaluate(
        f"""(() => {{
          const slider = document.getElementById("time");
          slider.value = {step};
          slider.dispatchEvent(new Event("input"));
          return document.getElementById("state").textContent;
        }})()"""
    )
    return said


def colors(browser: Chromium, canvas: str) -> int:
    count: int = browser.evaluate(
        f"""(() => {{
          const canvas = document.getElementById("{canvas}");
          const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return new Set(new Uint32Array(pixels.data.buffer)).size;
        }})()"""
    )
    return count


@pytest.mark.parametrize(
    ("name", "collective", "wanted"),
    [
        ("torus__dim=[4,4]", "all_gather", 240),
        ("ring__dim=[5]", "all_reduce", 25),
        ("tree__r=2__h=2", "scatter", 6),
    ],
)
def test_chunks_move_with_the_slider(
    browser: Chromium, tmp_path: Path, name: str, collective: str, wanted: int
) -> None:
    file = tmp_path / "index.html"
    file.write_text(pages(name, collective), encoding="utf-8")
    browser.open(file)
    assert f"{wanted} chunks missing" in seek(browser, 0)
    middle = seek(browser, 500)
    assert not middle.startswith("0 chunks on their way")
    assert min(colors(browser, canvas) for canvas in ("graph", "lanes", "missing")) > 2
    assert "0 chunks missing" in seek(browser, 1000)
    browser.evaluate("document.getElementById('play').click()")
    assert browser.evaluate("document.getElementById('play').textContent") == "Pause"
    browser.evaluate("document.getElementById('play').click()")
    assert browser.evaluate("document.querySelectorAll('#late tbody tr').length") > 0
    assert browser.requests == [file.resolve().as_uri()]
    assert browser.problems == []


def drawn(browser: Chromium, canvas: str, left: str, top: str, width: str, height: str) -> int:
    """How many pixels of a part of a canvas something is drawn on; `w` and `h` are the canvas's."""
    count: int = browser.evaluate(
        f"""(() => {{
          const canvas = document.getElementById("{canvas}");
          const [w, h] = [canvas.width, canvas.height];
          const part = canvas.getContext("2d").getImageData({left}, {top}, {width}, {height});
          return new Uint32Array(part.data.buffer).filter((pixel) => pixel !== 0).length;
        }})()"""
    )
    return count


def test_rows_and_times_of_the_links_have_labels(browser: Chromium, tmp_path: Path) -> None:
    file = tmp_path / "index.html"
    file.write_text(pages("ring__dim=[5]", "all_gather"), encoding="utf-8")
    browser.open(file)
    assert browser.problems == []  # before the test reads pixels, of which the browser warns
    assert drawn(browser, "lanes", "0", "20", "56", "h - 20") > 100
    assert drawn(browser, "lanes", "62", "0", "w - 62", "14") > 100


@pytest.mark.parametrize("name", ["torus__dim=[16,2]", "torus__dim=[8,8]", "fc__n=9"])
def test_links_stay_on_the_canvas(browser: Chromium, tmp_path: Path, name: str) -> None:
    file = tmp_path / "index.html"
    file.write_text(pages(name, "broadcast"), encoding="utf-8")
    browser.open(file)
    rims = (("0", "0", "w", "2"), ("0", "h - 2", "w", "2"), ("0", "0", "2", "h"), ("w - 2", "0", "2", "h"))
    assert [drawn(browser, "graph", *rim) for rim in rims] == [0, 0, 0, 0]
    assert drawn(browser, "graph", "0", "0", "w", "h") > 1000


def test_many_sends_are_drawn_by_how_busy_links_are(browser: Chromium, tmp_path: Path) -> None:
    text = pages("torus__dim=[12,12]", "all_gather")
    assert page.MOST_SENDS < 144 * 143
    file = tmp_path / "index.html"
    file.write_text(text, encoding="utf-8")
    browser.open(file)
    assert "20592 sends are too many to move one by one" in text
    assert seek(browser, 0).startswith("0 of 144 NPUs have all they want")
    assert seek(browser, 1000).startswith("144 of 144 NPUs have all they want, 0 chunks missing")
    assert colors(browser, "lanes") > 2
    assert browser.problems == []


def ring_schedule() -> Schedule:
    """A broadcast round a ring of four whose last send starts 5 ns late."""
    graph = LinkGraph.of(4, 4, [(i, (i + 1) % 4, 0, 1) for i in range(4)])
    problem = Problem(graph, Collective("broadcast", 4), Fraction(10))
    link, start = np.array([0, 1, 2], dtype=np.int32), np.array([0, 10_000, 25_000])
    return Schedule.of(problem, link, np.zeros(3, dtype=np.int32), start)


def test_the_critical_path_goes_back_from_the_last_arrival() -> None:
    schedule = ring_schedule()
    assert critical_path(schedule) == [0, 1, 2]
    late = arrivals(schedule)
    assert (late.npu.tolist(), late.at_ps.tolist()) == ([3, 2, 1], [35_000, 20_000, 10_000])
    data = page.page_data(schedule, Network("ring", schedule.problem.graph))
    assert data["done_ps"] == [0, 10_000, 20_000, 35_000]
    assert data["missing"][0] == 3
    assert data["missing"][-1] == 0
    assert [sum(row) for row in data["use"]] == pytest.approx([5714, 5714, 5714, 0], abs=60)


def test_names_from_files_stay_text() -> None:
    graph = named_network("fc__n=3").graph
    problem = Problem(graph, Collective("all_gather", 3), Fraction(1000))
    result = synthesize(problem, "restarts", Effort(trials=1))
    evil = Network("</script><b>", graph)
    text = render_page(result.schedule, evil, summary(result, evil, Size(Fraction(1000))))
    assert "</script><b>" not in text
    assert text.count("</script>") == 2
    data = text.partition('id="data">')[2].partition("</script>")[0]
    assert json.loads(data)["npus"] == 3


@pytest.mark.parametrize(
    ("name", "sizes", "corners"),
    [
        ("torus__dim=[3,3]", (3, 3), [[0, 0], [0.5, 0], [1, 0]]),
        ("torus__dim=[3,3]", (), [[0, 0], [0.5, 0], [1, 0]]),
        ("ring__dim=[4]", (4,), [[0.5, 0], [1, 0.5], [0.5, 1]]),
    ],
)
def test_nodes_are_laid_out_by_dimensions(
    name: str, sizes: tuple[int, ...], corners: list[list[float]]
) -> None:
    places = layout(named_network(name).graph, sizes)
    assert np.allclose(places[:3], corners)


@pytest.mark.parametrize("name", ["tree__r=2__h=4", "torus__dim=[3,4,5]", "fc__n=8"])
def test_no_two_nodes_are_at_one_place(name: str) -> None:
    places = layout(named_network(name).graph)
    assert len({tuple(place) for place in places.tolist()}) == len(places)
    assert places.min() >= 0
    assert places.max() <= 1

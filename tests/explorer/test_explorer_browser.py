"""The explorer in a real browser: its engine says what ours says, to the bit; its state is its address."""

from __future__ import annotations

import dataclasses
import itertools
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from barriers import barriers, needs_axe
from chromium import Chromium
from pages import LAB, SETTLED, WATCH, chromium, evaluated, lab, made_page, native, needs_live_page, opened
from small_points import small_scenarios

from dse.config import compose_config
from dse.explorer.data import row_data
from dse.points import DesignPoint, Scenario, evaluate, point_of
from dse.strategies import Strategy
from dse.whatif import Candidates, parameters_of, switch_among

pytestmark = needs_live_page
CAP = 80_000_000_000
EVERY_CHANGE = {
    "system.network.0.bandwidth_gbps": 180.5,
    "system.network.1.latency_ns": 12.25,
    "system.peak_tflops": 333,
    "system.endpoint_delay_ns": 25,
    "system.collectives.all_gather.0": "direct",
    "model.batch_size": 256,
    "model.num_layers": 12,
    "workload.divisibility": "whole",
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    yield from chromium(tmp_path_factory.mktemp("chromium"))


@pytest.fixture(scope="module", params=LAB)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    name: str = request.param
    return name, made_page(tmp_path_factory.mktemp(name), *LAB[name])


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_page(tmp_path_factory.mktemp("llama"), *LAB["llama70b-system1"])


def frame(browser: Chromium, key: str) -> Any:
    return browser.evaluate(f"explorer.app.frame.{key}")


def set_state(browser: Chromium, partial: dict[str, Any]) -> None:
    """Change the state as the form does, and wait until it is shown."""
    browser.evaluate(f"explorer.state.set({json.dumps(partial)})")
    browser.until(SETTLED)


def assert_quiet(browser: Chromium, page: Path) -> None:
    """No error on the console, and nothing asked for but the file itself and its own worker."""
    assert browser.problems == []
    others = [url for url in browser.requests if not url.startswith(("data:", "blob:"))]
    assert {url.partition("#")[0] for url in others} == {page.resolve().as_uri()}


def test_all_points_of_the_lab_are_those_of_the_native_engine(
    browser: Chromium, pair: tuple[str, Path], record_property: Any
) -> None:
    """Bit for bit, and no task of the page is noticed."""
    name, file = pair
    opened(browser, file)
    scenario, strategies = lab(name)
    expected = native(scenario, strategies)
    assert len(expected) == 56
    assert evaluated(browser, scenario, strategies) == expected
    assert frame(browser, "rows") == expected
    assert_quiet(browser, file)
    record_property("longest_task_ms", max(browser.evaluate("longTasks"), default=0))


def test_random_small_points_are_those_of_the_native_engine(browser: Chromium, page: Path) -> None:
    opened(browser, page)
    count = 0
    statuses = set()
    topologies = set()
    for scenario, strategies in small_scenarios(55, seed=11):
        expected = native(scenario, strategies)
        assert evaluated(browser, scenario, strategies) == expected, scenario
        count += len(expected)
        statuses |= {row["status"] for row in expected}
        topologies |= {dimension.topology for dimension in scenario.system.network}
    assert count >= 200
    assert statuses == {"ok", "infeasible", "deadlock", "failed"}
    assert len(topologies) == 9
    assert_quiet(browser, page)


def test_a_change_evaluates_the_space_again_and_tells_what_changed(
    browser: Chromium, page: Path, record_property: Any
) -> None:
    opened(browser, page)
    changes = {"system.network.0.bandwidth_gbps": 400, "model.batch_size": 1024}
    set_state(browser, {"changes": changes})
    words = [f"{key}={value}" for key, value in changes.items()]
    config = compose_config([*LAB["llama70b-system1"], *words])
    point = point_of(config, config.strategy)
    _, strategies = lab("llama70b-system1")
    assert frame(browser, "rows") == native(point.scenario, strategies)
    assert frame(browser, "before.best.wall_time_ns") == 3_179_514_278
    browser.until("document.querySelector('[role=status]').textContent.includes('Fastest')")
    record_property("long_tasks_ms", browser.evaluate("longTasks"))
    assert_quiet(browser, page)


# Each kind of number once, and those of which a change makes another strategy win.
VARIED = {
    "llama70b-system1": (
        *("system.peak_tflops", "system.memory_bandwidth_gbps", "system.network.0.bandwidth_gbps"),
        *("system.network.1.bandwidth_gbps", "system.network.2.bandwidth_gbps", "system.endpoint_delay_ns"),
    ),
    "gpt175b-system2": ("system.network.2.bandwidth_gbps", "system.network.0.latency_ns"),
}
PARAMETERS = """
globalThis.switches = (async () => {
  const { frame, tools } = explorer.app;
  const names = ["dp", "tp", "sp", "pp", "weight_sharded", "activation_recompute"];
  const strategyOf = (row) => Object.fromEntries(names.map((name) => [name, row[name]]));
  const ask = async (key, value, rows) => {
    const { scenario } = tools.scenarioWith({ [key]: value });
    return explorer.engine.evaluate(scenario, rows.map(strategyOf), {});
  };
  const candidates = new explorer.switches.Candidates(frame.rows, CAP, ask);
  const found = {};
  for (const parameter of explorer.parameters.parametersOf(frame.scenario.system)) {
    if (!KEYS.includes(parameter.key)) continue;
    const each = await explorer.switches.switchAmong(candidates, parameter);
    found[parameter.key] = each;
  }
  return found;
})();
0
"""


def plain_switch(found: Any) -> Any:
    """The values and the winner of a switch, of the package or of the page."""
    if found is None:
        return None
    names = ("key", "value", "last_value", "first_value", "wall_time_ns", "old_wall_time_ns", "cause")
    label = found.strategy.label() if found.strategy is not None else None
    return {**{name: getattr(found, name) for name in names}, "label": label}


@pytest.mark.slow
def test_the_values_at_which_the_winner_changes_are_those_of_the_command(
    browser: Chromium, pair: tuple[str, Path]
) -> None:
    name, file = pair
    opened(browser, file)
    # The page searches while this process does.
    browser.evaluate(PARAMETERS.replace("CAP", str(CAP)).replace("KEYS", json.dumps(VARIED[name])))
    scenario, strategies = lab(name)
    rows = [evaluate(DesignPoint(scenario, strategy)) for strategy in strategies]
    candidates = Candidates(rows, rows[0], CAP)
    expected = {
        parameter.key: plain_switch(switch_among(candidates, parameter))
        for parameter in parameters_of(scenario.system)
        if parameter.key in VARIED[name]
    }
    found = browser.evaluate("switches")
    assert found.keys() == expected.keys() == set(VARIED[name])
    switch = expected["system.network.2.bandwidth_gbps"]
    assert switch["first_value"] == pytest.approx({"l": 79.9498, "g": 292.4386}[name[0]], abs=1e-4)
    for key, switch in expected.items():
        mine = found[key]
        assert (mine and {name: mine[name] for name in switch or ()}) == switch, key


def test_times_that_cannot_be_believed_are_said_to_be_such(browser: Chromium, page: Path) -> None:
    """As the terminal warns: slower links that are not paid, a batch that no program splits."""
    opened(browser, page)
    told = "document.getElementById('view-best').textContent"
    assert "Slower links" not in browser.evaluate(told)
    changes = {"system.network.2.bandwidth_gbps": 5, "model.batch_size": 7}
    set_state(browser, {"changes": changes, "selected": "dp8 tp1 sp8 pp1"})
    said = browser.evaluate(told)
    assert "Slower links are not in this time: sp 8 is charged for dimension 1, not for 2" in said
    assert "No program can split this: dp 8 does not divide batch_size 7" in said
    assert "of 56 points split sequences, tokens or heads, which no program can" in said
    mark = browser.evaluate("document.querySelector('.winner-now .doubt')?.textContent ?? ''")
    assert "impossible split" in mark
    assert browser.problems == []


MARKS = """
(() => {
  const sets = (name) => Chart.getChart(document.querySelector(`#view-${name} canvas`)).data.datasets;
  const marked = (name) => sets(name).filter(({ label }) => label === "time in doubt")
    .map(({ isUnnamed, data }) => [!isUnnamed, data.filter(({ x }) => Number.isFinite(x)).length])[0];
  const cells = [...document.querySelectorAll("#view-heat button")];
  return {
    scatter: marked("scatter"), caps: marked("caps"),
    heat: cells.filter(({ textContent }) => textContent.endsWith("?")).length,
    told: cells.filter(({ title }) => title.endsWith("slower links left out")).length,
    legend: !document.querySelector("#view-heat .scale span:last-child").hidden,
  };
})()
"""
CELLS = """
(() => {
  const { frame } = explorer.app;
  const row = frame.rows.find(({ label }) => label === "dp32 tp1 sp2 pp1 recompute");
  const wide = [...Array(33).keys()].map((x) => 84 + x); // 100 is the bandwidth of the other dimensions
  const axes = [{ key: "system.network.2.bandwidth_gbps" }, { key: "memory_cap" }];
  const map = { isAllowed: () => true, nearest: () => ({ row }), values: [wide, wide] };
  const doubts = new explorer.mapDoubts.MapDoubts(frame.scenario);
  return [doubts.all({ map, axes })[7], doubts.at({ map, axes }, 0, 0), doubts.at({ map, axes }, 16, 0)];
})()
"""


def test_the_worth_of_a_time_is_that_of_the_terminal(browser: Chromium, page: Path, tmp_path: Path) -> None:
    opened(browser, page)
    told = "document.getElementById('view-best').innerText"
    row = browser.evaluate(
        "[...document.querySelectorAll('.points tbody tr:first-child td')].map((td) => td.innerText.trim())"
    )
    assert (row[1], row[-2:]) == ("dp64 tp1 sp1 pp1", ["95.4 %", "164.9k"])
    assert "164\u202f896" in browser.evaluate(told)
    assert "MFU: operations of the reference's graph, one per multiply-add" in browser.evaluate(told)
    set_state(browser, {"changes": {"system.roofline_enabled": False}})
    assert frame(browser, "best.mfu_pct") is None
    assert "MFU:" not in browser.evaluate(told)
    opened(browser, made_page(tmp_path, "system=torus_4x4", "model=tiny", "model.fidelity=realistic"))
    assert "MFU: a multiply-add is two FLOPs" in browser.evaluate(told)


def test_plots_mark_points_whose_time_is_in_doubt(browser: Chromium, page: Path) -> None:
    opened(browser, page)
    none = {"scatter": [False, 0], "caps": [False, 0], "heat": 0, "told": 0, "legend": False}
    assert browser.evaluate(MARKS) == none
    set_state(browser, {"changes": {"system.network.2.bandwidth_gbps": 60}})
    found = browser.evaluate(MARKS)
    assert "36 of 56 points have messages that cross slower links" in browser.evaluate(
        "document.getElementById('view-best').textContent"
    )
    assert found["scatter"] == [True, 36]
    assert found["caps"][0]
    assert 0 < found["caps"][1] < 10
    assert found["heat"] == found["told"] > 20
    assert found["legend"]
    cells, slower, as_fast = browser.evaluate(CELLS)
    assert cells == [bandwidth < 100 for bandwidth in range(84, 117)]
    assert (slower, as_fast) == ("slower links left out", "")
    assert browser.problems == []


@pytest.mark.slow
def test_bars_mark_times_in_doubt_and_keep_their_room(browser: Chromium, page: Path) -> None:
    opened(browser, page, "selected=dp32%20tp1%20sp2%20pp1%20recompute", width=1400, height=1000)
    view = "document.getElementById('view-tornado')"
    height = browser.evaluate(f"{view}.offsetHeight")
    assert browser.evaluate(f"{view}.querySelectorAll('tbody tr').length") == 10
    browser.evaluate(f"{view}.scrollIntoView({{ block: 'start', behavior: 'instant' }})")
    browser.until(f"!{view}.textContent.includes('…')")
    assert abs(browser.evaluate(f"{view}.offsetHeight") - height) < 60
    cells = browser.evaluate(f"[...{view}.querySelectorAll('tbody tr')].map((row) => row.innerText)")
    marked = [cell.split("\t")[0] for cell in cells if " ?" in cell]
    # With half the bandwidth, or twice the latency, a later dimension is slower than what is charged.
    assert "dimension 2: bandwidth of a link" in marked
    assert "peak performance" not in marked
    assert browser.evaluate(f"{view}.textContent.includes('? time in doubt')")


def test_the_address_restores_the_state(browser: Chromium, page: Path) -> None:
    opened(browser, page)
    set_state(
        browser,
        {"changes": EVERY_CHANGE, "cap_bytes": 40_000_000_000, "selected": "dp4 tp4 sp4 pp1 recompute"},
    )
    before = browser.evaluate("[explorer.state.get(), explorer.app.frame.rows]")
    browser.until("location.hash.length > 100")
    fragment = browser.evaluate("location.hash.slice(1)")
    opened(browser, page, fragment)
    assert browser.evaluate("[explorer.state.get(), explorer.app.frame.rows]") == before
    assert browser.evaluate("location.hash.slice(1)") == fragment
    assert before[0]["changes"] == EVERY_CHANGE
    assert_quiet(browser, page)


@pytest.mark.parametrize(
    ("fragment", "says"),
    [
        ("constructor=3&toString=1", "constructor: no figure of this page; toString: no figure"),
        ("preset.nothing=3", "preset.nothing: no choice of this page"),
        ("system.peak_tflops=NaN&cap=-1GB", "'NaN' is not possible"),
    ],
)
def test_a_link_that_cannot_be_read_is_told_and_the_page_works(
    browser: Chromium, page: Path, fragment: str, says: str
) -> None:
    opened(browser, page, fragment)
    assert says in browser.evaluate("document.getElementById('alert').textContent")
    assert browser.problems == []


def test_a_chosen_point_that_is_not_there_is_told(browser: Chromium, page: Path) -> None:
    opened(browser, page, "selected=dp3%20tp1%20sp1%20pp1")
    told = browser.evaluate("document.querySelector('.doubts').textContent")
    assert told == "The chosen dp3 tp1 sp1 pp1 is not in this space."


def test_the_link_to_the_results_keeps_the_state(browser: Chromium, page: Path) -> None:
    opened(browser, page)
    set_state(browser, {"changes": {"model.batch_size": 64}})
    browser.evaluate("document.querySelector('.skip').click()")
    browser.evaluate("new Promise(done => setTimeout(done, 400))")
    assert browser.evaluate("explorer.state.get().changes") == {"model.batch_size": 64}
    assert browser.evaluate("document.activeElement.id") == "views"


def test_a_saved_page_can_go_back_to_what_it_was_made_with(
    browser: Chromium, page: Path, tmp_path: Path
) -> None:
    opened(browser, page)
    set_state(browser, {"changes": {"model.batch_size": 64}, "selected": "dp8 tp1 sp8 pp1"})
    browser.evaluate("explorer.download.save = (name, content) => { globalThis.saved = content; }")
    browser.evaluate("document.getElementById('save').click()")
    copy = tmp_path / "saved.html"
    copy.write_text(browser.evaluate("saved"), encoding="utf-8")
    state = browser.evaluate("explorer.state.get()")
    opened(browser, copy)
    assert browser.evaluate("explorer.state.get()") == state
    browser.evaluate("document.getElementById('reset').click()")
    browser.until("location.hash === '#preset.model='")
    opened(browser, copy, "preset.model=")
    assert browser.evaluate("explorer.state.get().changes") == {}


def test_what_was_not_computed_says_so_on_paper(browser: Chromium, page: Path) -> None:
    opened(browser, page, width=1400, height=1000)
    view = "document.getElementById('view-timeline')"
    assert browser.evaluate(f"'unseen' in {view}.dataset")
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert "scroll to this part" in browser.evaluate(f"getComputedStyle({view}, '::after').content")
    browser.call("Emulation.setEmulatedMedia", media="")
    browser.evaluate(f"{view}.scrollIntoView({{ block: 'center', behavior: 'instant' }})")
    browser.until(f"!('unseen' in {view}.dataset)")


def test_the_address_restores_presets(browser: Chromium, page: Path) -> None:
    opened(browser, page)
    set_state(browser, {"preset": {"model": "tiny", "system": "dgx16"}, "changes": {"model.seq_len": 1024}})
    rows = frame(browser, "rows")
    config = compose_config(["system=dgx16", "model=tiny", "model.seq_len=1024"])
    strategies = config.space.strategies(config.model, config.system)
    assert rows == native(point_of(config, config.strategy).scenario, strategies)
    browser.until("location.hash.length > 10")
    fragment = browser.evaluate("location.hash.slice(1)")
    opened(browser, page, fragment)
    assert frame(browser, "rows") == rows
    assert browser.evaluate("document.querySelector('h1').textContent") == "tiny on dgx16"
    browser.evaluate("document.getElementById('reset').click()")
    browser.until(SETTLED)
    assert browser.evaluate("document.title") == "llama70b on system1: explorer"


@pytest.mark.parametrize(
    "state",
    [
        {"changes": EVERY_CHANGE, "cap_bytes": CAP},
        {"changes": {"system.network.2.bandwidth_gbps": 1e-7, "model.repairs.bytes_per_element": 2}},
        {"preset": {"model": "gpt175b", "system": "tpu_512"}, "changes": {"model.num_layers": 4}},
    ],
)
def test_the_printed_commands_give_the_same_rows(
    browser: Chromium, page: Path, state: dict[str, Any]
) -> None:
    opened(browser, page)
    set_state(browser, state)
    selected = frame(browser, "ok.at(-1)")
    set_state(browser, {"selected": selected["label"]})
    commands = "[...document.querySelectorAll('.command pre')].map((text) => text.textContent)"
    sweep, point = browser.evaluate(commands)
    words = shlex.split(point)
    assert words[:4] == ["python", "-m", "dse", "point"]
    config = compose_config(words[4:], command="point")
    assert row_data(evaluate(point_of(config, config.strategy))) == selected
    words = shlex.split(sweep)
    assert words[:4] == ["python", "-m", "dse", "sweep"]
    config = compose_config(words[4:], command="sweep")
    strategies = config.space.strategies(config.model, config.system)
    labels = [row["label"] for row in frame(browser, "rows")]
    assert [strategy.label() for strategy in strategies] == labels
    assert config.memory_cap_bytes == browser.evaluate("explorer.state.get().cap_bytes")


def typed(browser: Chromium, key: str, text: str) -> str:
    """Write into a field as a hand does; return what stands beside it."""
    browser.evaluate(
        f"""(() => {{
          const field = document.querySelector('[data-key="{key}"] input[type=text]');
          field.value = {json.dumps(text)};
          field.dispatchEvent(new Event("change", {{ bubbles: true }}));
        }})()"""
    )
    browser.until(SETTLED)
    said: str = browser.evaluate(
        f"""(() => {{
          const error = document.querySelector('[data-key="{key}"] .error');
          return error.hidden ? "" : error.textContent;
        }})()"""
    )
    return said


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        ("system.peak_tflops", "many", "greater than 0"),
        ("system.peak_tflops", "0", "greater than 0"),
        ("system.peak_tflops", "-3", "greater than 0"),
        ("model.num_layers", "1", "an integer from 2 to 10000"),
        ("model.num_layers", "3.5", "an integer from 2 to 10000"),
        ("system.network.0.npus", "1", "an integer from 2 to"),
        ("model.batch_size", "", "an integer from 1 to"),
        ("system.network.0.npus", "3", "No strategy of the space is left for 48 NPUs"),
    ],
)
def test_bad_input_is_answered_at_the_field_and_the_last_good_state_stays(
    browser: Chromium, page: Path, key: str, text: str, says: str
) -> None:
    opened(browser, page)
    before = browser.evaluate("[explorer.state.get(), explorer.app.frame.rows]")
    assert says in typed(browser, key, text)
    assert browser.evaluate("[explorer.state.get(), explorer.app.frame.rows]") == before
    assert typed(browser, key, "2") == ""
    assert browser.evaluate("explorer.state.get().changes") == {key: 2}
    assert browser.problems == []


def test_lack_of_memory_is_survived_with_a_message(browser: Chromium, page: Path) -> None:
    """The engine has at most 2 GiB: ten thousand layers with twenty micro-batches need more."""
    opened(browser, page)
    before = frame(browser, "rows")
    scenario, strategies = lab("llama70b-system1")
    model = dataclasses.replace(
        scenario.model, fidelity="realistic", num_layers=10_000, micro_batches=20, batch_size=1280
    )
    (row,) = evaluated(browser, Scenario("large", model, scenario.system), [Strategy(dp=64)])
    assert row["status"] == "failed"
    assert "needs more memory than there is" in row["reason"]
    assert evaluated(browser, scenario, strategies) == before
    assert browser.problems == []


# Keeps hold of the page's workers, and of the engine in each: "break" overwrites all its memory.
BREAKABLE = """
(() => {
  const inWorker = `
    WebAssembly.Instance = class extends WebAssembly.Instance {
      constructor(...given) { super(...given); self.engines = [...(self.engines ?? []), this.exports]; }
    };
    addEventListener("message", ({ data }) => {
      if (data.type === "break") new Uint8Array(self.engines.at(-1).memory.buffer).fill(255);
    });
  `;
  const { createObjectURL } = URL;
  URL.createObjectURL = (blob) => createObjectURL(new Blob([inWorker, blob], { type: blob.type }));
  globalThis.workers = [];
  globalThis.Worker = class extends Worker { constructor(url) { super(url); workers.push(this); } };
})();
"""


@pytest.fixture
def breakable(browser: Chromium) -> Iterator[Chromium]:
    browser.run_first(WATCH + BREAKABLE)
    yield browser
    browser.run_first(WATCH)


def test_a_trap_is_survived_with_a_message_and_the_last_figures(breakable: Chromium, page: Path) -> None:
    """The engine finds its memory overwritten, and reads or writes outside of it: a trap."""
    browser = breakable
    opened(browser, page)
    before = frame(browser, "rows")
    browser.evaluate("workers.at(-1).postMessage({ type: 'break' })")
    set_state(browser, {"changes": {"model.batch_size": 128}})
    alert = browser.evaluate("document.getElementById('alert').textContent")
    assert "the engine stopped and was started again: memory access out of bounds" in alert
    assert "the figures below are those of the state before" in alert
    assert frame(browser, "rows") == before
    set_state(browser, {"changes": {"model.batch_size": 64}})
    assert browser.evaluate("document.getElementById('alert').hidden") is True
    assert frame(browser, "rows") != before
    assert browser.evaluate("workers.length") == 1
    assert browser.problems == []


def test_undo_and_redo_go_back_and_forth(browser: Chromium, page: Path) -> None:
    opened(browser, page)
    before = frame(browser, "rows")
    set_state(browser, {"changes": {"model.batch_size": 128}})
    changed = frame(browser, "rows")
    for button, expected in (("undo", before), ("redo", changed), ("reset", before)):
        browser.evaluate(f"document.getElementById('{button}').click()")
        browser.until(SETTLED)
        assert frame(browser, "rows") == expected


@pytest.mark.parametrize("width", [1400, 800, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(browser: Chromium, page: Path, width: int, scheme: str) -> None:
    browser.prefer(prefers_color_scheme=scheme)
    opened(browser, page, width=width, height=900)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert len(browser.screenshot()) > 20_000
    assert browser.problems == []


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_there_is_no_serious_barrier(browser: Chromium, page: Path, scheme: str) -> None:
    browser.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    opened(browser, page, width=1400, height=1000)
    for top in itertools.chain(range(0, 6000, 700), [0]):  # what computes when it is seen
        browser.evaluate(f"scrollTo(0, {top})")
        browser.until(SETTLED)
    assert barriers(browser) == []
    browser.prefer(prefers_color_scheme="light", prefers_reduced_motion="no-preference")


@pytest.mark.slow
def test_the_views_of_one_point_compute_when_they_are_seen(browser: Chromium, page: Path) -> None:
    opened(browser, page, width=1400, height=1000)
    for name in ("breakdown", "memory", "timeline", "tornado", "map"):
        view = f"document.getElementById('view-{name}')"
        browser.evaluate(f"{view}.scrollIntoView({{ block: 'center', behavior: 'instant' }})")
        browser.until(f"{view}.querySelector('canvas, svg, table, [role=img]') !== null")
    assert_quiet(browser, page)

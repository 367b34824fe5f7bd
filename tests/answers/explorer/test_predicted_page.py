"""The page that predicts in a real browser: its plans are those of the package, to the bit."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from barriers import barriers, needs_axe
from chromium import Chromium
from pages import assert_quiet, made_page, needs_live_page
from predicted_pages import found, require_equal, rows_of, set_changes, settled, strategies_of

from dse.prediction.steps.predict import margin_of, verdict
from dse.studies.config import compose_config
from dse.studies.points import DesignPoint, evaluate, point_of, scenario_of
from tests.inputs.models.hub_configurations import MODELS

pytestmark = needs_live_page
LIMIT_BYTES = 1_700_000
WORDS = ("system=dgx_h100", "system.nodes=2", "model=llama3_8b", "space.micro_batch=[1,2]")
DROPPED = (WORDS[0], WORDS[1], WORDS[3], "space=training")  # the space is that of the page, also for experts
FRAME = "explorer.predicted_app.page.frame"
ROWS = "[...document.querySelectorAll('#view-plans tbody tr')]"
WINNERS = "document.querySelectorAll('#view-winners table td strong').length"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_page(tmp_path_factory.mktemp("predicted"), *WORDS)


@pytest.fixture
def shown(browser: Chromium, file: Path) -> Iterator[Chromium]:
    browser.open(file, width=1320, height=900)
    settled(browser)
    yield browser
    assert_quiet(browser, file)


def overrides_of(changes: dict[str, Any]) -> list[str]:
    """Changes of the form as words of a sweep."""
    return [
        f"{key}=[{value}]" if key.startswith("space.") else f"{key}={value}" for key, value in changes.items()
    ]


def test_all_plans_are_those_of_the_package(shown: Chromium, file: Path) -> None:
    read, points = found(shown), strategies_of(WORDS)
    assert require_equal(read, points) == len(points) > 200
    fastest = min(rows_of(points), key=lambda row: (row.wall_time_ns, row.peak_memory_bytes))
    assert read["best"] == fastest.label()
    assert file.stat().st_size <= LIMIT_BYTES


@pytest.mark.parametrize(
    "changes",
    [
        {"model.batch_size": 96, "model.seq_len": 16384},
        {"system.nodes": 3, "model.batch_size": 384},
        {"system.tiers.1.nic_gbit_per_s": 800, "system.tiers.0.latency_us": 1.5},
        {"space.framework": "nanotron", "space.precision": "fp8"},
        {"space.framework": "maxtext"},
    ],
)
def test_changes_predict_what_the_package_predicts(shown: Chromium, changes: dict[str, Any]) -> None:
    set_changes(shown, changes)
    points = strategies_of([*WORDS, *overrides_of(changes)])
    assert require_equal(found(shown), points) == len(points) > 0


@pytest.mark.parametrize(
    "words",
    [
        (
            "system=dgx_h100",
            "system.nodes=4",
            "model=mixtral_8x7b",
            "space.micro_batch=[1]",
            "space.recompute=[none]",
        ),
        ("system=gb200_nvl72", "system.nodes=2", "model=gpt_oss_20b", "space.micro_batch=[1]"),
        (
            *("system=dgx_a100", "system.nodes=2", "model=llama3_8b", "space.schedule=[1f1b,gpipe,zb-v]"),
            *("space.chunks=[1,2]", "space.constraints=['num_heads % tp == 0']", "space.micro_batch=[1,3]"),
            *("space.recompute=[none]", "space.dp=[4]"),
        ),
        (
            *("system=dgx_h100", "system.nodes=2", "model=mixtral_8x7b", "space.micro_batch=[1]"),
            *("space.dp=[1,2]", "space.tp=[2]", "space.pp=[1,2]", "space.cp=[2,4]", "space.ep=[1,2]"),
            *("space.activation_recompute=[false,true]", "space.recompute=[none,full]"),
            *("space.schedule=[1f1b,gpipe]", "space.order=[tp-cp-ep-dp-pp,tp-cp-dp-ep-pp]"),
        ),
    ],
    ids=["experts", "windows", "plans that cannot run", "plans that say things twice"],
)
def test_other_models_and_spaces_too(browser: Chromium, tmp_path: Path, words: tuple[str, ...]) -> None:
    page = made_page(tmp_path, *words)
    browser.open(page)
    points = strategies_of(words)
    ran = require_equal(found(browser), points)
    assert ran > 20
    assert (ran < len(points)) == any("gpipe" in word for word in words)
    assert_quiet(browser, page)


def test_a_constraint_over_a_figure_of_the_system_follows_that_figure(
    browser: Chromium, tmp_path: Path
) -> None:
    words = (
        *WORDS,
        "space.constraints=['system.tiers.1.nic_gbit_per_s >= 300 or tp == 8', 'num_heads >= 32']",
    )
    page = made_page(tmp_path, *words)
    browser.open(page)
    before = len(found(browser)["labels"])
    changes = {"system.tiers.1.nic_gbit_per_s": 200}
    set_changes(browser, changes)
    points = strategies_of([*words, *overrides_of(changes)])
    assert 0 < require_equal(found(browser), points) <= len(points) < before
    assert_quiet(browser, page)


CONFIGS: dict[str, dict[str, Any]] = {
    "llama": {"num_key_value_heads": 4, "attention_bias": True},
    "qwen2": {"num_key_value_heads": 2, "tie_word_embeddings": True},
    "qwen3": {"head_dim": 128, "use_sliding_window": False, "sliding_window": 1024},
}


@pytest.mark.parametrize("family", CONFIGS)
def test_a_config_that_is_dropped_is_the_model_that_the_package_reads(
    shown: Chromium, tmp_path: Path, family: str
) -> None:
    sizes = {"vocab_size": 32000, "hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 12}
    content = json.dumps(
        {
            "model_type": family,
            "architectures": [],
            **sizes,
            "intermediate_size": 4096,
            "max_position_embeddings": 8192,
            **CONFIGS[family],
        }
    )
    points = dropped(shown, tmp_path, content)
    assert require_equal(found(shown), points) == len(points) > 100


def dropped(shown: Chromium, folder: Path, content: str) -> tuple[DesignPoint, ...]:
    """Drop a configuration onto the page; the points of the package for the same file."""
    config = folder / "mine.json"
    config.write_text(content)
    file = f"new File([{json.dumps(content)}], 'mine.json')"
    shown.evaluate(
        "(() => { const moved = new DataTransfer();"
        f" moved.items.add({file}); dispatchEvent(new DragEvent('drop', {{ dataTransfer: moved }})); }})()"
    )
    shown.until("explorer.state.get().preset.model === 'mine'")
    return strategies_of([*DROPPED, f"model.file={config}"])


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("gemma-3-4b", "config.json: its image encoder is left out"),
        (
            "OLMoE-1B-7B",
            "config.json: norms of queries and keys are counted as those of one head; plans here have no "
            "expert parallelism; those of dse explore model.file=mine.json have",
        ),
        ("Nemotron-H-8B", ""),
    ],
)
def test_a_config_of_any_family_is_predicted_and_its_notes_are_said(
    shown: Chromium, tmp_path: Path, name: str, note: str
) -> None:
    points = dropped(shown, tmp_path, json.dumps(MODELS[name][0]))
    assert require_equal(found(shown), points) > 50
    assert shown.evaluate("document.getElementById('alert').textContent") == note
    set_changes(shown, {"model.seq_len": 2048})
    points = strategies_of([*DROPPED, f"model.file={tmp_path / 'mine.json'}", "model.seq_len=2048"])
    assert require_equal(found(shown), points) > 50


def test_a_config_that_no_model_can_be_is_refused_in_the_words_of_the_package(shown: Chromium) -> None:
    content = json.dumps(json.dumps({"model_type": "mamba"}))
    shown.evaluate(f"explorer.predicted_app.page.takeFile(new File([{content}], 'config.json'))")
    alert = "document.getElementById('alert').textContent"
    shown.until(f"{alert}.includes('model_type')")
    assert shown.evaluate(alert).startswith(
        "config.json: model_type 'mamba' is not modelled: state-space layers are missing here; known model "
        "types are deepseek_v2, deepseek_v3"
    )
    settled(shown)


def test_an_accelerator_of_other_figures_is_an_axis_of_the_command(shown: Chromium) -> None:
    set_changes(shown, {"system.accelerator.peak_tflops.bf16": 1200})
    read = found(shown)
    line = shown.evaluate("document.querySelector('#view-point pre').textContent")
    assert line.startswith("python -m dse sweep system=dgx_h100 system.nodes=2 model=llama3_8b")
    config = compose_config(shlex.split(line)[4:], command="sweep")
    ((model, system, strategies),) = config.space.scenarios([config.model], [config.system])
    scenario = replace(scenario_of(config), model=model, system=system)
    assert require_equal(read, tuple(DesignPoint(scenario, each) for each in strategies)) == len(strategies)


def test_the_command_of_the_chosen_plan_evaluates_it(shown: Chromium) -> None:
    read = found(shown)
    label = read["labels"][17]
    set_changes(shown, {}, selected=label)
    line = shown.evaluate("document.querySelectorAll('#view-point pre')[1].textContent")
    config = compose_config(shlex.split(line)[4:], command="point")
    row = evaluate(point_of(config, config.strategy))
    assert row.label() == label
    assert row.wall_time_ns == read["columns"]["wall_time_ns"][17]


def test_filters_leave_out_values_of_every_axis_that_varies(shown: Chromium) -> None:
    axes = shown.evaluate(f"{FRAME}.varying.map(({{ heading }}) => heading)")
    assert (
        shown.evaluate(
            "[...document.querySelectorAll('.filters fieldset:not(.range) legend')]"
            ".map((each) => each.textContent)"
        )
        == axes
    )
    shown.evaluate("[...document.querySelectorAll('.filters fieldset')][1].querySelector('input').click()")
    settled(shown)
    kept = shown.evaluate(f"[...{FRAME}.kept].map((row) => {FRAME}.planAt(row).tp)")
    assert kept
    assert set(kept) == {2, 4, 8}
    shown.evaluate("document.querySelector('#view-filters .row input').click()")
    settled(shown)
    assert shown.evaluate(
        f"[...{FRAME}.kept].every((row) => {FRAME}.columns.peak_memory_bytes[row] <= {FRAME}.cap_bytes)"
    )
    set_changes(shown, {"model.batch_size": 256})  # what is left out stays so
    assert shown.evaluate(f"{FRAME}.kept.length") < shown.evaluate(f"{FRAME}.count")


def test_a_peak_fits_may_fit_or_does_not_as_in_the_package(shown: Chromium) -> None:
    cap = 30_000_000_000
    set_changes(shown, {}, cap_bytes=cap)
    read = found(shown)
    said = shown.evaluate(f"[...{FRAME}.kept].map((row) => {FRAME}.verdict(row))")
    own = [
        verdict(peak, cap, margin_of(plan["framework"]))
        for peak, plan in zip(read["columns"]["peak_memory_bytes"], read["plans"], strict=True)
    ]
    assert said == own
    assert set(own) == {"fits", "may fit", "does not fit"}


def test_the_table_has_every_column_and_sorts_by_each(shown: Chromium) -> None:
    names = shown.evaluate(
        "[...document.querySelectorAll('#view-plans th[data-name]')].map(({ dataset }) => dataset.name)"
    )
    assert {"wall_time_ns", "peak_memory_bytes", "headroom", "mfu_pct", "binds", "tp", "recompute"} <= set(
        names
    )
    for name, sign in (("peak_memory_bytes", "ascending"), ("mfu_pct", "descending")):
        shown.evaluate(f"document.querySelector('#view-plans th[data-name={name}] button').click()")
        shown.until(f"document.querySelector('#view-plans th[data-name={name}]').ariaSort === '{sign}'")
        shown.until("document.querySelectorAll('#view-plans tbody tr').length === 20")
        shown.evaluate("new Promise((done) => setTimeout(done, 200))")
        place = names.index(name) + 1
        cells = shown.evaluate(f"{ROWS}.map((row) => row.cells[{place}].textContent)")
        figures = [float(cell.split()[0]) for cell in cells if cell.endswith(("GB", "%"))]
        assert figures == sorted(figures, reverse=sign == "descending")
        assert len(figures) == 20


def test_a_heat_map_is_over_the_axes_that_vary_and_leads_to_plans(shown: Chromium) -> None:
    offered = shown.evaluate(
        "[...document.querySelector('#view-heat select').options].map(({ value }) => value)"
    )
    assert offered == shown.evaluate(f"{FRAME}.varying.map(({{ name }}) => name)")
    cell = "document.querySelector('#view-heat td button')"
    label, _, time = shown.evaluate(f"{cell}.title").partition(": ")
    assert time == shown.evaluate(f"{cell}.textContent")
    shown.evaluate(f"{cell}.click()")
    settled(shown)
    assert shown.evaluate("explorer.state.get().selected") == label
    assert label in shown.evaluate("document.querySelector('#view-point .winners').textContent")


def test_winners_over_two_figures_are_those_of_predictions(shown: Chromium) -> None:
    shown.evaluate("document.querySelector('#view-winners button').click()")
    shown.until(f"{WINNERS} > 20", seconds=120)
    first = shown.evaluate("document.querySelector('#view-winners tbody td').title")
    heads = ("#view-winners thead th", "#view-winners tbody th")
    ends = [float(shown.evaluate(f"document.querySelector('{head}').textContent")) for head in heads]
    keys = shown.evaluate("[...document.querySelectorAll('#view-winners select')].map(({ value }) => value)")
    set_changes(shown, dict(zip(keys, ends, strict=True)))
    assert found(shown)["fitting"] == first


def test_arrow_keys_walk_through_the_plans_in_the_order_of_their_times(shown: Chromium) -> None:
    shown.evaluate("document.querySelector('#view-scatter canvas').focus()")
    shown.press("Home", 36)
    settled(shown)
    assert shown.evaluate("explorer.state.get().selected") == found(shown)["best"]
    shown.press("ArrowRight", 39)
    settled(shown)
    read = found(shown)
    times = sorted(read["columns"]["wall_time_ns"])
    chosen = read["labels"].index(shown.evaluate("explorer.state.get().selected"))
    assert read["columns"]["wall_time_ns"][chosen] == times[1]


def test_a_link_leads_to_the_same_state(shown: Chromium, file: Path) -> None:
    changes = {"model.seq_len": 4096}
    set_changes(shown, changes)
    label = found(shown)["labels"][5]
    set_changes(shown, changes, selected=label)
    shown.until("location.hash.includes('selected=')")
    fragment = shown.evaluate("location.hash.slice(1)")
    shown.open(file, fragment=fragment)
    settled(shown)
    assert shown.evaluate("explorer.state.get().changes") == changes
    assert shown.evaluate(f"{FRAME}.label({FRAME}.selected)") == label


def test_a_change_that_leaves_no_plan_is_refused_with_the_reason(browser: Chromium, tmp_path: Path) -> None:
    page = made_page(tmp_path, *WORDS, "space.dp=[2]")
    browser.open(page)
    settled(browser)
    browser.evaluate("explorer.state.set({ changes: { 'model.batch_size': 7 } })")
    browser.until("document.body.innerText.includes('strategy of the space is left for 16 NPUs')")
    settled(browser)
    assert found(browser)["labels"]
    assert browser.evaluate("explorer.state.get().changes") == {}


@pytest.mark.parametrize("width", [390, 1320])
def test_no_view_is_wider_than_the_window(browser: Chromium, file: Path, width: int) -> None:
    browser.open(file, width=width, height=844)
    settled(browser)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    inside = "[...document.querySelectorAll('#views table')].every((each) => each.closest('.scroll, .parts'))"
    assert browser.evaluate(inside)


@needs_axe
@pytest.mark.parametrize(("scheme", "width"), [("light", 1320), ("dark", 1320), ("light", 390)])
def test_there_is_no_serious_barrier(browser: Chromium, file: Path, scheme: str, width: int) -> None:
    browser.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    browser.open(file, width=width, height=900)
    settled(browser)
    for top in (*range(0, 6000, 800), 0):  # what draws when it is seen
        browser.evaluate(f"scrollTo(0, {top})")
        settled(browser)
    assert barriers(browser) == []
    browser.prefer(prefers_color_scheme="light", prefers_reduced_motion="no-preference")

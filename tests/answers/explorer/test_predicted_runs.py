"""Training runs on the page that predicts: those of a sweep, limits, and the winners by time and cost."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from barriers import barriers, needs_axe
from chromium import Chromium
from command_lines import run_ok
from pages import assert_quiet, made_page, needs_live_page
from predicted_pages import found, rows_of, set_changes, settled, strategies_of

from dse.base.errors import InputError
from dse.commands.explore import main as explore
from dse.prediction.runs.columns import RUN_COLUMNS
from dse.studies.config import compose_config

pytestmark = needs_live_page
PLAIN = ("system=dgx_h100", "system.nodes=4", "model=llama3_8b", "space.micro_batch=[1]")
RUN = ("run.tokens=15T", "run.price=2.5", "run.spares=1", "run.elastic=best")
FRAME = "explorer.predicted_app.page.frame"
HEADS = "[...document.querySelectorAll('#view-run thead th')].map((each) => each.textContent)"
ROWS = (
    "[...document.querySelectorAll('#view-run tbody tr')].map((row) => [...row.cells].map((cell) => "
    "cell.textContent))"
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_page(tmp_path_factory.mktemp("runs"), *PLAIN, *RUN)


@pytest.fixture
def shown(browser: Chromium, file: Path) -> Iterator[Chromium]:
    browser.open(file, width=1320, height=900)
    settled(browser)
    yield browser
    assert_quiet(browser, file)


def require_equal_runs(read: Mapping[str, Any], words: Sequence[str]) -> None:
    """Compare the runs of all plans with those of a sweep, within 1e-9: `exp` of a page is not that of C."""
    rows, known = rows_of(strategies_of(words)), 0
    assert read["labels"] == [row.label() for row in rows]
    for place, row in enumerate(rows):
        for name in RUN_COLUMNS:
            value, own = read["columns"][name][place], getattr(row, name)
            assert (value is None) == (own is None), (name, row.label())
            if own is not None:
                known += name == "run_time_s"
                assert value == pytest.approx(own, rel=1e-9), (name, row.label())
    assert known > 20


def test_the_runs_of_all_plans_are_those_of_a_sweep(shown: Chromium) -> None:
    require_equal_runs(found(shown), [*PLAIN, *RUN])


@pytest.mark.parametrize(
    "changes",
    [
        {"system.nodes": 8, "run.spares": 0, "run.price": 4},
        {"space.framework": "nanotron", "run.storage_gbps": 3, "model.seq_len": 4096},
        {"run.tokens": 123456789012345, "run.pue": 1.3, "run.node_gbps": 0.25},
    ],
)
def test_changes_find_the_runs_that_a_sweep_finds(shown: Chromium, changes: dict[str, Any]) -> None:
    set_changes(shown, changes)
    words = [
        f"{key}=[{value}]" if key.startswith("space.") else f"{key}={value}" for key, value in changes.items()
    ]
    kept = [word for word in RUN if word.partition("=")[0] not in changes]
    require_equal_runs(found(shown), [*PLAIN, *kept, *words])


@pytest.mark.parametrize(
    "run",
    [
        ("run.steps=1000", "run.checkpoint_at=peer", "run.storage_every=3", "run.spares='5 %'"),
        ("run.tokens=1T", "run.reliability=rsc1", "run.stop_every='30 d'", "run.stop_for='8 h'"),
        ("run.tokens=1T", "run.spares=0", "run.elastic=shrink", "run.reconfigure='1 min'", "run.host_w=300"),
        ("run.tokens=1T", "run.interval='2 min'", "run.checkpoint=sync", "run.power=limit"),
    ],
)
def test_all_keys_of_runs_have_their_effect(browser: Chromium, tmp_path: Path, run: tuple[str, ...]) -> None:
    page = made_page(tmp_path, *PLAIN, *run)
    browser.open(page)
    require_equal_runs(found(browser), [*PLAIN, *run])
    assert_quiet(browser, page)


def test_tokens_may_be_given_in_the_page_alone(browser: Chromium, tmp_path: Path) -> None:
    page = made_page(tmp_path, *PLAIN)
    browser.open(page)
    assert "run_time_s" not in found(browser)["columns"]
    assert "a number of tokens" in browser.evaluate("document.querySelector('#view-run').textContent")
    set_changes(browser, {"run.tokens": 15 * 10**12})
    read = found(browser)
    assert all(cost is None for cost in read["columns"]["run_cost"])
    require_equal_runs(read, [*PLAIN, "run.tokens=15T"])
    lines = browser.evaluate(
        "[...document.querySelectorAll('#view-point pre')].map((each) => each.textContent)"
    )
    config = compose_config(shlex.split(lines[0])[4:], command="sweep")
    assert config.run is not None
    assert config.run.values == {"tokens": "15000000000000"}
    assert not any("tokens" in line for line in lines[1:3])
    words = shlex.split(lines[3])
    assert words[:4] == ["python", "-m", "dse", "run"]
    run = json.loads(run_ok("run", *words[4:], "--json", cwd=tmp_path).out)
    place = read["labels"].index(read["fitting"])
    assert run["time_s"] == pytest.approx(read["columns"]["run_time_s"][place], rel=1e-6)
    assert_quiet(browser, page)


def test_without_a_length_the_commands_ask_for_no_run(shown: Chromium) -> None:
    set_changes(shown, {"run.tokens": None})
    assert "run_time_s" not in found(shown)["columns"]
    lines = shown.evaluate(
        "[...document.querySelectorAll('#view-point pre')].map((each) => each.textContent)"
    )
    assert not any("run." in line for line in lines)


def test_winners_by_time_cost_and_energy_stand_beside_the_fastest_step(shown: Chromium) -> None:
    read, columns = found(shown), found(shown)["columns"]
    assert shown.evaluate(HEADS)[:3] == ["Best by", "time of a step", "days of the run"]
    rows = {title: label for titles, *_, label in shown.evaluate(ROWS) for title in titles.split(", ")}
    assert rows["time of a step"] == read["fitting"]
    cap = shown.evaluate(f"{FRAME}.cap_bytes")
    for title, name in (("expected time", "run_time_s"), ("cost", "run_cost"), ("energy", "run_energy_mwh")):
        fitting = [
            (value, label)
            for value, label, peak in zip(
                columns[name], read["labels"], columns["peak_memory_bytes"], strict=True
            )
            if value is not None and peak <= cap
        ]
        assert rows[title] == min(fitting, key=lambda pair: pair[0])[1]
    now = shown.evaluate("document.querySelector('#status .winner-now').textContent")
    assert "Expected time" in now
    assert "Cost" in now


def test_limits_leave_out_runs_that_take_longer_cost_more_or_compute_less(shown: Chromium) -> None:
    columns = found(shown)["columns"]
    middle = sum(sorted(value for value in columns["run_time_s"] if value is not None)[40:42]) / 2
    for name, bound, keeps in (
        ("run_time_s", middle / 86400, lambda value: value <= middle),
        ("run_goodput_pct", 20, lambda value: value >= 20),
        ("run_cost", 1e6, lambda value: value <= 1e6),
    ):
        end = "from" if name == "run_goodput_pct" else "to"
        field = f"document.querySelector('[name={name}-{end}]')"
        shown.evaluate(f"{field}.value = {bound!r}; {field}.dispatchEvent(new Event('input'))")
        settled(shown)
        kept = set(shown.evaluate(f"[...{FRAME}.kept]"))
        passing = {row for row, value in enumerate(columns[name]) if value is not None and keeps(value)}
        assert kept == passing
        shown.evaluate("document.querySelector('#view-filters .row button').click()")
        settled(shown)
        assert shown.evaluate(f"{field}.value") == ""
        assert shown.evaluate(f"{FRAME}.kept.length") > len(kept)


def test_fields_show_large_numbers_by_their_powers(shown: Chromium) -> None:
    field = "document.querySelector('[data-key=\"run.tokens\"] input[type=text]')"
    assert shown.evaluate(f"{field}.value") == "15e12"
    shown.evaluate(f"{field}.value = '2.5e12'; {field}.dispatchEvent(new Event('change'))")
    settled(shown)
    assert shown.evaluate("explorer.state.get().changes") == {"run.tokens": 2.5e12}


def test_the_table_sorts_by_days_with_the_keyboard(shown: Chromium) -> None:
    shown.evaluate("document.querySelector('#view-plans th[data-name=run_cost] button').focus()")
    shown.press("Enter", 13)
    shown.until("document.querySelector('#view-plans th[data-name=run_cost]').ariaSort === 'ascending'")


def test_what_a_run_cannot_be_is_refused_with_the_reason(browser: Chromium, file: Path) -> None:
    browser.open(file)
    settled(browser)
    browser.evaluate("explorer.state.set({ changes: { 'run.spares': null } })")
    browser.until("document.body.innerText.includes('lastic=best has no effect where a failed node')")
    settled(browser)
    assert browser.evaluate("explorer.state.get().changes") == {}


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("run.loss=2.0", "run.loss has no effect on dse explore"),
        ("run.grid=0.4", "run.grid has no effect on dse explore"),
    ],
)
def test_keys_without_effect_are_refused(tmp_path: Path, word: str, message: str) -> None:
    length = () if word.startswith("run.loss") else ("run.tokens=1T",)
    with pytest.raises(InputError, match=message):
        explore(
            [
                *PLAIN[1 if word.startswith("system=") else 0 :],
                *length,
                word,
                "--no-open",
                f"results_dir={tmp_path}",
            ]
        )


def test_a_page_that_simulates_has_no_runs(tmp_path: Path) -> None:
    words = ["system=system1", "model=llama70b", "run.tokens=1T", "--no-open", f"results_dir={tmp_path}"]
    with pytest.raises(InputError, match=r"run\.tokens has no effect on a page that simulates"):
        explore(words)


@pytest.mark.parametrize("width", [390, 1320])
def test_no_view_is_wider_than_the_window(browser: Chromium, file: Path, width: int) -> None:
    browser.open(file, width=width, height=844)
    settled(browser)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width


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

"""Pages of subsets of the nodes: the rows of the answer with their figures, filters and plots."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium, found_chromium
from plan_command import QUICK, Run

from dse.planner.page import render_subsets


def entry(a100: int, v100: int, step_ms: float | None) -> dict[str, Any]:
    throughput = dict.fromkeys(("sequences_per_s", "tokens_per_s", "mfu_pct", "mfu_note"))
    return {
        "nodes": {"A100": a100, "V100": v100},
        "step_ms": step_ms,
        "gap": None,
        "optimal": True,
        "price_per_hour": 8.0 * a100 + v100,
        "price_per_step": None,
        "memory_share": 0.5,
        "plan": None,
        **throughput,
    }


ENTRIES = [entry(a100, v100, 9000 / (2 * a100 + v100)) for a100 in (1, 2) for v100 in (1, 2)]


def page(entries: list[dict[str, Any]], **asked: str) -> str:
    return render_subsets("Subsets", "All of them.", entries, asked, "dse plan subsets")


@pytest.mark.parametrize("question", ["subsets", "front"])
def test_a_page_has_a_row_for_each_entry(question: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "answer.html"
    out = run(question, "cluster=a100_v100", *QUICK, "format=csv", "-o", str(file))
    found = file.read_text(encoding="utf-8")
    (body,) = re.findall(r"<tbody>\s*(<tr><td.*?)</tbody>", found, re.DOTALL)
    assert body.count("<tr>") == len(out.splitlines()) - 1 > 2
    (command,) = re.findall(r'"Command line">(.*?)</pre>', found)
    words = {"dse", "plan", question, "cluster=a100_v100", "format=csv", *QUICK}
    assert {*command.split()} == words
    assert "default-src 'none'" in found


def test_steps_are_sorted_by_their_milliseconds() -> None:
    found = page([entry(1, 0, 1500.0), entry(0, 1, None)])
    assert '<td class="n" data-of="1500.0">1.5 s</td>' in found
    assert '<td class="n">none found</td>' in found


def test_keys_and_titles_are_texts() -> None:
    found = page(ENTRIES, model="<b>x</b>")
    assert "<b>x</b>" not in found
    assert "&lt;b&gt;x&lt;/b&gt;" in found


def test_no_subset_with_a_plan_is_a_sentence() -> None:
    assert "No subset of the nodes has a plan." in page([])


@pytest.mark.skipif(found_chromium() is None, reason="no Chromium")
def test_filters_and_plots_are_drawn(tmp_path: Path) -> None:
    file = tmp_path / "subsets.html"
    file.write_text(page(ENTRIES), encoding="utf-8")
    with Chromium(found_chromium() or "", tmp_path) as browser:
        browser.open(file)
        drawn = "document.querySelectorAll('[data-heat-of] canvas, [data-heat-of] table').length"
        assert browser.evaluate(drawn) >= 1
        assert browser.evaluate("document.querySelectorAll('details.screen').length") == 1
        for kind, wanted in (("points", ["price/hour", "step", "A100"]), ("lines", ["step"])):
            drawn = f"document.querySelector('[data-{kind}-of] canvas').clientWidth"
            assert browser.evaluate(drawn) > 300
            selects = f"[...document.querySelectorAll('[data-{kind}-of] select')].map((one) => one.value)"
            assert browser.evaluate(selects) == wanted
        assert browser.problems == []

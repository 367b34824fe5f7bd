"""The block "Run this" of a report: files of frameworks for predicted winners, none for simulated ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from barriers import barriers, needs_axe
from chromium import Chromium
from command_lines import run_ok

from dse.answers.launched import job_of_point
from dse.answers.reports import render_page, report_data
from dse.base.errors import InputError
from dse.prediction.frameworks.dialect import FRAMEWORKS
from dse.prediction.frameworks.launches import launch
from dse.studies.points.stored import point_of_row
from dse.studies.store import StudyStore
from dse.studies.store.lookup import row_of_key

POINT = ("system=dgx_h100", "system.nodes=2", "model=llama3_8b", "model.batch_size=64")
SPACE = ("space.micro_batch=[1,2]", "space.recompute=[none,full]")
FILES = "[...document.querySelectorAll('pre[data-file]')]"
CAP = 60_000_000_000


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> StudyStore:
    folder = tmp_path_factory.mktemp("launched")
    run_ok("sweep", *POINT, *SPACE, "study=it", cwd=folder)
    return StudyStore(folder / "results" / "it")


@pytest.fixture(scope="module")
def known(study: StudyStore) -> dict[str, Any]:
    return report_data(study, memory_cap_bytes=CAP)


@pytest.fixture(scope="module")
def file(known: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page") / "report.html"
    made.write_text(render_page(known), encoding="utf-8")
    return made


def test_both_winners_have_the_files_that_launch_writes(study: StudyStore, known: dict[str, Any]) -> None:
    (group,) = known["groups"]
    answers = group["answers"]
    assert [run["point"] for run in group["runs"]] == [answers["best_under_cap"], answers["best"]]
    for run in group["runs"]:
        job, cluster, _ = job_of_point(point_of_row(row_of_key(study, run["key"])))
        for choice in run["choices"]:
            assert choice["files"] == launch(job, cluster, choice["name"]).files
        assert "megatron-lm" in [choice["name"] for choice in run["choices"]]
        for one in run["refused"]:
            with pytest.raises(InputError, match=re.escape(one["reason"])):
                launch(job, cluster, one["name"])
        names = [one["name"] for one in (*run["choices"], *run["refused"])]
        assert sorted(names) == sorted(FRAMEWORKS.listed())
    assert any("; the nearest is " in one["reason"] for run in group["runs"] for one in run["refused"])


def test_a_simulated_study_has_no_such_block(lab: StudyStore) -> None:
    data = report_data(lab)
    assert [group["runs"] for group in data["groups"]] == [[]]
    assert "Run this" not in render_page(data)


def test_files_of_the_page_are_copied_and_saved_by_hand_and_by_key(
    browser: Chromium, file: Path, known: dict[str, Any]
) -> None:
    browser.open(file)
    (group,) = known["groups"]
    files = {
        name: text for run in group["runs"] for one in run["choices"] for name, text in one["files"].items()
    }
    shown = browser.evaluate(f"{FILES}.map((file) => [file.dataset.file, file.textContent])")
    assert len(shown) > len(group["runs"])
    first = group["runs"][0]["choices"][0]["files"]
    assert shown[: len(first)] == [[*pair] for pair in first.items()]
    assert {name for name, _ in shown} == set(files)
    browser.evaluate("document.querySelector('details.run > summary').focus()")
    browser.press("Enter", 13)
    assert browser.evaluate("document.querySelector('details.run').open")
    browser.press("Tab", 9)
    browser.press("Enter", 13)
    assert browser.evaluate("getSelection().toString().trim()") == next(iter(first.values())).strip()
    browser.evaluate(
        "globalThis.saved = []; const make = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { saved.push(blob); return make(blob); }; 0"
    )
    browser.press("Tab", 9)
    browser.press("Enter", 13)
    assert browser.evaluate("saved[0].text()") == next(iter(first.values()))
    command = browser.evaluate("document.querySelector('details.run').previousElementSibling.textContent")
    assert command == (
        f"python -m dse launch results/it point={group['runs'][0]['key']} framework=megatron-lm"
    )
    assert browser.problems == []
    assert [address for address in browser.requests if not address.startswith("blob:")] == [file.as_uri()]


@needs_axe
@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1320)])
def test_no_file_is_cut_and_none_is_a_barrier(browser: Chromium, file: Path, scheme: str, width: int) -> None:
    browser.prefer(prefers_color_scheme=scheme)
    browser.open(file, width=width, height=844)
    browser.evaluate("document.querySelector('details.run').open = true")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate(f"{FILES}.every((file) => file.scrollWidth <= file.clientWidth)")
    assert barriers(browser) == []
    browser.prefer(prefers_color_scheme="light")

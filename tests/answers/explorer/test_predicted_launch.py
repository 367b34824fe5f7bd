"""The line of a page that predicts which writes the files of a plan, and the button that copies it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from chromium import Chromium
from command_lines import run_ok
from pages import assert_quiet, made_page, needs_live_page
from predicted_pages import found, set_changes

from dse.answers.launched import job_of_point
from dse.prediction.frameworks.launches import launch
from dse.studies.config import compose_config
from dse.studies.points import point_of

pytestmark = needs_live_page
WORDS = ("system=dgx_h100", "system.nodes=2", "model=llama3_8b", "space.micro_batch=[1]")
LINE = "document.querySelectorAll('#view-point pre')[2]"
BUTTON = "[...document.querySelectorAll('#view-point .command button')][2]"


def test_the_line_writes_the_files_of_the_chosen_plan_and_is_copied(
    browser: Chromium, tmp_path: Path
) -> None:
    page = made_page(tmp_path, *WORDS)
    browser.open(page)
    read = found(browser)
    chosen = next(
        label
        for label, plan in zip(read["labels"], read["plans"], strict=True)
        if (plan["tp"], plan["pp"], plan["recompute"], plan["weight_sharded"]) == (2, 2, "none", False)
    )
    set_changes(browser, {"model.batch_size": 96}, selected=chosen)
    line = browser.evaluate(f"{LINE}.textContent")
    words = shlex.split(line)
    assert words[:4] == ["python", "-m", "dse", "launch"]
    assert words[-1] in ("framework=megatron-lm", "framework=megatron-bridge")
    written = run_ok("launch", *words[4:], "--json", cwd=tmp_path)
    config = compose_config(words[4:-1], command="point")
    job, cluster, _ = job_of_point(point_of(config, config.strategy))
    files = launch(job, cluster, words[-1].removeprefix("framework=")).files
    assert json.loads(written.out)["files"] == files
    assert any("96" in text for text in files.values())
    assert browser.evaluate(f"{BUTTON}.textContent") == "Run this"
    browser.evaluate(f"{BUTTON}.focus()")
    browser.press("Enter", 13)
    assert browser.evaluate("getSelection().toString().trim()") == line
    assert_quiet(browser, page)

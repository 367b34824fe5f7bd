"""`dse explore` and `dse report --live`: whole pages, the same again, small; refusals in one line."""

from __future__ import annotations

import json
import re
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from command_lines import TINY, error_of, run_dse, run_ok
from page_programs import needs_engine

import dse.answers.explorer.page
from dse.answers.explorer import render_page
from dse.answers.explorer.page import LIBRARIES, PAGE, engine_bytes, script

LIMIT_BYTES = 1_500_000


def data_of(page: Path) -> dict[str, Any]:
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL
    )
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


@needs_engine
def test_explore_writes_one_page_that_loads_nothing(tmp_path: Path) -> None:
    done = run_ok("explore", *TINY, "--no-open", cwd=tmp_path)
    page = tmp_path / "results" / "tiny-torus_4x4-explorer.html"
    assert re.fullmatch(
        r"results/tiny-torus_4x4-explorer\.html: [\d.]+ [kM]B, open it in a browser\n", done.out
    )
    assert page.stat().st_size <= LIMIT_BYTES
    text = page.read_text()
    assert not re.search(r"<(?:script|img|iframe|link)[^>]* (?:src|href)=.?(?:https?:|/)", text)
    assert text.count("<script>") == len(LIBRARIES) + 1
    data = data_of(page)
    assert (data["live"], data["title"]) == (True, "tiny on torus_4x4")
    assert data["command"] == "dse sweep system=torus_4x4 model=tiny"


@needs_engine
def test_the_same_command_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.html", "two.html"):
        run_ok(
            "explore", *TINY, "space=full", "memory_cap=4GiB", "--no-open", f"--output={name}", cwd=tmp_path
        )
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    data = data_of(tmp_path / "one.html")
    assert data["memory_cap_bytes"] == 4 * 2**30
    assert data["command"] == "dse sweep system=torus_4x4 model=tiny space=full memory_cap=4GiB"
    assert data["point_command"] == "dse point system=torus_4x4 model=tiny"
    assert data["space"]["choices"]["pp"] is None


@needs_engine
@pytest.mark.parametrize("word", ["model.num_layers=4", "++model.num_layers=4"])
def test_the_groups_that_are_left_out_stand_in_the_commands(tmp_path: Path, word: str) -> None:
    run_ok("explore", word, "results_dir=pages", "--no-open", cwd=tmp_path)
    data = data_of(tmp_path / "pages" / "llama70b-system1-explorer.html")
    assert data["point_command"] == "dse point system=system1 model=llama70b model.num_layers=4"


@needs_engine
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("model=mixtral_8x7b",), "model mixtral_8x7b has model.experts, which no execution trace can show"),
        (("system=mixed_a100_v100",), "NPUs of several types"),
        (
            ("strategy.dp=4",),
            "no effect on dse explore, which takes every strategy of the space; write space.dp",
        ),
        (("executor=ray",), "no effect on dse explore, which needs no workers"),
        (("study=mine",), "no effect on dse explore, which stores nothing"),
        (("search=random",), "no effect on dse explore, which searches nothing"),
        (
            ("space.axes={system.peak_tflops:[1,2]}",),
            "no effect on dse explore, where every number has a slider",
        ),
        (("experiment=lab",), "space.axes.model has no effect on dse explore, where one model is shown"),
        (
            ("space.axes={system:[system2]}",),
            "space.axes.system has no effect on dse explore, where one system is shown",
        ),
        (("space.cp=[1,2]",), "no effect on dse explore: only predictions know it"),
        (("simulator=astrasim", f"simulator.binary={sys.executable}"), "cannot run in a page"),
        (("simulator.reference=astra-sim-2026-03",), "a page computes what astra-sim-2025-04 computes"),
        (("system=system1,system2",), "lists several values"),
        (("space.dp=[3]",), "space 'lab' is empty"),
        (("-o",), "-o lacks its value; write -o FILE"),
        (("-o", "missing/page.html"), "cannot write missing/page.html"),
        (("--live",), "unknown option --live"),
    ],
)
def test_what_cannot_be_is_one_line_that_says_why_and_what_to_write(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    assert message in error_of("explore", *arguments, cwd=tmp_path)
    assert list(tmp_path.rglob("*.html")) == []


def test_explore_says_what_to_do_where_the_engine_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dse.base.errors import InputError
    from dse.commands import explore

    monkeypatch.setattr(dse.answers.explorer.page, "engine_bytes", lambda: None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="has not been built: write make wasm"):
        explore.main([*TINY, "--no-open"])
    assert list(tmp_path.iterdir()) == []


@needs_engine
@pytest.mark.parametrize(
    ("text", "other"),
    [
        (rb'"result_version":\d+', b'"result_version":0'),
        (rb'"figures":\d+', b'"figures":3'),
        (rb'"result_version"', b'"another_version"'),
    ],
)
def test_an_engine_of_another_version_is_refused_before_a_page_is_made(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    text: bytes,
    other: bytes,
) -> None:
    from dse.base.errors import InputError
    from dse.commands import explore, report

    engine = engine_bytes()
    assert engine is not None
    changed, count = re.subn(text, other, engine)
    assert count == 1
    monkeypatch.setattr(dse.answers.explorer.page, "engine_bytes", lambda: changed)
    monkeypatch.chdir(tmp_path)
    problem = "the engine for pages is of another version than this package: write make wasm"
    with pytest.raises(InputError, match=problem):
        explore.main([*TINY, "--no-open"])
    assert list(tmp_path.iterdir()) == []
    assert report.main([str(folder / "results/small"), "--live", "-o", "page.html"]) == 0
    assert f"note: the page is static: {problem}" in capsys.readouterr().err
    assert data_of(tmp_path / "page.html")["live"] is False


@needs_engine
def test_explore_opens_the_page_where_there_is_a_display(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dse.commands import explore

    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: bool(opened.append(address) or True))
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.html"
    monkeypatch.setenv("DISPLAY", ":0")
    assert explore.main([*TINY, "-o", str(page)]) == 0
    assert explore.main([*TINY, "-o", str(page), "--no-open"]) == 0
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert explore.main([*TINY, "-o", str(page)]) == 0
    assert opened == [page.as_uri()]
    assert [line.endswith("opened in a browser") for line in capsys.readouterr().out.splitlines()] == [
        True,
        False,
        False,
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("live")
    run_ok("sweep", *TINY, "study=small", "memory_cap=1GB", cwd=folder)
    predicted = ("system=dgx_h100", "system.nodes=1", "model=llama3_8b", "model.batch_size=8")
    run_ok("sweep", *predicted, "study=predicted", cwd=folder)
    return folder


@needs_engine
def test_a_report_is_live_with_the_rows_of_its_study(folder: Path) -> None:
    done = run_ok("report", "results/small", "--live", "title=A <small> one", cwd=folder)
    page = folder / "results" / "small-live.html"  # dse explore has small-explorer.html
    assert done.err == ""
    assert done.out.startswith("results/small-live.html: ")
    assert page.stat().st_size <= LIMIT_BYTES
    data = data_of(page)
    assert (data["live"], data["study"], data["title"]) == (True, "small", "A <small> one")
    assert "<h1>A &lt;small&gt; one</h1>" in page.read_text()
    assert len(data["rows"]) == 30
    assert data["memory_cap_bytes"] == 10**9


def test_a_study_that_cannot_be_live_is_a_static_page_that_says_why(folder: Path) -> None:
    done = run_ok("report", "results/predicted", "--live", "-o", "static.html", cwd=folder)
    assert done.err.startswith("note: the page is static: llama3_8b on dgx_h100 is predicted")
    page = folder / "static.html"
    data = data_of(page)
    assert data["live"] is False
    assert data["why_static"].startswith("llama3_8b on dgx_h100 is predicted")
    assert data["rows"]
    assert "workload." not in data["point_command"]  # which a prediction refuses
    assert '<script type="application/octet-stream" id="wasm"></script>' in page.read_text()


def test_a_live_report_without_the_engine_says_make_wasm(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dse.commands import report

    monkeypatch.setattr(dse.answers.explorer.page, "engine_bytes", lambda: None)
    monkeypatch.chdir(folder)
    assert report.main(["results/small", "--live", "-o", "missing.html"]) == 0
    assert "note: the page is static: the engine for pages has not been built: write make wasm" in (
        capsys.readouterr().err
    )
    assert data_of(folder / "missing.html")["rows"]


def test_a_study_without_a_point_that_is_ok_is_refused_and_so_is_no_study(tmp_path: Path) -> None:
    indivisible = ("space.dp=[16]", "workload.divisibility=strict", "model.batch_size=7")
    run_dse("sweep", *TINY, *indivisible, "study=one", cwd=tmp_path)
    refused = error_of("report", "results/one", "--live", cwd=tmp_path)
    assert "no point of results/one is ok" in refused
    assert "missing" in error_of("report", "results/missing", "--live", cwd=tmp_path)
    assert list(tmp_path.rglob("*.html")) == []


def test_every_module_of_the_folder_stands_once_in_the_page_or_its_worker() -> None:
    scripts = [str(script(name)) for name in ("app", "worker")]
    for name in (path.stem for path in PAGE.glob("*.js")):
        counts = {text.count(f"\nexplorer.{name}=") for text in scripts}
        assert counts in ({1}, {0, 1}), name


def test_data_of_anyone_cannot_leave_its_element() -> None:
    data = {
        "live": False,
        "fidelity": "predicted",
        "title": "</script><script>alert(1)</script>",
        "why_static": "<b>",
    }
    page = render_page(data)
    assert "<script>alert" not in page
    assert "alert(1)" in unescape(page)

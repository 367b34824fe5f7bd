"""The examples of the guide: `make docs` makes them, and pages of the site link to them."""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from dse.answers.explorer import without_engine

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("examples", ROOT / "docs" / "hooks" / "examples.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made(hook: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {path.name: path for path in hook.make_examples(tmp_path_factory.mktemp("examples"))}


def test_each_pair_of_the_lab_has_a_report_and_a_timeline(made: dict[str, Path]) -> None:
    for model, system in (("llama70b", "system1"), ("gpt175b", "system2")):
        report = made[f"{model}-{system}.html"].read_text(encoding="utf-8")
        assert f"{model} on {system}" in report
        assert len(report.encode()) < 320_000
        with gzip.open(made[f"{model}-{system}.trace.json.gz"], "rt", encoding="utf-8") as file:
            assert len(json.load(file)["traceEvents"]) > 1_000


def test_an_explorer_carries_its_engine(made: dict[str, Path]) -> None:
    if missing := without_engine():
        assert [name for name in made if "explorer" in name] == []
        pytest.skip(missing)
    for name in ("llama70b-system1", "gpt175b-system2"):
        page = made[f"{name}-explorer.html"].read_text(encoding="utf-8")
        assert len(page.encode()) <= 1_500_000
        assert len(page.partition('id="wasm">')[2].partition("<")[0]) > 100_000


def test_a_name_becomes_a_link_where_the_example_was_made(hook: ModuleType) -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="howto/explore.md"))
    files = SimpleNamespace(get_file_from_path={"examples/a.html": "a file"}.get)
    text = "See `build/docs/examples/a.html` and `build/docs/examples/b.html`."
    linked = "See [a.html](../examples/a.html) and `build/docs/examples/b.html`."
    assert hook.on_page_markdown(text, page, None, files) == linked


def test_every_example_that_the_guide_names_can_be_made(hook: ModuleType) -> None:
    ends = (".html", ".trace.json.gz", "-explorer.html")
    names = {f"examples/{model}-{system}{end}" for model, system in hook.PAIRS for end in ends}
    named = {name for page in PAGES for name in hook._NAMED.findall(page.read_text(encoding="utf-8"))}
    assert named
    assert named <= names

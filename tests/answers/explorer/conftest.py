"""Programs of the page under Node, pages in a real browser, and what a page of the lab knows."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium
from page_programs import HEAD, MODULES, NODE, PARQUET, TAIL, data_of, loading
from pages import LAB, chromium, made_page


@pytest.fixture
def in_page() -> Any:
    """Run the body of a function of `input` in the page; return what it returns."""

    def run(body: str, value: Any = None) -> Any:
        made = subprocess.run(
            [str(NODE), "-e", "\n".join([PARQUET, loading(*MODULES), HEAD, TAIL % body])],
            input=json.dumps(value),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert made.returncode == 0, made.stderr[-3000:]
        return json.loads(made.stdout)

    return run


@pytest.fixture(scope="session")
def data() -> dict[str, Any]:
    """What a page knows of the first pair of the lab."""
    return data_of("system=system1", "model=llama70b")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    yield from chromium(tmp_path_factory.mktemp("chromium"))


@pytest.fixture(scope="session", params=LAB)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    name: str = request.param
    return name, made_page(tmp_path_factory.mktemp(name), *LAB[name])


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_page(tmp_path_factory.mktemp("llama"), *LAB["llama70b-system1"])

"""What tests of reports and other pages share: a browser, and a study of the lab made by the real command."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from chromium import NAMES, Chromium, found_chromium
from command_lines import run_ok

from dse.studies.store import StudyStore


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> StudyStore:
    """The 56 strategies of llama70b on system1."""
    folder = tmp_path_factory.mktemp("lab")
    run_ok("sweep", "system=system1", "model=llama70b", cwd=folder)
    return StudyStore(folder / "results" / "llama70b-system1")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    program = found_chromium()
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed (Debian: chromium)")
    with Chromium(program, tmp_path_factory.mktemp("chromium")) as browser:
        yield browser

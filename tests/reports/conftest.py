"""A study of the lab for the tests of reports, made once by the real command."""

from __future__ import annotations

import pytest
from commands import run_ok

from dse.studies import StudyStore


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> StudyStore:
    """The 56 strategies of llama70b on system1."""
    folder = tmp_path_factory.mktemp("lab")
    run_ok("sweep", "system=system1", "model=llama70b", cwd=folder)
    return StudyStore(folder / "results" / "llama70b-system1")

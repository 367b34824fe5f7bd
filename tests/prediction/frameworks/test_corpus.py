"""The corpus of public configurations: each is read, judged, and written again as the same job."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dse.prediction.frameworks.job import Document
from dse.prediction.frameworks.jobs import read_job, write_job
from dse.prediction.frameworks.reading import read_document
from tests.prediction.frameworks.jobs import with_listed_stages

CORPUS = Path(__file__).parents[4] / "shared" / "golden" / "launch" / "corpus.jsonl"
ROWS = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()] if CORPUS.exists() else []
pytestmark = pytest.mark.skipif(not ROWS, reason="the corpus of configurations is not here")

_BROKEN = {102: "M11", 103: "M11", 105: "M11"}
"""Published recipes whose experts do not fit their GPUs: 64 GPUs are no multiple of ep x pp."""

_UNKNOWN_MODEL = "is unknown"


def _read(row: dict[str, Any], folder: Path) -> tuple[Document, dict[str, int]]:
    path = folder / "row.json"
    path.write_text(json.dumps(row), encoding="utf-8")
    document = read_document([str(path)])
    further = {"seq": 4096} if row["framework"] in ("deepspeed", "accelerate") else {}
    if row["framework"] == "accelerate":
        further |= {"batch": 256, "micro_batch": 1}
    return document, further


def test_every_configuration_is_read_and_judged(tmp_path: Path) -> None:
    for row in ROWS:
        document, further = _read(row, tmp_path)
        reading = read_job(document, **further)
        illegal = [breach.rule for breach in reading.broken if not breach.is_warning]
        if row["id"] in _BROKEN:
            assert illegal == [_BROKEN[row["id"]]], row["id"]
        else:
            assert bool(illegal) == ("expect" in row), (row["id"], illegal)


def test_a_job_that_is_written_is_read_as_the_same_with_all_other_settings(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for row in ROWS:
        document, further = _read(row, tmp_path)
        reading = read_job(document, **further)
        if reading.job is None:
            counts["illegal" if not reading.is_legal else "no job"] += 1
            continue
        settings = write_job(reading.job, document.framework, kept=reading.kept).settings
        npus = reading.job.npus
        again = read_job(
            Document(settings, document.framework, document.version, document.model, npus), **further
        )
        assert again.job is not None, row["id"]
        assert with_listed_stages(again.job) == with_listed_stages(reading.job), row["id"]
        assert dict(again.kept) == dict(reading.kept), row["id"]
        counts["same"] += 1
    assert counts["same"] == 91
    assert counts["illegal"] == 10


def test_a_configuration_without_a_job_says_why(tmp_path: Path) -> None:
    for row in ROWS:
        document, further = _read(row, tmp_path)
        reading = read_job(document, **further)
        if reading.job is None and reading.is_legal:
            assert _UNKNOWN_MODEL in reading.no_job or "auto" in reading.no_job, (row["id"], reading.no_job)

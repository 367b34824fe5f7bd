"""What every dialect keeps: its rules speak of facts that it derives, and its files are read again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dse.inputs.accelerators.systems import cluster_of_conf
from dse.inputs.models import ModelSpec
from dse.inputs.models.settings import models_of_conf
from dse.prediction.frameworks.dialect import FRAMEWORKS, dialect_named
from dse.prediction.frameworks.documents import Document
from dse.prediction.frameworks.job import InexpressibleJobError, Job
from dse.prediction.frameworks.jobs import read_job, write_job
from dse.prediction.frameworks.launches import launch
from dse.prediction.frameworks.reading import read_document
from dse.prediction.steps.plan import Plan

NAMES = ("llama3_8b", "mixtral_8x7b", "deepseek_v3")
LACKING = {("torchtitan", "mixtral_8x7b")}  # no flavour of its registry
MODELS = {name: model for name, model in models_of_conf() if name in NAMES}


def _job(model: ModelSpec, **values: object) -> Job:
    plan = {"dp": 16, "weight_sharded": True, "micro_batch": 1, **values}
    return Job(replace(model, batch_size=64, seq_len=4096, micro_batches=None), Plan(**plan))  # type: ignore[arg-type]


@pytest.mark.parametrize("framework", FRAMEWORKS.own)
@pytest.mark.parametrize("name", NAMES)
def test_rules_ask_for_facts_that_the_dialect_knows(framework: str, name: str) -> None:
    """A misspelt fact would leave its rule unchecked for ever."""
    try:
        settings = write_job(_job(MODELS[name]), framework, nearest=True).settings
    except InexpressibleJobError:
        assert (framework, name) in LACKING
        return
    document = Document(settings, framework, model=name, npus=16)
    reading = read_job(document, batch=64, micro_batch=1, seq=4096)
    assert reading.is_legal, reading.broken
    assert reading.unchecked == {}


@pytest.mark.parametrize("framework", FRAMEWORKS.own)
def test_rules_have_distinct_messages_with_the_keys_that_repair_them(framework: str) -> None:
    rules = dialect_named(framework).table.rules
    assert len(rules) > 8
    assert len({rule.says for rule in rules.values()}) == len(rules)
    assert all(rule.id == key for key, rule in rules.items())


@pytest.mark.parametrize("framework", FRAMEWORKS.own)
def test_written_files_are_read_as_the_job(framework: str, tmp_path: Path) -> None:
    model = MODELS["llama3_8b"]
    job = _job(model, framework=dialect_named(framework).constants[0])
    found = launch(job, cluster_of_conf("dgx_h100", 2), framework, name="it", nearest=True)
    for name, text in found.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    document = read_document([str(tmp_path / next(iter(found.files)))], framework)
    reading = read_job(replace(document, npus=16), model.name, batch=64, micro_batch=1, seq=4096)
    assert reading.is_legal, reading.broken
    assert reading.job is not None, reading.no_job
    assert reading.job.plan == found.written.job.plan

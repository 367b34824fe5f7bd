"""What every dialect keeps: its rules speak of facts that it derives, and its files are read again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dse.inputs.accelerators.systems import cluster_of_conf
from dse.inputs.models import ModelSpec
from dse.inputs.models.settings import models_of_conf
from dse.prediction.frameworks.dialect import FRAMEWORKS, dialect_named
from dse.prediction.frameworks.job import Document, InexpressibleJobError, Job
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


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 "
         "--num-attention-heads 8 --encoder-seq-length 64 --max-position-embeddings 64 "
         "--micro-batch-size 1 --global-batch-size 8 --vocab-size 100 --window-size 8,0",
         "--window-size 8,0 makes a model that no other key describes: give model=NAME or model=config.json"),
        ("python3 -m MaxText.train base.yml base_emb_dim=64 base_num_decoder_layers=2 "
         "decoder_block=qwen3_next",
         "decoder_block qwen3_next makes a model that no other key describes: give model=NAME or "
         "model=config.json"),
    ],
)  # fmt: skip
def test_a_model_that_sizes_do_not_describe_has_no_prediction(words: str, problem: str) -> None:
    document = replace(read_document(words.split()), npus=8)
    assert read_job(document).no_job == problem
    plain = read_job(replace(document, settings=_without(document, problem.split()[0])))
    assert plain.no_job == ""
    named = read_job(document, "llama3_8b")
    assert named.no_job == ""


def _without(document: Document, key: str) -> dict[str, object]:
    return {name: value for name, value in document.settings.items() if name != key}


def test_the_program_of_another_family_is_named() -> None:
    words = ["torchrun", "tools/pretrain_t5.py", "--num-layers", "2"]
    assert read_document(words).notes == (
        "tools/pretrain_t5.py is read as pretrain_gpt.py: its model may be another one",
    )

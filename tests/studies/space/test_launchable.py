"""Spaces of what a framework can run: every strategy is written by it, and none that it can run is lost."""

from __future__ import annotations

import pytest

from dse.base.errors import InputError
from dse.prediction.frameworks.dialect import dialect_named
from dse.prediction.frameworks.job import Document, Job
from dse.prediction.frameworks.jobs import read_job, write_job
from dse.prediction.frameworks.launches import as_run_by
from dse.prediction.steps.strategies import plan_of
from dse.studies.config import compose_config

KEYS = ["space=training", "system=dgx_h100", "system.nodes=2", "model=llama3_8b", "model.batch_size=64"]
WIDE = ["space.schedule=[1f1b,gpipe]", "space.zero=[0,1,2]", "space.chunks=[1]", "space.micro_batch=[1]"]


@pytest.mark.parametrize("framework", ["megatron-lm", "megatron-bridge", "torchtitan"])
def test_a_launchable_space_has_exactly_what_the_framework_writes(framework: str) -> None:
    every = compose_config([*KEYS, *WIDE])
    asked = compose_config([*KEYS, *WIDE, f"space.launchable={framework}"])
    model, system, dialect = every.model, every.system, dialect_named(framework)
    written = []
    for strategy in every.space.strategies(model, system):
        try:
            job = as_run_by(Job(model, plan_of(model, strategy)), dialect)
            settings = write_job(job, framework).settings
        except InputError:
            continue
        document = Document(settings, framework, model=model.name, npus=job.npus)
        if read_job(document).is_legal:
            written.append(strategy)
    assert list(asked.space.strategies(model, system)) == written
    assert 0 < len(written) < len(every.space.strategies(model, system))


def test_an_unknown_framework_is_refused() -> None:
    with pytest.raises(InputError, match=r"space.launchable is 'megatron'; allowed are megatron-lm"):
        compose_config([*KEYS, "space.launchable=megatron"])


def test_a_space_that_no_framework_runs_says_so() -> None:
    config = compose_config(
        [*KEYS, "space.schedule=[gpipe]", "space.chunks=[1]", "space.pp=[2]", "space.launchable=megatron-lm"]
    )
    with pytest.raises(
        InputError,
        match=r"megatron-lm can run none of the last \d+ strategies \(space.launchable\), such as "
        r"dp\d+ .*: schedule=gpipe: ",
    ):
        config.space.strategies(config.model, config.system)

"""Programs of the page under Node, and the data that they get: what their tests share."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from study_rows import failed_row, row

from dse.answers.explorer import Subject, Words, page_data, space_choices, without_engine
from dse.answers.explorer.page import LIBRARIES, script
from dse.inputs.strategies import Strategy
from dse.studies.config import compose_config
from dse.studies.points import scenario_of
from dse.studies.store import StudyRow

_FOLDER = TemporaryDirectory()


NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
needs_engine = pytest.mark.skipif(bool(without_engine()), reason=without_engine() or "-")


MODULES = (
    *(
        "format",
        "constraints",
        "scenario",
        "doubts",
        "answers",
        "state",
        "fragment",
        "scales",
        "words",
    ),
    *("commands", "download", "frame", "runs"),
)
"""Modules of the page that work without a browser."""


TRACED = ("dp", "tp", "sp", "pp", "weight_sharded", "activation_recompute")


def _running(file: Path) -> str:
    """A statement that runs a script as a page does, in the global scope."""
    read = f'require("node:fs").readFileSync({json.dumps(str(file))}, "utf8")'
    return f'require("node:vm").runInThisContext({read});'


PARQUET = _running(LIBRARIES[1])


HEAD = 'const input = JSON.parse(require("node:fs").readFileSync(0, "utf8"));'


TAIL = "(async () => { %s })().then((made) => process.stdout.write(JSON.stringify(made ?? null)));"


CHANGES = {
    "model.batch_size": 256,
    "system.network.0.bandwidth_gbps": 0.1 + 0.2,
    "system.network.1.latency_ns": 1e-7,
    "system.peak_tflops": 123456.789,
    "system.network.2.topology": "Switch",
    "system.collectives.all_reduce.2": "halvingDoubling",
    "system.rendezvous_protocol": True,
    "model.repairs.bytes_per_element": 2,
    "workload.divisibility": "whole",
}


@cache
def loading(*modules: str) -> str:
    """A statement that runs modules of the page as the page does; `explorer` has what they export."""
    file = Path(_FOLDER.name) / f"{'-'.join(modules).replace('/', '-')[:80]}.js"
    file.write_text(script(*modules))
    return _running(file)


def fields_of(strategy: Strategy) -> dict[str, Any]:
    return {name: getattr(strategy, name) for name in TRACED}


def data_of(*words: str) -> dict[str, Any]:
    config = compose_config(list(words))
    choices = space_choices(config.space)
    subject = Subject(scenario_of(config), choices, config.space.constraints, Words(words), 80 * 10**9)
    return json.loads(json.dumps(page_data(subject)))


def page_row(each: StudyRow) -> dict[str, Any]:
    return {**dataclasses.asdict(each), "label": each.label()}


def drawn_row(chance: random.Random, fields: dict[str, Any]) -> StudyRow:
    """A row of a strategy with one of few times and sizes, so that there are ties; some are not ok."""
    if chance.random() < 0.15:
        return dataclasses.replace(failed_row("infeasible", "7 is too few"), **fields)
    peak = None if chance.random() < 0.1 else chance.randrange(1, 5) * 10**10
    return row(**fields, wall_time_ns=chance.randrange(1, 6) * 10**9, peak_memory_bytes=peak)


def run_beside(modules: Sequence[str], script: str, given: Any) -> Any:
    """Evaluate `script`, a function of the given data, beside some modules of the page."""
    loads = loading(*modules)
    read = "const given = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
    program = f"{loads}{read}process.stdout.write(JSON.stringify(({script})(given)));"
    done = subprocess.run(
        [str(NODE), "-e", program],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)

"""The page of the explorer: one HTML file with data, style, programs, plot library and the engine inside.

Rules that a page has, too: functions that are translated for it, and their module.
"""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dse.answers.explorer.data import Subject, figures_of_a_row
from dse.answers.explorer.predicted_data import predicted_page_data
from dse.base.pages import inlined, joined, library, page_style, script_json, template_environment
from dse.base.pages.translated import translated
from dse.base.pages.translated_expressions import RUNTIME
from dse.base.records import converted
from dse.inputs.accelerators import Accelerator, Cluster, TierSpec, cluster
from dse.inputs.accelerators.algorithms import GroupAlgorithms
from dse.inputs.models import ModelSpec
from dse.inputs.models.flops import training_flops
from dse.inputs.models.huggingface import model_of_configuration
from dse.inputs.strategies.axes import label_word
from dse.prediction.intervals.kinds import KIND
from dse.prediction.runs.asked import steps_of_tokens
from dse.prediction.steps.native_inputs import cluster_record, model_record
from dse.prediction.steps.plan_rules import FILLED, REFUSALS
from dse.prediction.steps.predict import verdict
from dse.studies.points.inputs import result_version
from dse.studies.points.methods.method import needed

if TYPE_CHECKING:
    from markupsafe import Markup

PAGE = Path(__file__).parent / "page"
_CHART = Path(__file__).parents[1] / "reports" / "templates" / "vendor" / "chart.umd.min.js"
_PARQUET = PAGE / "vendor" / "hyparquet-writer.min.js"

LIBRARIES = (_CHART, _PARQUET)
TABLE = "explorer"
"""The constant by which tests and the console of a browser find what the modules of a page export."""


def without_engine() -> str:
    """Return what to do where there is no engine for pages of this version; empty where there is one."""
    engine = engine_bytes()
    if engine is None:
        return "the engine for pages has not been built: write make wasm"
    if engine_versions(engine) != EngineVersions(result_version(), figures_of_a_row()):
        return "the engine for pages is of another version than this package: write make wasm"
    return ""


def render_page(data: dict[str, Any]) -> str:
    """Return the page of `page_data`; it loads nothing, and runs without a network.

    The same data give the same bytes.
    """
    environment = template_environment(PAGE)
    is_live = data["live"]
    return environment.get_template("explorer.html").render(
        title=data["title"],
        fidelity=data["fidelity"],
        data=script_json(data),
        style=page_style(PAGE / "explorer.css"),
        libraries=list(map(library, LIBRARIES)),
        program=script("app"),
        worker=script("worker") if is_live else "",
        wasm=packed_engine() if is_live else "",
    )


def render_predicted(subject: Subject) -> str:
    """Return the page that predicts the plans of a space, for a subject whose points are predicted.

    Raises:
        InputError: as `predicted_page_data`.
    """
    data = predicted_page_data(subject)
    return (
        template_environment(PAGE)
        .get_template("predicted/predicted.html")
        .render(
            title=data["title"],
            fidelity=data["fidelity"],
            data=script_json(data),
            style=page_style(PAGE / "explorer.css") + inlined(PAGE / "predicted" / "predicted.css"),
            program=script("predicted/predicted_app"),
            worker=script("predicted/plan_worker"),
            wasm=packed_engine(),
        )
    )


@cache
def packed_engine() -> str:
    """Return the engine as it stands in a page: base64 of gzip; empty where there is none."""
    engine = engine_bytes()
    return "" if engine is None else base64.b64encode(gzip.compress(engine, 9, mtime=0)).decode()


@cache
def script(*names: str) -> Markup:
    """Return modules of the page, with all that they import, as one script."""
    return joined(*(PAGE / f"{name}.js" for name in names), table=TABLE, made={RULES: rules})


_FILE = Path(__file__).with_name("dse_engine.wasm")
# What the engine says of itself stands in it as text (engine/wasm/exports.cpp).
_TEXT = re.compile(rb'\{"version":"[^"]*","result_version":(\d+),"figures":(\d+),"texts":(\d+)\}')


class EngineVersions(NamedTuple):
    """The version of the engine's results, and how many figures and texts its rows have."""

    result_version: int
    figures: int
    texts: int = 3


def engine_file() -> Path | None:
    """Return the file of the engine for pages, None where it has not been built."""
    return _FILE if _FILE.is_file() else None


def engine_bytes() -> bytes | None:
    """Return the engine for pages as a WebAssembly module, None where it has not been built."""
    file = engine_file()
    return None if file is None else file.read_bytes()


def engine_versions(engine: bytes) -> EngineVersions | None:
    """Return what an engine for pages says of itself; None of one that is too old to say it."""
    found = _TEXT.search(engine)
    return None if found is None else EngineVersions(*map(int, found.groups()))


RULES = Path(__file__).parent / "page" / "predicted" / "rules.js"
"""The place of the module among those of the page; no file has it."""


def configured(content: object, name: str) -> dict[str, Any]:
    """Return the model of a Hugging Face configuration, and notes on it.

    Raises:
        InputError: as `model_of_configuration`, `ModelSpec` and `model_record`.
    """
    found = model_of_configuration(content, name, "config.json")
    model = converted(found.values, ModelSpec, "model")
    model_record(model)  # what no step can be predicted of is refused at once
    return {"spec": model, "notes": found.notes}


def predictable(values: dict[str, Any]) -> dict[str, Any]:
    """Return what predicts steps of a model that a study stores: the engine's record, operations of a step.

    Raises:
        InputError: as `ModelSpec` and `model_record`.
    """
    model = converted(values, ModelSpec, "model")
    return {"record": model_record(model), "operations": training_flops(model)}


def clustered(values: dict[str, Any]) -> dict[str, Any]:
    """Return what predicts steps on a cluster that a study stores as a system: the engine's record, the peak.

    Raises:
        InputError: as `dse.inputs.accelerators.cluster`.
    """
    found = _cluster(values)
    chip = found.accelerator
    return {"record": cluster_record(found), "peak_tflops": chip.peak_tflops[chip.format_16bit]}


def planned(model: dict[str, Any], system: dict[str, Any]) -> dict[str, Any]:
    """Return the rules of plans, and a model and a cluster, which studies store, as rules read them.

    Raises:
        InputError: as `ModelSpec` and `clustered`.
    """
    return {
        "given": {"model": converted(model, ModelSpec, "model"), "cluster": _cluster(system)},
        "refusals": REFUSALS,
        "filled": FILLED,
        "kind": KIND,
    }


def _cluster(values: dict[str, Any]) -> Cluster:
    algorithms = values.get("group_algorithms", {})
    return cluster(
        values["name"],
        converted(values["accelerator"], Accelerator, "system.accelerator"),
        values["nodes"],
        values["npus_per_node"],
        [converted(tier, TierSpec, f"system.tiers.{at}") for at, tier in enumerate(values["tiers"])],
        converted(algorithms, GroupAlgorithms, "system.group_algorithms"),
    )


@cache
def rules() -> str:
    """Return the module that has all of these functions."""
    roots: list[Callable[..., Any]] = [configured, predictable, clustered, planned]
    roots += [label_word, needed, steps_of_tokens, verdict]
    return translated(roots, f"../../../../base/pages/{RUNTIME}")

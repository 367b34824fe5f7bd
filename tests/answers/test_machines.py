"""A step of Llama-3 8B on every accelerator and every cluster of conf/: its time, and how sure it is."""

from __future__ import annotations

import re

import pytest

import dse
from dse.base.files import conf_folder
from dse.inputs.accelerators import accelerator, accelerator_names
from dse.inputs.accelerators.systems import cluster_file

CLUSTERS = tuple(
    path.stem
    for path in sorted((conf_folder() / "system").glob("*.yaml"))
    if re.search("^accelerator:", path.read_text(), re.MULTILINE)
)
HOW_SURE = "of measured steps lie"


def step(system: str, *overrides: str, precision: str = "bf16") -> dse.PredictedStep:
    """A step on two nodes, with a replica for 8 NPUs or for a smaller node; 64 of each domain of 72."""
    file = cluster_file(system)
    npus = 64 if file.npus_per_node == 72 else file.npus_per_node
    tp = min(npus, 8)
    cluster = [f"system={system}", "system.nodes=2", f"system.npus_per_node={npus}"]
    plan = [f"strategy.tp={tp}", f"strategy.dp={2 * npus // tp}", f"strategy.precision={precision}"]
    model = ["model=llama3_8b", "model.fidelity=realistic"]
    return dse.predict_step(overrides=[*cluster, *model, *plan, *overrides])


def sixteen_bit(name: str) -> str:
    return "bf16" if "bf16" in accelerator(name).peak_tflops else "fp16"


def alone_ns(name: str, precision: str = "bf16") -> int:
    """A step on eight NPUs with the links of a DGX H100."""
    keys = (f"system.accelerator={name}", "system.nodes=1", "strategy.dp=1")
    return step("dgx_h100", *keys, precision=precision).wall_time_ns


@pytest.mark.parametrize("name", accelerator_names())
def test_every_accelerator_answers_and_says_how_sure(name: str) -> None:
    keys = (f"system.accelerator={name}", "system.nodes=1", "strategy.dp=1")
    found = step("dgx_h100", *keys, precision=sixteen_bit(name))
    assert found.wall_time_ns > 0
    assert [note for note in found.notes if HOW_SURE in note]


@pytest.mark.parametrize(
    ("name", "whose"),
    [
        ("gaudi3", "carried over from h100_sxm but for matrix, matrix_8bit: no measurements of this type"),
        ("h100_pcie", "carried over from h100_sxm: no measurements of this type"),
        ("l4", "carried over from l40s: no measurements of this type"),
        ("rtx_pro_6000", "shares of kernels that were measured alone: no measured step"),
        ("tpu7x", "carried over from tpu_v6e: no measurements of this type"),
    ],
)
def test_a_type_without_measured_steps_says_whose_shares_it_has(name: str, whose: str) -> None:
    keys = (f"system.accelerator={name}", "system.nodes=1", "strategy.dp=1")
    assert whose in step("dgx_h100", *keys).notes


@pytest.mark.parametrize("system", CLUSTERS)
def test_every_cluster_answers_and_says_how_sure(system: str) -> None:
    found = step(system, precision=sixteen_bit(cluster_file(system).accelerator))
    assert found.wall_time_ns > 0
    assert [note for note in found.notes if HOW_SURE in note]


def test_a_card_is_slower_than_the_module_of_its_chip() -> None:
    """Peaks of 756, 835.5 and 989.4 TFLOPS with the same shares."""
    assert alone_ns("h100_pcie") > alone_ns("h100_nvl") > alone_ns("h100_sxm")


def test_an_mi300x_is_slower_than_an_h100_although_its_peak_is_higher() -> None:
    """620 to 720 TFLOPS in products (SemiAnalysis, December 2024): .45 of 1,307 against .7 of 989."""
    assert 1.0 < alone_ns("mi300x") / alone_ns("h100_sxm") < 1.4


def test_a_gaudi_3_does_at_least_twice_the_work_of_a_gaudi_2() -> None:
    """Best products of 1,243 and 418.7 TFLOPS (Bekman 2026)."""
    assert 2.0 < alone_ns("gaudi2") / alone_ns("gaudi3") < 3.2

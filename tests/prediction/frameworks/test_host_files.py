"""Host files: `dse check` predicts ranks on the nodes on which `dse launch` places them, or says why not."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dse.base.errors import InputError
from dse.inputs.accelerators.systems import cluster_of_conf
from dse.inputs.models.settings import models_of_conf
from dse.prediction.frameworks.checks.check import Check, checked
from dse.prediction.frameworks.job import Job
from dse.prediction.frameworks.jobs import read_job
from dse.prediction.frameworks.launches import Launch, launch
from dse.prediction.frameworks.reading import read_document
from dse.prediction.frameworks.reading.hosts import Hosts, hosts_of
from dse.prediction.frameworks.writing.ranks import degrees_of, order_on_nodes, slots
from dse.prediction.steps.plan import Plan

MODELS = dict(models_of_conf())
CLUSTER = cluster_of_conf("dgx_a100", 8)
HOSTS = ["b", "a", "d", "c", "e", "f", "g", "h"]
SHARDED: Mapping[str, Any] = {
    "schedule": "gpipe",
    "recompute": "selective",
    "weight_sharded": True,
    "zero": 1,
}


def _launched(framework: str, launcher: str, hosts: list[str], nearest: bool = False, **plan: Any) -> Launch:
    model = replace(MODELS["megatron_39b"], batch_size=256, micro_batches=None)
    return launch(
        *(Job(model, Plan(**plan)), CLUSTER, framework, launcher), name="it", hosts=hosts, nearest=nearest
    )


def _checked(found: Launch, folder: Path, without: str = "") -> Check:
    for name, text in found.files.items():
        if name != without:
            (folder / name).write_text(text, encoding="utf-8")
    document = read_document([str(folder / next(iter(found.files)))])
    return checked(read_job(replace(document, npus=document.npus or 64)), CLUSTER, 0)


def _ranks(check: Check) -> list[str]:
    return [text for text in check.reading.assumed if text.startswith(("ranks", "nodes"))]


@pytest.mark.parametrize("hosts", [[], HOSTS])
@pytest.mark.parametrize("order", ["pp-tp-dp-cp-ep", "dp-tp-cp-ep-pp", "dp-pp-tp-cp-ep", "tp-pp-dp-cp-ep"])
def test_a_rank_for_each_gpu_is_predicted_where_it_runs(order: str, hosts: list[str], tmp_path: Path) -> None:
    found = _launched("megatron-lm", "slurm", hosts, dp=4, tp=4, pp=4, order=order)
    check = _checked(found, tmp_path)
    assert check.prediction is not None
    assert check.prediction.step_s == pytest.approx(found.step_s, rel=1e-12)
    assert _ranks(check) == []


@pytest.mark.parametrize("launcher", ["torchrun", "slurm"])
@pytest.mark.parametrize("hosts", [[], HOSTS])
def test_nodes_in_another_order_keep_it_where_one_process_starts_each(
    launcher: str, hosts: list[str], tmp_path: Path
) -> None:
    found = _launched("maxtext", launcher, hosts, dp=2, tp=8, pp=4, order="tp-cp-ep-pp-dp", **SHARDED)
    names = HOSTS if hosts else [f"NODE{node}" for node in range(8)]
    assert found.files["it.hosts"].split() == [names[node] for node in (0, 4, 1, 5, 2, 6, 3, 7)]
    check = _checked(found, tmp_path)
    assert check.reading.job is not None
    assert check.reading.job.plan.order == "tp-cp-ep-pp-dp"
    assert _ranks(check) == []


def test_an_order_that_one_process_a_node_cannot_keep_becomes_its_own(tmp_path: Path) -> None:
    plan = {**SHARDED, "dp": 4, "tp": 2, "pp": 8, "order": "tp-cp-ep-pp-dp"}
    with pytest.raises(InputError, match="order=tp-cp-ep-pp-dp: one process starts each node, whose ranks"):
        _launched("maxtext", "slurm", [], **plan)
    found = _launched("maxtext", "slurm", [], nearest=True, **plan)
    assert found.written.job.plan.order == "tp-cp-ep-dp-pp"
    assert found.step_s < found.asked_step_s / 4
    check = _checked(found, tmp_path)
    assert check.prediction is not None
    assert check.prediction.step_s == pytest.approx(found.step_s, rel=1e-12)


def test_a_host_file_that_is_not_there_is_said_with_the_order_that_is_taken(tmp_path: Path) -> None:
    found = _launched("megatron-lm", "slurm", [], dp=4, tp=4, pp=4, order="pp-tp-dp-cp-ep")
    check = _checked(found, tmp_path, without="it.hosts")
    assert _ranks(check) == [
        "ranks are placed in the framework's own order tp-cp-ep-dp-pp: it.hosts, which says their nodes, "
        "cannot be read from here"
    ]


@pytest.mark.parametrize(
    ("lines", "end"),
    [
        (["NODE0", "NODE1", "NODE2"], "it.hosts has lines for another job than of 64 GPUs"),
        (
            [f"NODE{node}" for node in (1, 0, *range(2, 8))] * 8,
            "it.hosts has them on nodes in no order of axes",
        ),
    ],
)
def test_lines_that_are_no_order_are_said(lines: list[str], end: str, tmp_path: Path) -> None:
    found = _launched("megatron-lm", "slurm", [], dp=4, tp=4, pp=4, order="pp-tp-dp-cp-ep")
    files = {**found.files, "it.hosts": "\n".join(lines)}
    (said,) = _ranks(_checked(replace(found, files=files), tmp_path))
    assert said == f"ranks are placed in the framework's own order tp-cp-ep-dp-pp: {end}"


def test_names_of_which_nothing_says_the_neighbours_are_taken_as_they_come(tmp_path: Path) -> None:
    (tmp_path / "it.hosts").write_text("b\nb\na\na\n")
    hosts = hosts_of("export SLURM_HOSTFILE=it.hosts", tmp_path)
    assert hosts is not None
    assert not hosts.is_ordered
    assert hosts.nodes(4) == (0, 0, 1, 1)
    listed = hosts_of("#SBATCH --nodelist=a,b\nexport SLURM_HOSTFILE=it.hosts", tmp_path)
    assert listed is not None
    assert listed.is_ordered
    assert listed.nodes(4) == (1, 1, 0, 0)


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("torchrun pretrain_gpt.py", None),
        ("srun --distribution=arbitrary bash train.sh", "SLURM_HOSTFILE"),
        ("export SLURM_HOSTFILE=${FILE}", "SLURM_HOSTFILE"),
        ("export SLURM_HOSTFILE=machines.txt", "machines.txt"),
        ("# placed by other.hosts, by hand", "other.hosts"),
    ],
)
def test_scripts_name_their_host_file(text: str, file: str | None, tmp_path: Path) -> None:
    found = hosts_of(text, tmp_path)
    assert (None if found is None else found.file) == file


def test_a_line_is_of_a_rank_or_of_a_node() -> None:
    names = ["NODE1", "NODE0"]
    assert Hosts("f", names).nodes(4) == (1, 1, 0, 0)
    assert Hosts("f", ["NODE0", "NODE1", "NODE0", "NODE1"]).nodes(4) == (0, 1, 0, 1)
    assert Hosts("f", names).nodes(5) is None


def test_every_order_is_found_again_from_its_nodes() -> None:
    degrees = degrees_of(Plan(dp=4, ep=2, tp=2, cp=2, pp=2))
    own = "tp-cp-ep-dp-pp"
    for order in map("-".join, itertools.permutations(own.split("-"))):
        nodes = [slot // 4 for slot in slots(order, own, degrees)]
        found = order_on_nodes(own, nodes, degrees)
        assert found is not None
        assert [slot // 4 for slot in slots(found, own, degrees)] == nodes


@pytest.mark.parametrize(
    ("launcher", "reason"),
    [
        ("torchrun", "torchrun starts each node, whose ranks stay together, and slurm starts each GPU"),
        ("kubernetes", "kubernetes places pods itself, and slurm can place them"),
    ],
)
def test_an_order_that_a_launcher_cannot_keep_becomes_the_nearest(launcher: str, reason: str) -> None:
    plan: dict[str, Any] = {"dp": 4, "tp": 4, "pp": 4, "order": "pp-tp-dp-cp-ep"}
    with pytest.raises(InputError, match=f"order=pp-tp-dp-cp-ep: {reason}; .* write nearest=true for it"):
        _launched("megatron-lm", launcher, [], **plan)
    found = _launched("megatron-lm", launcher, [], nearest=True, **plan)
    assert [(lack.field, lack.nearest) for lack in found.written.lacks] == [("order", "tp-cp-ep-dp-pp")]
    assert found.step_s < found.asked_step_s


def test_random_jobs_have_something_near_them_that_every_launcher_starts() -> None:
    chance = random.Random(7)
    frameworks = ("megatron-lm", "megatron-bridge", "deepspeed", "accelerate", "maxtext")
    meshes = ({"dp": 4, "tp": 4, "pp": 4}, {"dp": 16, "tp": 2, "cp": 2}, {"dp": 8, "pp": 8})
    for _ in range(60):
        order = "-".join(chance.sample(["tp", "cp", "ep", "dp", "pp"], 5))
        degrees = chance.choice(meshes)
        launcher = chance.choice(["torchrun", "slurm", "kubernetes"])
        found = _launched(chance.choice(frameworks), launcher, [], nearest=True, **degrees, order=order)
        assert found.files

"""Kubernetes manifests: the job is what the container runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.inputs.accelerators.systems import cluster_of_conf
from dse.inputs.models.settings import models_of_conf
from dse.prediction.frameworks.job import Document, Job
from dse.prediction.frameworks.jobs import read_job
from dse.prediction.frameworks.launches import launch
from dse.prediction.frameworks.reading import files, read_document
from dse.prediction.steps.plan import Plan

TRAINER = """# of a team
apiVersion: kubeflow.org/v1
kind: PyTorchJob
spec:
  pytorchReplicaSpecs:
    Worker:
      template:
        spec:
          initContainers: [{{name: wait, command: [sleep, "1"]}}]
          containers:
          - name: pytorch
            command: {command}
            args: {args}
            env: [{{name: LAYERS, value: "32"}}, {{name: HOST, valueFrom: {{}}}}, {{name: EMPTY, value: ""}}]
"""


def read(folder: Path, text: str, *words: str) -> Document:
    path = folder / "job.yaml"
    path.write_text(text, encoding="utf-8")
    return read_document([str(path), *words])


@pytest.mark.parametrize("framework", ["megatron-lm", "megatron-bridge", "torchtitan"])
def test_a_written_manifest_is_read_as_the_job(framework: str, tmp_path: Path) -> None:
    model = next(model for name, model in models_of_conf() if name == "llama3_8b")
    plan = Plan(dp=4, pp=4, micro_batch=1, zero=1)
    written = launch(
        Job(model, plan),
        cluster_of_conf("dgx_h100", 2),
        framework,
        name="it",
        launcher="kubernetes",
        nearest=True,
    )
    for name, text in written.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    reading = read_job(read_document([str(tmp_path / "it.yaml")]))
    assert reading.job is not None, reading.no_job
    assert (reading.job.plan.dp, reading.job.plan.pp, reading.job.npus) == (4, 4, 16)


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("[bash, -c]", '["torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers $LAYERS"]'),
        ("[torchrun]", "[--nnodes, 2, --nproc-per-node, 8, pretrain_gpt.py, --num-layers, 32]"),
    ],
)
def test_the_command_of_a_container_is_read_with_its_variables(
    command: str, args: str, tmp_path: Path
) -> None:
    document = read(tmp_path, TRAINER.format(command=command, args=args))
    assert (document.settings, document.npus, document.framework) == (
        {"--num-layers": 32},
        16,
        "megatron-lm",
    )
    assert document.where == f"{tmp_path / 'job.yaml'}: command"


def test_a_manifest_without_a_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a manifest in which no container has a command"):
        read(tmp_path, "kind: Service\napiVersion: v1\n---\n---\n")
    with pytest.raises(InputError, match="malformed YAML at line 5, column 1"):
        read(tmp_path, "apiVersion: v1\n---\nkind: Job\n---\n}\n")
    with pytest.raises(InputError, match="has 101 documents; at most 100 of a manifest are read"):
        read(tmp_path, "apiVersion: v1\n" + "---\nkind: Job\n" * 100)


def test_yaml_of_a_framework_is_no_manifest(tmp_path: Path) -> None:
    text = "distributed_type: FSDP\nnum_processes: 8\nfsdp_config: {fsdp_version: 2}\n"
    assert read(tmp_path, text).framework == "accelerate"


def test_a_yaml_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def counted(path: Path, most_bytes: int) -> bytes:
        opened.append(path)
        return path.read_bytes()[:most_bytes]

    monkeypatch.setattr(files, "read_bytes", counted)
    read(tmp_path, "distributed_type: FSDP\nnum_processes: 8\nfsdp_config: {fsdp_version: 2}\n")
    assert opened == [tmp_path / "job.yaml"]


REPLICATED = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
spec:
  {each}
  pytorchReplicaSpecs:
    Master: {{replicas: 1, template: {{spec: {{containers: [{container}]}}}}}}
    Worker: {{replicas: 3, template: {{spec: {{containers: [{container}]}}}}}}
"""


@pytest.mark.parametrize(
    ("command", "each", "npus"),
    [
        ("torchrun", 'nprocPerNode: "4"', 16),
        ("torchrun", "runPolicy: {}", 32),
        ("torchrun", "nprocPerNode: auto", None),
        ("torchrun, --nnodes, 2, --nproc-per-node, 2", "nprocPerNode: 8", 4),
        ("python", "runPolicy: {}", 4),
        ("torchrun", f"nprocPerNode: '{'9' * 5000}'", None),
        ("torchrun", "nprocPerNode: [8]", None),
    ],
)
def test_the_pods_of_a_job_give_torchrun_its_counts(
    command: str, each: str, npus: int | None, tmp_path: Path
) -> None:
    words = f"{command}, pretrain_gpt.py, --num-layers, 32"
    pod = f"{{command: [{words}], resources: {{limits: {{nvidia.com/gpu: 8}}}}}}"
    text = REPLICATED.format(each=each, container=pod)
    assert read(tmp_path, text).npus == npus
    listed = "apiVersion: v1\nkind: List\nitems:\n- " + text.replace("\n", "\n  ")
    assert read(tmp_path, listed).npus == npus


@pytest.mark.parametrize(
    ("launched", "spec", "workers", "npus"),
    [
        ("mpirun, --allow-run-as-root, python", "slotsPerWorker: 8", "replicas: 4", 32),
        ("mpirun, -np, 16, python", "slotsPerWorker: 8", "replicas: 4", 16),
        ("mpirun, python", "runPolicy: {}", "replicas: 4", 4),
        ("mpirun, python", "slotsPerWorker: 8, runLauncherAsWorker: true", "replicas: 3", 32),
        ("mpirun, -npernode, 4, python", "slotsPerWorker: 8", "replicas: 4", None),
        ("mpirun, python", "slotsPerWorker: 8", "minReplicas: 1", None),
    ],
)
def test_the_slots_of_an_mpi_job_are_the_processes_of_mpirun(
    launched: str, spec: str, workers: str, npus: int | None, tmp_path: Path
) -> None:
    words = f"[{launched}, pretrain_gpt.py, --num-layers, 32]"
    text = f"""apiVersion: kubeflow.org/v2beta1
kind: MPIJob
spec: {{{spec}, mpiReplicaSpecs: {{
  Launcher: {{replicas: 1, template: {{spec: {{containers: [{{command: {words}}}]}}}}}},
  Worker: {{{workers}, template: {{spec: {{containers: [{{command: [/usr/sbin/sshd, -De]}}]}}}}}}}}}}
"""
    assert read(tmp_path, text).npus == npus


@pytest.mark.parametrize(("nodes", "npus"), [("numNodes: 4", 32), ("env: []", None)])
def test_the_trainer_of_a_train_job_is_its_container(nodes: str, npus: int | None, tmp_path: Path) -> None:
    text = f"""apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
spec:
  trainer:
    {nodes}
    command: [torchrun, pretrain_gpt.py]
    args: [--num-layers, 32]
    resourcesPerNode: {{limits: {{nvidia.com/gpu: 8}}}}
"""
    document = read(tmp_path, text)
    assert (document.settings, document.npus) == ({"--num-layers": 32}, npus)


def test_variables_take_the_place_of_options_of_torchrun(tmp_path: Path) -> None:
    path = tmp_path / "job.sh"
    path.write_text("export PET_NNODES=4\nPET_NPROC_PER_NODE=8 torchrun pretrain_gpt.py --num-layers 32\n")
    assert read_document([str(path)]).npus == 32
    path.write_text("export PET_NNODES=1:4\ntorchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32\n")
    assert read_document([str(path)]).npus is None


def test_daemons_and_proxies_stand_behind_the_program(tmp_path: Path) -> None:
    others = "{args: [proxy]}, {command: [/usr/sbin/sshd, -De]}"
    program = "{command: [/usr/bin/torchrun, --nproc-per-node, 8, pretrain_gpt.py, --num-layers, 32]}"
    document = read(tmp_path, f"apiVersion: v1\nkind: Pod\nspec: {{containers: [{others}, {program}]}}\n")
    assert document.npus == 8


@pytest.mark.parametrize(
    ("text", "npus"),
    [
        (
            "kind: LeaderWorkerSet\nspec:\n  leaderWorkerTemplate:\n    size: 4\n    workerTemplate: "
            "{containers: [{command: [sh, -c, torchrun --nnodes=$(LWS_GROUP_SIZE) --nproc-per-node=$(N) "
            "pretrain_gpt.py --num-layers 32], env: [{name: N, value: '8'}]}]}\n",
            32,
        ),
        (
            "kind: RayJob\nspec: {entrypoint: torchrun --nproc-per-node=8 pretrain_gpt.py --num-layers 32}\n",
            8,
        ),
    ],
)
def test_sets_of_leaders_and_jobs_of_ray_are_read(text: str, npus: int, tmp_path: Path) -> None:
    document = read(tmp_path, "apiVersion: v1\n" + text)
    assert (document.settings, document.npus) == ({"--num-layers": 32}, npus)


def test_a_template_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"malformed YAML at line 3.*; it looks like a template: give what `helm"
    ):
        read(tmp_path, "apiVersion: v1\nkind: Job\nspec: {replicas: {{ .Values.nodes }}}\n")

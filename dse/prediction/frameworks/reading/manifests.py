"""Kubernetes manifests read as scripts: what the container of a job runs, and its variables."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dse.base.errors import InputError
from dse.base.plain_data import yaml_data
from dse.prediction.frameworks.reading.launchers import is_launched

_MANIFEST = re.compile(r"^apiVersion:", re.MULTILINE)
_SKYPILOT = re.compile(r"^resources:.*^run:", re.MULTILINE | re.DOTALL)
_BREAK = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)
_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)", re.ASCII)
"""A variable of the container in its command and its arguments: Kubernetes fills it in."""

_COUNT = re.compile(r"[1-9][0-9]{0,6}", re.ASCII)
_MOST_NODES = 100_000
_MOST_PARTS = 100


class Manifest(NamedTuple):
    """The script that a container runs, how messages call it, and the variables that it has."""

    script: str
    name: str
    environment: Mapping[str, str]


def read_manifest(text: str, where: str) -> Manifest | None:
    """Return what the first container runs that starts a program; None for a text that is no manifest.

    A script of a ConfigMap that the command names stands for it. The variables include those that Kubeflow
    sets for torchrun, and the slots of mpirun, from the numbers of pods and processes of the job.

    Raises:
        InputError: the YAML is malformed, or no container has a command.
    """
    if _SKYPILOT.search(text) and not _MANIFEST.search(text):
        return _of_skypilot(dict(_items(_data(text, where))))
    if not _MANIFEST.search(text):
        return None
    parts = list(_parts(text))
    if len(parts) > _MOST_PARTS:
        raise InputError(f"{where}: has {len(parts)} documents; at most {_MOST_PARTS} of a manifest are read")
    documents = [one for part in parts for one in _objects(_data(part, where))]
    scripts = {
        str(name): body
        for document in documents
        if isinstance(document, Mapping) and document.get("kind") == "ConfigMap"
        for name, body in _items(document.get("data"))
        if isinstance(body, str)
    }
    found = [
        (words, {**surroundings, **dict(_environment(container))})
        for container, surroundings in _jobs(documents)
        if (words := [str(word) for key in ("command", "args") for word in _list(container.get(key))])
    ]
    if not found:
        raise InputError(f"{where}: is a manifest in which no container has a command; write what it runs")
    words, environment = min(found, key=lambda each: not is_launched(each[0]))  # the first of them
    words = [_REFERENCE.sub(lambda found: environment.get(found[1], found[0]), word) for word in words]
    name = next((last for word in words if (last := word.rpartition("/")[2]) in scripts), "")
    return Manifest(scripts[name] if name else shlex.join(words), name or "command", environment)


def _of_skypilot(task: Mapping[str, Any]) -> Manifest | None:
    """A task of SkyPilot: what it runs on each node, with the variables that it gets."""
    script = task.get("run")
    if not isinstance(script, str):
        return None
    found = {str(name): str(value) for name, value in _items(task.get("envs")) if value is not None}
    nodes = _count(task.get("num_nodes", 1))
    kinds = dict(_items(task.get("resources"))).get("accelerators")
    named = (
        kinds if isinstance(kinds, str) else next(iter([*_list(kinds), *map(":".join, _counts(kinds))]), "")
    )
    gpus = _count(str(named).partition(":")[2] or 1) if named else None
    found |= {} if nodes is None else {"SKYPILOT_NUM_NODES": str(nodes)}
    found |= {} if gpus is None else {"SKYPILOT_NUM_GPUS_PER_NODE": str(gpus)}
    return Manifest(script, "run", found)


def _counts(kinds: Any) -> Iterator[tuple[str, str]]:
    for kind, count in _items(kinds):
        yield str(kind), str(count)


def _parts(text: str) -> Iterator[str]:
    """Yield the documents of a text, behind as many line breaks as it has before them."""
    end = line = 0
    for found in [*_BREAK.finditer(text), None]:
        part = text[end : found.start() if found else len(text)]
        if part.strip():
            yield "\n" * line + part
        line += part.count("\n")
        end = found.end() if found else end


def _data(part: str, where: str) -> Any:
    try:
        return yaml_data(part, where, _MOST_NODES)
    except InputError as error:
        hint = "; it looks like a template: give what `helm template` writes" if "{{" in part else ""
        raise InputError(f"{error}{hint}") from None


def _objects(document: Any) -> list[Any]:
    """The objects of a list, as kubectl writes one, or the one object of a document."""
    values = dict(_items(document))
    return _list(values.get("items")) if values.get("kind") == "List" else [document]


def _jobs(documents: list[Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, str]]]:
    """Yield each container with the variables that the operator of its job sets."""
    for document in documents:
        kind, spec = (dict(_items(document)).get(key) for key in ("kind", "spec"))
        spec = dict(_items(spec))
        if kind == "TrainJob":
            trainer = dict(_items(spec.get("trainer")))
            per_node = trainer.get("numProcPerNode", _gpus(trainer.get("resourcesPerNode")))
            yield trainer, _torchrun(trainer.get("numNodes"), per_node)
        if kind == "RayJob" and isinstance(spec.get("entrypoint"), str):
            yield {"command": ["bash", "-c", spec["entrypoint"]]}, {}
        pods_of_group = _count(dict(_items(spec.get("leaderWorkerTemplate"))).get("size"))
        replicas = [dict(_items(each)) for _, each in _items(spec.get("pytorchReplicaSpecs"))]
        pods = [_count(each.get("replicas", 1)) for each in replicas]
        if kind == "MPIJob":
            yield from ((container, _slots(spec)) for container in _containers(document))
            continue
        for container in _containers(document):
            if not pods or kind != "PyTorchJob":
                yield container, {"LWS_GROUP_SIZE": str(pods_of_group)} if pods_of_group else {}
                continue
            nodes = None if None in pods else sum(filter(None, pods))
            each = spec.get("nprocPerNode")
            own = _torchrun(nodes, each if each is not None else _gpus(container.get("resources")))
            own |= {} if nodes is None else {"WORLD_SIZE": str(nodes * (_count(each) or 1))}
            yield container, own


def _torchrun(nodes: Any, per_node: Any) -> dict[str, str]:
    """The variables that take the place of torchrun's --nnodes and --nproc-per-node."""
    counts = {"PET_NNODES": _count(nodes), "PET_NPROC_PER_NODE": _count(per_node)}
    return {name: str(count or "auto") for name, count in counts.items()}


def _slots(spec: Mapping[str, Any]) -> dict[str, str]:
    """The variable in which Open MPI has its slots: those of all workers, of whom the launcher may be one."""
    worker = dict(_items(dict(_items(spec.get("mpiReplicaSpecs"))).get("Worker")))
    workers, each = _count(worker.get("replicas")), _count(spec.get("slotsPerWorker", 1))
    if workers is None or each is None:
        return {}
    return {"OMPI_UNIVERSE_SIZE": str((workers + (spec.get("runLauncherAsWorker") is True)) * each)}


def _count(value: Any) -> int | None:
    """A number of pods or processes, which may be a text; None for any other value."""
    return int(value) if type(value) in (int, str) and _COUNT.fullmatch(str(value)) else None


def _gpus(resources: Any) -> Any:
    """How many accelerators a container asks for; None if it does not say."""
    for kind in ("limits", "requests"):
        for name, count in _items(dict(_items(resources)).get(kind)):
            if str(name).endswith("/gpu"):
                return count
    return None


def _containers(data: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(data, list):
        for entry in data:
            yield from _containers(entry)
    for key, value in _items(data):
        if key == "containers":
            yield from (each for each in _list(value) if isinstance(each, Mapping))
        else:
            yield from _containers(value)


def _environment(container: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Variables with a value of their own; those that a cluster fills in stay open."""
    for entry in _list(container.get("env")):
        value = entry.get("value") if isinstance(entry, Mapping) else None
        if value not in (None, ""):
            yield str(entry.get("name")), str(value)


def _items(value: Any) -> list[tuple[Any, Any]]:
    return list(value.items()) if isinstance(value, Mapping) else []


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

"""A Kubernetes manifest: a headless service, the script, and an indexed job with a pod for each node."""

from __future__ import annotations

from typing import Any

from dse.base.lazy import yaml
from dse.prediction.frameworks.writing.script import Program, plain

_INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
_FOLDER = "/launch"
IMAGE = "IMAGE"
"""The blank for the container image; no registry has the name, so that a forgotten one is refused."""


def manifest(program: Program, name: str, script: str) -> str:
    """Return the YAML text for `kubectl apply`; its blanks are listed in comments at the top."""
    blanks = {IMAGE: "the container image", **program.blanks}
    head = [f"# Fill in {blank}: {plain(meaning)}." for blank, meaning in blanks.items()]
    texts = [
        yaml.dump(document, Dumper=_dumper(), sort_keys=False, width=10**9)
        for document in (_service(name), _script(name, script), _job(program, name))
    ]
    return "\n".join([*head, "---\n".join(["", *texts]).lstrip("\n")])


def _service(name: str) -> dict[str, Any]:
    """Names for pods: pod n is NAME-n.NAME."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"clusterIP": "None", "selector": {"job-name": name}, "publishNotReadyAddresses": True},
    }


def _script(name: str, script: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {f"{name}.sh": script},
    }


def _job(program: Program, name: str) -> dict[str, Any]:
    environment: list[dict[str, Any]] = [{"name": blank, "value": ""} for blank in program.blanks]
    environment += [
        {"name": "MASTER_ADDR", "value": f"{name}-0.{name}"},
        {"name": "NODE_RANK", "valueFrom": {"fieldRef": {"fieldPath": _INDEX}}},
    ]
    container = {
        "name": "train",
        "image": IMAGE,
        "command": ["bash", f"{_FOLDER}/{name}.sh"],
        "env": environment,
        "resources": {"limits": {"nvidia.com/gpu": program.per_node}},
        "volumeMounts": [
            {"name": "launch", "mountPath": _FOLDER},
            {"name": "shared-memory", "mountPath": "/dev/shm"},
        ],
    }
    pod = {
        "subdomain": name,
        "restartPolicy": "Never",
        "containers": [container],
        "volumes": [
            {"name": "launch", "configMap": {"name": name}},
            {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
        ],
    }
    counts = {"completions": program.nodes, "parallelism": program.nodes}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"completionMode": "Indexed", **counts, "backoffLimit": 0, "template": {"spec": pod}},
    }


def _dumper() -> Any:
    """A writer of YAML that keeps the lines of a script where YAML can."""

    class Dumper(yaml.SafeDumper):
        """Texts of several lines as blocks."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return Dumper

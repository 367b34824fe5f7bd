"""The check of a configuration on a cluster: its verdict, its prediction, and the changes that gain most."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dse.base.errors import InputError, excerpt, unknown
from dse.base.files import conf_names
from dse.inputs.accelerators import Cluster, accelerator
from dse.inputs.accelerators.cluster import cluster
from dse.inputs.accelerators.systems import ClusterFile, cluster_file
from dse.inputs.strategies.divisibility import InfeasibleStrategy
from dse.prediction.frameworks.checks.changes import Change, best_changes
from dse.prediction.frameworks.jobs import Reading
from dse.prediction.measured.hardware import cluster_of_npus, system_of
from dse.prediction.steps.predict import Prediction, Verdict, margin_of, predict, verdict

Status = Literal["illegal", "legal", "fits", "may fit", "does not fit"]
EXIT_CODES: dict[Status, int] = {"legal": 0, "fits": 0, "may fit": 0, "illegal": 1, "does not fit": 3}
"""Legal is what has no prediction: no cluster is known, or the job is not modelled."""


@dataclass(frozen=True)
class Check:
    """A configuration as it was read, and what is predicted of it.

    `prediction` is None without a cluster, and for a job that has no plan here: `no_prediction` tells why.
    """

    reading: Reading
    cluster: Cluster | None
    prediction: Prediction | None
    no_prediction: str
    changes: tuple[Change, ...] = ()

    @property
    def memory(self) -> Verdict | None:
        """Whether the peak fits into the memory of an accelerator."""
        if self.prediction is None or self.cluster is None or self.reading.job is None:
            return None
        margin = margin_of(self.reading.job.plan.framework)
        return verdict(self.prediction.peak_memory_bytes, self.cluster.accelerator.memory_bytes, margin)

    @property
    def status(self) -> Status:
        """The verdict in a word or two."""
        if not self.reading.is_legal:
            return "illegal"
        return self.memory or "legal"

    @property
    def tokens_per_s(self) -> float:
        """Tokens of a step over its predicted time."""
        assert self.prediction is not None
        assert self.reading.job is not None
        model = self.reading.job.model
        return model.batch_size * model.seq_len / self.prediction.step_s

    @property
    def mfu_pct(self) -> float:
        """Model FLOPs over what the accelerators could do at their 16-bit peak, in per cent."""
        assert self.prediction is not None
        assert self.cluster is not None
        peaks = self.cluster.accelerator.peak_tflops
        peak = peaks.get("bf16", peaks.get("fp16", 0.0)) * 1e12
        possible = peak * self.cluster.npus * self.prediction.step_s
        return 100 * self.prediction.model_flops / possible if possible else 0.0


def checked(reading: Reading, cluster: Cluster | None, changes: int = 3) -> Check:
    """Predict a job that was read, and find the changes that gain most.

    Raises:
        InputError: the cluster has another number of accelerators.
    """
    job = reading.job
    if job is None:
        return Check(reading, cluster, None, reading.no_job)
    if cluster is None:
        return Check(reading, None, None, "no cluster is named: write system=NAME or gpu=NAME")
    if cluster.npus != job.npus:
        raise InputError(f"the job has {job.npus} GPUs, but the cluster {cluster.name} has {cluster.npus}")
    try:
        prediction = predict(job.model, job.plan, cluster)
    except InfeasibleStrategy as error:
        return Check(reading, cluster, None, str(error))
    found = best_changes(job, reading.dialect, cluster, changes)
    return Check(reading, cluster, prediction, "", tuple(found))


def cluster_of_name(system: str, npus: int, assumed: list[str]) -> Cluster:
    """Return `npus` accelerators of a system: a name of conf/system, or a YAML file like those.

    Whole nodes keep all tiers; other numbers fill nodes in part.

    Raises:
        InputError: there is no such system, or it is no cluster.
    """
    file = _file(system)
    if npus % file.npus_per_node == 0:
        return _nodes(file, npus // file.npus_per_node)
    return cluster_of_npus(_nodes(file, 2), npus, assumed)


def cluster_of_gpu(gpu: str, npus: int, assumed: list[str]) -> Cluster:
    """Return `npus` accelerators of a type, with the nodes and links that these usually have.

    Raises:
        InputError: the accelerator is unknown.
    """
    name, _ = system_of(gpu, assumed)
    assumed.append(f"nodes and links of {name}")
    return cluster_of_name(name, npus, assumed)


def _file(system: str) -> ClusterFile:
    if system.endswith((".yaml", ".yml")):
        return cluster_file(Path(system))
    known = conf_names("system")
    if system not in known:
        listing = f"conf/system has {', '.join(known)}"
        raise InputError(unknown(f"system is '{excerpt(system)}', which is unknown", system, known, listing))
    return cluster_file(system)


def _nodes(file: ClusterFile, nodes: int) -> Cluster:
    chip = accelerator(file.accelerator, "system.accelerator")
    return cluster(file.name, chip, nodes, file.npus_per_node, file.tiers)

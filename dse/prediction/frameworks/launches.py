"""Jobs as files that start them: a framework's settings, a launcher, and what the nearest plan costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from dse.base.errors import InputError
from dse.base.settings.checks import check_choice
from dse.base.texts import counted
from dse.inputs.accelerators import Cluster
from dse.prediction.frameworks.checks.nearest import nearest_legal, refusals
from dse.prediction.frameworks.dialect import Dialect, dialect_named
from dse.prediction.frameworks.job import InexpressibleJobError, Job, Lack, RefusedJobError
from dse.prediction.frameworks.jobs import Written, facts_of_job, write_job
from dse.prediction.frameworks.writing.ranks import degrees_of, node_order, orders_of, slots
from dse.prediction.frameworks.writing.script import Program
from dse.prediction.frameworks.writing.stubs import KINDS, Placement, job_name, launch_files
from dse.prediction.measured.hardware import npus_per_host
from dse.prediction.steps.batch import Case
from dse.prediction.steps.predict import Figures, figures

_LEAST_TOLD_PCT = 0.05  # less is printed as 0.0


@dataclass(frozen=True)
class Launch:
    """The files that start a job, the one to start with first, and what the framework runs.

    `step_s` is the predicted step of what is written, `asked_step_s` that of the job as it was asked for:
    they differ where the framework runs the nearest job only.
    """

    files: Mapping[str, str]
    written: Written
    step_s: float
    asked_step_s: float


def launch(
    job: Job,
    cluster: Cluster,
    framework: str,
    launcher: str = "torchrun",
    *,
    nearest: bool = False,
    name: str = "",
    hosts: Sequence[str] = (),
    step_s: float | None = None,
) -> Launch:
    """Write the files that run a job on a cluster.

    `step_s` is the step of a job whose accelerators are of several types, which `cluster` does not show.

    Raises:
        InexpressibleJobError: the framework lacks something, and `nearest` is not asked; says what the
            nearest job costs.
        InputError: its rules refuse the job, or the launcher cannot start it.
    """
    check_choice("launcher", launcher, tuple(KINDS))
    job = as_run_by(job, dialect_named(framework))
    asked_s = _step_s(job, cluster) if step_s is None else step_s
    try:
        written = _runs(write_job(job, framework, nearest=nearest), cluster, launcher, nearest=nearest)
    except InexpressibleJobError as error:
        raise _with_cost(error, job, cluster, framework, launcher, asked_s) from None
    dialect, model = written.dialect, written.job.model
    facts = facts_of_job(written.job, dialect, [])
    of_accelerator = dialect.of_accelerator(cluster.accelerator.name)
    rendered = dialect.rendered({**of_accelerator, **written.settings}, model.name)
    per_node = npus_per_host(cluster)
    program = Program(
        rendered.program,
        cluster.npus // per_node,
        per_node,
        dialect.environment(facts, cluster.accelerator.name),
        rendered.blanks,
        rendered.starter,
    )
    called = job_name(name or f"{model.name}-{cluster.name}-{framework}")
    placement = Placement(_slots(written.job, _own_order(written)), hosts)
    files = launch_files(launcher, program, called, placement)
    written_s = asked_s if written.job == job else _step_s(written.job, cluster)
    return Launch({**files, **rendered.files}, written, written_s, asked_s)


def as_run_by(job: Job, dialect: Dialect) -> Job:
    """Return a job with the constants of the framework that runs it, whose steps differ from others'."""
    own = dialect.constants
    if not own or job.plan.framework in own:
        return job
    return replace(job, plan=replace(job.plan, framework=own[0]))


def _runs(written: Written, cluster: Cluster, launcher: str, *, nearest: bool) -> Written:
    """A job that framework and launcher run: the one that is written, or else the nearest.

    Raises:
        InexpressibleJobError: they refuse it, and `nearest` is not asked or finds none.
    """
    return _on_nodes(_legal(written, cluster, nearest=nearest), cluster, launcher, nearest=nearest)


def _legal(written: Written, cluster: Cluster, *, nearest: bool) -> Written:
    """A job that the framework's rules allow: the one that is written, or else the nearest.

    Raises:
        InexpressibleJobError: the rules refuse it, and `nearest` is not asked or finds none.
    """
    job, dialect = written.job, written.dialect
    said = refusals(job, dialect)
    if not said and written.lacks:  # a job that was asked for has its prediction
        (found_figures,) = figures([Case(job.model, job.plan, cluster)])
        said = [found_figures] if isinstance(found_figures, str) else []
    if not said:
        return written
    found = nearest_legal(job, dialect, cluster) if nearest else None
    if found is None:
        raise RefusedJobError(dialect.name, job, said)
    near = write_job(found, dialect.name)
    changed = [
        Lack(field.name, getattr(job.plan, field.name), getattr(found.plan, field.name), "; ".join(said))
        for field in fields(job.plan)
        if getattr(job.plan, field.name) != getattr(found.plan, field.name)
    ]
    return replace(near, lacks=(*written.lacks, *changed))


def _on_nodes(written: Written, cluster: Cluster, launcher: str, *, nearest: bool) -> Written:
    """A job whose order of axes its launcher can keep: the one that is written, or else the framework's own.

    Raises:
        InexpressibleJobError: the launcher cannot, and `nearest` is not asked.
    """
    job, dialect, own = written.job, written.dialect, _own_order(written)
    nodes = node_order(_slots(job, own), npus_per_host(cluster))
    if launcher == "kubernetes" and nodes != tuple(range(cluster.npus // npus_per_host(cluster))):
        reason = "kubernetes places pods itself, and slurm can place them"
    elif nodes is not None:
        return written
    elif dialect.rendered(written.settings, job.model.name).starter != "torchrun":
        reason = "one process starts each node, whose ranks stay together"
    elif launcher == "torchrun":
        reason = "torchrun starts each node, whose ranks stay together, and slurm starts each GPU"
    else:
        return written
    lack = Lack("order", job.plan.order, own, reason)
    if not nearest:
        raise InexpressibleJobError(dialect.name, [lack])
    near = write_job(replace(job, plan=replace(job.plan, order=own)), dialect.name)
    return replace(near, lacks=(*written.lacks, lack))


def _own_order(written: Written) -> str:
    """Return the order in which a framework numbers the ranks of a job that is written."""
    job, dialect = written.job, written.dialect
    own: str = dialect.meaning(facts_of_job(job, dialect, [])).plan.get("order", orders_of(dialect.name)[0])
    return own


def _slots(job: Job, own: str) -> tuple[int, ...]:
    """Return the slot of each rank that its framework numbers in the order `own`."""
    return slots(job.plan.order, own, degrees_of(job.plan))


def _step_s(job: Job, cluster: Cluster) -> float:
    (found,) = figures([Case(job.model, job.plan, cluster)])
    if not isinstance(found, Figures):
        raise InputError(f"{job.plan.label()} of {job.model.name} cannot run on {cluster.name}: {found}")
    return found.step_s


def _with_cost(
    error: InexpressibleJobError, job: Job, cluster: Cluster, framework: str, launcher: str, asked_s: float
) -> InputError:
    """The error, with the predicted cost of the nearest job."""
    try:
        nearest = _runs(write_job(job, framework, nearest=True), cluster, launcher, nearest=True).job
        step_s = _step_s(nearest, cluster)
    except InexpressibleJobError as why:
        said = InexpressibleJobError(framework, error.lacks) if error.lacks else error
        again = why.lacks == error.lacks
        return InputError(f"{said}; nothing near it runs" + ("" if again else f": {why}"))
    except InputError as why:
        return InputError(f"{error}; nothing near it runs: {why}")
    slower = 100 * (step_s / asked_s - 1)
    cost = "as fast"
    if abs(slower) >= _LEAST_TOLD_PCT:
        cost = f"{slower:.1f} % slower" if slower > 0 else f"{-slower:.1f} % faster"
    return InputError(
        f"{error}; {nearest.plan.label()} is predicted to be {cost} ({step_s:.4g} s for {asked_s:.4g} s): "
        "write nearest=true for it"
    )


def summary(found: Launch) -> Iterator[str]:
    """Yield what a user should know of a launch, in lines."""
    job, dialect = found.written.job, found.written.dialect
    yield (
        f"{dialect.name} {dialect.table.version}: {job.model.name}, {job.plan.label()}, "
        f"{counted(job.npus, 'NPU')}, a step of {found.step_s:.4g} s predicted"
    )
    for lack in found.written.lacks:
        yield f"{lack.field}={lack.nearest} instead of {lack.value}: {lack.reason}"
    if found.written.lacks:
        yield f"as asked, a step would take {found.asked_step_s:.4g} s"

"""A dry run of a sweep: its points, those that are stored, and an estimate of its time."""

from __future__ import annotations

from dse.base.machine import usable_cores
from dse.studies.config import Config
from dse.studies.store import StudyStore
from dse.studies.sweeps.plan import design_points, estimated, survey


def dry_run(config: Config) -> str:
    """Return what a sweep would do, as text; nothing is written.

    Raises:
        InputError: as for a sweep.
    """
    store = StudyStore(config.results_dir / config.study)
    known = store.keys(without=config.recompute) if store.exists() else set()
    space = config.space.survey(config.models, config.systems)
    lines = [f"study {store.folder}", f"  {space.combinations} combinations"]
    lines += [f"  {count} removed by {constraint}" for constraint, count in space.removed]
    found = survey(design_points(config), known)
    lines.append(f"  {found.points} points, {found.stored} of them in the study")
    if config.search.samples is not None:
        lines.append(f"  search={config.search.name} evaluates at most {config.search.samples} of them")
    elif config.search.prune:
        lines.append("  search.prune may leave out more, as results come in")
    samples = config.search.samples
    time = estimated(found, config.executor.threads or usable_cores(), samples)
    said = "unknown, since external programs evaluate them" if time is None else time.describe()
    count = found.missing if samples is None else min(samples, found.missing)
    lines.append(f"  time on this machine for {count} missing ones: {said}")
    return "\n".join(lines)

"""`python -m dse.sweep system=… model=…`: evaluate a design space, keep every point, and name the best."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dse.cli import configs_from_arguments, run
from dse.config import Config, resolved_yaml
from dse.executors import Executor, make_executor
from dse.executors.local import usable_cores
from dse.results import (
    SELECTION_COLUMNS,
    StudyRow,
    StudyStore,
    describe_variants,
    groups,
    render,
    select,
)
from dse.search import Search, make_search
from dse.sweeps import (
    Progress,
    StudyWriter,
    Survey,
    SweepResult,
    design_points,
    estimated_seconds,
    provenance,
    run_sweep,
    survey,
    sweep_name,
)
from dse.units import format_duration_ns

USAGE = """\
usage: python -m dse.sweep [KEY=VALUE ...] [-m] [--dry-run]

Evaluate every strategy of the design space on a system, store one row each in results/<study>/, and name the
best strategy with and without a memory cap. Points that the study has already are not computed again.

  system=system1        a file of conf/system (system1, system2, dgx16, dgx_2k, tpu_512, ...)
  model=llama70b        a file of conf/model (llama70b, gpt175b, tiny, ...)
  space.tp=[1,2,4]      an axis of the space; so for dp, sp, pp, weight_sharded, activation_recompute
  'space.axes={system.network.0.bandwidth_gbps:[100,400],model.seq_len:[2048,8192]}'
                        further axes: any field of model, system or strategy; model:[...] and system:[...]
  memory_cap=80GiB      per NPU; 80GB is 80e9 bytes, 80GiB is 80 x 2^30
  study=NAME            name of the study, default <model>-<system>
  search=random search.samples=20 search.seed=0    a sample instead of the whole space
  search=optuna search.samples=300                 let Optuna propose points (docs/search.md)
  executor=ray executor.address=ADDRESS            a Ray cluster (docs/executors.md)
  workload.divisibility=strict
                        strategies with sizes that do not divide are infeasible instead of cut
  simulator=astrasim simulator.binary=PATH    workload=stage workload.checkout=PATH
                        your own ASTRA-sim, your own STAGE (docs/backends.md)
  experiment=lab        a prepared sweep, a file of conf/experiment
  system.network.0.bandwidth_gbps=200, model.num_layers=16, executor.threads=1, ...
                        any key of the configuration; --cfg prints all of them

options: -h, --help   this text        --cfg       print the configuration and stop
         -m           one sweep for each combination of comma-separated values: model=llama70b,gpt175b
         --dry-run    count the points, also removed and stored ones; estimate the time"""

_SHOWN_GROUPS = 12
ANSWER_COLUMNS = (*SELECTION_COLUMNS, "npus", "fractional", "model_spec", "system_spec", "options")


def memory_cap_bytes(config: Config) -> int | None:
    """Return the cap, or None (with a note on stderr) where no system tracks memory."""
    tracked = any(system.track_local_memory for system in config.systems)
    if tracked or any(key == "system.track_local_memory" for key, _ in config.space.axes):
        return config.memory_cap_bytes
    _note("system.track_local_memory is off, so memory_cap is ignored")
    return None


def dry_run(config: Config) -> None:
    """Print what a sweep would do; nothing is written.

    Raises:
        InputError: as for a sweep.
    """
    store = StudyStore(config.results_dir / config.study)
    known = store.keys(without=config.recompute) if store.exists() else set()
    space = config.space.survey(config.models, config.systems)
    print(f"study {store.folder}")
    print(f"  {space.combinations} combinations")
    for constraint, count in space.removed:
        print(f"  {count} removed by {constraint}")
    found = survey(design_points(config), known)
    print(f"  {found.points} points, {found.stored} of them in the study")
    seconds = estimated_seconds(found, config.executor.threads or usable_cores())
    if config.search.samples is not None:
        print(f"  search={config.search.name} evaluates at most {config.search.samples} of them")
    elif config.search.prune:
        print("  search.prune may leave out more, as results come in")
    print(f"  time on this machine for the {found.missing} missing ones: {_estimate(seconds)}")


def sweep(config: Config, arguments: Sequence[str]) -> None:
    """Run one sweep and print the answer.

    Raises:
        InputError: an empty space, or a study that cannot be read or written.
    """
    cap = memory_cap_bytes(config)
    folder = config.results_dir / config.study
    store = StudyStore(folder)
    known = store.keys(without=config.recompute) if store.exists() else set()
    search = make_search(config, lambda: design_points(config))
    enumerable = config.search.name == "exhaustive"
    found = survey(design_points(config), known) if enumerable else None
    store = StudyStore.create(folder)
    if found is not None and not found.missing and not search.learns:
        with StudyWriter(store):  # merges what killed sweeps left
            result = SweepResult(list(found.keys))
    else:
        result = _run(config, arguments, search, store, known, found)
    if result.warning:
        _note(result.warning)
    if len(result.keys) > result.computed:
        print(
            f"{len(result.keys) - result.computed} of {len(result.keys)} points were in the study already\n"
        )
    print("\n\n".join(store.reading(lambda: _answer(store, result, cap))))
    for note in search.notes():
        print(note)
    print(f"\nstored in {store.folder}")


def _run(
    config: Config,
    arguments: Sequence[str],
    search: Search,
    store: StudyStore,
    known: set[str],
    found: Survey | None,
) -> SweepResult:
    executor = _executor(config, found)
    recorded = False

    def on_row(row: StudyRow) -> None:
        nonlocal recorded
        if not recorded:  # a sweep that computes nothing leaves no trace
            store.record_sweep(sweep_name(), provenance(arguments, resolved_yaml(config)))
            recorded = True
        progress.add(row)

    try:
        with Progress(config.search.samples if found is None else found.missing) as progress:
            return run_sweep(search, executor, store, known=known, on_row=on_row)
    except KeyboardInterrupt:
        _note(f"interrupted; the same command goes on from what is stored in {store.folder}")
        raise


def _executor(config: Config, found: Survey | None) -> Executor:
    def estimate() -> float | None:
        cores = config.executor.threads or usable_cores()
        return None if found is None else estimated_seconds(found, cores)

    executor, choice = make_executor(config.executor, estimate)
    if config.executor.name == "auto" and (found is None or found.missing):
        print(choice, file=sys.stderr)
    return executor


def _answer(store: StudyStore, result: SweepResult, cap: int | None) -> list[str]:
    """Return the answer to each question of a sweep as text, and say on stderr what was cut."""
    import pyarrow as pa
    import pyarrow.compute as pc

    others = store.count() > len(result.keys)
    snapshot = store.snapshot([*ANSWER_COLUMNS, *(["key"] if others else [])])
    table = snapshot.table
    if others:
        table = table.filter(pc.is_in(table["key"], value_set=pa.array(result.keys, pa.string())))
    fractional = pc.sum(table["fractional"]).as_py() or 0
    if fractional:
        print(
            f"warning: {fractional} of {table.num_rows} points have sizes that do not divide; their "
            "fractional shards are cut as STAGE cuts them (column `fractional`; "
            "workload.divisibility=strict excludes them)",
            file=sys.stderr,
        )
    questions = groups(table)
    texts = []
    for group in questions[:_SHOWN_GROUPS]:
        has_peaks = group.table["peak_memory_bytes"].null_count < group.table.num_rows
        limit = cap if has_peaks else None
        selection = select(group.table, memory_cap_bytes=limit, whole=snapshot.rows)
        texts.append(f"{group.title}\n\n{render(selection, describe_variants(group.table))}")
    if len(questions) > _SHOWN_GROUPS:
        texts.append(
            f"... and {len(questions) - _SHOWN_GROUPS} more pairs of model and system: python -m dse.best"
        )
    return texts


def _estimate(seconds: float | None) -> str:
    if seconds == 0:
        return "none"
    if seconds is None:
        return "unknown, since external programs evaluate them"
    return f"about {format_duration_ns(round(seconds * 1e9))}"


def _note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)


def main(argv: Sequence[str]) -> int:
    """Run the sweep or sweeps, print the answers, return the exit code.

    Raises:
        InputError: a wrong key or value, an empty space, or a study folder that cannot be written.
    """
    planning = "--dry-run" in argv
    arguments = [argument for argument in argv if argument != "--dry-run"]
    for number, config in enumerate(configs_from_arguments(arguments, USAGE)):
        if number:
            print()
        if planning:
            dry_run(config)
        else:
            sweep(config, argv)
    return 0


if __name__ == "__main__":
    run(main)

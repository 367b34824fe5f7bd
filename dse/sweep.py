"""`python -m dse.sweep system=… model=…`: evaluate every strategy of a space and name the best."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dse.cli import config_from_arguments, run
from dse.config import Config, resolved_yaml
from dse.executors import DesignPoint, Executor, LocalExecutor, point_of
from dse.results import StudyRow, StudyStore, render, select
from dse.strategies import sample
from dse.units import format_duration_ns

USAGE = """\
usage: python -m dse.sweep [KEY=VALUE ...]

Evaluate every strategy of the design space on a system, store one row each in results/<study>/, and name the
best strategy with and without a memory cap.

  system=system1        a file of conf/system (system1, system2, dgx16, dgx_2k, tpu_512, ...)
  model=llama70b        a file of conf/model (llama70b, gpt175b, tiny, ...)
  space.tp=[1,2,4]      an axis of the space; so for dp, sp, pp, weight_sharded, activation_recompute
  memory_cap=80GiB      per NPU; 80GB is 80e9 bytes, 80GiB is 80 x 2^30
  study=NAME            name of the study, default <model>-<system>
  search=random search.samples=20 search.seed=0
                        a sample instead of the whole space
  workload.divisibility=strict
                        strategies with sizes that do not divide are infeasible instead of cut
  simulator=astrasim simulator.binary=PATH    workload=stage workload.checkout=PATH
                        your own ASTRA-sim, your own STAGE (docs/backends.md)
  system.network.0.bandwidth_gbps=200, model.num_layers=16, executor.threads=1, ...
                        any key of the configuration; --cfg prints all of them

options: -h, --help   this text        --cfg   print the configuration and stop"""


def points_of(config: Config) -> list[DesignPoint]:
    """Return the design points of a sweep, in the order of the space.

    Raises:
        InputError: the space is empty.
    """
    strategies = config.space.points(config.system.npus, config.model)
    if config.search.name == "random":
        assert config.search.samples is not None
        strategies = sample(strategies, config.search.samples, config.search.seed)
    return [point_of(config, strategy) for strategy in strategies]


def executor_of(config: Config) -> Executor:
    """Return the executor that the configuration names."""
    return LocalExecutor(config.executor.threads)


def evaluate_all(points: Sequence[DesignPoint], executor: Executor) -> list[StudyRow]:
    """Return the rows of the points, in their order, with a progress bar on stderr."""
    from tqdm import tqdm

    rows: dict[int, StudyRow] = {}
    best_ns: int | None = None
    with tqdm(total=len(points), unit="point", file=sys.stderr, disable=None) as bar:
        for index, row in executor.run(points):
            rows[index] = row
            if row.wall_time_ns is not None and (best_ns is None or row.wall_time_ns < best_ns):
                best_ns = row.wall_time_ns
                bar.set_postfix_str(f"best {format_duration_ns(best_ns)}", refresh=False)
            bar.update()
    return [rows[index] for index in range(len(points))]


def memory_cap_bytes(config: Config) -> int | None:
    """Return the cap, or None (with a note on stderr) where the system does not track memory."""
    if config.system.track_local_memory:
        return config.memory_cap_bytes
    print("note: system.track_local_memory is off, so memory_cap is ignored", file=sys.stderr)
    return None


def main(argv: Sequence[str]) -> int:
    """Run the sweep, print the answer, return the exit code.

    Raises:
        InputError: a wrong key or value, an empty space, or a study folder that cannot be written.
    """
    config = config_from_arguments(argv, USAGE)
    if config is None:
        return 0
    points = points_of(config)
    cap = memory_cap_bytes(config)
    folder = config.results_dir / config.study
    store = StudyStore.create(folder, config_yaml=resolved_yaml(config))
    rows = evaluate_all(points, executor_of(config))
    store.replace(rows, config_yaml=resolved_yaml(config))

    fractional = sum(row.fractional for row in rows)
    if fractional:
        print(
            f"warning: {fractional} of {len(rows)} points have sizes that do not divide; their fractional "
            "shards are cut as STAGE cuts them (column `fractional`; "
            "workload.divisibility=strict excludes them)",
            file=sys.stderr,
        )
    print(f"{config.model.name} on {config.system.name}, {config.system.npus} NPUs\n")
    print(render(select(rows, memory_cap_bytes=cap)))
    print(f"\nstored in {folder}")
    return 0


if __name__ == "__main__":
    run(main)

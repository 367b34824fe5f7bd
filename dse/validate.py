"""`python -m dse.validate FILE…`: compare the simulator with recorded results of ASTRA-sim, to the cycle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dse.cli import ArgumentParser, run
from dse.executors.local import usable_cores
from dse.simulators import NativeSimulator
from dse.validation import Case, Mismatch, check, check_standalone, load_cases

NETWORK_MODELS = ("congestion_unaware", "congestion_aware")


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="python -m dse.validate",
        description="Compare the simulator with recorded results of ASTRA-sim: every rank, every figure.",
        epilog="Exit code: 0 no mismatch, 1 mismatches, 2 wrong input.",
    )
    parser.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="FILE",
        help=".jsonl of points or collectives; a case folder (traces, ASTRA-sim's configuration files, the "
        "log of its run), a folder of case folders, or a .tar.gz of them",
    )
    parser.add_argument("--network-model", choices=NETWORK_MODELS, help="only the cases of one network model")
    parser.add_argument(
        "--binary-folder",
        type=Path,
        metavar="DIR",
        help="run the stand-alone simulators in it (make build-astrasim: build/bin) on files instead",
    )
    parser.add_argument("--threads", type=int, default=usable_cores(), help="default %(default)s")
    return parser


def main(argv: Sequence[str]) -> int:
    """Print a line a mismatch and a summary; return 1 if there is a mismatch.

    Raises:
        InputError: a file that cannot be read or is of no known form.
    """
    arguments = parser().parse_args(argv)
    total: Counter[str] = Counter()
    for path in arguments.paths:
        with load_cases(path) as cases:
            chosen = [c for c in cases if arguments.network_model in (None, c.network_model)]
            mismatches = compare(chosen, max(1, arguments.threads), arguments.binary_folder)
        for mismatch in mismatches:
            print(mismatch.describe())
        wrong = len({mismatch.case for mismatch in mismatches})
        deadlocks = sum(case.expected.status == "deadlock" for case in chosen)
        equal = len(chosen) - wrong
        print(f"{path}: {len(chosen)} cases ({deadlocks} deadlocks), {equal} equal, {wrong} wrong")
        total.update(cases=len(chosen), wrong=wrong, mismatches=len(mismatches))
    print(
        f"total: {total['cases']} cases compared, {total['mismatches']} mismatches in {total['wrong']} cases"
    )
    return 1 if total["mismatches"] else 0


def compare(cases: Sequence[Case], threads: int, binary_folder: Path | None = None) -> list[Mismatch]:
    """Check cases on threads; mismatches in the order of the cases."""
    simulator = NativeSimulator()

    def differences(case: Case) -> list[Mismatch]:
        if binary_folder is None:
            return check(case, simulator)
        return check_standalone(case, binary_folder, simulator)

    with ThreadPoolExecutor(threads) as pool:
        results = pool.map(differences, cases)
        return [mismatch for mismatches in results for mismatch in mismatches]


if __name__ == "__main__":
    run(main)

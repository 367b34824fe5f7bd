"""`dse validate FILE…`: compare the simulator with recorded results of ASTRA-sim, to the cycle."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dse.base.command_lines import MANY, Arguments, CommandLine
from dse.base.errors import InputError
from dse.base.machine import usable_cores
from dse.base.settings.values import file, whole
from dse.base.signals import putting_away
from dse.base.texts import counted
from dse.commands.cli import print_notes, reading
from dse.simulation.validation import CRASHED, REFERENCES, Case, Verdict, load_cases, verdict
from dse.simulation.workloads import Reference

NETWORK_MODELS = ("congestion_unaware", "congestion_aware")
_MOST_TAKEN = 3
_MOST_NAMED = 3


COMMAND = CommandLine(
    "validate",
    "Compare the simulator with recorded results of ASTRA-sim: every rank, every figure.",
    words={
        "FILE": ".jsonl of points or collectives; a case folder (traces, ASTRA-sim's configuration files, "
        "the log of its run), a folder of case folders, or a .tar.gz of them"
    },
    most=MANY,
    keys={
        "keys": {
            "network_model": "only the cases of one network model",
            "reference": "the version of ASTRA-sim to compare with; default: each, and say which one a case "
            "equals",
            "binary_folder": "run the stand-alone simulators in it (make build-astrasim: build/bin) on files "
            "instead",
            "threads": "default: one per core",
        }
    },
    choices={"network_model": NETWORK_MODELS, "reference": REFERENCES},
    ending="Exit code: 0 no mismatch, 1 mismatches, or a case whose reference crashed, 2 wrong input, or "
    "nothing to compare.",
)


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Print mismatches and a summary; return 1 if there are any, or a case that cannot be compared.

    Raises:
        InputError: no case is of the network model that was asked for.
    """
    values = arguments.values
    threads = whole(values, "threads", usable_cores(), least=1, most=4096)
    network_model, binary_folder = values.get("network_model"), file(values, "binary_folder")
    references = [each for each in REFERENCES if values.get("reference") in (None, each)]
    total, skipped = Counter[str](), list[str]()
    for path in map(Path, arguments.words):
        with load_cases(path) as cases:
            chosen = [c for c in cases if network_model in (None, c.network_model)]
            verdicts = compare(chosen, references, threads, binary_folder)
        if not chosen:
            skipped.append(f"{path}: no case has network_model={network_model}")
            continue
        if len(verdicts) == 1:
            verdicts[0].require_read()
        mismatches = [mismatch for each in verdicts for mismatch in each.mismatches]
        for mismatch in mismatches:
            print(mismatch.describe())
        statuses = Counter(case.expected.status for case in chosen)
        deadlocks, crashed = statuses["deadlock"], statuses[CRASHED]
        wrong = len({mismatch.case for mismatch in mismatches}) - crashed
        equal = len(chosen) - wrong - crashed
        print_notes(_taken(chosen))
        print(
            f"{path}: {counted(len(chosen), 'case')} ({counted(deadlocks, 'deadlock')}), {equal} equal, "
            f"{wrong} wrong" + (f", {crashed} not comparable" if crashed else "")
        )
        for line in _one_sided(verdicts, references):
            print(line)
        total.update(
            cases=len(chosen) - crashed, wrong=wrong, mismatches=len(mismatches) - crashed, crashed=crashed
        )
    if not total["cases"] and not total["crashed"]:
        raise InputError(f"nothing was compared: no case has network_model={network_model}")
    print_notes(skipped)
    found = counted(total["mismatches"], "mismatch", "mismatches")
    print(
        f"total: {counted(total['cases'], 'case')} compared with {' and '.join(references)}, "
        + (f"{found} in {counted(total['wrong'], 'case')}" if total["wrong"] else "no mismatch")
        + (f"; {total['crashed']} not comparable" if total["crashed"] else "")
    )
    return 1 if total["mismatches"] or total["crashed"] else 0


def _taken(cases: Sequence[Case]) -> list[str]:
    """The files that were taken for the log and the groups by their content, of the first cases."""
    found = [case for case in cases if case.taken]
    more = [f"and in {counted(len(found) - _MOST_TAKEN, 'more case')}"] if len(found) > _MOST_TAKEN else []
    return [f"{case.name}: took {case.taken}" for case in found[:_MOST_TAKEN]] + more


def _one_sided(verdicts: Sequence[Verdict], references: Sequence[Reference]) -> list[str]:
    """Lines for the cases that equal one reference and differ from another."""
    lines = []
    for reference in references:
        names = [each.case.name for each in verdicts if each.equals == [reference] != references]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        if names:
            lines.append(
                f"  {counted(len(names), 'case')} equal {reference} only: "
                f"{', '.join(names[:_MOST_NAMED])}{more}"
            )
    return lines


def compare(
    cases: Sequence[Case], references: Sequence[Reference], threads: int, binary_folder: Path | None = None
) -> list[Verdict]:
    """Compare cases with references on threads; verdicts in the order of the cases."""

    def compared(case: Case) -> Verdict:
        return verdict(case, references, binary_folder)

    pool = ThreadPoolExecutor(threads)
    with putting_away() if binary_folder else contextlib.nullcontext():
        try:
            return list(pool.map(compared, cases))
        finally:
            pool.shutdown(cancel_futures=True)

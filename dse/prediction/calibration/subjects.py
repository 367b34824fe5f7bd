"""Whose constants are fitted to which rows: one accelerator of the user's, or all types that are shipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dse.base.errors import InputError, did_you_mean, excerpt
from dse.base.files import conf_file
from dse.inputs.accelerators import Accelerator
from dse.inputs.accelerators.accelerator import accelerator
from dse.prediction.calibration.calibration import Calibration, calibrate, enough_rows, left_out_mape_pct
from dse.prediction.calibration.constant_files import file_keys
from dse.prediction.calibration.constants import (
    CONSTANTS,
    FRAMEWORK_CONSTANTS,
    Owner,
    Sample,
    Values,
    samples,
    share_of,
)
from dse.prediction.measured.rows import MeasuredRow
from dse.prediction.steps.frameworks import framework_named

_MORE_WITHOUT_KERNELS = 3  # times the rows, where nothing else tells a constant


@dataclass(frozen=True)
class Subject:
    """An accelerator type and the file that describes it."""

    accelerator: Accelerator
    path: Path
    is_own: bool = False

    @classmethod
    def named(cls, name: str) -> Subject:
        """Return the type of conf/accelerator of this name or alias, or that of a file.

        Raises:
            InputError: as `dse.inputs.accelerators.accelerator.accelerator`.
        """
        found = accelerator(name)
        own = Path(name).expanduser()
        is_own = "/" in name or name.endswith((".yaml", ".yml"))
        return cls(found, own if is_own else shipped_path(Owner(found.name)), is_own)

    @property
    def names(self) -> set[str]:
        """The names that the column `gpu` may have for it, in small letters."""
        aliases = file_keys(self.path).get("aliases", ())
        return {
            self.accelerator.name.lower(),
            self.path.stem.lower(),
            *(str(alias).lower() for alias in aliases),
        }

    def rows(self, rows: Sequence[MeasuredRow]) -> list[MeasuredRow]:
        """Return its rows; those of a file of the user's name that file as their GPU.

        Raises:
            InputError: no row is of this type.
        """
        names = self.names
        own = [row for row in rows if row.gpu.lower() in names]
        if not own:
            there = excerpt(", ".join(sorted({row.gpu for row in rows})), 200)
            raise InputError(
                f"no row is of accelerator={self.accelerator.name}; their gpu is {there}: "
                "choose one of them, or name it in aliases of the accelerator's file"
            )
        return [replace(row, gpu=str(self.path.resolve())) for row in own] if self.is_own else own


def calibrate_one(
    subject: Subject, rows: Sequence[MeasuredRow], names: Sequence[str] = CONSTANTS, framework: str = ""
) -> tuple[list[Calibration], dict[str, str]]:
    """Fit constants of one accelerator, and the launches of a framework, to those rows that are its own.

    Returns the fits, and why rows cannot be expressed by their id. Constants are searched from their present
    values, and rows that say nothing of one leave it there.

    Raises:
        InputError: an unknown constant or framework, no row of this type, or too few that can be expressed.
    """
    known = (*CONSTANTS, "memory")
    for name in names:
        if name not in known:
            raise InputError(
                f"constants has '{excerpt(name)}'; allowed are {', '.join(known)}{did_you_mean(name, known)}"
            )
        if names.count(name) > 1:
            raise InputError(f"constants has '{name}' twice; each is allowed once")
    owner = Owner(subject.accelerator.name)
    efficiency = subject.accelerator.efficiency
    present: dict[Owner, dict[str, float]] = {owner: {name: share_of(efficiency, name) for name in names}}
    if framework:
        other = Owner(framework, is_framework=True)
        present[other] = present_constants(other)
    steps, reasons = samples(subject.rows(rows))
    least = enough_rows(sum(map(len, present.values())))
    for each in present:
        count = sum(each in step.owners for step in steps)
        needed = least if each is owner else enough_rows(len(present[each]))
        if count < needed:
            why = f"; {len(reasons)} cannot ({excerpt(next(iter(reasons.values())), 100)})" if reasons else ""
            fewer = ", or fit fewer, as constants=matrix,memory does" if len(names) > 1 else ""
            constants = needed - enough_rows(0)
            what = f"{constants} constant{'s' if constants > 1 else ''}"
            raise InputError(
                f"{count} rows of {each.name} can be expressed, and a fit of {what} needs at least {needed}: "
                f"give more runs{fewer}{why}"
            )
    return calibrate(steps, present, present), reasons


def shipped_problem(rows: Sequence[MeasuredRow]) -> tuple[list[Sample], Values, Values, dict[str, str]]:
    """Return samples, present constants and starts of all shipped types, and what is not fitted and why.

    A row whose micro-batches the prediction itself would choose tells nothing of its constants.
    A type with too few rows stays as it is, and so does one with rows of one source only unless its kernels
    are known: fit some of its constants by itself.
    """
    known = [row for row in rows if row.mbs]
    steps, reasons = samples(known)
    reasons |= {row.id: "its micro-batches are not published" for row in rows if not row.mbs}
    counts: dict[Owner, int] = {}
    sources: dict[Owner, set[str]] = {}
    for step in steps:
        for owner in step.owners:
            counts[owner] = counts.get(owner, 0) + 1
            sources.setdefault(owner, set()).add(step.row.publisher)
    present: dict[Owner, dict[str, float]] = {}
    all_sources = {step.row.publisher for step in steps}
    for owner in sorted(counts, key=lambda owner: (owner.is_framework, owner.name)):
        least = enough_rows(len(owner.constants))
        if not owner.is_framework and accelerator(owner.name).kernels is None:
            least *= _MORE_WITHOUT_KERNELS
        if counts[owner] < least:
            reasons[owner.name] = f"has {counts[owner]} rows, and a fit needs {least}"
        elif _is_of_one_source(owner, sources[owner]) and len(all_sources) > 1:
            (only,) = sources[owner]
            reasons[owner.name] = f"has rows of {only} only, which do not tell the hardware from the source"
        else:
            present[owner] = present_constants(owner)
    measured = {owner for owner in present if not owner.is_framework}
    steps = [step for step in steps if step.owners[0] in measured or _is_fitted(step.owners[0])]
    starts = {owner: {name: owner.typical(name) for name in named} for owner, named in present.items()}
    return steps, present, starts, reasons


def _is_fitted(owner: Owner) -> bool:
    """Whether an accelerator has constants from steps: a framework must not make up for another type's."""
    return accelerator(owner.name).calibration.startswith("fitted")


def _is_of_one_source(owner: Owner, sources: set[str]) -> bool:
    """Whether nothing tells an accelerator from the one source of its rows: neither another, nor kernels."""
    return not owner.is_framework and len(sources) == 1 and accelerator(owner.name).kernels is None


def left_out_errors(rows: Sequence[MeasuredRow], folds: str = "source") -> dict[str, float]:
    """Return for each source the mean error in % with shipped constants fitted again without a row's fold."""
    steps, _, starts, _ = shipped_problem(rows)
    return left_out_mape_pct(steps, starts, folds=folds) if starts else {}


def present_constants(owner: Owner) -> dict[str, float]:
    """Return the constants of an owner as they are shipped."""
    if not owner.is_framework:
        efficiency = accelerator(owner.name).efficiency
        return {name: share_of(efficiency, name) for name in CONSTANTS}
    framework = framework_named(owner.name)
    return {name: getattr(framework, name) for name in FRAMEWORK_CONSTANTS}


def shipped_path(owner: Owner) -> Path:
    """Return the file of conf/ that describes an owner."""
    return conf_file("framework" if owner.is_framework else "accelerator", owner.name)

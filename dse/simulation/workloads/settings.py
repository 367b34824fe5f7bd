"""Settings of what generates workloads: keys, checks, choices. Loads no generator until one is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from dse.base.errors import InputError
from dse.base.settings import (
    Choices,
    check_choice,
    checked_path,
    checked_seconds,
    checked_text,
    key,
    mapping,
    refuse_foreign,
)
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Divisibility

if TYPE_CHECKING:
    from dse.simulation.workloads.generators import WorkloadGenerator

WORKLOADS = Choices(
    "workload",
    "dse.workloads",
    {"native": "dse.simulation.workloads.generators:make", "stage": "dse.simulation.workloads.stage:make"},
)


@dataclass
class WorkloadSchema:
    """conf/workload/*.yaml: what generates workloads, see `dse.workloads`."""

    name: str = key(
        "`native`: our own generator; `stage`: a checkout of yours, see [backends.md](backends.md#stage)"
    )
    divisibility: str | None = key(
        "sizes that do not divide: `stage`, `whole` or `strict`, see "
        "[workload.md](workload.md#sizes-that-do-not-divide); null: `stage`, `whole` under `realistic`",
        None,
    )
    checkout: str | None = key("`workload=stage`: folder of the checkout", None)
    entry: str | None = key(
        "`workload=stage`: file of the checkout that generates traces. The name is our assumption", None
    )
    python: str | None = key(
        "`workload=stage`: the interpreter that has what the checkout imports; null: that of the command",
        None,
    )
    timeout_s: float | None = key(
        "`workload=stage`: seconds for the traces of one point, above 0; then it has the status `timeout`",
        None,
    )
    options: dict[str, Any] = key(
        "`workload=stage`: further options of the checkout, as its `--help` lists them, such as `kvhead: 8`; "
        "or keys of a choice of [another package](extending/workload.md)",
        factory=mapping(Any),
    )


@dataclass(frozen=True)
class WorkloadSettings:
    """The generator of the workload of a point; `divisibility` None is what the fidelity of the model says.

    stage runs the file `entry` of the folder `checkout` with the interpreter `python` (None means ours),
    which may take `timeout_s` per point; these are None for other choices. `options` are those of the
    checkout, or of a choice of another package.
    """

    name: str
    divisibility: Divisibility | None
    checkout: Path | None = None
    entry: str | None = None
    python: str | None = None
    timeout_s: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def workload_settings(values: WorkloadSchema) -> WorkloadSettings:
    """Return checked settings.

    Raises:
        InputError: a value breaks a rule; names the key, what was got and what is allowed.
    """
    WORKLOADS.check(values.name)
    if values.name != "stage":
        WORKLOADS.refuse_options(values)
    if values.divisibility is not None:
        check_choice("workload.divisibility", values.divisibility, get_args(Divisibility))
    divisibility = cast("Divisibility | None", values.divisibility)
    if values.name == "stage":
        return WorkloadSettings(
            "stage",
            divisibility,
            checkout=checked_path("workload.checkout", values.checkout),
            entry=checked_text("workload.entry", values.entry, "name a file of the checkout"),
            python=values.python or None,
            timeout_s=checked_seconds("workload.timeout_s", values.timeout_s),
            options=values.options,
        )
    refuse_foreign("workload", values, "stage", ("checkout", "entry", "python", "timeout_s"))
    return WorkloadSettings(values.name, divisibility, options=values.options)


def check_model(settings: WorkloadSettings, model: ModelSpec) -> None:
    """Refuse a model that the generator cannot model.

    Raises:
        InputError: says what can.
    """
    if settings.name == "stage" and not model.is_reference:
        raise InputError(
            "workload.name is 'stage', which models what model.fidelity=stage models; write workload=native "
            "for any repair"
        )


def make_generator(settings: WorkloadSettings) -> WorkloadGenerator:
    """Return the generator that the configuration names.

    Raises:
        InputError: it needs a checkout and there is none.
    """
    return cast("WorkloadGenerator", WORKLOADS.load(settings.name)(settings))

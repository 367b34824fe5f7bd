"""Settings of where points are evaluated: keys, checks, choices. Loads no executor until one is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dse.base.errors import InputError
from dse.base.settings import Choices, checked_seconds, checked_text, key, options, refuse_foreign

EXECUTORS = Choices(
    "executor",
    "dse.executors",
    {
        "auto": "dse.studies.executors.auto:make",
        "local": "dse.studies.executors.local:make",
        "ray": "dse.studies.executors.ray_cluster:make",
    },
)
_MAX_THREADS = 4096


@dataclass
class ExecutorSchema:
    """conf/executor/*.yaml: where points are evaluated."""

    name: str = key(
        "chosen with `executor=auto`, `executor=local` or `executor=ray`, see [executors.md](executors.md)"
    )
    threads: int | None = key("threads of `local`; null: one for each core that the process may use", None)
    address: str | None = key(
        "`HOST:PORT` of the head of a Ray cluster, or `auto` for that on this machine; null: workers "
        "here, for this sweep only",
        None,
    )
    workers: int | None = key(
        "processes of `ray` on this machine, without `address`; null: one for each CPU",
        None,
    )
    point_timeout_s: float | None = key(
        "seconds for a point; then it has the status `timeout`. Programs of your own have their limits "
        "in addition",
        None,
    )
    options: dict[str, Any] = options("executor")


@dataclass(frozen=True)
class ExecutorSettings:
    """Where points are evaluated.

    local uses `threads` of this process (None means one for each core); ray uses the cluster at `address`, or
    starts one on this machine with `workers` processes (None means one for each core); auto chooses between
    them (docs/executors.md). A point may take `point_timeout_s`. Those of other packages have `options` too.
    """

    name: str
    threads: int | None = None
    address: str | None = None
    workers: int | None = None
    point_timeout_s: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def executor_settings(values: ExecutorSchema) -> ExecutorSettings:
    """Return checked settings.

    Raises:
        InputError: a value breaks a rule; names the key, what was got and what is allowed.
    """
    EXECUTORS.check(values.name)
    EXECUTORS.refuse_options(values)
    for count_key in ("threads", "workers"):
        count = getattr(values, count_key)
        if count is not None and not 1 <= count <= _MAX_THREADS:
            raise InputError(f"executor.{count_key} is {count}; it must be from 1 to {_MAX_THREADS}, or null")
    if values.name == "local":
        refuse_foreign("executor", values, "ray", ("address", "workers"))
    if values.name == "ray":
        refuse_foreign("executor", values, "local", ("threads",))
    if values.address is not None and values.workers is not None:
        raise InputError(
            f"executor.workers is {values.workers}, but executor.address names a cluster, which has its own"
        )
    address, limit_s = values.address, values.point_timeout_s
    return ExecutorSettings(
        values.name,
        values.threads,
        None if address is None else checked_text("executor.address", address, "be an address"),
        values.workers,
        None if limit_s is None else checked_seconds("executor.point_timeout_s", limit_s),
        values.options,
    )

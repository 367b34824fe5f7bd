"""Cases of the form "a model, a strategy, a system", one JSON object a line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dse.base.errors import InputError
from dse.inputs.models import MODEL_DIMENSIONS, ModelSpec
from dse.inputs.strategies import AXIS, TRACED, Strategy
from dse.inputs.systems import CollectiveAlgorithms, Dimension, SystemSpec
from dse.inputs.systems.validation import NETWORK_MODELS
from dse.simulation.validation.compare import Case, Expected
from dse.simulation.workloads import DEFAULT_REFERENCE, Reference, Workload, generate

_SYSTEM_KEYS = (
    "peak_tflops",
    "memory_bandwidth_gbps",
    "scheduling_policy",
    "active_chunks_per_dimension",
    "preferred_dataset_splits",
    "collective_optimization",
)


def point_case(record: Mapping[str, Any], place: str) -> Case:
    """Return the case of a record; `place` (file and line) is for messages.

    Raises:
        InputError: a key is missing.
    """
    try:
        network, network_model = record["system"]["network"], record["network_model"]
        model = ModelSpec(name=record["id"], **{key: record["model"][key] for key in MODEL_DIMENSIONS})
        strategy = _strategy({key: record["strategy"][key] for key in TRACED})
        system = system_of(record["id"], {**record["system"], "network_model": network_model})

        def load(reference: Reference = DEFAULT_REFERENCE, /) -> tuple[Workload, SystemSpec]:
            del reference  # all read these traces alike
            return generate(model, strategy), system

        return Case(
            name=record["id"],
            network_model=network_model,
            load=load,
            expected=_expected(record["expected"], math.prod(d["npus"] for d in network)),
        )
    except KeyError as error:
        raise InputError(f"{place}: key {error} is missing") from None


def _strategy(values: Mapping[str, Any]) -> Strategy:
    for key, value in values.items():
        switch = AXIS[key].kind == "flag"
        if isinstance(value, bool) is not switch or not isinstance(value, int) or not 0 <= value < 2**31:
            expected = "true or false" if switch else "an integer from 1"
            raise InputError(f"strategy.{key} is {value!r}; it must be {expected}")
    return Strategy(**values)


def system_of(name: str, settings: Mapping[str, Any]) -> SystemSpec:
    """Return the system that a record describes; optional settings that it lacks keep our defaults.

    Raises:
        InputError: an unknown network model, or a value that breaks a rule of a system.
    """
    if settings["network_model"] not in NETWORK_MODELS:
        raise InputError(
            f"network_model is {settings['network_model']!r}; allowed are {', '.join(NETWORK_MODELS)}"
        )
    fields = {key: settings[key] for key in _SYSTEM_KEYS if key in settings}
    required = {key: settings[key] for key in ("peak_tflops", "memory_bandwidth_gbps")}
    return SystemSpec(
        name=name,
        network=tuple(
            Dimension(
                d["topology"],
                d["npus"],
                float(d["bandwidth_gbps"]),
                float(d["latency_ns"]),
                tuple(d.get("shape", ())),
            )
            for d in settings["network"]
        ),
        network_model=settings["network_model"],
        collectives=CollectiveAlgorithms(
            **{key: tuple(names) for key, names in settings["collectives"].items()}
        ),
        endpoint_delay_ns=settings["endpoint_delay"],
        **fields | required,
    )


def _expected(record: Mapping[str, Any], npus: int) -> Expected:
    counts = record.get("trace_counts", {})
    return Expected(
        status=record["status"],
        ranks=per_rank(record["ranks"], npus) if "ranks" in record else None,
        trace_counts={int(rank): dict(values) for rank, values in counts.items()},
        communicator_groups=record.get("communicator_groups"),
    )


def per_rank(metrics: Mapping[str, Any], npus: int) -> dict[int, dict[str, Any]]:
    """Spread figures over ranks: a number is for all, a list has one per rank, null: never finished."""
    ranks: dict[int, dict[str, Any]] = {}
    for rank in range(npus):
        for key, value in metrics.items():
            figure = value[rank] if isinstance(value, list) else value
            if figure is not None:
                ranks.setdefault(rank, {})[key] = figure
    return ranks

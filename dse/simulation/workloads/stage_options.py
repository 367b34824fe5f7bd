"""The options of a checkout of STAGE: those that its --help lists, and their values for a point."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, did_you_mean
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import InfeasibleStrategy, Strategy

OUTPUT_NAME = "trace"
_OPTION = re.compile(r"(?<![\w-])--([A-Za-z]\w*)")
_OF_MODEL = {
    "dmodel": "d_model",
    "dff": "d_ff",
    "batch": "batch_size",
    "seq": "seq_len",
    "head": "num_heads",
    "num_stacks": "num_layers",
}
_WHERE_KNOWN = ("comm_group_file", "chakra_schema_version", "kvhead")


def listed_options(text: str) -> frozenset[str]:
    """Return the names of the options that a text of --help lists."""
    return frozenset(_OPTION.findall(text)) - {"help"}


def groups_file(known: frozenset[str], named: str) -> str:
    """Return the name of the groups file: `named` where an option says it, else that of the traces."""
    return named if "comm_group_file" in known else f"{OUTPUT_NAME}.json"


def point_options(
    known: frozenset[str],
    model: ModelSpec,
    strategy: Strategy,
    output: Path,
    groups: str,
    further: Mapping[str, Any],
) -> list[str]:
    """Return the words for a point whose files go to `output`; `further` are options of the user's choice.

    STAGE of 2025 has an input and an output embedding, and groups of a name; that of 2026 has one vocabulary,
    heads of keys and values, and ranks of expert parallelism that multiply those of dp.

    Raises:
        InputError: the checkout lacks an option, or further ones contradict the strategy.
        InfeasibleStrategy: expert parallelism does not divide dp.
    """
    values: dict[str, Any] = {
        "output_dir": output,
        "output_name": OUTPUT_NAME,
        "comm_group_file": groups,
        **{axis: getattr(strategy, axis) for axis in ("dp", "tp", "sp", "pp")},
        "weight_sharded": strategy.weight_sharded,
        "activation_recompute": strategy.activation_recompute,
        **_vocabulary(known, model),
        **{option: getattr(model, key) for option, key in _OF_MODEL.items()},
        "kvhead": model.key_value_heads,
        "chakra_schema_version": "v0.0.4",
    }
    _check_further(known, further, set(values) - {"kvhead"})
    values["dp"] = _dp(strategy.dp, further)
    found = {name: value for name, value in values.items() if name in known or name not in _WHERE_KNOWN}
    found.update(further)
    return [word for name, value in found.items() for word in (f"--{name}", _text(value))]


def check_known(known: frozenset[str], where: str) -> None:
    """Refuse a program that lacks what a point needs.

    Raises:
        InputError: names the options.
    """
    needed = {"output_dir", "output_name", "dp", "tp", "sp", "pp", "weight_sharded", "activation_recompute"}
    missing = sorted((needed | set(_OF_MODEL)) - known)
    if "dvocal" not in known:
        missing += sorted({"din", "dout"} - known)
    if missing:
        names = ", ".join(f"--{name}" for name in missing)
        raise InputError(
            f"{where}, whose --help does not list {names}; dse knows STAGE of March 2025 and of 2026"
        )


def _vocabulary(known: frozenset[str], model: ModelSpec) -> dict[str, int]:
    if "dvocal" not in known:
        return {"din": model.input_dim, "dout": model.output_dim}
    if model.input_dim != model.output_dim:
        raise InputError(
            f"model.input_dim is {model.input_dim} and model.output_dim {model.output_dim}; this checkout of "
            "STAGE has one vocabulary, --dvocal: make them equal"
        )
    return {"dvocal": model.output_dim}


def _check_further(known: frozenset[str], further: Mapping[str, Any], written: set[str]) -> None:
    for name in further:
        key = f"workload.options.{name}"
        if name in written:
            raise InputError(f"{key} is set, but dse writes --{name} from the model and the strategy")
        if name not in known:
            free = sorted(known - written)
            raise InputError(
                f"{key}: --help of the checkout does not list --{name}; it lists "
                f"{', '.join(free) or 'no others'}{did_you_mean(name, free)}"
            )


def _dp(dp: int, further: Mapping[str, Any]) -> int:
    """Return STAGE's dp, whose ranks are multiplied by those of ep; ours holds them."""
    ep = further.get("ep", 1)
    if isinstance(ep, bool) or not isinstance(ep, int) or ep < 1:
        raise InputError(f"workload.options.ep is {ep!r}; it must be an integer of at least 1")
    if dp % ep:
        raise InfeasibleStrategy(
            f"workload.options.ep {ep} does not divide dp {dp}, whose ranks hold experts"
        )
    return dp // ep


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

"""`dse size systems=dgx_h100,dgx_b200 npus=64-4096 model=llama3_70b tokens=15T`: which machine, how large."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.base.command_lines import Arguments, CommandLine, Option
from dse.base.errors import InputError, excerpt
from dse.base.settings.values import listed, number, whole
from dse.base.texts import printable
from dse.base.units import parse_duration_s
from dse.commands.cli import JSON, found_code, print_json, print_notes, reading
from dse.prediction.runs.asked import (
    ELASTIC,
    LENGTH,
    MACHINE,
    ONE_LENGTH,
    POWER,
    asked_elastic,
    asked_facility,
    asked_prices,
    asked_reliability,
    asked_steps,
    asked_stops,
    asked_store,
    require_length,
)

if TYPE_CHECKING:
    from dse.answers.sizes import Limits, Size
    from dse.inputs.models import ModelSpec
    from dse.inputs.systems import SystemSpec

_SIZES = re.compile(r"\d+-\d+|\[?\d+(,\s*\d+)*\]?", re.ASCII)
COMMAND = CommandLine(
    "size",
    "Over systems and their numbers of NPUs, find the fastest, the cheapest and the most frugal machine for "
    "a training run, each with the best strategy of all that a sweep tries, under failures.",
    keys={
        "keys": {
            "systems": "clusters of conf/system, such as dgx_h100,dgx_b200, or files like those",
            "npus": "sizes, such as 64,128,256, or 64-4096: the first, doubled, and the last",
            **LENGTH,
            "deadline": "the run may take so long, such as 60 d, at the high end of its range",
            "budget": "it may cost so much",
            "power_mw": "the facility may take so many MW on average",
            "most_npus": "no more NPUs than these",
            "prices": "price of an hour of one NPU, or of each system: dgx_h100=2.5,dgx_b200=5",
            "spares": "nodes that stand by, in per cent of the machine's, rounded up (default 2)",
            **MACHINE,
            **ELASTIC,
            **POWER,
        },
        "model": {"model": "a name of conf/model with fields, such as model.batch_size=1024"},
    },
    groups=("model",),
    options={"--all": Option("print every size, not only those that no other beats"), **JSON},
    exclusive=(ONE_LENGTH,),
    ending="On one machine a shorter step means a shorter run: enumeration proves the fastest strategy.",
)


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Print the sizes; return 0, or 1 where none keeps all limits."""
    sizes = _sizes(arguments)
    from dse.answers.size_texts import sizes_data, sizes_text
    from dse.answers.sizes import winners

    if "--json" in arguments.options:
        print_json([sizes_data(sizes)])
    else:
        text = sizes_text(sizes, every="--all" in arguments.options)
        print("\n".join(map(printable, text.splitlines())))
    print_notes(_between(arguments.values["npus"], sizes))
    return found_code(bool(winners(sizes)))


def _sizes(arguments: Arguments) -> list[Size]:
    values = arguments.values
    from dse.answers.sizes import SizeQuestion, sizes_of

    require_length(arguments.values)
    if "systems" not in values or "npus" not in values:
        missing = "systems" if "systems" not in values else "npus"
        raise InputError(f"{missing} is missing; write systems=dgx_h100,dgx_b200 npus=64-4096")
    names, npus = listed("systems", values["systems"]), _npus(values["npus"])
    prices = asked_prices(values, "prices")
    if "" in prices:
        prices = dict.fromkeys(names, prices[""])
    if unknown := sorted(prices.keys() - set(names)):
        raise InputError(f"prices has {unknown[0]}, which is none of systems: {', '.join(names)}")
    given = {"prices": prices, "limits": _limits(arguments), "stops": asked_stops(arguments.values)}
    given |= {
        "spares_share": number(values, "spares", 2.0, most=100.0) / 100,
        "facility": asked_facility(arguments.values),
    }
    given |= {"reliability": asked_reliability(arguments.values), "store": asked_store(arguments.values)}
    given["elastic"], given["reconfigure_s"] = asked_elastic(values, has_spares=True)
    model, systems = _composed(names, arguments.overrides)
    question = SizeQuestion(model, asked_steps(arguments.values, model), **given)  # type: ignore[arg-type]
    return sizes_of(question, systems, npus)


def _limits(arguments: Arguments) -> Limits:
    from dse.answers.sizes import Limits

    values = arguments.values
    deadline = parse_duration_s(values["deadline"], "deadline", least_s=1.0) if "deadline" in values else None
    if "budget" in values and "prices" not in values:
        raise InputError("budget has no effect without prices: write prices=dgx_h100=2.5")
    return Limits(
        deadline,
        number(values, "budget", None),
        number(values, "power_mw", None, above=0.0),
        whole(values, "most_npus", None, least=1),
    )


def _npus(text: str) -> list[int]:
    """The sizes that `64,128` lists; of `64-4096` the first, doubled up to the last, and the last."""
    first, dash, last = text.partition("-")
    if not _SIZES.fullmatch(text):
        raise InputError(f"npus is '{excerpt(text)}'; write sizes such as 64,128, or a range such as 64-4096")
    if not dash:
        return [whole({"npus": one}, "npus", 0, least=1) for one in listed("npus", text)]
    low, high = (whole({"npus": one}, "npus", 0, least=1, most=2**24) for one in (first, last))
    found = [low << power for power in range(25) if low << power <= high]
    if not found:
        raise InputError(f"npus is {text}; the first number must not be above the last")
    return found if found[-1] == high else [*found, high]


def _between(text: str, sizes: Sequence[Size]) -> list[str]:
    """Name for each system the sizes of a range that were tried, where whole nodes make others, too."""
    first, dash, last = text.partition("-")
    found = []
    for system, node in dict.fromkeys((size.system, size.npus_per_node) for size in sizes if dash):
        tried = [size.npus for size in sizes if size.system == system]
        others = range(-(-int(first) // node) * node, int(last) + 1, node)
        if skipped := next((npus for npus in others if npus not in tried), None):
            found.append(
                f"of {text} NPUs {system} was tried with {', '.join(map(str, tried))} only; a list tries "
                f"more, such as npus={tried[0]},{skipped}"
            )
    return found


def _composed(names: Sequence[str], overrides: Sequence[str]) -> tuple[ModelSpec, list[SystemSpec]]:
    """The model, and each system in the size of its file."""
    from dse.studies.config import compose_config

    configs = [compose_config([f"system={name}", *overrides], command="point") for name in names]
    for name, config in zip(names, configs, strict=True):
        if config.system.cluster is None:
            raise InputError(f"systems has {name}, which is no cluster of accelerators, such as dgx_h100")
    return configs[0].model, [config.system for config in configs]

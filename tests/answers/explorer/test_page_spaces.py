"""The page's spaces under Node, against the package: strategies in their order, and constraints."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from page_programs import TRACED, fields_of, needs_node

from dse.answers.explorer.data import constraint_data
from dse.base.errors import InputError
from dse.base.expressions import Expression
from dse.studies.config import compose_config
from dse.studies.points.inputs import model_json, system_json
from dse.studies.space import DesignSpace
from dse.studies.space.names import path_of

pytestmark = needs_node


@pytest.mark.parametrize("space", ["lab", "full"])
@pytest.mark.parametrize("network", [(64,), (4, 4), (3, 4), (8, 16), (2,)])
def test_strategies_are_those_of_the_space_in_its_order(
    in_page: Any, space: str, network: tuple[int, ...]
) -> None:
    config = compose_config([f"space={space}", "system=system1"])
    design_space = config.space
    dimensions = tuple([dataclasses.replace(config.system.network[0], npus=npus) for npus in network])
    rings = {name: ("ring",) * len(network) for name in vars(config.system.collectives)}
    collectives = dataclasses.replace(config.system.collectives, **rings)
    system = dataclasses.replace(config.system, network=dimensions, collectives=collectives)
    try:
        expected = [fields_of(each) for each in design_space.strategies(config.model, system)]
    except InputError:  # degrees of the lab cannot fill 12 NPUs
        expected = []
    assert (
        in_page(
            "return explorer.scenario.strategiesOf(input.space, input.scenario);",
            {
                "space": space_json(design_space),
                "scenario": {
                    "model": json.loads(model_json(config.model)),
                    "system": json.loads(system_json(system)),
                },
            },
        )
        == expected
    )


def test_constraints_over_model_and_system_select_the_same_strategies(
    in_page: Any, data: dict[str, Any]
) -> None:
    config = compose_config(["system=system1", "model=llama70b"])
    space = DesignSpace(
        "some",
        {
            "dp": None,
            "tp": None,
            "sp": None,
            "pp": (1, 2, 4),
            "weight_sharded": (False, True),
            "activation_recompute": (True, False),
        },
        (
            "num_heads % tp == 0 and tp <= system.network.0.npus * 2",
            "not weight_sharded or dp > 1",
            "1 <= dp <= 16",
            "sp in (1, 2, 4)",
            "model.seq_len // sp >= 512 or activation_recompute",
        ),
    )
    expected = [fields_of(each) for each in space.strategies(config.model, config.system)]
    value = {"space": space_json(space), "scenario": data["scenario"]}
    found = in_page("return explorer.scenario.strategiesOf(input.space, input.scenario);", value)
    assert found == expected
    assert 10 < len(found) < 300


def space_json(space: DesignSpace) -> dict[str, Any]:
    choices = {name: values and list(values) for name, values in space.choices.items() if name in TRACED}
    return {"choices": choices, "constraints": list(map(constraint_data, space.constraints))}


TEXTS = (
    "tp == 1",
    "dp * tp * sp * pp == npus",
    "not (tp > 2) and dp < 99",
    "1 < dp <= tp * 4",
    "-7 // 2 == -4",
    "-7 % 3 == 2",
    "7 % -3 == -2",
    "2 ** 3 ** 2 == 512",
    "-2 ** 2 == -4",
    "min(dp, tp, 3) == 2",
    "max(1, 2) > 1",
    "abs(-tp) == tp",
    "log2(8) == 3",
    "tp in (1, 2, 4)",
    "tp not in (1, 2)",
    "dp between 2 and 8",
    "dp not between 2 and 8",
    "weight_sharded",
    "not weight_sharded",
    "weight_sharded == true",
    "weight_sharded + 1 == 2",
    "weight_sharded == (dp > 1)",
    "80GB == 80000000000",
    "1GiB > 1e9",
    "tp = 2 AND dp <> 3",
    "tp or dp",
    "7 / 2 == 3.5",
    "5.5 // 2 == 2",
    "1e3 == 1000.",
    ".5 < 1",
    "(tp == 2) == (dp == 8)",
    "num_layers % pp == 0",
    "min(true, 2)",
    "- - tp == tp",
    "+tp == 2",
    "2 ** -1 == 0.5",
    "sp + 1 < dp - 1 < 100",
    "tp + dp",
    "1 / 0 == 1",
    "log2(0) == 1",
    "tp is null",
    "5 % 0 == 1",
)


def test_constraints_hold_where_they_do_in_the_package_and_are_refused_where_they_are_there(
    in_page: Any,
) -> None:
    values = {"dp": 8, "tp": 2, "sp": 4, "pp": 1, "npus": 64, "weight_sharded": True, "num_layers": 80}

    def expected(text: str) -> bool | None:
        try:
            return Expression(text, values).holds(values)
        except InputError:
            return None

    found = in_page(
        "return input.constraints.map((one) => { try {"
        "return explorer.constraints.condition(one)((name) => input.values[name]);"
        "} catch (error) { return error.kind === 'input' ? null : String(error); } });",
        {
            "constraints": list(map(constraint_data, TEXTS)),
            "values": {path_of(name): value for name, value in values.items()},
        },
    )
    assert dict(zip(TEXTS, found, strict=True)) == {text: expected(text) for text in TEXTS}

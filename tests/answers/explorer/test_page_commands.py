"""The commands that a page prints, composed by the package."""

from __future__ import annotations

import json
import shlex
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from page_programs import CHANGES, data_of, fields_of, needs_node

from dse.studies.config import compose_config
from dse.studies.points import scenario_of

pytestmark = needs_node


def test_the_printed_commands_lead_to_the_scenario_of_the_page(in_page: Any, data: dict[str, Any]) -> None:
    state = {
        "preset": {"model": None, "system": None},
        "changes": CHANGES,
        "cap_bytes": 64 * 2**30,
        "selected": None,
    }
    made = in_page(
        """const { data, state } = input;
        const { scenario, fields } = explorer.scenario.base(data, state.preset);
        const strategy = { dp: 8, tp: 1, sp: 8, pp: 1, weight_sharded: false, activation_recompute: true };
        return {
          scenario: explorer.scenario.withChanges(scenario, fields, state.changes),
          sweep: explorer.commands.sweep(data, state), point: explorer.commands.point(data, state, strategy),
        };""",
        {"data": data, "state": state},
    )
    sweep, point = shlex.split(made["sweep"]), shlex.split(made["point"])
    assert sweep[:4] == ["python", "-m", "dse", "sweep"]
    assert sweep[-1] == "memory_cap=64GiB"
    config = compose_config(sweep[4:])
    assert config.memory_cap_bytes == 64 * 2**30
    scenario = scenario_of(config)
    assert json.loads(scenario.model_spec) == made["scenario"]["model"]
    assert json.loads(scenario.system_spec) == made["scenario"]["system"]
    assert scenario.resolved_divisibility == made["scenario"]["divisibility"] == "whole"
    of_point = compose_config(point[4:])
    assert scenario_of(of_point).digest == scenario.digest
    assert fields_of(of_point.strategy) == {
        "dp": 8,
        "tp": 1,
        "sp": 8,
        "pp": 1,
        "weight_sharded": False,
        "activation_recompute": True,
    }


def test_another_preset_takes_the_place_of_what_the_page_began_with(in_page: Any) -> None:
    data = data_of(
        "system=system1",
        "model=llama70b",
        "system.network.0.bandwidth_gbps=200",
        "model.num_layers=8",
        "space=full",
    )
    body = "return explorer.commands.sweep(input.data, { ...input, cap_bytes: input.cap });"
    ask = {"data": data, "preset": {"model": None, "system": None}, "changes": {}, "cap": 80 * 10**9}
    start = "python -m dse sweep system=system1 model=llama70b"
    assert in_page(body, ask) == f"{start} system.network.0.bandwidth_gbps=200 model.num_layers=8 space=full"
    changed = {
        **ask,
        "changes": {"system.network.0.bandwidth_gbps": 1e21, "model.num_layers": 4},
        "cap": None,
    }
    assert (
        in_page(body, changed)
        == f"{start} space=full system.network.0.bandwidth_gbps=1e+21 model.num_layers=4"
    )
    other = in_page(body, {**ask, "preset": {"model": "gpt175b", "system": "dgx16"}})
    assert shlex.split(other)[4:] == ["system=dgx16", "model=gpt175b", "space=full", "memory_cap=80GB"]
    scenario = scenario_of(compose_config(shlex.split(other)[4:]))
    presets = {
        name: {each["name"]: each["spec"] for each in data["presets"][name]} for name in ("models", "systems")
    }
    assert json.loads(scenario.model_spec) == presets["models"]["gpt175b"]
    assert json.loads(scenario.system_spec) == presets["systems"]["dgx16"]


def test_texts_are_quoted_for_hydra_and_for_the_shell(in_page: Any, data: dict[str, Any]) -> None:
    texts = ["plain", "a b", "it's", "back\\slash\\", "null", "", "x=y,z", "$HOME", '"q"']
    words = in_page(
        """return input.texts.map((text) => explorer.commands.sweep(input.data, {
          preset: { model: null, system: null }, changes: { study: text }, cap_bytes: 80e9 }));""",
        {"data": data, "texts": texts},
    )
    parser = OverridesParser.create()
    assert [parser.parse_override(shlex.split(line)[-1]).value() for line in words] == texts

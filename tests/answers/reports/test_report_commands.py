"""The command line of a point leads to the same key as the point: the same model, system and strategy."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path

import pytest

from dse.answers.reports.commands import Commands, hydra
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.studies.config import compose_config
from dse.studies.points import DesignPoint, evaluate, failed_row, point_of, scenario_of

STRATEGY = Strategy(dp=4, tp=2, sp=2, weight_sharded=True)
RING = "{topology:Ring,npus:4,bandwidth_gbps:50,latency_ns:0.5}"
TINY = ["model=tiny", "system=torus_4x4"]


def key_of(command: str) -> str:
    python, option, module, verb, *overrides = shlex.split(command)
    assert (python, option, module, verb) == ("python", "-m", "dse", "point")
    config = compose_config(overrides)
    return point_of(config, config.strategy).key


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["model.num_layers=2", "system.peak_tflops=123.5"],
        [f"system.network=[{RING},{RING}]", "system.name='two rings'"],
        ["system.network.0.bandwidth_gbps=25", "system.collectives.all_reduce=[direct,direct]"],
        ["model.fidelity=realistic", "model.repairs.loss=false", "model.num_kv_heads=4"],
        ["workload.divisibility=strict", "model.name='it\\'s <b> \"new\"'"],
        ["system.remote_memory.latency_ns=7", "system.deratings=[{npu:3,compute_factor:0.5}]"],
        ["system.network_model=congestion_aware", "system.faults=[{source:0,destination:1,removed:true}]"],
        ["model.name=null-model", "system.name='null'"],
    ],
)
def test_the_command_of_a_row_has_its_key(overrides: list[str]) -> None:
    point = point_of(compose_config([*TINY, "study=test", *overrides]), STRATEGY)
    command = Commands().command(failed_row(point, "failed", "not asked for"))
    assert key_of(command) == point.key


def test_the_command_names_files_of_conf_and_only_what_differs() -> None:
    row = evaluate(point_of(compose_config([*TINY, "model.num_layers=2"]), STRATEGY))
    assert Commands().command(row) == (
        "python -m dse point system=torus_4x4 model=tiny model.num_layers=2 "
        "strategy.dp=4 strategy.tp=2 strategy.sp=2 strategy.pp=1 "
        "strategy.weight_sharded=true strategy.activation_recompute=false"
    )


def test_a_graph_from_a_file_is_named_without_its_digest(tmp_path: Path) -> None:
    file = tmp_path / "graph.csv"
    file.write_text("Src,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,10,50\n1,0,10,50\n")
    network = f"system.network=[{{topology:Graph,npus:2,bandwidth_gbps:50,latency_ns:10,file:'{file}'}}]"
    lists = [f"system.collectives.{kind}=[ring]" for kind in ("all_reduce", "all_gather", "reduce_scatter")]
    overrides = ["model=tiny", network, *lists, "system.collectives.all_to_all=[ring]"]
    point = point_of(compose_config(overrides), Strategy(dp=2))
    assert key_of(Commands().command(failed_row(point, "failed", ""))) == point.key


def test_a_model_that_conf_does_not_have() -> None:
    config = compose_config(TINY)
    model = ModelSpec("mine", 512, 512, 256, 1024, 8, 128, 16, 3)
    point = DesignPoint(scenario_of(config, model=model), STRATEGY)
    assert key_of(Commands().command(failed_row(point, "failed", ""))) == point.key


def test_rows_of_the_same_inputs_share_what_was_found() -> None:
    row = evaluate(point_of(compose_config(TINY), STRATEGY))
    commands = Commands()
    assert commands.origin(row) is commands.origin(dataclasses.replace(row, dp=1))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (2.0, "2"),
        (0.5, "0.5"),
        ("Ring", "Ring"),
        ("true", "'true'"),
        ("it's", "'it\\'s'"),
        ("a\\", "'a\\\\'"),
        ([1, "a b"], "[1,'a b']"),
        ({"file": None, "npus": 4, "shape": []}, "{npus:4}"),
    ],
)
def test_values_in_the_grammar_of_hydra(value: object, text: str) -> None:
    assert hydra(value) == text

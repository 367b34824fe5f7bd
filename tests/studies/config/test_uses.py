"""Keys without effect are refused on the command line, with what to write instead; files may set any."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_lines import TINY, error_of, run_ok

from docs.hooks.reference import reference
from dse.base.errors import InputError
from dse.studies.config import compose_config, compose_configs
from dse.studies.config.schema import ConfigSchema, entries, use_of

POINT = "no effect on dse point, "
SWEEP = "no effect on dse sweep, "


@pytest.mark.parametrize(
    ("command", "override", "instead"),
    [
        ("sweep", "strategy.dp=4", f"{SWEEP}which takes every strategy of the space; write space.dp=[4]"),
        ("sweep", "strategy.weight_sharded=true", "write space.weight_sharded=[true]"),
        ("sweep", "strategy={dp:4}", "write space.dp=[…]"),
        ("sweep", "export=traces", "write python -m dse point strategy.dp=… export=traces"),
        ("sweep", "format=json", "write python -m dse best results/STUDY --json"),
        ("explore", "strategy.dp=4", "which takes every strategy of the space; write space.dp=[4]"),
        ("explore", "study=mine", "which stores nothing"),
        ("explore", "search=random", "which searches nothing"),
        ("point", "space.tp=[1,2]", f"{POINT}which evaluates one strategy; write strategy.tp=…"),
        ("point", "space=full", "write strategy.dp=…, strategy.tp=…, or python -m dse.sweep"),
        ("point", "space.axes={model:[tiny]}", "write the fields, such as system.peak_tflops=900"),
        ("point", "search=random", "leave it out, or write python -m dse.sweep"),
        ("point", "search.seed=0", "leave it out, or write python -m dse.sweep"),
        ("point", "executor=ray", "which needs no workers"),
        ("point", "study=mine", "which stores nothing"),
        ("point", "results_dir=x", "which stores nothing"),
        ("point", "memory_cap=1GB", "which prints the peak memory of its point"),
        ("point", "recompute=[failed]", "which always evaluates anew"),
    ],
)
def test_a_key_without_effect_is_refused_with_what_to_write(
    command: str, override: str, instead: str
) -> None:
    with pytest.raises(InputError) as caught:
        compose_config([override], command=command)
    assert str(caught.value).startswith(f"{override} has no effect on dse {command}, ")
    assert instead in str(caught.value)
    compose_config([override])  # no command, no effect to miss


def test_listed_values_are_refused_before_the_first_of_them() -> None:
    with pytest.raises(InputError, match=r"strategy\.dp=1,2 has no effect .* write space\.dp=\[1,2\]"):
        compose_configs(["strategy.dp=1,2"], command="sweep")


def test_both_commands_refuse(tmp_path: Path) -> None:
    assert "write space.dp=[4]" in error_of("sweep", *TINY, "strategy.dp=4", cwd=tmp_path)
    assert "write space.dp=[4]" in error_of("sweep", *TINY, "strategy.dp=4", "--dry-run", cwd=tmp_path)
    assert "leave it out" in error_of("point", *TINY, "strategy.dp=16", "memory_cap=1GB", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_experiment_may_set_keys_of_both_commands(tmp_path: Path) -> None:
    experiment = tmp_path / "both.yaml"
    experiment.write_text(
        "# @package _global_\ndefaults: [{override /system: torus_4x4}, {override /model: tiny}]\n"
        "study: both\nstrategy: {dp: 16}\nspace: {sp: [1]}\nformat: json\n"
    )
    assert "stored in results/both" in run_ok("sweep", f"experiment={experiment}", cwd=tmp_path).out
    assert '"dp": 16' in run_ok("point", f"experiment={experiment}", cwd=tmp_path).out


def test_every_key_names_a_command_or_serves_all_and_the_reference_says_so() -> None:
    uses = {entry.name: use_of(entry.name)[0] for entry in entries(ConfigSchema)}
    assert set(uses.values()) == {(), ("sweep",), ("sweep", "explore"), ("point",)}
    assert all(use_of(name)[1] for name, only in uses.items() if only)
    groups = {name.partition(".")[0] for name, only in uses.items() if not only}
    assert groups == {"workload", "system", "model", "simulator"}
    page = reference()
    both = "`dse sweep` and `dse explore` only"
    assert f"\n`memory_cap`|text|null|{both}: largest peak memory" in page
    assert "## Strategy\n\nFor `dse point` only.\n" in page


def test_a_seed_without_a_draw_is_refused() -> None:
    with pytest.raises(InputError, match=r"search\.seed is 3, but search is exhaustive; write search=random"):
        compose_config(["search.seed=3"])

"""Plain choices and values are composed without Hydra, and yield what Hydra yields."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from omegaconf._utils import get_omega_conf_dumper

from dse.base.errors import InputError
from dse.base.files import conf_folder
from dse.base.settings.grammar import parsed, plain_word
from dse.studies.config import compose
from dse.studies.config.compose import compose_config
from dse.studies.config.settings import as_yaml

GROUPS = ("system", "model", "space", "search", "executor", "simulator", "workload")
CHOICES = {group: sorted(path.stem for path in (conf_folder() / group).glob("*.yaml")) for group in GROUPS}
VALUES = (
    *("model.num_layers=8", "model.batch_size=64", "model.fidelity=realistic", "model.micro_batches=2"),
    *("system.endpoint_delay_ns=5", "system.injection_scale=1", "system.injection_scale=0.5"),
    *("system.track_local_memory=false", "system.collectives.all_gather=[ring,direct]", "study=mine"),
    *("space.tp=[1,2]", "space.weight_sharded=[true]", "search.prune=true", "memory_cap=null"),
    *("results_dir=/tmp/a-b/c.d", "executor.threads=2", "recompute=[failed,timeout]", "strategy.dp=16"),
)


def without_and_with_hydra(overrides: list[str]) -> tuple[Any, Any]:
    plainly = compose._plainly(overrides)
    return plainly, compose._by_hydra(overrides, None, {})


@pytest.mark.parametrize("group", GROUPS)
def test_every_choice_is_composed_as_by_hydra(group: str) -> None:
    draw = random.Random(group)
    for choice in draw.sample(CHOICES[group], min(6, len(CHOICES[group]))):
        plainly, by_hydra = without_and_with_hydra([f"{group}={choice}"])
        assert repr(plainly) == repr(by_hydra), choice  # 1 and 1.0 differ


@pytest.mark.parametrize("seed", range(6))
def test_values_are_set_as_by_hydra(seed: int) -> None:
    draw = random.Random(seed)
    words = [f"{group}={draw.choice(CHOICES[group])}" for group in ("system", "model")]
    plainly, by_hydra = without_and_with_hydra([*words, *draw.sample(VALUES, 7)])
    assert plainly is not None
    assert repr(plainly) == repr(by_hydra)


@pytest.mark.parametrize(
    "override",
    [
        *(
            "experiment=lab",
            "+system.own=1",
            "~study",
            "model.d_ff=${model.d_model}",
            "system.network.0.npus=4",
        ),
        *("reliability=llama3_meta", "model.d_ff=abc", "model.unknown=1", "space.axes={model:[tiny]}"),
        *("system=nothing", "model.experts=1", "study=1e3", "system=../model/tiny", "model=null"),
    ],
)
def test_what_is_not_plain_is_for_hydra(override: str) -> None:
    assert compose._plainly([override]) is None


@given(
    st.from_regex(r"[a-z]{1,3}(\.[a-z_]{1,4}){0,2}", fullmatch=True),
    st.text("aeftrulnNi019_./-[], 'xE+\"", min_size=1, max_size=8),
)
def test_plain_words_are_read_as_by_the_grammar(key: str, value: str) -> None:
    word = plain_word(f"{key}={value}")
    if word is None:
        return
    by_grammar = parsed(word.input_line)
    assert (word.key_or_group, repr(word.value())) == (by_grammar.key_or_group, repr(by_grammar.value()))
    assert not by_grammar.is_sweep_override()


@given(st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()), st.lists))
def test_yaml_is_that_of_omegaconf(value: Any) -> None:
    expected = yaml.dump({"key": value}, allow_unicode=True, sort_keys=False, Dumper=get_omega_conf_dumper())
    assert as_yaml({"key": value}) == expected


@pytest.mark.parametrize("text", ["1e3", "nan", "1_000", "yes", "0x1F", "12:30", "-", "a: b", "2026-11-28"])
def test_texts_like_numbers_are_quoted_as_by_omegaconf(text: str) -> None:
    expected = yaml.dump({"key": text}, Dumper=get_omega_conf_dumper())
    assert as_yaml({"key": text}) == expected


def test_errors_are_those_of_hydra() -> None:
    with pytest.raises(InputError, match=r"model\.d_ff is 'abc'; it must be an integer"):
        compose_config(["model.d_ff=abc"])
    with pytest.raises(InputError, match=r"unknown key model\.unknown"):
        compose_config(["model.unknown=1"])


def test_an_accelerator_that_is_no_text_is_refused_in_words() -> None:
    with pytest.raises(InputError, match=r"system[.]accelerator is '2'; allowed are a100_40, "):
        compose_config(["system=dgx_h100", "system.accelerator=2"])


def test_a_plain_sweep_loads_no_hydra(tmp_path: Path) -> None:
    code = (
        "import sys; from dse.studies.config import compose_config;"
        "compose_config(['system=dgx_h100', 'model=llama70b', 'space.tp=[1,2]', 'study=s'], command='sweep');"
        "print([name for name in ('hydra', 'omegaconf', 'antlr4') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "[]\n"

"""Overrides that cannot be parsed or composed: plain words, no name of an exception, what to write."""

from __future__ import annotations

import re

import pytest

from dse.base.errors import InputError
from dse.studies.config import compose_config, compose_configs

LEAKS = re.compile(r"[A-Z]\w+(Error|Exception)\b|Lexer|EOF|BRACKET|ANTLR|antlr|hydra\.cc|viable|Traceback")
CANNOT = "override '{}' cannot be parsed: "
PROBLEMS = [
    ("study=my study ü", "the character 'ü' must stand in quotes; write 'study=\"my study ü\"'"),
    ("system.name=böse", "the character 'ö' must stand in quotes; write 'system.name=\"böse\"'"),
    ("space.constraints=[dp<3]", "the character '<' must stand in quotes; write key=value; lists are [1,2]"),
    ("model.name='x", "a quote is not closed; "),
    ("model", "it has no '='; write key=value"),
    ("", "it has no '='; write key=value"),
    ("a b=c", "'a b' is no key; write key=value, where a key is a name such as model.d_ff"),
    ("system.network[0].npus=3", "'system.network[0].npus' is no key; "),
    ("model..d_ff=3", "'model..d_ff' is no key; "),
    (".model=3", "'.model' is no key; "),
    ("'model'=3", "''model'' is no key; "),
    ("space.tp=[1,,2]", "write key=value; lists are [1,2], groups {key:value}, and other texts"),
    ("space.tp=[1,2", "'[' is not closed; "),
    ("space.tp=1]", "']' closes nothing; "),
    ("space.axes={model.d_ff:", "'{' is not closed; "),
    ("model.d_ff=int(x)", "int(x) has no value; functions are those of Hydra, such as range(1,9)"),
    ("model.d_ff=foo(3)", "foo(3) has no value; "),
    ("model.d_ff=float(null)", "float(null) has no value; "),
    ("model.d_ff=a=b", "write key=value; "),
    ("model.d_ff=1,", "write key=value; "),
    ("model.d_ff=${", "'{' is not closed; "),
]
REFUSED = [
    ("=x", "override '=x' names no key; write key=value"),
    ("system@foo=dgx16", "override 'system@foo=dgx16' names no key; "),
    ("+system=dgx16", "override '+system=dgx16': system needs no +; write system=dgx16"),
    ("~executor", "override '~executor': executor cannot be removed; write executor=VALUE"),
    ("~model.d_ff", "override '~model.d_ff': model.d_ff cannot be removed; write model.d_ff=VALUE"),
    ("hydra.run.dir=x", "unknown key hydra.run.dir; "),
    ("hydra/launcher=joblib", "unknown key hydra/launcher; "),
    ("hydra.searchpath=[x]", "unknown key hydra.searchpath; for a folder of your own write --config-dir DIR"),
    ("model=null", "model is null; it must be the name of a file of conf/model"),
    ("model={a:1}", "unknown key model.a; keys of model are"),
    (
        "system.network.a.npus=3",
        "system.network.a does not exist: the entries of system.network are numbered",
    ),
    ("model.seq_len=glob(*)", "override 'model.seq_len=glob(*)' lists several values: add -m"),
    ("model.seq_len=range(1,99999999999)", "override 'model.seq_len=range(1,99999999999)' lists several"),
    (
        "space.tp=range(1,4)",
        "override 'space.tp=range(1,4)' lists several values: add -m for one sweep each; one study over all "
        "of them is space.tp=[1,2,3]",
    ),
    (
        "space.axes={model.seq_len:range(1,4)}",
        "override 'space.axes={model.seq_len:range(1,4)}' has range(…), choice(…) or the like inside",
    ),
    (
        "space.tp=[1,choice(2,4)]",
        "override 'space.tp=[1,choice(2,4)]' has range(…), choice(…) or the like inside",
    ),
    ("executor.threads=999999999999", "executor.threads is 999999999999; it must be from 1 to 4096, or null"),
]


@pytest.mark.parametrize(("override", "problem"), PROBLEMS)
def test_what_cannot_be_parsed_is_said_in_plain_words(override: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        compose_config(["model=tiny", override])
    message = str(caught.value)
    assert message.startswith(CANNOT.format(override) + problem)
    assert not LEAKS.search(message.removeprefix(CANNOT.format(override)))


def test_a_key_that_is_no_axis_gets_no_axis_as_advice() -> None:
    with pytest.raises(InputError, match=r"lists several values: add -m for one sweep each$"):
        compose_config(["memory_cap=1GB,2GB"])


@pytest.mark.parametrize(("override", "message"), REFUSED)
def test_what_cannot_be_composed_names_the_key(override: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        compose_config([override])
    assert str(caught.value).startswith(message)
    assert not LEAKS.search(str(caught.value))
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("value", ["range(1,5,0)", "range(1,99999999999)", "range(5,1)"])
def test_a_range_without_end_or_values_is_refused(value: str) -> None:
    with pytest.raises(InputError, match=r"must list 1 to 1000 values, as A,B,C"):
        compose_configs([f"model.seq_len={value}"])


@pytest.mark.parametrize(
    ("names", "study"),
    [
        (("böse", "torus"), "b_se-torus"),
        (("../x", "a b"), "x-a_b"),
        (("数", "模"), "study"),
        (("m" * 300, "s"), "m" * 200),
    ],
)
def test_the_default_name_of_a_study_is_always_that_of_a_folder(names: tuple[str, str], study: str) -> None:
    model, system = names
    assert compose_config([f'model.name="{model}"', f'system.name="{system}"']).study == study

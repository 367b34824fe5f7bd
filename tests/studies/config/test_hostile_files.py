"""Files of others as choices of groups: nothing of the environment gets into an answer, and none hangs."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.base.files import conf_folder
from dse.studies.config import compose_config

TORUS = (conf_folder() / "system" / "torus_4x4.yaml").read_text()
SECRET = "${oc.env:DSE_SECRET}"
LEVELS = "".join(
    f"{after}: &{after} [{', '.join([f'*{name}'] * 9)}]\n" for name, after in ("ab", "bc", "cd", "de")
)
BOMB = f"name: x\na: &a [{', '.join(['x'] * 9)}]\n{LEVELS}"
HOW = "files and their names are taken as they are, and cannot have ${…}: write the value itself"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a secret in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSE_SECRET", "s3")
    return tmp_path


def refusal(*overrides: str, folder: Path | None = None) -> str:
    with pytest.raises(InputError) as refused:
        compose_config(overrides, command="sweep", folder=folder)
    message = str(refused.value)
    assert "s3" not in message
    assert "\n" not in message
    assert len(message) < 500
    return message


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (TORUS.replace("name: torus_4x4", f"name: '{SECRET}'"), f"name is '{SECRET}'"),
        (TORUS.replace("name: torus_4x4", f"name: a-{SECRET}"), f"name is 'a-{SECRET}'"),
        (TORUS.replace("topology: Ring", f"topology: '{SECRET}'", 1), f"network.0.topology is '{SECRET}'"),
        (f"defaults: ['{SECRET}']\n", f"defaults.0 is '{SECRET}'"),
        (
            f"defaults: [torus_4x4, {{'override /model': '{SECRET}'}}]\n",
            f"defaults.1.override /model is '{SECRET}'",
        ),
        (TORUS.replace("450", "${.memory_bandwidth_gbps}"), "peak_tflops is '${.memory_bandwidth_gbps}'"),
        (TORUS.replace("name: torus_4x4", "name: '\\${x}'"), "name is '\\${x}'"),
        (TORUS.replace("450", f"&a '{SECRET}'"), f"peak_tflops is '{SECRET}'"),
        (TORUS + f"'{SECRET}': 1\n", f"{SECRET} is '{SECRET}'"),
    ],
)
def test_a_file_that_refers_to_something_is_refused_with_its_key(folder: Path, text: str, key: str) -> None:
    (folder / "mine.yaml").write_text(text)
    assert refusal("system=mine.yaml", "model=tiny") == f"system=mine.yaml: {key}; {HOW}"


def test_a_file_name_is_no_reference(folder: Path) -> None:
    nameless = TORUS.replace("name: torus_4x4\n", "")
    (folder / f"{SECRET}.yaml").write_text(nameless)
    (folder / "b").mkdir()
    (folder / "b" / f"{SECRET}.yaml").write_text(nameless)
    config = (
        '{"model_type": "gpt2", "n_embd": 8, "n_head": 2, "n_layer": 2, "n_positions": 8, "vocab_size": 8}'
    )
    (folder / f"{SECRET}.json").write_text(config)
    for word in (f"model.file={SECRET}.json", f"system={SECRET}.yaml", f"model={SECRET}.json"):
        assert refusal(word).startswith(f"override '{word}': ${{…}} may hold a key only")
    for name in ("${x}.json", "${model.d_ff}.json"):  # the grammar of overrides lets these pass
        (folder / name).write_text(config)
        stem = name.removesuffix(".json")
        assert refusal(f"model.file={name}") == f"model.file={name}: name is '{stem}'; {HOW}"
    (folder / "config.yaml").write_text(f"axes: {{model: ['{SECRET}.json']}}\n")
    assert f"axes.model.0 is '{SECRET}.json'" in refusal("space=config.yaml")


def test_files_of_a_folder_are_checked_where_hydra_reads_them(folder: Path) -> None:
    own = folder / "own"
    for group, name, text in (
        ("system", "secret", TORUS.replace("name: torus_4x4", f"name: '{SECRET}'")),
        ("system", "base", "defaults: [secret]\n"),
        ("system", "bomb", BOMB),
        ("executor", "auto", f"name: '{SECRET}'\n"),  # a default choice, which no override names
    ):
        (own / group).mkdir(parents=True, exist_ok=True)
        (own / group / f"{name}.yaml").write_text(text)
    where = f"{own}/system/secret.yaml: name is '{SECRET}'; {HOW}"
    assert refusal("system=secret", "executor=local", folder=own) == f"system={where}"
    assert refusal("system=base", "executor=local", folder=own) == where
    assert "holds more than 50000 values" in refusal("system=bomb", "executor=local", folder=own)
    assert refusal("system=dgx16", folder=own) == f"{own}/executor/auto.yaml: name is '{SECRET}'; {HOW}"


def test_a_file_beyond_conf_that_a_default_names_is_checked(folder: Path) -> None:
    other = folder / "other.yaml"
    other.write_text(TORUS.replace("name: torus_4x4", f"name: '{SECRET}'"))
    up = "../" * (len((conf_folder() / "system").resolve().parts) - 1)
    (folder / "mine.yaml").write_text(f"defaults: ['{up}{other.with_suffix('').relative_to('/')}']\n")
    assert refusal("system=mine.yaml") == f"{other}: name is '{SECRET}'; {HOW}"


@pytest.mark.parametrize("group", ["system", "model", "space"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            BOMB,
            "line 6: holds more than 50000 values, the most allowed; an alias such as *name counts as all",
        ),
        ("[" * 100_000, "line 1: is nested deeper than 100 levels, the most allowed"),
        (f"a: {'9' * 5000}\n", "line 1: the number 99999999999999999999… has 5000 characters; at most 250"),
        ("a: !!timestamp x\n", "malformed YAML"),
        ("a: &a [*a]\n", "line 1: *a contains itself"),
    ],
)
def test_a_file_that_would_cost_the_process_is_refused(
    folder: Path, group: str, text: str, message: str
) -> None:
    (folder / "mine.yaml").write_text(text)
    assert refusal(f"{group}=mine.yaml").startswith(f"{group}=mine.yaml: {message}")


def test_a_value_cannot_become_a_reference(folder: Path) -> None:
    own = folder / SECRET
    (own / "accelerator").mkdir(parents=True)
    (own / "accelerator" / "mine.yaml").write_text("")
    message = refusal("system=dgx_h100", "system.accelerator=mine", "model=tiny", folder=own)
    assert "mine.yaml" in message


def test_an_override_that_python_cannot_hold_is_refused() -> None:
    assert "too many digits" in refusal(f"model.d_ff={'9' * 5000}", "model=tiny")
    message = refusal(f"model.d_ff={'[' * 5000 + ']' * 5000}", "model=tiny")
    assert message.endswith("is nested deeper than 50")

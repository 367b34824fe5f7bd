"""`model.file=config.json`: a configuration of the Hugging Face Hub as a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_lines import run_dse

from dse.base.errors import InputError
from dse.studies.config import compose_config, compose_configs

GPT2 = {"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128, "vocab_size": 512}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    path = tmp_path / "mine" / "config.json"
    path.write_text(json.dumps(GPT2), encoding="utf-8")
    return path


@pytest.mark.parametrize("key", ["model", "model.file"])
def test_a_file_is_the_model_and_overrides_apply_on_top(key: str, file: Path) -> None:
    config = compose_config([f"{key}={file}", "model.seq_len=64", "model.batch_size=8"])
    model = config.model
    assert (model.name, model.num_layers, model.d_ff) == ("mine", 2, 256)
    assert (model.seq_len, model.batch_size, model.learned_positions) == (64, 8, 128)
    assert (config.study, config.notes) == ("mine-system1", ())


def test_notes_say_what_the_file_does_not(file: Path) -> None:
    notes = compose_config([f"model.file={file}", "model.batch_size=8"]).notes
    assert notes == (
        f"model.file={file}: sequences have 128 tokens, the longest that the model takes; training may have "
        "used fewer: model.seq_len=…",
    )


def test_files_are_values_of_an_axis_and_of_several_sweeps(file: Path) -> None:
    config = compose_config([f"space.axes={{model:[{file},tiny]}}"])
    assert [model.name for model in config.models] == ["mine", "tiny"]
    assert config.study == "mine+tiny-system1"
    configs = compose_configs([f"model.file={file}", "model.seq_len=32,64"])
    assert [config.model.seq_len for config in configs] == [32, 64]


def test_a_file_beside_another_choice_is_refused(file: Path) -> None:
    with pytest.raises(
        InputError, match=r"^model\.file and model choose a model each; leave one of them out$"
    ):
        compose_config([f"model.file={file}", "model=tiny"])
    with pytest.raises(InputError, match=r"^model=… chooses one model, but space\.axes\.model lists"):
        compose_config([f"model.file={file}", "space.axes={model:[tiny]}"])


def test_a_size_that_cannot_be_names_the_file(file: Path) -> None:
    file.write_text(json.dumps({**GPT2, "n_layer": 1}), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        compose_config([f"model.file={file}"])
    assert str(caught.value).startswith(f"{file}: model.num_layers is 1; it must be at least 2")


def test_the_command_says_the_notes_beside_its_answer(file: Path) -> None:
    arguments = ["model.file=config.json", "system=torus_4x4", "strategy.dp=16", "format=json"]
    done = run_dse("point", *arguments, cwd=file.parent)
    assert done.code == 0
    assert json.loads(done.out)["model"] == "mine"
    assert done.err == (
        "note: model.file=config.json: sequences have 128 tokens, the longest that the model takes; training "
        "may have used fewer: model.seq_len=…\n"
        "note: model.file=config.json: the batch has 512 sequences, which no such file says: "
        "model.batch_size=…\n"
    )

"""Models by the names that frameworks give them, and from files of users."""

from __future__ import annotations

import functools
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, unknown
from dse.base.files import conf_file, conf_names
from dse.base.settings.group_files import file_of_group, merged
from dse.inputs.models import ModelSpec
from dse.inputs.models.huggingface import read_model
from dse.inputs.models.settings import ModelSchema, model_spec

# Spellings of frameworks that another name of conf/model stands for, in letters and digits.
_OTHER_NAMES = {
    "llama318b": "llama3_8b",
    "llama3170b": "llama3_70b",
    "llama31405b": "llama3_405b",
    "llama8b": "llama3_8b",
    "llama70b": "llama3_70b",
    "llama3370b": "llama3_70b",
    "llama417b16e": "llama4_scout",
    "llama417b128e": "llama4_maverick",
    "deepseek3671b": "deepseek_v3",
    "deepseek32671b": "deepseek_v3_2",
    "deepseek2236b": "deepseek_v2",
    "deepseekv3671b": "deepseek_v3",
    "deepseekv2236b": "deepseek_v2",
    "qwen3235b": "qwen3_235b_a22b",
    "qwen330b": "qwen3_30b_a3b",
    "gpt3": "gpt3_175b",
    "kimik21t": "kimi_k2",
}
_TASKS = re.compile(r"[_-](pretrain|sft|lora|peft|finetune)([_-]|$).*")
_REALISTIC = {"fidelity": "realistic"}


def model_of_framework(name: str) -> str:
    """Return the name in conf/model of a model as a framework names it; empty where there is none.

    >>> model_of_framework("llama31_405b_pretrain_128gpu_b200_bf16_config"), model_of_framework("qwen3-14b")
    ('llama3_405b', '')
    """
    word = _letters(_TASKS.sub("", name))
    if name in _models().values():  # llama70b of this repository is not the Llama 3 of that name elsewhere
        return name
    return _OTHER_NAMES.get(word, "") or _models().get(word, "")


def model_values(name: str) -> dict[str, Any]:
    """Return the keys of a model: a name of conf/model, a YAML file like those, or a config.json.

    Raises:
        InputError: there is no such model.
    """
    path = Path(name)
    if path.suffix == ".json":
        return dict(read_model(path, name).values)
    if path.suffix in (".yaml", ".yml"):
        return file_of_group("model", ModelSchema, path)
    found = model_of_framework(name)
    if not found:
        known = sorted(_models().values())
        raise InputError(
            unknown(
                f"model is '{name}', which conf/model lacks", name, known, "give a file: model=config.json"
            )
        )
    return file_of_group("model", ModelSchema, conf_file("model", found))


def model_from(values: dict[str, Any]) -> ModelSpec:
    """Return the model of keys as conf/model has them, over the defaults.

    Raises:
        InputError: a key is missing, unknown or impossible.
    """
    plain = merged(asdict(ModelSchema()), {**values, **_REALISTIC})
    if missing := [key for key, value in plain.items() if value == "???"]:
        raise InputError(f"model.{missing[0]} is unknown: give model=NAME or model=config.json")
    return model_spec(ModelSchema(**plain))


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


@functools.cache
def _models() -> dict[str, str]:
    return {_letters(name): name for name in conf_names("model")}

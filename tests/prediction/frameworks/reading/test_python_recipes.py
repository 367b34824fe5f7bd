"""Recipes in Python by their syntax tree: literals, functions of the file, calls of classes; nothing runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dse.base.errors import InputError
from dse.prediction.frameworks.reading import read_document
from dse.prediction.frameworks.reading.recipes import read_recipe

_CHAIN = """
SEQUENCE = 4096

def _common(cfg, *, batch=2048):
    cfg.model.seq_length = SEQUENCE
    cfg.train.global_batch_size = batch
    cfg.train.micro_batch_size = 1

def base_config():
    cfg = pretrain_common()
    cfg.model.tensor_model_parallel_size = 2
    cfg.model.pipeline_model_parallel_size = 4
    _common(cfg, batch=1024)
    return cfg

def tiny_pretrain_256gpu_h100_bf16_config():
    '''A recipe.'''
    cfg = base_config()
    tp = 8
    cfg.model.tensor_model_parallel_size = tp
    cfg.model.virtual_pipeline_model_parallel_size = None
    cfg.model.recompute_modules = ["core_attn", "mlp"]
    cfg.model.pipeline_dtype = torch.bfloat16
    cfg.train.micro_batch_size = 2 * 2
    cfg.mixed_precision = get_precision("fp8_cs")
    cfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=True, delay_wgrad_compute=not True)
    cfg.model.layout = layout_of(16, 1)
    cfg.train.train_iters = int(x)
    return cfg
"""
_CHAIN_SETTINGS = {
    "model.tensor_model_parallel_size": 8,
    "model.pipeline_model_parallel_size": 4,
    "model.seq_length": 4096,
    "train.global_batch_size": 1024,
    "train.micro_batch_size": 4,
    "model.virtual_pipeline_model_parallel_size": None,
    "model.recompute_modules": ["core_attn", "mlp"],
    "model.pipeline_dtype": "bfloat16",
    "mixed_precision": "fp8_cs",
    "comm_overlap.tp_comm_overlap": True,
    "comm_overlap.delay_wgrad_compute": False,
}
_REGISTRY = """
def llama3_debug() -> Trainer.Config:
    return Trainer.Config(
        model_spec=model_registry("debugmodel"),
        training=TrainingConfig(local_batch_size=8, seq_len=2048, steps=10),
        parallelism=ParallelismConfig(tensor_parallel_degree=2),
        activation_checkpoint=SelectiveAC.Config(),
        converters=[Float8Linear.Config(x=1)],
    )

def llama3_8b() -> Trainer.Config:
    config = llama3_debug()
    config.model_spec = model_registry("8B")
    config.training = TrainingConfig(local_batch_size=1, seq_len=8192, steps=STEPS)
    config.activation_checkpoint = FullAC.Config(early_stop=False)
    return config
"""


def test_a_chain_of_functions_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "tiny.py"
    path.write_text(_CHAIN)
    document = read_document([str(path)])
    assert (document.framework, document.model, document.npus) == (
        "megatron-bridge",
        "tiny_pretrain_256gpu_h100_bf16_config",
        256,
    )
    assert dict(document.settings) == _CHAIN_SETTINGS
    assert document.notes == (
        "function tiny_pretrain_256gpu_h100_bf16_config is read",
        "line 10: pretrain_common is not in this file, its settings are unknown",
        "line 27: model.layout is no literal and is left out",
        "line 28: train.train_iters is no literal and is left out",
    )
    other = read_document([str(path), "base_config", "train.micro_batch_size=3"])
    assert other.model == "base_config"
    assert other.settings == {
        "model.tensor_model_parallel_size": 2,
        "model.pipeline_model_parallel_size": 4,
        "model.seq_length": 4096,
        "train.global_batch_size": 1024,
        "train.micro_batch_size": 3,
    }


def test_functions_of_a_registry_return_a_configuration(tmp_path: Path) -> None:
    path = tmp_path / "config_registry.py"
    path.write_text(_REGISTRY)
    document = read_document([str(path), "llama3_debug"])
    assert (document.framework, document.model) == ("torchtitan", "llama3_debug")
    assert document.settings == {
        "model_spec": "debugmodel",
        "training.local_batch_size": 8,
        "training.seq_len": 2048,
        "training.steps": 10,
        "parallelism.tensor_parallel_degree": 2,
        "activation_checkpoint": "SelectiveAC.Config",
        "converters": ["Float8Linear.Config"],
    }
    document = read_document([str(path)])
    assert document.model == "llama3_8b"
    assert document.settings == {
        "model_spec": "8B",
        "training.local_batch_size": 1,
        "training.seq_len": 8192,
        "parallelism.tensor_parallel_degree": 2,
        "activation_checkpoint": "FullAC.Config",
        "activation_checkpoint.early_stop": False,
        "converters": ["Float8Linear.Config"],
    }


@pytest.mark.parametrize(
    ("body", "settings"),
    [
        ("cfg.a.b = 1\n    cfg.a.b = 2", {"a.b": 2}),
        ("cfg.a.b = 1\n    cfg.a.b = f(x, y)", {}),
        ("x = y = 3\n    cfg.a = x + y", {"a": 6}),
        ("x = 3\n    x = f()\n    cfg.a = x\n    cfg.b = 1", {"b": 1}),
        ("if True:\n        cfg.a = 1\n    else:\n        cfg.a = 2", {"a": 1}),
        ("if f():\n        cfg.a = 1\n    else:\n        cfg.a = 2", {"a": 2}),
        ("x = None\n    if x is not None:\n        cfg.a = 1\n    cfg.b = x", {"b": None}),
        ("cfg.a: int = 7", {"a": 7}),
        ("cfg.mixed_precision = bf16_mixed()", {"mixed_precision": "bf16_mixed"}),
        ("cfg.a = (1, -2.5, 'x')", {"a": [1, -2.5, "x"]}),
        ("cfg.train = TrainingConfig(a=1, b=g(2, 3), c=Inner(d=4))", {"train.a": 1, "train.c.d": 4}),
        ("return ConfigContainer(train=TrainingConfig(a=1), b=2)", {"train.a": 1, "b": 2}),
        ("cfg.a = 10 // 0\n    cfg.b = 2 ** 99\n    cfg.c = 1", {"c": 1}),
        ("for i in range(3):\n        cfg.a = i\n    cfg.b = 1", {"b": 1}),
    ],
)
def test_what_a_function_sets(body: str, settings: dict[str, Any]) -> None:
    assert read_recipe(f"def recipe(cfg):\n    {body}\n", "r.py", "recipe").settings == settings


@pytest.mark.parametrize(
    ("text", "function", "message"),
    [
        ("def f(:\n", "", "r.py: line 1: is no Python: "),
        ("x = 1\ndef f(cfg):\n  cfg.a = 'x\n", "", "r.py: line 3: is no Python: "),
        ("a\0b", "", "r.py: "),
        (
            "x = 1\n",
            "",
            "r.py: no function sets anything that can be read; write FILE FUNCTION; functions are none",
        ),
        (
            "def f(c):\n  c.a = 1\ndef g(c):\n  c.a = 2\n",
            "",
            "r.py: several functions set something; write FILE FUNCTION",
        ),
        (
            "def llama(c):\n  c.a = 1\n",
            "lama",
            "r.py: has no function lama; did you mean 'llama'? Functions are llama",
        ),
        ("def f(c):\n  f(c)\n  c.a = 1\n", "f", "r.py: f is called 20 levels deep, the most allowed"),
        ("x = " + "(" * 5000, "", "r.py: "),
        ("x = " + "-" * 100_000 + "1", "", "r.py: "),
        ("x = " + "1 + " * 100_000 + "1", "", "r.py: is "),
        ("x = " + "[" * 90 + "]" * 90 + "\nx" + ".a" * 300, "", "r.py: is nested deeper than 200 levels"),
    ],
)
def test_what_is_no_recipe_is_refused(text: str, function: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        read_recipe(text, "r.py", function)
    assert message in str(refused.value)


def test_functions_that_call_each_other_stay_within_bounds() -> None:
    doubling = (
        "".join(f"def f{n}(c):\n  f{n + 1}(c)\n  f{n + 1}(c)\n" for n in range(19))
        + "def f19(c):\n  c.a = 1\n"
    )
    with pytest.raises(InputError, match="its functions have more than 100000 statements in all"):
        read_recipe(doubling, "r.py", "f0")


def test_nothing_of_a_recipe_runs(tmp_path: Path) -> None:
    target = tmp_path / "made"
    opened = f"open({str(target)!r}, 'w')"
    evil = f"{opened}\ndef f(cfg, x={opened}):\n  cfg.model.a = __import__('os').getcwd()\n"
    path = tmp_path / "r.py"
    path.write_text(evil + "  cfg.train.micro_batch_size = 1\n")
    assert read_document([str(path)]).settings == {"train.micro_batch_size": 1}
    assert not target.exists()

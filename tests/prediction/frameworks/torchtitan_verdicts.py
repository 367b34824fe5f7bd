"""The verdicts of torchtitan on configurations, in one process that reads cases and writes verdicts as JSON.

A case has the words after `-m torchtitan.train`, the number of ranks, and files by name. Its verdict is
empty where torchtitan takes it; else the stage that refuses it (config, dims, mesh, model, pipeline or
trainer), and the message. `whole` builds the whole Trainer of rank 0, on CPU, with messages of no content.
"""

from __future__ import annotations

import gc
import importlib
import json
import logging
import os
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

STUBS = ("triton", "triton.language")
ASSETS = Path("tests/assets")
OF_A_DRY_RUN = ("--comm.mode", "fake_backend", "--parallelism.spmd_backend", "partial_dtensor")
OF_A_DRY_RUN += ("--training.disable_cuda_graphs", "--dataloader.dataset", "c4_test")
OF_A_DRY_RUN += ("--hf_assets_path", str(ASSETS), "--compile.no-enable", "--metrics.no-enable_tensorboard")


class Stub(types.ModuleType):
    """A module whose functions are decorators, for kernels of Triton that nothing runs here."""

    def __getattr__(self, name: str) -> Any:
        """Return a decorator, with and without arguments."""
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *words, **_: words[0] if words and callable(words[0]) else (lambda function: function)


def prepare() -> None:
    """Import torch, and let torchtitan find neither a GPU nor Triton."""
    import torch
    import torch._inductor.compile_fx  # before there is a stub, which it would take for Triton

    torch._utils._get_available_device_type = lambda: "cpu"
    properties = SimpleNamespace(name="cpu", total_memory=2**40)
    for name, value in {
        "get_device_name": "cpu", "get_device_properties": properties, "memory_stats": {}, "set_device": None,
        "reset_peak_memory_stats": None, "empty_cache": None, "mem_get_info": (2**40, 2**40),
    }.items():  # fmt: skip
        setattr(torch.cpu, name, lambda *_, value=value, **__: value)
    try:
        importlib.import_module("triton")
    except ImportError:
        for name in STUBS:
            module = Stub(name)
            module.__spec__, module.__path__ = ModuleSpec(name, None), []
            sys.modules[name] = module
        sys.modules["triton"].language = sys.modules["triton.language"]
    docstrings = importlib.import_module("tyro._docstrings")
    docstrings.get_field_docstring = lambda *_, **__: None  # texts of --help, a third of the time
    logging.disable(logging.CRITICAL)
    sys.path.insert(0, str(Path.cwd()))
    sys.dont_write_bytecode = True  # its stamp cannot tell modules of one size and second
    _let_converters_find_a_device()


def _let_converters_find_a_device() -> None:
    """Let products in 8 and 4 bit be set up, which ask for a GPU that has them."""
    quantization = importlib.import_module("torchtitan.components.quantization")
    for name in ("float8", "mx", "nvfp4"):
        importlib.import_module(f"{quantization.__name__}.{name}").has_cuda_capability = lambda *_: True


def verdict(case: dict[str, Any]) -> str:
    """Return the stage that refuses a case and why; empty for none."""
    import torch.distributed
    from torchtitan.config import ConfigManager
    from torchtitan.distributed import ParallelDims

    for name, text in case["files"].items():
        Path(name).write_text(text, encoding="utf-8")
    sys.modules.pop("dse_torchtitan", None)
    importlib.invalidate_caches()
    os.environ |= {"NGPU": str(case["npus"]), "WORLD_SIZE": str(case["npus"]), "RANK": "0", "LOCAL_RANK": "0"}
    stage = "config"
    try:
        words = list(case["words"])
        if case["whole"]:  # the kind of checkpointing is a sub-command, the last word
            words[-1:-1] = OF_A_DRY_RUN
        config = ConfigManager().parse_args(words)
        stage = "dims"
        dims = ParallelDims.from_config(config.parallelism, case["npus"])
        if case["whole"]:
            stage = "trainer"
            config.build().close()
            return ""
        stage = "mesh"
        from torch.testing._internal.distributed.fake_pg import FakeStore

        torch.distributed.init_process_group("fake", rank=0, world_size=case["npus"], store=FakeStore())
        dims.build_mesh()
        stage = "model"
        config.model_spec.model.update_from_config(config=config)
        stage = "pipeline"
        if dims.pp > 1:
            _build_pipeline(config, dims)
    except (Exception, SystemExit) as error:
        return f"{stage}: {type(error).__name__}: {str(error)[:300]}"
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
    return ""


def _build_pipeline(config: Any, dims: Any) -> None:
    """Share out the layers and build the schedule, over stages that hold a small layer each."""
    import torch
    from torch.distributed.pipelining import PipelineStage
    from torchtitan.distributed import pipeline_parallel as pipelines

    parallelism = config.parallelism
    model = config.model_spec.model
    stages, *sizes = pipelines._get_pipeline_metadata(dims, parallelism, model)
    names = parallelism.module_fqns_per_model_part or pipelines._generate_llm_fqn_per_model_part(
        stages, *sizes
    )
    own = pipelines._get_pp_rank_to_stage_indices_mapping(
        0, dims.pp, parallelism.pipeline_parallel_schedule, len(names)
    )
    group = dims.get_mesh("pp").get_group("pp")
    held = [
        PipelineStage(torch.nn.Linear(1, 1), index, len(names), torch.device("cpu"), group=group)
        for index in own
    ]
    pipelines._build_pipeline_schedule(
        parallelism=parallelism,
        local_batch_size=config.training.local_batch_size,
        stages=held,
        loss_fn=lambda *_: (torch.zeros(()), None),
    )


def shapes(functions: list[list[str]]) -> list[list[int]]:
    """Return layers, width, heads, heads of keys and values, and layers with experts of flavours."""
    found = []
    for module, flavour in functions:
        importlib.import_module(f"torchtitan.models.{module}.config_registry")
        registry = importlib.import_module(f"torchtitan.models.{module}").model_registry
        model = registry(flavour).model
        heads = model.first_attention
        found.append(
            [
                len(model.layers),
                model.dim,
                heads.n_heads,
                getattr(heads, "n_kv_heads", None) or heads.n_heads,
                sum(getattr(layer, "moe", None) is not None for layer in model.layers),
                model.vocab_size,
                model.max_seq_len,
            ]
        )
    return found


def write_assets() -> None:
    """Write a tokenizer of three words and a few lines of text, which the whole Trainer reads."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    data = ASSETS / "c4_test"
    data.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"text": "a b " * 50}) for _ in range(50)]
    (data / "data.json").write_text("\n".join(lines), encoding="utf-8")
    words = Tokenizer(WordLevel({"a": 0, "b": 1, "<eos>": 2}, unk_token="<eos>"))
    words.save(str(ASSETS / "tokenizer.json"))
    options = {"bos_token": "a", "eos_token": "<eos>"}
    (ASSETS / "tokenizer_config.json").write_text(json.dumps(options), encoding="utf-8")


def main() -> None:
    """Answer the cases of the standard input."""
    asked = json.load(sys.stdin)
    out, sys.stdout = sys.stdout, sys.stderr
    prepare()
    write_assets()
    importlib.import_module("torchtitan.models.llama3.config_registry")
    gc.disable()  # which takes a fifth of the time
    answer = {"shapes": shapes(asked["flavours"]), "verdicts": [verdict(case) for case in asked["cases"]]}
    json.dump(answer, out)


if __name__ == "__main__":
    main()

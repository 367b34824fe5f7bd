"""Models of PyTorch as graphs: operators of torch.export, with the parameters of the module."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dse.base.errors import InputError
from dse.partition.graphs.sources.torch_models import require_torch

torch = pytest.importorskip("torch", reason="needs the extra torch: pip install 'dse[torch]'")

from dse.partition.graphs.sources.torch_graph import exported, read_torch, torch_source  # noqa: E402
from dse.partition.graphs.sources.torch_models import EXAMPLE_NAMES, task_named  # noqa: E402
from dse.partition.graphs.sources.training_task import TrainingTask  # noqa: E402

TIED = """
import torch
from torch import nn

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.middle = nn.Linear(4, 4)
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x):
        return self.head(self.middle(self.embedding(x)))

def sample(generator, count):
    return (torch.randint(10, (count, 3), generator=generator),), torch.zeros(count, 3, dtype=torch.long)

def tied():
    return Tied(), sample, lambda y, t: nn.functional.cross_entropy(y.flatten(0, 1), t.flatten())

def wrong():
    return 5
"""


@pytest.mark.parametrize("name", EXAMPLE_NAMES)
def test_graph_of_an_example_has_all_its_parameters(name: str) -> None:
    source = read_torch(name, 2)
    module = task_named(name).module
    assert sum(o.parameters for o in source.operators) == sum(p.numel() for p in module.parameters())


def test_linear_layers_have_two_operations_a_weight_and_sample() -> None:
    source = read_torch("two_branches", 2)
    linear = [o for o in source.operators if o.name.startswith("linear")]
    assert sum(o.flops for o in linear) == 2 * 2 * sum(p.numel() for p in _matrices("two_branches"))
    assert {o.module.split(".")[0] for o in linear} == {"left", "right", "head"}


class _Products(torch.nn.Module):
    """Operators that hold products of matrices, for 8 samples of 5 rows of 16."""

    def __init__(self) -> None:
        super().__init__()
        self.recurrent = torch.nn.LSTM(16, 16, batch_first=True)
        self.convolution = torch.nn.ConvTranspose1d(5, 5, 3, padding=1)
        self.matrix = torch.nn.Parameter(torch.zeros(16, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.convolution(self.recurrent(x)[0])
        return torch.tanh(torch.einsum("bti,ij->btj", x, self.matrix))


@pytest.mark.filterwarnings("ignore:The tensor attributes")
def test_operations_of_recurrences_transposed_convolutions_and_sums_of_products_count() -> None:
    """40 rows pass four gates of 16 x (16 + 16); 16 places take 5 x 5 x 3 weights; a matrix is 16 x 16."""
    traced = torch.export.export(_Products(), (torch.zeros(8, 5, 16),), strict=False).module()
    flops = {o.name: o.flops for o in torch_source("products", traced).operators if o.flops}
    assert flops == {
        "lstm": 2 * 40 * 4 * 16 * 32,
        "conv_transpose1d": 2 * 8 * 16 * 5 * 5 * 3,
        "einsum": 2 * 40 * 16 * 16,
        "tanh": 5 * 8 * 5 * 16,
    }


def _matrices(name: str) -> list[torch.Tensor]:
    return [p for p in task_named(name).module.parameters() if p.dim() == 2]


def test_operators_that_share_a_parameter_stay_together(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(TIED)
    source = read_torch(f"{file}:tied", 2)
    assert [source.operators[node].name for node in source.together[0]] == ["embedding", "linear_1"]
    assert sum(operator.parameters for operator in source.operators) == 40 + 20
    assert source.notes == (
        "embedding, linear_1 share a parameter and stay on one device; a pipeline keeps all that lies "
        "between them there, too",
    )


def test_what_is_wrong_with_a_model_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(TIED)
    for name, message in (
        (f"{file}:wrong", "returned 5; it must return"),
        (f"{file}:nothing", "has no function nothing"),
        (f"{tmp_path}/none.py:f", "no such file"),
        ("transfomer", "did you mean 'transformer'"),
    ):
        with pytest.raises(InputError, match=message):
            task_named(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nothing_there", "line 1: ModuleNotFoundError: No module named 'nothing_there'"),
        ("\ndef f(:", "SyntaxError: invalid syntax"),
        ("def f():\n    raise RuntimeError('no\\nweights')", "line 2: RuntimeError: no weights$"),
        ("from neighbour import f", "returned 7; it must return"),
    ],
)
def test_code_of_a_user_fails_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "neighbour.py").write_text("def f():\n    return 7\n")
    file = tmp_path / "mine.py"
    file.write_text(text + "\n")
    before = list(sys.path)
    with pytest.raises(InputError, match=message) as error:
        task_named(f"{file}:f")
    assert "\n" not in str(error.value)
    assert sys.path == before


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (
            lambda _generator, _count: 1 / 0,
            r"sample\(generator, 8\) of the model: ZeroDivisionError: division",
        ),
        (lambda _generator, _count: (torch.ones(2), 0), r"gives tensor\(.* as inputs; it must be a tuple"),
    ],
)
def test_a_wrong_sample_is_named(sample: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        exported(TrainingTask(torch.nn.Linear(2, 2), sample, torch.nn.functional.mse_loss), 8)


def test_installed_torch_is_found() -> None:
    require_torch("this")

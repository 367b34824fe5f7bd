"""Models to partition and train: two branches, a small transformer, a mixture of branches; synthetic data."""

# mypy: disable-error-code="misc,no-any-return"

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from dse.partition.graphs.sources.training_task import TrainingTask


def two_branches(width: int = 256, depth: int = 4) -> TrainingTask:
    """Two chains of linear layers of unequal width that start at one input and meet in a head."""

    class TwoBranches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left = _chain(width, width, depth)
            self.right = _chain(width, 2 * width, depth)
            self.head = nn.Linear(2 * width, width)

        def forward(self, x: Tensor) -> Tensor:
            both = torch.cat([self.left(x), self.right(x)], dim=-1)
            return self.head(both)

    return TrainingTask(TwoBranches(), _regression(width), nn.functional.mse_loss)


def transformer(layers: int = 4, width: int = 128, heads: int = 4, length: int = 64) -> TrainingTask:
    """A decoder: embedding, pre-norm attention and feed-forward blocks, logits."""
    vocabulary = 512

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Tensor) -> Tensor:
            batch = x.shape[0]
            split = self.qkv(self.first(x)).reshape(batch, length, 3, heads, width // heads)
            query, key, value = split.permute(2, 0, 3, 1, 4).unbind(0)
            mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(nn.functional.gelu(self.up(self.second(x))))

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, width)
            self.layers = nn.Sequential(*(Block() for _ in range(layers)))
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens: Tensor) -> Tensor:
            return self.head(self.norm(self.layers(self.embedding(tokens))))

    def sample(generator: torch.Generator, count: int) -> tuple[tuple[Tensor, ...], Tensor]:
        text = torch.randint(vocabulary, (count, length + 1), generator=generator)
        return (text[:, :-1].contiguous(),), text[:, 1:].contiguous()

    def loss(logits: Tensor, target: Tensor) -> Tensor:
        return nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())

    return TrainingTask(Transformer(), sample, loss)


def mixture(branches: int = 4, width: int = 256, depth: int = 2) -> TrainingTask:
    """Branches side by side, weighted by a gate that sees the same input (a dense mixture of experts)."""

    class Mixture(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.entry = nn.Linear(width, width)
            self.gate = nn.Linear(width, branches)
            self.branches = nn.ModuleList(_chain(width, 2 * width, depth) for _ in range(branches))
            self.head = nn.Linear(width, width)

        def forward(self, x: Tensor) -> Tensor:
            x = torch.relu(self.entry(x))
            weights = torch.softmax(self.gate(x), dim=-1)
            outputs = [branch(x) for branch in self.branches]
            mixed = outputs[0] * weights[:, 0:1]
            for number in range(1, branches):
                mixed = mixed + outputs[number] * weights[:, number : number + 1]
            return self.head(mixed)

    return TrainingTask(Mixture(), _regression(width), nn.functional.mse_loss)


EXAMPLES: dict[str, Callable[[], TrainingTask]] = {
    "two_branches": two_branches,
    "transformer": transformer,
    "mixture": mixture,
}


def _chain(width: int, hidden: int, depth: int) -> nn.Sequential:
    parts: list[nn.Module] = []
    for _ in range(depth):
        parts += [nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width), nn.ReLU()]
    return nn.Sequential(*parts)


def _regression(width: int) -> Callable[[torch.Generator, int], tuple[tuple[Tensor, ...], Tensor]]:
    def sample(generator: torch.Generator, count: int) -> tuple[tuple[Tensor, ...], Tensor]:
        x = torch.randn(count, width, generator=generator)
        return (x,), torch.sin(x.roll(1, -1))

    return sample

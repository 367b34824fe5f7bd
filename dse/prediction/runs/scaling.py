"""Scaling laws: the tokens that a model of some size needs for a loss."""

from __future__ import annotations

from typing import NamedTuple

from dse.base.errors import InputError


class Law(NamedTuple):
    """The loss of N parameters after D tokens: `floor` + `a` / N^`alpha` + `b` / D^`beta`, in nats."""

    floor: float
    a: float
    alpha: float
    b: float
    beta: float
    source: str

    def loss(self, parameters: float, tokens: float) -> float:
        """Return the loss."""
        return float(self.floor + self.a / parameters**self.alpha + self.b / tokens**self.beta)

    def tokens(self, parameters: float, loss: float) -> float:
        """Return the tokens for a loss.

        Raises:
            InputError: no number of tokens reaches it.
        """
        least = self.floor + self.a / parameters**self.alpha
        if loss <= least:
            raise InputError(
                f"loss is {loss:g}; a model of {parameters:.3g} parameters stays above {least:.4g} with any "
                f"number of tokens ({self.source})"
            )
        return float((self.b / (loss - least)) ** (1 / self.beta))


LAWS = {
    "besiroglu": Law(1.8172, 482.01, 0.3478, 2085.43, 0.3658, "Besiroglu et al. 2024, arXiv 2404.10102"),
    "hoffmann": Law(1.69, 406.4, 0.34, 410.7, 0.28, "Hoffmann et al. 2022, arXiv 2203.15556, approach 3"),
}
"""By the name of the first author; the first refits the data of the second."""

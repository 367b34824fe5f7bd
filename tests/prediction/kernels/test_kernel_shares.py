"""Shares of kernels in conf/accelerator are the fitted shares of conf/kernels at the clock of long loads."""

from __future__ import annotations

import pytest

from dse.inputs.accelerators import accelerator
from dse.inputs.accelerators.kernel_constants import kernel_constants
from dse.prediction.kernels.machine import SUSTAINED_8_BIT, SUSTAINED_16_BIT


@pytest.mark.parametrize("name", ["l40s", "rtx_pro_6000"])
def test_shares_of_cards_are_those_of_their_kernels_at_a_sustained_clock(name: str) -> None:
    found, laws = accelerator(name).kernels, kernel_constants(name).products
    assert found is not None
    assert found.matrix == pytest.approx(laws["bf16"].share / SUSTAINED_16_BIT, abs=0.006)
    assert found.matrix_8bit == pytest.approx(laws["fp8"].share / SUSTAINED_8_BIT, abs=0.006)
    if "nvfp4" in laws:
        assert found.matrix_4bit == pytest.approx(laws["nvfp4"].share / SUSTAINED_8_BIT, abs=0.006)

"""The plans that Meta published for Llama-3 405B: the guide shows what is predicted for them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_lines import run_ok

import dse

PAGE = Path(__file__).parents[3] / "docs" / "llama3_405b.md"
TOKENS = 2**24
_ROW = re.compile(
    r"^([\d,]+) \| ([\d,]+) \| ((?:\w+ \d+,? ?)+) \| \d+ % \| ([\d.]+) % \| ([\d.]+) GB$", re.MULTILINE
)
ROWS = _ROW.findall(PAGE.read_text())


def test_the_page_has_all_three_plans() -> None:
    assert len(ROWS) == 3


@pytest.mark.parametrize(("npus", "sequence", "plan", "mfu", "peak"), ROWS, ids=[row[2] for row in ROWS])
def test_the_page_shows_the_prediction(npus: str, sequence: str, plan: str, mfu: str, peak: str) -> None:
    degrees = [f"strategy.{part.replace(' ', '=')}" for part in plan.split(", ")]
    tokens, gpus = (int(text.replace(",", "")) for text in (sequence, npus))
    found = dse.predict_step(
        overrides=[
            *("system=grand_teton", f"system.nodes={gpus // 8}", "model=llama3_405b", *degrees),
            *(f"model.seq_len={tokens}", f"model.batch_size={TOKENS // tokens}"),
            *("strategy.framework=megatron-core", "strategy.schedule=interleaved", "strategy.chunks=8"),
            "strategy.sequence_parallel=true",
        ]
    )
    assert (f"{found.mfu_pct:.1f}", f"{found.peak_memory_bytes / 1e9:.1f}") == (mfu, peak)


def test_the_page_shows_what_its_sweep_prints(tmp_path: Path) -> None:
    """Lines on intervals and ties are left out; with them the answer of the sweep ends at its first note."""
    line, shown = re.findall(
        r"```bash\npython -m dse\.sweep (.*)\n```.*?```text\n(.*?)```", PAGE.read_text(), re.S
    )[0]
    printed = run_ok("sweep", *line.split(), cwd=tmp_path).out.partition("\nnote: ")[0]
    kept = [each for each in printed.splitlines() if not each.startswith(("    80 %", "    tied with"))]
    assert kept == shown.splitlines()

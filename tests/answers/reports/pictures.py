"""Draws the pictures of docs/examples again, from the pages that the hook of the guide makes.

Needs Chromium, Pillow and matplotlib, for the explorer also what `make wasm` builds:
`PYTHONPATH=tests:docs/hooks python tests/answers/reports/pictures.py`.
With the word `explorers` it draws those of the explorer only.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from chromium import Chromium, found_chromium
from examples import make_examples
from PIL import Image

FOLDER = Path(__file__).parents[3] / "docs" / "examples"
PICTURES = (  # page, picture, heading at the top, width and height
    ("llama70b-system1", "llama70b-system1", "The best strategies", (1340, 860)),
    (
        "gpt175b-system2",
        "gpt175b-system2",
        "Where the time and the memory of the best points go",
        (1340, 860),
    ),
)
COLOURS = {
    "compute-bound": "#2f6db3",
    "memory-bound": "#c77f1a",
    "recompute": "#8a4fa3",
    "communication": "#3a8f5c",
}


def draw_timeline(name: str, pages: Path) -> None:
    """Draw the tracks of the first class of ranks and its memory, from the trace events."""
    from matplotlib.figure import Figure

    with gzip.open(pages / f"{name}.trace.json.gz", "rt", encoding="utf-8") as file:
        events = [event for event in json.load(file)["traceEvents"] if event["pid"] == 1]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    rows = {tid: row for row, tid in enumerate(reversed(tracks))}
    figure = Figure(figsize=(13.4, 4.4), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1.4])
    begun: dict[int, dict[str, Any]] = {}
    for event in events:
        if event["ph"] == "B":
            begun[event["tid"]] = event
        elif event["ph"] == "E":
            begin = begun.pop(event["tid"])
            span = (begin["ts"] / 1e6, (event["ts"] - begin["ts"]) / 1e6)
            place = (rows[event["tid"]] - 0.35, 0.7)
            top.broken_barh([span], place, color=COLOURS.get(begin["cat"], "#7f8c9a"), linewidth=0)
    top.set_yticks(list(rows.values()), [tracks[tid] for tid in rows])
    for label, colour in COLOURS.items():
        top.plot([], [], color=colour, linewidth=6, label=label)
    top.legend(ncols=len(COLOURS), loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    memory = [(e["ts"] / 1e6, e["args"]["bytes"] / 1e9) for e in events if e["ph"] == "C"]
    times, sizes = zip(*memory, strict=True)
    bottom.fill_between(times, sizes, step="post", color="#9db8d9")
    bottom.set_ylabel("memory (GB)")
    bottom.set_xlabel("time (s)")
    figure.savefig(FOLDER / f"{name}.timeline.png", dpi=100)


def save_picture(browser: Chromium, name: str) -> None:
    """What the window shows, in 256 colours."""
    image = Image.open(io.BytesIO(browser.screenshot())).convert("RGB").quantize(256)
    image.save(FOLDER / f"{name}.png", optimize=True)


def picture_explorer(browser: Chromium, name: str, pages: Path) -> None:
    """A series: links of another speed and what the old state was, then a map of winners."""
    settled = "explorer.app.isIdle && explorer.app.frame && explorer.app.frame.isLive"
    browser.prefer(prefers_reduced_motion="reduce")
    browser.open(pages / f"{name}-explorer.html", width=1340, height=860)
    browser.until(settled)
    browser.evaluate("document.documentElement.style.scrollbarWidth = 'none'")
    browser.evaluate("explorer.state.set({ changes: { 'system.peak_tflops': 900 } })")
    browser.until(settled)
    for view in ("best", "scatter", "map"):
        section = f"document.getElementById('view-{view}')"
        done = "true" if view != "map" else f"/All of/.test({section}.textContent)"
        # What stands above it grows when it is computed first, and moves it away.
        for _ in range(60):
            seen = f"{section}.scrollIntoView({{ block: 'center', behavior: 'instant' }})"
            browser.evaluate("scrollTo(0, 0)" if view == "best" else seen)
            browser.evaluate("new Promise((done) => setTimeout(done, 500))")
            if browser.evaluate(done):
                break
        save_picture(browser, f"{name}-explorer-{view}")


def main() -> None:
    """Make the pages in a temporary folder, then their pictures."""
    program = found_chromium()
    if program is None:
        sys.exit("Chromium is needed")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        make_examples(Path(folder))
        with Chromium(program, Path(folder)) as browser:
            picture_explorer(browser, PICTURES[0][0], Path(folder))
            if "explorers" not in sys.argv[1:]:
                picture_reports(browser, Path(folder))


def picture_reports(browser: Chromium, pages: Path) -> None:
    """The parts of the reports that the guide shows."""
    draw_timeline(PICTURES[0][0], pages)
    for page, picture, heading, (width, height) in PICTURES:
        browser.open(pages / f"{page}.html", width=width, height=height)
        browser.evaluate("document.documentElement.style.scrollbarWidth = 'none'")
        browser.evaluate(
            f"[...document.querySelectorAll('h3')].find((h) => h.textContent === '{heading}')"
            ".scrollIntoView({ behavior: 'instant' })"
        )
        browser.evaluate("new Promise((done) => setTimeout(done, 300))")
        save_picture(browser, picture)


if __name__ == "__main__":
    main()

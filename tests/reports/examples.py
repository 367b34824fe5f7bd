"""Makes docs/examples again: reports of two pairs of the lab, and pictures (needs Chromium and Pillow)."""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from pathlib import Path

from chromium import Chromium, found_chromium
from PIL import Image

FOLDER = Path(__file__).parents[2] / "docs" / "examples"
PICTURES = (  # page, picture, heading at the top, width and height
    ("llama70b-system1", "llama70b-system1", "The best strategies", (1340, 860)),
    (
        "gpt175b-system2",
        "gpt175b-system2",
        "Where the time and the memory of the best points go",
        (1340, 860),
    ),
)


def make_page(name: str, work: Path) -> None:
    """Sweep and report."""
    model, system = name.split("-")
    for line in (
        ["dse.sweep", f"system={system}", f"model={model}"],
        ["dse.report", f"results/{name}", "-o", str(FOLDER / f"{name}.html")],
    ):
        subprocess.run([sys.executable, "-m", *line], cwd=work, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    """Make both pages, then their pictures."""
    program = found_chromium()
    if program is None:
        sys.exit("Chromium is needed")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for page, *_ in PICTURES:
            make_page(page, Path(folder))
        with Chromium(program, Path(folder)) as browser:
            for page, picture, heading, (width, height) in PICTURES:
                browser.open(FOLDER / f"{page}.html", width=width, height=height)
                browser.evaluate("document.documentElement.style.scrollbarWidth = 'none'")
                browser.evaluate(
                    f"[...document.querySelectorAll('h3')].find((h) => h.textContent === '{heading}')"
                    ".scrollIntoView({ behavior: 'instant' })"
                )
                browser.evaluate("new Promise((done) => setTimeout(done, 300))")
                image = Image.open(io.BytesIO(browser.screenshot())).convert("RGB").quantize(256)
                image.save(FOLDER / f"{picture}.png", optimize=True)


if __name__ == "__main__":
    main()

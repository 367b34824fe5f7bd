"""Draw the pictures of the guide: `python -m docs.hooks.pictures` runs commands and photographs their pages.

Chromium and the engine of `make wasm` are needed.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from chromium import Chromium

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "pictures"
LAB = "system=system1 model=llama70b"
_IS_READY = "!globalThis.explorer || (explorer.app ?? explorer.predicted_app).page.isIdle"
_PAUSE_SECONDS = 1.0
_COLOURS = 128
_HALF_WAY = (
    "const time = document.querySelector('#time'); time.value = 430; time.dispatchEvent(new Event('input'))"
)


class Picture(NamedTuple):
    """A window of a page, or an element of it, once nothing moves any more."""

    name: str
    page: str
    size: tuple[int, int] = (1340, 860)
    fragment: str = ""
    first: str = ""
    """A program that runs before."""
    element: str = ""
    """A selector of what is photographed alone."""


PAGES = {
    "report.html": "report results/llama70b-system1 -o report.html",
    "explorer.html": f"explore {LAB} --no-open -o explorer.html",
    "predicted.html": "explore system=dgx_h100 system.nodes=8 model=llama3_70b --no-open -o predicted.html",
    "torus/index.html": "synthesize system=torus_4x4 collective=all_gather -o torus",
}
PICTURES = (
    Picture("llama70b-system1.png", "report.html", (880, 900), element="[data-plot=scatter]"),
    Picture("report.png", "report.html"),
    Picture("explorer-changed.png", "explorer.html", fragment="system.peak_tflops=900"),
    Picture("explorer-winners.png", "explorer.html", element="#view-map"),
    Picture("explorer-timeline.png", "explorer.html", element="#view-timeline"),
    Picture("explorer-predicted.png", "predicted.html"),
    Picture("synthesis-torus.png", "torus/index.html", (1000, 1150), first=_HALF_WAY),
)


def main() -> None:
    """Write every picture."""
    sys.path.append(str(ROOT / "tests"))
    from chromium import Chromium, found_chromium
    from PIL import Image

    program = found_chromium()
    if program is None:
        sys.exit("chromium is not installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for line in (f"sweep {LAB}", *PAGES.values()):
            subprocess.run(
                [sys.executable, "-m", "dse", *line.split()],
                cwd=folder,
                check=True,
                stdout=subprocess.DEVNULL,
            )
        with Chromium(program, folder) as browser:
            for picture in PICTURES:
                browser.open(
                    folder / picture.page,
                    fragment=picture.fragment,
                    width=picture.size[0],
                    height=picture.size[1],
                )
                browser.until(_IS_READY)
                if picture.first:
                    browser.evaluate(picture.first)
                shot = Image.open(io.BytesIO(_settled(browser, picture.element)))
                if picture.element:
                    box = f"document.querySelector('{picture.element}').getBoundingClientRect()"
                    shot = shot.crop(
                        browser.evaluate(f"(({{ x, y, right, bottom }}) => [x, y, right, bottom])({box})")
                    )
                shot.convert("RGB").quantize(_COLOURS).save(FOLDER / picture.name, optimize=True)


def _settled(browser: Chromium, element: str) -> bytes:
    """Photograph the window until two pictures are equal."""
    scroll = f"document.querySelector('{element}').scrollIntoView({{ block: 'center', behavior: 'instant' }})"
    last, shot = b"", browser.screenshot()
    while shot != last:
        browser.evaluate(scroll if element else "0")
        time.sleep(_PAUSE_SECONDS)
        browser.until(_IS_READY)
        last, shot = shot, browser.screenshot()
    return shot


if __name__ == "__main__":
    main()

"""MkDocs hook: the example pages of the guide, made by the commands that the guide shows.

A page of the guide names an example by its place in the built site, such as
`build/docs/examples/llama70b-system1.html`. In the site this becomes a link, if the example could be made.
Explorers need the engine that `make wasm` builds.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "dse" / "answers" / "explorer" / "dse_engine.wasm"
FOLDER = ROOT / "build" / "examples"
PAIRS = (("llama70b", "system1"), ("gpt175b", "system2"))
_NAMED = re.compile(r"`build/docs/(examples/[\w.-]+)`")


def make_examples(folder: Path) -> list[Path]:
    """Write a report, a timeline and an explorer of each pair of the lab; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for model, system in PAIRS:
        name = f"{model}-{system}"
        report, timeline, explorer = (
            folder / f"{name}{end}" for end in (".html", ".trace.json.gz", "-explorer.html")
        )
        _run(folder, "sweep", f"system={system}", f"model={model}")
        _run(folder, "report", f"results/{name}", "-o", report.name)
        _run(folder, "timeline", f"results/{name}", "-o", timeline.name)
        made += [report, timeline]
        if ENGINE.exists():
            _run(folder, "explore", f"system={system}", f"model={model}", "--no-open", "-o", explorer.name)
            made.append(explorer)
    return made


def on_files(files: Files, config: Any) -> Files:
    """Add the examples to the site."""
    from mkdocs.structure.files import File

    shutil.rmtree(FOLDER, ignore_errors=True)
    for path in make_examples(FOLDER):
        files.append(File.generated(config, f"examples/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn the names of examples into links."""
    here = os.path.dirname(page.file.src_uri) or "."  # noqa: PTH120

    def linked(match: re.Match[str]) -> str:
        name = match.group(1)
        if files.get_file_from_path(name) is None:
            return match.group()
        return f"[{Path(name).name}]({os.path.relpath(name, here)})"

    return _NAMED.sub(linked, markdown)


def _run(folder: Path, *line: str) -> None:
    """Run a command of the package in a folder; its answer goes nowhere, its errors end the build."""
    done = subprocess.run(
        [sys.executable, "-m", "dse", *line], cwd=folder, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"dse {' '.join(line)}: {done.stderr.strip()}")

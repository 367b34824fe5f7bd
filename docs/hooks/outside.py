"""MkDocs hook: links out of docs/ lead to copies of those files in the site, or are plain text.

Pages are written for a checkout, where `../README.md` is a file. Markdown, pictures and notebooks that are
linked become part of the site, below repository/; links to folders without a README and to other files lose
their target.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).resolve().parents[2]
COPIES = "repository/"
COPIED = (".md", ".png", ".svg", ".ipynb")
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def origin(page: str) -> str:
    """The path in the repository of a page of the site."""
    return page.removeprefix(COPIES) if page.startswith(COPIES) else f"docs/{page}"


def target(page: str, link: str) -> str | None:
    """The page of the site that a relative link leads to; None if the site has none."""
    path = os.path.normpath(os.path.join(os.path.dirname(origin(page)), link))  # noqa: PTH118, PTH120
    if (ROOT / path).is_dir():
        path = "docs/index.md" if path == "docs" else f"{path}/README.md"
    if not (ROOT / path).is_file() or not path.endswith(COPIED):
        return None
    return path.removeprefix("docs/") if path.startswith("docs/") else f"{COPIES}{path}"


def _relative(link: str) -> bool:
    return "://" not in link and not link.startswith(("#", "mailto:"))


def on_files(files: Files, config: Any) -> Files:
    """Add what is linked from docs/, and what is linked from there."""
    pending = [file.src_uri for file in files.documentation_pages()] + [f"{COPIES}README.md"]
    known = {file.src_uri for file in files}
    seen = set(pending)
    while pending:
        page = pending.pop()
        if page not in known:
            source = str(ROOT / origin(page))
            level = InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, page, abs_src_path=source, inclusion=level))
            known.add(page)
        if page.endswith(".md"):
            text = (ROOT / origin(page)).read_text(encoding="utf-8")
            links = {link.partition("#")[0] for _, _, link in _LINK.findall(text) if _relative(link)}
            found = {target(page, link) for link in links} - seen - {None}
            seen |= found
            pending += sorted(found)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Point links to what the site has."""
    here = page.file.src_uri

    def rewritten(match: re.Match[str]) -> str:
        picture, label, link = match.groups()
        name, mark, anchor = link.partition("#")
        if not _relative(link):
            return match.group()
        found = target(here, name)
        if found is None:
            return str(label)
        relative = os.path.relpath(found, os.path.dirname(here) or ".")  # noqa: PTH120
        return f"{picture}[{label}]({relative}{mark}{anchor})"

    blocks = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(block if block.startswith("```") else _LINK.sub(rewritten, block) for block in blocks)

"""Parts that all one-file HTML pages share: templates, style and program inside, data as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.base.pages.modules import joined as joined

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_AFTER_COLON = re.compile(r"(?<=[a-z0-9]): (?=[^\"'])")
_SPACES = re.compile(r'("[^"]*")|\s*([{};])\s*')
_SOURCE_MAP = re.compile(r"\n//# sourceMappingURL=.*")
FOLDER = Path(__file__).parent
BASE_STYLE = FOLDER / "base.css"
"""The style of every page: colours of both schemes, header, cards, tables, plots, focus, print."""

TABLES = FOLDER / "tables.js"
"""A program by which tables of class `sorts` are sorted, filtered and coloured."""

TABLE_PLOTS = FOLDER / "table_plots.js"
"""That program, and drawings of rows of such tables: heat maps, points and lines."""


def template_environment(templates: Path) -> Environment:
    """Return what renders the templates of a folder and `frame.html`, in which each page stands.

    Texts are escaped, and a missing name is an error.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader([templates, FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page_style(own: Path) -> Markup:
    """Return the style of a page: what all have, and what only it needs."""
    return inlined(BASE_STYLE) + inlined(own)


def inlined(path: Path) -> Markup:
    """Return a style as it stands in a page, without spaces and line ends between its parts."""
    from markupsafe import Markup

    style = _SPACES.sub(lambda found: found[1] or found[2], path.read_text(encoding="utf-8"))
    return Markup(_AFTER_COLON.sub(":", style))


def library(path: Path) -> Markup:
    """Return a vendored program as it is, without the address of a map that is not there."""
    from markupsafe import Markup

    return Markup(_SOURCE_MAP.sub("", path.read_text(encoding="utf-8")))


def script_json(data: Any) -> Markup:
    """Return JSON that can stand in a script element, whatever texts are in it."""
    from markupsafe import Markup

    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)

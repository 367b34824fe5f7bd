"""A release: one version, a changelog that can be read, and fragments that join it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import dse

ROOT = Path(__file__).parents[2]
WINGS = (
    "base",
    "inputs",
    "simulation",
    "prediction",
    "collectives",
    "planner",
    "partition",
    "studies",
    "answers",
    "commands",
)


def newest() -> str:
    """The newest section of the changelog, with its heading."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return re.split(r"^(?=## \[)", text, flags=re.MULTILINE)[1]


def test_the_changelog_and_the_citation_have_the_version_and_the_same_date() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == dse.__version__
    assert newest().startswith(f"## [{dse.__version__}] - {citation['date-released']}\n")


def test_the_newest_section_has_at_most_60_bullets_of_at_most_two_lines() -> None:
    bullets = re.findall(r"^- .*(?:\n  .*)*", newest(), re.MULTILINE)
    assert 0 < len(bullets) <= 60
    assert len(set(bullets)) == len(bullets)
    assert [bullet for bullet in bullets if bullet.count("\n") > 1] == []


def test_bullets_stand_under_wings() -> None:
    assert set(re.findall(r"^### (.*)$", newest(), re.MULTILINE)) <= {*WINGS, "project"}


def test_every_fragment_names_a_wing() -> None:
    names = {path.name for path in (ROOT / "news").iterdir()} - {"README.md", "template.md.jinja"}
    pattern = re.compile(rf"[a-z0-9-]+\.(?:{'|'.join(WINGS)}|project)\.md")
    assert [name for name in names if not pattern.fullmatch(name)] == []


def test_fragments_become_bullets_of_their_wing_above_the_older_sections(tmp_path: Path) -> None:
    pytest.importorskip("towncrier", reason="make install installs towncrier")
    for name in ("pyproject.toml", "CHANGELOG.md", "news/template.md.jinja"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / "news" / "slow-links.studies.md").write_text("A sweep names slow links.\n")
    (tmp_path / "news" / "sums.base.md").write_text("Sums are exact,\nand fast.\n")
    line = [sys.executable, "-m", "towncrier", "build", "--keep"]
    options = ["--version", "9.9.0", "--date", "2030-01-02"]
    subprocess.run([*line, *options], cwd=tmp_path, check=True, capture_output=True)
    made = "### base\n\n- Sums are exact,\n  and fast.\n\n### studies\n\n- A sweep names slow links.\n\n"
    text = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    added = text.partition("## [9.9.0] - 2030-01-02\n\n")[2]
    assert re.sub(r"\n{3,}", "\n\n", added).startswith(made + f"## [{dse.__version__}]")

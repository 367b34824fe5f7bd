"""The page stands alone, is well-formed whatever names a study has, and is written by the command."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from command_lines import error_of, run_dse, run_ok
from study_rows import ROW, failed_row, row

from dse.answers.reports import render_page, report_data
from dse.answers.reports.page import TEMPLATES
from dse.base.pages import BASE_STYLE, script_json
from dse.inputs.strategies import Strategy
from dse.studies.points import DesignPoint, Scenario, evaluate
from dse.studies.store import StudyRow, StudyStore
from dse.testing.builders import RING16, TINY

CAP = 80_000_000_000
VOID = ("meta", "link", "br", "input")
HOSTILE = "</script><script>alert('1')</script>&\"'<img src=x onerror=alert(1)>${x}{{ 7*7 }}\u2028"
ROOT = Path(__file__).parents[3]


class Page(HTMLParser):
    """Checks that elements nest, and keeps what a test asks for."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"{tag} has an attribute twice: {names}"
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.text += data

    def words(self) -> str:
        return " ".join(self.text.split())


def page_of(folder: Path, rows: list[StudyRow], cap: int | None = CAP, **options: int) -> Page:
    store = StudyStore.create(folder)
    store.append(rows)
    return Page(render_page(report_data(store, memory_cap_bytes=cap, **options)))


@pytest.fixture(scope="module")
def page(lab: StudyStore) -> Page:
    return Page(render_page(report_data(lab, memory_cap_bytes=CAP)))


def test_the_answers_are_on_the_page_without_a_program(page: Page) -> None:
    text = page.words()
    assert "3.18 s dp64 tp1 sp1 pp1 144.16 GB of memory at its peak" in text
    assert "3.881 s dp32 tp2 sp1 pp1 recompute 39.45 GB of memory at its peak, 22.1 % slower" in text
    assert "3 881 176 000" in text
    assert "python -m dse point system=system1 model=llama70b strategy.dp=32 strategy.tp=2" in text
    assert "python -m dse.sweep system=system1 model=llama70b" in text


def test_nothing_is_loaded(page: Page) -> None:
    for tag, attributes in page.elements:
        for name in ("src", "href", "action", "poster", "srcset", "data"):
            link = attributes.get(name)
            assert link is None or link.startswith("#") or link == "data:,", f"{tag} {name}={link}"
    style = BASE_STYLE.read_text() + (TEMPLATES / "report.css").read_text()
    assert "url(" not in style
    assert "@import" not in style
    (policy,) = [about["content"] for _, about in page.elements if "http-equiv" in about]
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_the_page_has_what_assistive_programs_need(page: Page) -> None:
    tags = [tag for tag, _ in page.elements]
    assert tags.count("h1") == tags.count("main") == tags.count("title") == 1
    assert ("html", {"lang": "en"}) in page.elements
    canvases = [about for tag, about in page.elements if tag == "canvas"]
    assert [about["data-plot"] for about in canvases] == ["scatter", "time", "memory", "caps", "tornado"]
    assert all(about["role"] and about["aria-label"] for about in canvases)
    assert tags.count("details") >= len(canvases)
    identities = [about["id"] for _, about in page.elements if "id" in about]
    assert len(set(identities)) == len(identities)


def luminance(color: str) -> float:
    channels = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2, 1.4.3."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_contrasts(scheme: int) -> None:
    blocks = re.findall(r":root(?::not\(\.light\))? \{\n(.*?)\}", BASE_STYLE.read_text(), re.S)
    colors = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", blocks[scheme]))
    assert len(colors) > 30
    for ink in ("ink", "muted", "accent", "good", "bad"):
        for ground in ("page", "panel"):
            assert contrast(colors[ink], colors[ground]) >= 4.5, (ink, ground)
    for level in range(7):
        assert contrast(colors[f"h{level}"], colors[f"t{level}"]) >= 4.5, level
    for mark in ("plain", "recompute", "fsdp", "both"):  # graphics: WCAG 2, 1.4.11
        assert contrast(colors[mark], colors["page"]) >= 3, mark


def test_hostile_names_are_text(tmp_path: Path) -> None:
    name = "".join(character for character in HOSTILE if character.isprintable())
    model, on = (dataclasses.replace(spec, name=f"{name}{spec.name}") for spec in (TINY, RING16))
    good = evaluate(DesignPoint(Scenario(HOSTILE, model, on), Strategy(dp=16)))
    bad = dataclasses.replace(failed_row("failed", HOSTILE), model=HOSTILE, system=HOSTILE, study=HOSTILE)
    store = StudyStore.create(tmp_path)
    store.append([good, dataclasses.replace(bad, key="1" * 32)])
    store.record_sweep(
        "a", json.dumps({"started": HOSTILE, "command": [HOSTILE], "versions": {HOSTILE: HOSTILE}})
    )
    page = Page(render_page(report_data(store, memory_cap_bytes=CAP, title=HOSTILE)))
    assert len(page.scripts) == 3
    assert not [tag for tag, _ in page.elements if tag == "img"]
    assert " ".join(HOSTILE.split()) in page.words()
    assert "49" not in page.words().split("{{")[0]
    json.loads(page.scripts[0])


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], "No point is ok."),
        ([failed_row("failed", "a reason")], "a reason"),
        ([ROW], "schema version 1"),
        ([row(peak_memory_bytes=None)], "No point has a peak memory"),
        ([row(peak_memory_bytes=CAP + 1)], "Nothing fits: the smallest peak memory is 80.00 GB"),
        ([row(wall_time_ns=0, exposed_comm_ns=0)], "All points have the same degrees"),
    ],
    ids=["empty", "failed", "version 1", "no memory", "nothing fits", "nothing takes time"],
)
def test_odd_studies_have_a_page_that_says_so(tmp_path: Path, rows: list[StudyRow], expected: str) -> None:
    assert expected in page_of(tmp_path, rows).words()


def test_a_sample_is_called_one(tmp_path: Path) -> None:
    rows = [row(dp=1 + dp % 8, wall_time_ns=10**9 + dp) for dp in range(1, 200)]
    assert "Shown are 50 of 199 points" in page_of(tmp_path, rows, max_points=50).words()


def test_several_questions_have_a_section_each(tmp_path: Path) -> None:
    page = page_of(tmp_path, [row(system=name, dp=dp) for name in ("a", "b") for dp in (1, 2)])
    assert "All questions of the study" in page.words()
    sections = [about.get("id") for tag, about in page.elements if tag == "section"]
    assert sections == ["question-1", "question-2", "provenance"]


def test_json_of_a_script_ends_no_script() -> None:
    text = str(script_json({"a": HOSTILE}))
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == {"a": HOSTILE}


def test_the_command_writes_the_same_page_again(lab: StudyStore, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    for name in ("one.html", "new/two.html"):
        done = run_ok("report", lab.folder, "-o", name, "title=Mine", cwd=tmp_path)
        assert done.out.startswith(f"{name}: ")
        assert done.out.endswith(" kB, open it in a browser\n")
    first = (tmp_path / "one.html").read_bytes()
    assert first == (tmp_path / "new" / "two.html").read_bytes()
    assert b"<title>Mine</title>" in first
    assert len(first) < 320_000
    assert str(tmp_path).encode() not in first


def test_the_default_file_and_no_cap(tmp_path: Path) -> None:
    StudyStore.create(tmp_path / "study").append([ROW])
    run_ok("report", "study", "--no-memory-cap", cwd=tmp_path)
    assert "under 80.00 GB" not in (tmp_path / "study.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere is not a study"),
        (["study", "memory_cap=80"], "memory_cap '80' has no unit"),
        (["study", "max_points=0"], "max_points is '0'; it must be a whole number, 1 to"),
        (["study", "max_points=many"], "max_points is 'many'; it must be a whole number, 1 to"),
        (["study", "-o", "study"], "--output is 'study'; it must name a file"),
        (["study", "--color"], "unknown option --color"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    StudyStore.create(tmp_path / "study").append([ROW])
    assert message in error_of("report", *arguments, cwd=tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_an_old_page_survives_a_failed_one(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("old")
    assert run_dse("report", "nowhere", cwd=tmp_path).code == 2
    assert (tmp_path / "report.html").read_text() == "old"


def test_help_loads_no_heavy_package() -> None:
    heavy = "{'pyarrow', 'numpy', 'jinja2', 'dse.native._engine'}"
    code = f"import sys; import dse.commands.report; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_plot_library_is_the_one_that_the_documents_name() -> None:
    library = (TEMPLATES / "vendor" / "chart.umd.min.js").read_text(encoding="utf-8")
    assert "Chart.js v4.6.1" in library[:200]
    assert "MIT License" in (TEMPLATES / "vendor" / "LICENSE.md").read_text()
    assert "Chart.js 4.6.1" in (ROOT / "docs" / "architecture.md").read_text()

"""The documents are true: their commands and programs run, their links resolve, their tables are complete."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from command_lines import TINY, TINY_DGX16, astra_log, export_case, run_dse, run_ok
from job_folders import recorded_folder

from docs.hooks.pictures import PICTURES
from docs.hooks.reference import reference
from dse.answers.explorer import without_engine
from dse.commands.verbs import verbs
from dse.prediction.measured.rows import FITTED
from dse.studies.config.schema import ConfigSchema, entries
from dse.studies.store import STATUSES, study_schema

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = (
    "external",
    "external/astra-network-analytical",
    "astra_configs",
    "workloads",
    "results",
    "benchmarks",
)
ALL_PAGES = [
    *PAGES,
    *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "news/README.md")),
    *(ROOT / folder / "README.md" for folder in FOLDERS),
]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_IN_TABLE = re.compile(r"^\|[^|]*\| `(dse [^`]+)` \|", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def blocks(page: Path, language: str) -> list[str]:
    return [body for kind, body in _BLOCK.findall(page.read_text()) if kind == language]


def command_lines() -> list[str]:
    """Those of all blocks but the newcomer's and the tutorials', which tests of their own run in order.

    And those in the table of the README.
    """
    pages = [page for page in ALL_PAGES if not page.name.startswith("tutorial")]
    bodies = [body for page in pages for body in blocks(page, "bash") if not body.startswith("git clone")]
    bodies += _IN_TABLE.findall((ROOT / "README.md").read_text())
    return sorted({line for body in bodies for line in body.splitlines() if line.strip()})


PYTHON = [(page.name, body) for page in ALL_PAGES for body in blocks(page, "python")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the documents speak of: studies (of the tiny model) and a run of ASTRA-sim."""
    folder = tmp_path_factory.mktemp("user")
    run_ok("sweep", "system=system1", "model=llama70b", "model.num_layers=2", "space.sp=[1]", cwd=folder)
    run_ok("sweep", *TINY, "study=faster", "system.network.0.bandwidth_gbps=200", cwd=folder)
    run_ok("sweep", *TINY, "study=stages", "space.sp=[1]", cwd=folder)
    run_ok("sweep", *TINY, "study=truth", "space.sp=[1]", cwd=folder)
    run_ok("sweep", *TINY, "study=searched", "space.sp=[1]", "search=random", "search.samples=4", cwd=folder)
    fault = "space.axes={system.faults:[[],[{source:0,destination:1,removed:true}]]}"
    run_ok("sweep", *TINY, "study=broken", "system.network_model=congestion_aware", fault, cwd=folder)
    slow = "space.axes={system.deratings:[[],[{npu:3,compute_factor:0.5}]]}"
    run_ok("sweep", *TINY, "study=straggler", "space.sp=[1]", slow, cwd=folder)
    run_ok("synthesize", "system=torus_4x4", "-o", "results/torus", cwd=folder)
    job = ("system=dgx_h100", "system.nodes=8", "model=llama3_70b", "framework=megatron-bridge")
    run_ok("launch", *job, "-o", "results/job", cwd=folder)
    run = folder / "runs" / "my_run"
    figures = export_case(run, *TINY_DGX16, "strategy.dp=4", "strategy.tp=4")
    (run / "reference.log").rename(run / "run.log")
    (run / "run.log").write_text(astra_log(sorted(figures.items()), percent="$"))
    recorded_folder(folder / "runs" / "step")
    shutil.copytree(ROOT / "tests" / "golden", folder / "tests" / "golden")
    header, *rows = FITTED.read_text().splitlines(keepends=True)
    h100 = [row for row in rows if row.startswith("mosaic") and "H100" in row]
    (folder / "runs" / "h100.csv").write_text("".join([header, *h100]))
    return folder


def command(line: str) -> tuple[str, list[str]]:
    """The verb and the arguments of `dse VERB …`, or of `python -m dse VERB …`."""
    words = shlex.split(line)
    if words[0] == "dse":
        return words[1], words[2:]
    assert words[:2] == ["python", "-m"]
    return (words[3], words[4:]) if words[2] == "dse" else (words[2].removeprefix("dse."), words[3:])


def assert_nothing_is_left_beside(folder: Path, before: set[Path]) -> None:
    """What a document writes is in folders that Git ignores, or in place of files of the checkout."""
    written = {path.name for path in set(folder.iterdir()) - before}
    assert written <= {"results", "workloads", "astra_configs"}


def test_commands_and_programs_are_found() -> None:
    lines = command_lines()
    assert len([line for line in lines if line.startswith("dse ")]) > 50
    assert {"make sweep", "make test"} <= set(lines)
    assert len(PYTHON) >= 6


@pytest.mark.parametrize("line", [line for line in command_lines() if not line.startswith("make ")])
def test_a_command_runs(folder: Path, line: str) -> None:
    """With two layers in the place of eighty, which changes no key."""
    verb, arguments = command(line)
    if verb == "explore":
        if missing := without_engine():
            pytest.skip(missing)
        arguments.append("--no-open")
    if any(argument in ("model=llama70b", "model=gpt175b") for argument in arguments):
        arguments.append("model.num_layers=2")
    before = set(folder.iterdir())
    deadlocks = verb == "point" and any("npus:16" in argument for argument in arguments)
    done = run_dse(verb, *arguments, cwd=folder)
    assert (done.code, "error" in done.err) == (1 if deadlocks else 0, False), done.err
    assert done.out
    assert_nothing_is_left_beside(folder, before)


def test_the_deadlock_of_the_simulator_page_is_printed_as_it_stands(folder: Path) -> None:
    page = ROOT / "docs" / "simulator.md"
    *_, line = blocks(page, "bash")
    printed = run_dse("point", *command(line)[1], cwd=folder).out
    assert printed in blocks(page, "text")


@pytest.mark.parametrize("line", [line for line in command_lines() if line.startswith("make ")])
def test_a_target_of_make_exists(line: str) -> None:
    assert re.search(rf"^{line.split()[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize(("page", "program"), PYTHON, ids=[page for page, _ in PYTHON])
def test_a_program_runs(folder: Path, page: str, program: str) -> None:
    before = set(folder.iterdir())
    line = [sys.executable, "-c", program]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{page}: {done.stderr}"
    assert_nothing_is_left_beside(folder, before)


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for link in _LINK.findall(text):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name}: {link}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {link}"


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    for page in PAGES[1:]:
        name = page.relative_to(ROOT / "docs").as_posix()
        assert name == "index.md" or f"({name})" in index, name


def test_no_line_of_the_documents_is_a_machine_path() -> None:
    for page in ALL_PAGES:
        assert not re.search(r"(?<![\w.])/(home|root|tmp|work|usr|opt)/", page.read_text()), page


def columns_table() -> str:
    """The columns of a study; docs/reference.md explains those of the strategy."""
    keys = [entry.name for entry in entries(ConfigSchema)]
    strategy = {key.removeprefix("strategy.") for key in keys if key.startswith("strategy.")}
    names = [f"`{field.name}`" for field in study_schema() if field.name in strategy]
    lines = [f"Columns of the [strategy](reference.md#strategy): {', '.join(names)}.", ""]
    lines += ["Column | Type | Meaning", "---|---|---"]
    for field in study_schema():
        if field.name in strategy:
            continue
        metadata = {key.decode(): value.decode() for key, value in field.metadata.items()}
        kind = str(field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        unit = metadata["unit"] if metadata["unit"] not in ("none", "1") else ""
        parts = [kind, unit, "null" if field.nullable else ""]
        lines.append(f"`{field.name}` | {', '.join(filter(None, parts))} | {metadata['description']}")
    return "\n".join(lines)


def test_the_table_of_columns_is_the_schema() -> None:
    page = (ROOT / "docs" / "results.md").read_text()
    start = page.index("\n", page.index("<!-- columns")) + 1
    assert page[start : page.index("\n<!-- end of columns")] == columns_table()
    for status in STATUSES:
        assert f"| `{status}` |" in page


def test_the_reference_is_made_of_the_schema() -> None:
    assert (ROOT / "docs" / "reference.md").read_text() == reference(), "make reference"


def test_every_key_has_a_meaning() -> None:
    found = list(entries(ConfigSchema))
    assert len(found) > 90
    assert all(entry.meaning for entry in found)
    assert len({entry.name for entry in found}) == len(found)


def test_every_command_is_listed() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    for verb in verbs():
        assert f"| `dse {verb}` |" in page, verb


def test_the_guide_builds_as_a_site_that_loads_nothing(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="make docs installs mkdocs-material")
    pytest.importorskip("mkdocstrings", reason="make docs installs mkdocstrings")
    line = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--quiet",
        "--strict",
        "--site-dir",
        str(tmp_path / "site"),
    ]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    pages = [page for page in (tmp_path / "site").rglob("*.html") if "examples" not in page.parts]
    assert len(pages) > 30
    loaded = re.compile(r"<(?:script|img|iframe)[^>]* src=.?https?:|<link[^>]*stylesheet[^>]*https?:")
    assert not [page for page in pages if loaded.search(page.read_text())]


def test_the_readme_shows_what_the_reference_cases_prove_and_what_they_do_not() -> None:
    text = " ".join((ROOT / "README.md").read_text().split())
    assert "congestion-unaware or congestion-aware" in text
    assert "all 735 reference cases" in text
    assert "go beyond that reference" in text


def test_the_first_example_of_the_readme_is_printed_as_it_stands(tmp_path: Path) -> None:
    example = re.compile(
        r"^```bash\n(dse .*)\n```\n\n<!-- first example.*?-->\n```text\n(.*?)^```$", re.M | re.S
    )
    ((line, printed),) = example.findall((ROOT / "README.md").read_text())
    verb, arguments = command(line)
    assert run_ok(verb, *arguments, cwd=tmp_path).out == printed


def test_pictures_are_small_and_can_all_be_drawn_again() -> None:
    shown = {name for page in PAGES for name in re.findall(r"pictures/(\S+\.png)\)", page.read_text())}
    stored = {picture.name: picture.stat().st_size for picture in (ROOT / "docs" / "pictures").iterdir()}
    assert shown == set(stored) == {picture.name for picture in PICTURES}
    assert max(stored.values()) < 100_000

"""The command `dse`: a verb per file, found without imports; what a wrong one is answered; imports."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import Done

from dse.commands import verbs as verbs_module
from dse.commands.cli import called_as
from dse.commands.verbs import Verb, verbs

PACKAGE = Path(verbs_module.__file__).parent
NAMES = [
    "accuracy",
    "batch",
    "best",
    "calibrate",
    "check",
    "compare",
    "completion",
    "explain",
    "explore",
    "launch",
    "measure",
    "partition",
    "pipeline",
    "plan",
    "point",
    "regret",
    "report",
    "run",
    "schedule",
    "sensitivity",
    "simulate",
    "size",
    "status",
    "sweep",
    "synthesize",
    "system",
    "timeline",
    "validate",
]


def run_program(*arguments: str, folder: Path, options: tuple[str, ...] = ()) -> Done:
    line = [sys.executable, *options, "-m", "dse", *arguments]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    return Done(done.returncode, done.stdout, done.stderr)


def test_the_verbs_are_the_files_that_say_so() -> None:
    assert list(verbs()) == NAMES
    assert verbs()["explain"].module == "dse.commands.explain"
    assert verbs()["best"].meaning == "the best strategies of a study, for one cap or for all of them"


def test_a_new_file_is_a_new_verb(tmp_path: Path) -> None:
    (tmp_path / "roofline.py").write_text('"""`dse roofline results/<study>`: what bounds a point."""\n')
    (tmp_path / "units.py").write_text('"""Units of everything."""\n')
    package = tmp_path / "plan"
    package.mkdir()
    (package / "__main__.py").write_text('"""`dse plan`: which cluster to buy.\n\nMore.\n"""\n')
    assert verbs(tmp_path) == {
        "plan": Verb("plan", f"{tmp_path.parent.name}.{tmp_path.name}.plan.__main__", "which cluster to buy"),
        "roofline": Verb(
            "roofline", f"{tmp_path.parent.name}.{tmp_path.name}.roofline", "what bounds a point"
        ),
    }


def test_help_has_a_line_per_verb_and_imports_none(tmp_path: Path) -> None:
    done = run_program("--help", folder=tmp_path, options=("-X", "importtime"))
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "usage: python -m dse VERB ..."
    assert [line.split()[0] for line in lines[2 : 2 + len(NAMES)]] == NAMES
    assert all(len(line) <= 100 for line in lines)
    imported = {line.rpartition("|")[2].strip() for line in done.err.splitlines() if "|" in line}
    ours = {name for name in imported if name.split(".")[0] == "dse"}
    assert ours == {
        "dse",
        "dse.base",
        "dse.base.command_lines",
        "dse.commands",
        "dse.commands.cli",
        "dse.base.errors",
        "dse.base.settings",
        "dse.base.settings.checks",
        "dse.base.settings.choices",
        "dse.base.settings.keys",
        "dse.base.signals",
        "dse.base.start",
        "dse.base.texts",
        "dse.base.units",
        "dse.commands.verbs",
    }
    assert not imported & {"numpy", "pyarrow", "yaml", "hydra", "omegaconf", "ray"}


def test_version(tmp_path: Path) -> None:
    import dse

    words = "simulates as astra-sim-2025-04; simulator.reference has astra-sim-2026-03 too"
    assert run_program("--version", folder=tmp_path) == Done(0, f"dse {dse.__version__}: {words}\n", "")


@pytest.mark.parametrize(("word", "nearest"), [("bets", "best"), ("sweeep", "sweep")])
def test_an_unknown_verb_is_one_line_and_exit_code_2(tmp_path: Path, word: str, nearest: str) -> None:
    done = run_program(word, folder=tmp_path)
    allowed = ", ".join(NAMES)
    expected = f"error: verb is '{word}'; allowed are {allowed}; did you mean '{nearest}'?\n"
    assert done == Done(2, "", expected)


def test_an_unknown_option_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    expected = (
        "error: unknown option --verson; allowed are -h, --help, --version; did you mean '--version'?\n"
    )
    assert run_program("--verson", folder=tmp_path) == Done(2, "", expected)


def test_an_installed_package_adds_a_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "greetings.py").write_text("def main(argv):\n    print('hello', *argv)\n    return 3\n")
    about = tmp_path / "greetings-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: greetings\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[dse.commands]\ngreet = greetings:main\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    assert run_program("greet", "you", folder=tmp_path) == Done(3, "hello you\n", "")


def test_the_usage_of_an_action_shows_how_it_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["dse plan"])
    assert called_as("plan check") == "dse plan check"
    monkeypatch.setattr(sys, "argv", ["python -m dse plan"])
    assert called_as("plan check") == "python -m dse plan check"


@pytest.mark.parametrize("name", NAMES)
def test_a_usage_shows_how_the_command_was_called(tmp_path: Path, name: str) -> None:
    assert run_program(name, "--help", folder=tmp_path).out.startswith(f"usage: python -m dse {name} ")


def test_the_console_script_is_called_dse(tmp_path: Path) -> None:
    program = """
import sys
sys.argv = ["/some/where/bin/dse", "best", "--help"]
import dse
assert not [name for name in sys.modules if name.startswith("dse.")]
from dse.__main__ import main
main()
"""
    line = [sys.executable, "-c", program]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: dse best STUDY [KEY=VALUE ...]")


def test_every_verb_says_what_it_takes() -> None:
    lines = {name: verb.load().COMMAND for name, verb in verbs().items()}
    assert all(line.verb == name and line.about.endswith(".") for name, line in lines.items())
    assert set(lines["sweep"].options) == {"--cfg", "--multirun", "--config-dir", "--dry-run"}
    assert lines["validate"].choices["network_model"] == ("congestion_unaware", "congestion_aware")


def imported(file: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(file.read_text())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_nothing_imports_a_command() -> None:
    commands = {verb.module for verb in verbs().values()} | {"dse.__main__"}
    for file in PACKAGE.rglob("*.py"):
        assert not imported(file) & commands, file


def test_help_fits_a_terminal_and_gives_every_key_a_meaning() -> None:
    for name, verb in verbs().items():
        module = verb.load()
        for line in (module.COMMAND, *getattr(module, "ACTIONS", {}).values()):
            assert all(line.meanings.values()), name
            assert all(len(text) <= 100 for text in line.usage(f"dse {line.verb}").splitlines()), name


def test_the_guide_says_which_commands_take_a_key() -> None:
    lines = {name: verb.load().COMMAND for name, verb in verbs().items()}
    page = (PACKAGE.parents[1] / "docs" / "commands.md").read_text()
    rows = re.findall(
        r"^\| `([a-z_-]+)(?:=[A-Z]+)?`.*\|([^|]*)\|$", page.partition("several commands")[2], re.M
    )
    assert [key for key, _ in rows] == ["memory_cap", "group", "point", "--json", "csv"]
    for key, named in rows:
        takers = [name for name, line in lines.items() if key in line.meanings or key in line.options]
        assert re.findall(r"`(\w+)`", named) == takers, key

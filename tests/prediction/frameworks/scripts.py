"""Launch scripts of tests: the words of their commands."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from dse.prediction.frameworks.reading import read_script


def words(text: str, **given: str) -> list[str]:
    """The words after the launched program of the only command."""
    (command,) = read_script(text, "a.sh", given).commands
    return list(command.words[1:])


def launched(script: str, tmp_path: Path) -> list[str]:
    """The words of all commands that a script launches, which bash must launch too."""
    commands = [command.words for command in read_script(script, "a.sh").commands]
    assert all(words[0] == "torchrun" for words in commands)
    found = [word for words in commands for word in words[1:]]
    if bash := shutil.which("bash"):
        start = (
            f"cd {tmp_path}\ntorchrun() {{ printf '%s\\0' \"$@\" >&9; }}\nexport -f torchrun\nexec 9>words\n"
        )
        subprocess.run(
            [bash, "-c", start + script], capture_output=True, text=True, check=False, timeout=20,
            env={"PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        assert (tmp_path / "words").read_text().split("\0")[:-1] == found
    return found

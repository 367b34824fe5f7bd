"""Scripts that end where a command fails, because set -e says so, as bash has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.prediction.frameworks.reading import read_script
from tests.prediction.frameworks.scripts import launched


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("set -e; [[ a == b ]] && torchrun no; torchrun yes; [[ a == b ]]; torchrun never", ["yes"]),
        ("set -e; false || torchrun a; if false; then :; fi; torchrun b; ! true; torchrun c; "
         "(exit 3); torchrun d",
         ["a", "b", "c"]),
        ("set -e; f(){ false; torchrun in; }; f || torchrun o; f; torchrun z", ["in"]),
        ("set -e; f(){ [[ a == b ]] && true; }; f; torchrun z", []),
        ("set -euo pipefail; false | true; torchrun z", []),
        ("set -o pipefail; false | true || torchrun p; set -e; set +e; false; torchrun q", ["p", "q"]),
        ("set -o errexit; while false; do :; done; torchrun a; for i in 1 2; do [ $i = 2 ]; done; torchrun b",
         ["a"]),
        ("set -e; N=0; (( N += 0 )) || true; torchrun a; (( N++ )); torchrun b", ["a"]),
        ("set -e; false && true; torchrun b; { false && true; }; torchrun c; true && false; torchrun d",
         ["b", "c"]),
        ("set -e; torchrun x; ( set +e; false; torchrun y ); torchrun w", ["x", "y", "w"]),
        ("set -e; case a in a) [ 1 = 1 ] ;; esac; torchrun x; until true; do :; done; eval false; torchrun y",
         ["x"]),
        ("set -e; T=$(false); torchrun never", []),
        ("T=$(exit 3) || torchrun $?", ["3"]),
        ("set -e; n=$(nproc || echo 8); false; torchrun 1", []),
        ("set -e; f(){ false; torchrun 0; return 1; }; ! f; torchrun 1", ["0", "1"]),
        ("set -e; f(){ false; torchrun 0; return 1; }; ! ! f; torchrun 1", []),
        ("set -e; f(){ false; torchrun 0; return 1; }; ! f | cat; torchrun 1", ["0", "1"]),
        ("set -e; y=$(false; echo 3); torchrun $y", ["3"]),
        ("set -e; (false; torchrun 1) >/dev/null; torchrun 2", []),
        ("set -e; f(){ false; echo 4; }; torchrun $(f) $(set -e; f); y=$(set -e; false; echo 3); torchrun n",
         ["4"]),
        ("set -e; shopt -s inherit_errexit; torchrun 1; y=$(false; echo 3); torchrun $y", ["1"]),
    ],
)  # fmt: skip
def test_a_failure_ends_a_script_where_it_ends_that_of_bash(
    script: str, expected: list[str], tmp_path: Path
) -> None:
    assert launched(script, tmp_path) == expected


def test_the_line_that_ends_the_script_is_told() -> None:
    assert read_script("set -e\ntorchrun a\n[ 1 = 2 ]\ntorchrun b", "a.sh").notes == (
        "line 3: a command fails, and set -e ends the script there",
    )

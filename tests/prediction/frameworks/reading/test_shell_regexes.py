"""Regular expressions behind =~, as bash has them, and within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.prediction.frameworks.reading import read_script
from dse.prediction.frameworks.reading.shell_regexes import matched
from tests.prediction.frameworks.scripts import launched


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("V=llama3-8b-tp4; [[ $V =~ ^llama3-([0-9]+)b-tp([0-9]+)$ ]] && torchrun ${BASH_REMATCH[@]}",
         ["llama3-8b-tp4", "8", "4"]),
        ("re='^[0-9]+$'; [[ 12 =~ $re ]] && torchrun a; [[ 12a =~ $re ]] || torchrun b", ["a", "b"]),
        ("if ! [[ x =~ ^[0-9]+$ ]] ; then torchrun a; fi", ["a"]),
        (r'[[ foo.bar =~ o\.b ]] && torchrun "$BASH_REMATCH"; [[ fooxbar =~ o\.b ]] || torchrun no',
         ["o.b", "no"]),
        ('[[ "a.b" =~ "a.b" ]] && torchrun q; [[ axb =~ "a.b" ]] || torchrun nq', ["q", "nq"]),
        ("[[ llama_70b =~ (7|70|8)b ]] && torchrun ${BASH_REMATCH[1]}; "
         "[[ aaa =~ a{2} ]] && torchrun $BASH_REMATCH",
         ["70", "aa"]),
        ('[[ aaab =~ (a|ab)(c|bcd)?(d*) ]] && torchrun "${BASH_REMATCH[0]}"', ["a"]),
        ('[[ xabcd =~ (a|ab)(c|bcd) ]] && torchrun "${BASH_REMATCH[0]}"', ["abcd"]),
        ('[[ "x=1,y=22" =~ y=([[:digit:]]+) && 1 == 1 ]] && torchrun ${BASH_REMATCH[1]}', ["22"]),
        ('[[ "a b" =~ [[:space:]] ]] && torchrun sp; [[ a-b =~ ^[a-c-]+$ ]] && torchrun d; '
         '[[ "]" =~ []] ]] && torchrun b',
         ["sp", "d", "b"]),
        ("[[ ! abc =~ ^[^a] ]] && torchrun n; [[ (abc =~ c$) ]] && torchrun y", ["n", "y"]),
        ("[[ aab =~ ^(a*)+b$ ]] && torchrun y; [[ abab =~ ^(ab){2,}$ ]] && torchrun t", ["y", "t"]),
    ],
)  # fmt: skip
def test_matches_are_those_of_bash(script: str, expected: list[str], tmp_path: Path) -> None:
    assert launched(script, tmp_path) == expected


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("(a", "a", "x: this form behind =~ is not read; allowed are texts"),
        ("a)", "a", "x: this form behind =~ is not read"),
        ("[a", "a", "x: this form behind =~ is not read"),
        ("[[:nothing:]]", "a", "x: this form behind =~ is not read"),
        ("*", "a", "x: this form behind =~ is not read"),
        ("a{300}", "a", "x: this form behind =~ is not read"),
        (r"\ba", "a", "x: this form behind =~ is not read"),
        ("(" * 50, "a", "x: this form behind =~ is not read"),
        ("((a+)+)+b", "a" * 100, "x: =~ takes more than 100000 steps; write a shorter form"),
        ("(|){100}b", "a", "x: =~ takes more than 100000 steps"),
        ("[a]" * 200, "a", "x: =~ is read for forms of at most 500 characters"),
        ("a", "a" * 300, "x: =~ is read for texts of at most 250 characters"),
    ],
)
def test_a_form_outside_the_bounds_is_refused(form: str, text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        matched([(form, False)], text, "x")
    assert str(refused.value).startswith(message)


def test_searches_of_a_script_are_bounded_together() -> None:
    script = f"for i in {{1..9999}}; do [[ {'a' * 100} =~ a*b ]]; done; torchrun"
    with pytest.raises(InputError, match=r"line 1: the variables grow beyond 10000000 characters in all"):
        read_script(script, "a.sh")

"""Patterns of shell scripts, as bash reads them: in values that they change, in equations and in cases."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.prediction.frameworks.reading import read_script
from tests.prediction.frameworks.scripts import words

CHANGES = {
    "${#A[@]} ${#X} ${A[$I]} ${A[-1]} ${A[$((I-1))]} ${A[@]:1:2}": "4 10 n3 n4 n2 n2 n3",
    "${X%%.*} ${X%.*} ${X#*.} ${X##*.} ${X%z}": "a a.b.tar b.tar.GZ GZ a.b.tar.GZ",
    "${X//./_} ${X/./_} ${X/%GZ/zip} ${X/#a/c} ${X//.}": (
        "a_b_tar_GZ a_b.tar.GZ a.b.tar.zip c.b.tar.GZ abtarGZ"
    ),
    "${X,,} ${X^^} ${X:2:3} ${X: -2} ${!N}": "a.b.tar.gz A.B.TAR.GZ b.t GZ a.b.tar.GZ",
    "${L////_} ${L////} ${I/#/x} ${I/%/x} ${I//#/x} ${L//*/x}": "meta_llama metallama x2 2x 2 x",
    "$'x y' ${T//_}": "x y 350000000",
    "${M//[^0-9]/} ${M//[!0-9]/} ${M//[^[:digit:]]/-} ${M//[a-z]/}": "4 4 --4 4",
    '${L//\\//_} "${L//\\//_}" ${L//"/"/_} ${L/$S/_} ${L%/*}': "meta_llama meta_llama meta_llama m_ama meta",
    '${Q//"*"/-} "${Q//\\*/-}" ${Q%"*b"} "${Q%"*b"}" "${Q%\'*b\'}" ${Q//\\*/\\/} "${Q#a*}"': (
        "a-b a-b a a a a/b *b"
    ),
    '${X//#a/c} ${L//a/"b c"} ${@: -1} ${@:2:1} ${*: -2:1} ${@: -9} ${!A[@]} ${#@}': (
        "a.b.tar.GZ metb c/llb cmb c w v v 0 1 2 3 3"
    ),
}


@pytest.mark.parametrize("changes", CHANGES)
def test_values_are_changed_as_in_bash(changes: str, tmp_path: Path) -> None:
    begin = "A=(n1 n2 n3 n4); X=a.b.tar.GZ; I=2; N=X; T=350_000_000\n"
    begin += "M=tp4; L=meta/llama; Q='a*b'; S=eta/ll; set -- u v w\n"
    shell = subprocess.run(
        ["bash", "-c", f"{begin}echo {changes}"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert " ".join(words(f"{begin}torchrun {changes}")) == shell.stdout.strip() == CHANGES[changes]


def test_the_arguments_from_0_on_begin_with_the_name_of_the_script() -> None:
    (command,) = read_script('torchrun "${@:0}" ${@:1}', "a.sh", {}, ["p"]).commands
    assert command.words == ("torchrun", "a.sh", "p", "p")
    with pytest.raises(InputError, match="line 2: a number of items is at least 0, not -1"):
        words("A=(1 2)\ntorchrun ${A[@]:0:-1}")
    with pytest.raises(InputError, match=r"\$\{!A\[@\]\} needs X, which has no value"):
        words("A=($X)\nfor i in ${!A[@]}; do torchrun $i; done")


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("llama == $P", True),
        ('llama == "$P"', False),
        ("l* == $P", True),
        ('"l*" == "$P"', True),
        ("llama == [Ll]lama", True),
        ("alama == [^Ll]lama", True),
        ("llama == [^Ll]lama", False),
        ("llama != $P", False),
        ("[Ll]lama == '[Ll]'lama", True),
        ("llama == x$P", False),
    ],
)
def test_the_right_of_an_equation_is_a_pattern_unless_it_is_quoted(condition: str, holds: bool) -> None:
    script = f"P='l*'\nif [[ {condition} ]]; then torchrun 1; else torchrun 0; fi"
    assert words(script) == [str(int(holds))]
    assert words("P='l*'\nif [ llama == $P ]; then torchrun 1; else torchrun 0; fi") == ["0"]


def test_a_case_runs_what_stands_behind_the_first_pattern_that_fits() -> None:
    script = """case "$A" in
      1|2) X=few;;  # some
      (8*)
        X=many
        Y=1 ;;
      "*") X=star ;;
      *) X=other
    esac
    torchrun $X"""
    assert [words(script, A=text) for text in ("2", "80", "*", "")] == [
        ["few"], ["many"], ["star"], ["other"],
    ]  # fmt: skip
    assert words("case a in b) torchrun 1;; esac; torchrun 2") == ["2"]


def test_patterns_of_a_case_take_no_time_that_grows_with_their_stars() -> None:
    begin = time.process_time()
    read_script(f"X={'a' * 20000}\ncase $X in {'*a' * 400}*b) ;; esac", "a.sh")
    assert time.process_time() - begin < 5

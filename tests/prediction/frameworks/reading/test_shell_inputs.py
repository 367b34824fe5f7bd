"""Options and texts that scripts take apart, and what their functions print, as bash has them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dse.base.errors import InputError
from tests.prediction.frameworks.scripts import launched, words

OPTIONS = 'while getopts "t:vp:" o; do case $o in t) T=$OPTARG;; v) V=1;; p) P=$OPTARG;; esac; done'


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f'set -- -t 4 -vp2 -- x y; {OPTIONS}; shift $((OPTIND-1)); torchrun $T $V $P "$@" $#',
         ["4", "1", "2", "x", "y", "2"]),
        (f"{OPTIONS}; torchrun ${{T:-8}} $OPTIND", ["8", "1"]),
        ('f(){ local OPTIND=1 o; while getopts ":a:b" o "$@"; do torchrun "$o" "${OPTARG:-}"; done; '
         '}; f -b -a 3 -z -a',
         ["b", "", "a", "3", "?", "z", ":", "a"]),
        ('read -r A B <<< "x  y z "; torchrun "$A" "$B"; read X <<< " q "; torchrun "$X"', ["x", "y z", "q"]),
        ('IFS=, read -r -a G <<< "0,1,2,3"; torchrun ${#G[@]} "${G[3]}"', ["4", "3"]),
        ('IFS=: read A B C <<< "a:b c:d:e"; torchrun "$A" "$B" "$C"', ["a", "b c", "d:e"]),
        ("read -r -d '' A <<'EOT'\n --a 1\n --b 2\nEOT\ntorchrun $? $A", ["1", "--a", "1", "--b", "2"]),
        ("mapfile -t L <<< $'a b\\nc'; torchrun ${#L[@]} \"${L[0]}\"", ["2", "a b"]),
        ("let N=8*2 M=N+1; torchrun $N $M; let N+=1; torchrun $N; let 'Q = N / 2'; torchrun $Q",
         ["16", "17", "17", "8"]),
        ("printf -v T '%d' 4; torchrun $T; printf -v T 'tp%s-pp%d' 2 3; torchrun $T", ["4", "tp2-pp3"]),
        ("torchrun $((1<<3)) $((7&3|8)) $((5^1)) $((1+2<<1)) $((8>>1<3))", ["8", "11", "4", "6", "0"]),
        ("f() { case $1 in 70b) echo 8;; *) echo bad >&2; return 1;; esac; }\n"
         "T=$(f 70b); torchrun $T; T=$(f x) || torchrun fail", ["8", "fail"]),
        ('f() { local a=$1; echo $((a*2)); }; torchrun $(( $(f 4) + 1 )) "$(f $(f 2))" `echo 3`$(echo -n 4)',
         ["9", "8", "34"]),
        ("g(){ echo log; }; f(){ g >&2; echo 4; }; N=$(f); torchrun $N $(f 2>/dev/null)", ["4", "4"]),
        ("f(){ { echo a; echo b; } >&2; for i in 1; do echo $i; done >/dev/null; ( echo c ) > x; echo 5; }\n"
         "torchrun $(f) $(f 2>&1)", ["5", "a", "b", "5"]),
        ("f(){ echo a; echo 6 >&2; } 2>&1 >/dev/null; torchrun $(f); g(){ echo 7; echo e >&2; } 2>/dev/null; "
         "torchrun $(g 2>&1) $(g &>x) $(eval 'echo no' >&2) $(echo 8 2>&1)", ["6", "7", "8"]),
        ("echo 'A=9' > own.sh 2>&1; . ./own.sh; torchrun $A; echo B=1 2> own.sh; torchrun ${B:-2}",
         ["9", "2"]),
        ("f(){ local N=${N:-1} M=$N; torchrun $N $M; }; N=8; f; torchrun $N", ["8", "8", "8"]),
        ("f(){ local N=4 M=$N; declare P=$P$N; torchrun $N $M $P; }; N=8; P=1; f", ["4", "8", "14"]),
        ('f(){ local a=("${a[@]}" 3 "" $b); torchrun ${#a[@]} "${a[@]}"; }; a=(1 "2 x"); b=; f',
         ["4", "1", "2 x", "3", ""]),
        ("IFS=', ' read -ra G <<< ' a, b,c d,,e, '; torchrun ${#G[@]} \"${G[@]}\"",
         ["6", "a", "b", "c", "d", "", "e"]),
        ("IFS=, read -ra G <<< 'a, b,'; torchrun \"${G[@]}\"; "
         "IFS=, read A B <<< ' a, b,'; torchrun \"$A\" \"$B\"",
         ["a", " b", " a", " b"]),
        ("IFS=, read A B <<< 'a,b,,'; torchrun $A $B; "
         "IFS=', ' read A B <<< ' a  b , c ,  '; torchrun \"$B\"",
         ["a", "b,,", "b , c ,"]),
        ("IFS=, read -r -aG -t 1 -- <<< 0,1; torchrun ${#G[@]}; "
         "readarray L <<< a; torchrun \"$L\"", ["2", "a\n"]),
        ("declare -i N=8; (( N += 1 )); f(){ local -i M=2; local N=a; torchrun $N; }; f; M=b; torchrun $N $M",
         ["a", "9", "b"]),
        ("A=$(cat <<EOF\n --a 1\nEOF\n); torchrun $A", ["--a", "1"]),
        ("case v1.2 in v[0-9]*) torchrun br;; v*) torchrun st;; esac; "
         "case abc in [!x]bc) torchrun neg;; esac",
         ["br", "neg"]),
    ],
)  # fmt: skip
def test_words_are_taken_apart_as_in_bash(script: str, expected: list[str], tmp_path: Path) -> None:
    assert launched(script, tmp_path) == expected


@pytest.mark.parametrize(
    "command", ["hostname", "echo a | tr a b", "cat x", "echo -e 'a\\tb'", "pwd; echo a"]
)
def test_what_other_commands_write_stays_open(command: str) -> None:
    assert words(f"A=$({command})\ntorchrun $A", A="7") == ["7"]
    assert words(f"A=$({command})\ntorchrun $A") == ["\0!A\0"]


@pytest.mark.parametrize(
    "body",
    ["exec >&2; echo 1", "echo 1 > >(cat)", "{ echo 1; } >&3", "g 3>&1", "g > $OUT", "(echo 1) >/dev/stderr"],
)
def test_output_that_goes_to_unknown_places_is_asked_for(body: str) -> None:
    with pytest.raises(InputError, match=r"\$\(f\) would run a command"):
        words(f"g() {{ echo 2; }}; f() {{ {body}; }}; torchrun $(f)")


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("read -d : A <<< a:b", "read -d is not read, but -a, -e, -p, -r, -s, -t and -d ''"),
        ("read -rn1 A <<< ab", "read -n is not read"),
        ("read -u 3 A <<< ab", "read -u is not read"),
        ("mapfile -t -n 1 A <<< ab", "mapfile -n is not read, but -t; assign the value"),
        ("mapfile -s1 A <<< ab", "mapfile -s is not read"),
        ("readarray -d , A <<< a,b", "readarray -d is not read"),
        ("mapfile -O 2 A <<< ab", "mapfile -O is not read"),
        ("read A <<< 'a\\b'", "read without -r"),
        ("declare -u A=ab", "declare -u changes what is assigned"),
        ("f(){ local -l A=AB; }; f", "local -l changes"),
        ("declare -i A=1; A+=2", "declare -i makes A a number, to which += adds; write A=$((A + ...))"),
    ],
)
def test_options_of_read_that_change_the_words_are_refused(command: str, problem: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"line 1: {problem}")):
        words(f"{command}\ntorchrun $A")


@pytest.mark.parametrize("command", ["declare -i A=2*4", "declare -i A; A=010", "declare -i A=; A=B"])
def test_a_declared_number_takes_numbers_only(command: str) -> None:
    with pytest.raises(InputError, match=r"declare -i makes A a number, which '.*' is not as it stands"):
        words(f"{command}\ntorchrun $A")

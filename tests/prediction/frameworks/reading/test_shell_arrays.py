"""Arrays of scripts with texts or numbers as places, as bash has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.prediction.frameworks.reading import read_script
from tests.prediction.frameworks.scripts import launched


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('declare -A A=([x]=1 ["y z"]="2 3" [$((1+1))]=t); K=x; '
         'torchrun ${A[x]} "${A[y z]}" ${A[2]} ${A[$K]}',
         ["1", "2 3", "t", "1"]),
        ('declare -A A=([x]=1); K=x; torchrun "${A["$K"]}" ${#A[@]} "${A[q]:-d}" "<${A[q]}>"',
         ["1", "1", "d", "<>"]),
        ('declare -A A; A[a]=1; A["b"]=2; A[a]+=5; N=c; A[$N]=3; A[x.y/z]=4\n'
         "torchrun ${A[a]} ${A[b]} ${A[c]} ${A[x.y/z]} ${#A[@]}", ["15", "2", "3", "4", "4"]),
        ('declare -A A=([k]=1); for i in "${!A[@]}"; do torchrun $i ${A[$i]}; done\n'
         "[[ -v A[k] ]] && torchrun yes; [[ -v A[z] ]] || torchrun no", ["k", "1", "yes", "no"]),
        ("declare -A M=(); M+=([a]=1 [b]=2); torchrun ${M[b]} ${#M[@]}", ["2", "2"]),
        ('A=([0]=5 [1]=6 7); torchrun "${A[@]}" ${!A[@]}; A[1]=9; A[3]=x; torchrun "${A[@]}"',
         ["5", "6", "7", "0", "1", "2", "5", "9", "7", "x"]),
        ('declare -a X; X[0]=a; X[1]="b c"; torchrun "${X[@]}" ${X[-1]}', ["a", "b c", "b", "c"]),
        ("f(){ local -A M=([a]=1); M[b]=2; torchrun ${M[a]} ${M[b]}; }; f; torchrun ${M[a]:-none}",
         ["1", "2", "none"]),
        ("f(){ declare -g T=4; local U=5; }; f; torchrun $T ${U:-none}", ["4", "none"]),
        ('G=(a b); G+=" c"; torchrun "${G[@]}"; G=z; torchrun "${G[@]}"', ["a c", "b", "z", "b"]),
        ("declare -n R=T; T=5; torchrun $R; R=6; torchrun $T", ["5", "6"]),
        ('add(){ local -n arr=$1; shift; arr+=("$@"); }; L=(a); add L b "c d"; torchrun "${L[@]}" ${arr:-no}',
         ["a", "b", "c d", "no"]),
        ("a=(1 2 3); [[ -v a[5] ]] || torchrun 5; [[ -v a[2] ]] && torchrun 2; i=1; [[ -v a[i+2] ]] || "
         "torchrun 3; [[ -v a[-3] ]] && torchrun -3; [[ -v a[@] ]] && torchrun all",
         ["5", "2", "3", "-3", "all"]),
        ("e=(); [[ -v e ]] || torchrun e; [[ -v e[@] ]] || torchrun none; s=q; [[ -v s[0] ]] && torchrun s; "
         "[[ -v s[1] ]] || torchrun no; declare -A A=([x]=1); [[ -v A ]] || torchrun A; declare -n r=s; "
         "[[ -v r ]] && torchrun r", ["e", "none", "s", "no", "A", "r"]),
        ("torchrun ${C:-'x y'} ${C:-x y} ${D+\"q r\"}", ["x y", "x", "y"]),
    ],
)  # fmt: skip
def test_items_are_those_of_bash(script: str, expected: list[str], tmp_path: Path) -> None:
    assert launched(script, tmp_path) == expected


@pytest.mark.parametrize(
    "word", ["${A[@]}", '"${!A[@]}"', '"${A[*]}"', '$(for k in "${!A[@]}"; do echo $k; done)']
)
def test_the_order_of_an_associative_array_is_noted(word: str) -> None:
    told = "are taken in the order of their assignment, where bash has an order of its own"
    script = f"declare -A A=([a]=1 [b]=2)\ntorchrun {word}\ntorchrun ${{A[b]}} ${{#A[@]}}"
    assert read_script(script, "a.sh").notes == (f"line 2: the 2 items of A {told}",)


def test_one_item_has_no_order() -> None:
    assert read_script("declare -A A=([a]=1); torchrun ${A[@]} ${!A[@]}", "a.sh").notes == ()

"""The worked example of the workload specification (section 13), node by node."""

from __future__ import annotations

import json
from typing import Any

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.simulation.workloads import generate
from dse.testing.builders import (
    COLL,
    COMP,
    INT32,
    INT64,
    NONE,
    RECV,
    SEND,
    STRING,
    STRINGS,
    UINT64,
    Node,
    attribute,
    parse,
)

MODEL = ModelSpec("example", 48, 40, 16, 64, 4, 8, 4, 2)
WORK = generate(MODEL, Strategy(dp=2, tp=2, pp=2, activation_recompute=True))
RANKS = parse(WORK)
RANK0 = {node["id"]: node for node in RANKS[0]}
COLLECTIVES = {0: "AR", 2: "AG", 7: "RS"}

# `<` data, `^` control dependencies; a. and f. stand for stack_1_mha_ and stack_1_ffn_
LISTING = """\
3 in_emb_y C: 6144/1280 <4
4 in_emb_y X1: AG 384 g5
781 in_emb_y send: 128 to 4 tag +16 <3
6 in_emb_dw C: 6144/1280 <7,750
7 in_emb_dw X2: AG 384 g5
8 in_emb_dx C: 6144/1280 <750
13 a.q C: 2048/512 <14
14 a.q X1: AG 128 g5 <758
15 a.k C: 2048/512 <16
16 a.k X1: AG 128 g5 <758
17 a.v C: 2048/512 <18
18 a.v X1: AG 128 g5 <758
19 a.qk C: 1024/512 <13,15
20 a.qkv C: 1024/512 <19,17
21 a.qkv_reshape C: 128/384 <20
22 a.res C: 128/384 <21,758
23 a.norm C: 640/256 <22
24 a.q_recomp C: 2048/512 <25
25 a.q_recomp X1: AG 128 g5 <758 ^32
26 a.k_recomp C: 2048/512 <27
27 a.k_recomp X1: AG 128 g5 <758 ^32
28 a.v_recomp C: 2048/512 <29
29 a.v_recomp X1: AG 128 g5 <758 ^32
30 a.qk_recomp C: 1024/512 <24,26 ^32
32 a.d_res C: 640/256 <78
34 a.d_qkv C: 128/384 <32
35 a.d_qk C: 1024/512 <34,28
36 a.d_v C: 1024/512 <34,30
37 a.d_q C: 1024/512 <35,26
38 a.d_k C: 1024/512 <35,24
39 a.d_wq C: 2048/512 <40,37
40 a.d_wq X2: AG 128 g5 <758
41 a.d_wk C: 2048/512 <42,38
42 a.d_wk X2: AG 128 g5 <758
43 a.d_wv C: 2048/512 <44,36
44 a.d_wv X2: AG 128 g5 <758
45 a.d_x1 C: 2048/512 <37
46 a.d_x2 C: 2048/512 <38
47 a.d_x3 C: 2048/512 <36
49 a.d_x12 C: 128/384 <50,51
50 a.d_x12 X1: RS 256 g5 <45
51 a.d_x12 X2: RS 256 g5 <46
52 a.d_x34 C: 128/384 <53,32
53 a.d_x34 X1: RS 256 g5 <47
54 a.d_x C: 128/384 <49,52
789 a.d_x send: 128 to 4 tag +20 <54
57 f.x1 C: 8192/1280 <58
58 f.x1 X1: AG 128 g5 <23
60 f.x2 C: 8192/1280 <57
61 f.res C: 128/384 <62,23
62 f.res X1: RS 256 g5 <60
63 f.norm C: 640/256 <61
773 f.norm send: 128 to 4 tag +12 <63
64 f.x1_recomp C: 8192/1280 <65
65 f.x1_recomp X1: AG 128 g5 <23 ^68
67 f.dnorm X1: RS 256 g5 <766
68 f.dres C: 640/256 <67
70 f.dw2 C: 8192/1280 <71,64
71 f.dw2 X1: AG 128 g5 <68
72 f.dx1 C: 8192/1280 <73
73 f.dx1 X1: AG 128 g5 <68
74 f.dw1 C: 8192/1280 <75,72
75 f.dw1 X2: AG 128 g5 <23
77 f.dx01 C: 8192/1280 <72
78 f.dx0 C: 128/384 <79,68
79 f.dx0 X2: RS 256 g5 <77
80 in_emb_w@1 C: 384/1152 <81
81 in_emb_w@1 X2: AR 384 g1 <6
82 a.wq@1 C: 128/384 <83
83 a.wq@1 X2: AR 128 g1 <39
84 a.wk@1 C: 128/384 <85
85 a.wk@1 X2: AR 128 g1 <41
86 a.wv@1 C: 128/384 <87
87 a.wv@1 X2: AR 128 g1 <43
88 f.w1@1 C: 512/1536 <89
89 f.w1@1 X2: AR 512 g1 <74
90 f.w2@1 C: 512/1536 <91
91 f.w2@1 X2: AR 512 g1 <70
750 shadow_stack_0_mha_d_x recv: 128 from 4 tag +0
758 shadow_stack_0_ffn_norm recv: 128 from 4 tag +4
766 shadow_out_emb_dx recv: 256 from 4 tag +8
"""

# original, its stage, stage of its shadow, bytes, ids of send and receive of lane 0
PAIRS = [
    ("stack_0_mha_d_x", 1, 0, 128, 749, 750),
    ("stack_0_ffn_norm", 1, 0, 128, 757, 758),
    ("out_emb_dx", 1, 0, 256, 765, 766),
    ("stack_1_ffn_norm", 0, 1, 128, 773, 774),
    ("in_emb_y", 0, 1, 128, 781, 782),
    ("stack_1_mha_d_x", 0, 1, 128, 789, 790),
]


def _render(node: Node) -> str:
    def get(name: str) -> Any:
        return attribute(node, name)

    kind = node["type"]
    if kind == COMP:
        operator, what = node["name"].removesuffix("_COMP"), f"C: {get('num_ops')}/{get('tensor_size')}"
    elif kind == COLL:
        operator, _, operand = node["name"].partition("_X")
        assert operand in ("1COMM", "2_COMM")
        collective = COLLECTIVES[get("comm_type")]
        what = f"X{operand[0]}: {collective} {get('comm_size')} g{get('pg_name')}"
    elif kind == SEND:
        operator = node["name"].removesuffix("_Y_SEND")
        what = f"send: {get('comm_size')} to {get('comm_dst')} tag +{get('comm_tag')}"
    else:
        assert kind == RECV
        operator = node["name"].removesuffix("_Y_RECV")
        what = f"recv: {get('comm_size')} from {get('comm_src')} tag +{get('comm_tag')}"
    operator = operator.removesuffix("@0").replace("stack_1_mha_", "a.").replace("stack_1_ffn_", "f.")
    operator = operator.replace("shadow_a.", "shadow_stack_1_mha_")
    data = " <" + ",".join(map(str, node["data_deps"])) if node["data_deps"] else ""
    control = " ^" + ",".join(map(str, node["ctrl_deps"])) if node["ctrl_deps"] else ""
    return f"{node['id']} {operator} {what}{data}{control}"


def test_rank_0_in_file_order() -> None:
    assert "\n".join(_render(node) for node in RANKS[0]) + "\n" == LISTING


def test_attributes_of_a_compute_node_with_their_kinds_in_order() -> None:
    assert list(RANK0[13]["attributes"].items()) == [
        (
            "inputs",
            (
                STRINGS,
                [
                    "shadow_stack_0_ffn_norm@0Batch/dp,Seq/sp,Dmodel/tp",
                    "128.0",
                    "stack_1_mha_wq@0Dmodel,Dmodel/Head,Head/tp",
                    "128.0",
                ],
            ),
        ),
        ("outputs", (STRINGS, ["stack_1_mha_q@0Batch/dp,Seq/sp,Dmodel/Head,Head/tp", "128.0"])),
        ("num_ops", (INT64, 2048)),
        ("tensor_size", (UINT64, 512)),
    ]


def test_attributes_of_a_collective_a_send_and_a_receive_with_their_kinds_in_order() -> None:
    shadow = ["shadow_stack_0_ffn_norm@0Batch/dp,Seq/sp,Dmodel/tp", "128.0"]
    assert list(RANK0[14]["attributes"].items()) == [
        ("inputs", (STRINGS, shadow)),
        ("outputs", (NONE, None)),
        ("comm_size", (INT64, 128)),
        ("comm_type", (INT64, 2)),
        ("pg_name", (STRING, "5")),
        ("is_cpu_op", (INT32, 0)),
    ]
    assert list(RANK0[781]["attributes"].items()) == [
        ("inputs", (STRINGS, ["in_emb_y@0Batch/dp,Seq/sp,Dmodel/tp", "128.0"])),
        ("outputs", (NONE, None)),
        ("comm_size", (INT64, 128)),
        ("comm_tag", (INT32, 16)),
        ("comm_dst", (INT32, 4)),
        ("is_cpu_op", (INT32, 0)),
    ]
    assert list(RANK0[758]["attributes"].items()) == [
        ("inputs", (NONE, None)),
        ("outputs", (STRINGS, shadow)),
        ("comm_size", (INT64, 128)),
        ("comm_tag", (INT32, 4)),
        ("comm_src", (INT32, 4)),
        ("is_cpu_op", (INT32, 0)),
    ]


def test_recomputed_nodes_read_what_the_originals_read() -> None:
    assert attribute(RANK0[24], "inputs") == attribute(RANK0[13], "inputs")
    assert attribute(RANK0[24], "outputs") == [
        "stack_1_mha_q_recomp@0Batch/dp,Seq/sp,Dmodel/Head,Head/tp",
        "128.0",
    ]


def test_sixteen_groups_of_which_eight_are_singletons() -> None:
    text = WORK.groups_json()
    assert text.startswith('{"1": [0, 1], "2": [2, 3], ')
    assert list(json.loads(text).items()) == [
        *(("1", [0, 1]), ("2", [2, 3]), ("3", [4, 5]), ("4", [6, 7])),
        *(("5", [0, 2]), ("6", [1, 3]), ("7", [4, 6]), ("8", [5, 7])),
        *(("9", [0]), ("10", [2]), ("11", [1]), ("12", [3])),
        *(("13", [4]), ("14", [6]), ("15", [5]), ("16", [7])),
    ]


def test_crossing_pairs_with_the_ids_and_tags_of_every_lane() -> None:
    def messages(kind: int) -> dict[str, list[tuple[int, int, int, int]]]:
        found: dict[str, list[tuple[int, int, int, int]]] = {}
        for rank, nodes in enumerate(RANKS):
            for node in nodes:
                if node["type"] == kind:
                    got = (rank, node["id"], attribute(node, "comm_size"), attribute(node, "comm_tag"))
                    found.setdefault(node["name"], []).append(got)
        return found

    sends, receives = messages(SEND), messages(RECV)
    assert len(sends) == len(receives) == len(PAIRS)
    for number, (operator, origin, shadow, size, send_id, receive_id) in enumerate(PAIRS):
        assert sends[f"{operator}@0_Y_SEND"] == [
            (4 * origin + lane, send_id + 2 * lane, size, 4 * number + lane) for lane in range(4)
        ]
        assert receives[f"shadow_{operator}@0_Y_RECV"] == [
            (4 * shadow + lane, receive_id + 2 * lane, size, 4 * number + lane) for lane in range(4)
        ]


def test_the_first_id_of_a_rank_follows_all_ids_of_the_ranks_before() -> None:
    # 94 ids for a rank of stage 0 and 93 for one of stage 1, dropped nodes included
    assert [nodes[0]["id"] for nodes in RANKS[:4]] == [3, 97, 191, 285]
    # the ids of the three shadows come after the last update of a rank
    last = [max(node["id"] for node in nodes if node["type"] in (COMP, COLL)) for nodes in RANKS]
    assert last == [91, 185, 279, 373, 466, 559, 652, 745]


def test_files_begin_with_the_schema_message() -> None:
    first = (
        bytes.fromhex("24 12 22 0a 06") + b"schema" + bytes.fromhex("ea 01 17") + b"symbolic_tensor_network"
    )
    assert all(WORK.trace_bytes(rank).startswith(first) for rank in range(8))

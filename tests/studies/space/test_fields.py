"""Fields by path: what is replaced, how values are converted, and errors that name the key."""

from dataclasses import replace
from typing import Any

import pytest
from two_rings import TINY, rings

from dse.base.errors import InputError
from dse.inputs.systems import Derating, Dimension, LinkFault
from dse.studies.space.fields import read_field, replace_field, replace_fields

SYSTEM = rings(4, 4)
AWARE = replace(SYSTEM, network_model="congestion_aware")


def path(text: str) -> tuple[str, ...]:
    return tuple(text.split("."))


@pytest.mark.parametrize(
    ("field", "value", "stored"),
    [
        ("peak_tflops", 900, 900.0),
        ("network.1.bandwidth_gbps", 400, 400.0),
        ("network.0.npus", 8, 8),
        ("roofline_enabled", False, False),
        ("collectives.all_reduce", ["direct", "ring"], ("direct", "ring")),
        ("collectives.all_reduce.1", "direct", "direct"),
        ("remote_memory.num_nodes", 3, 3),
        ("remote_memory.num_nodes", None, None),
        ("deratings", [{"npu": 3, "compute_factor": 1}], (Derating(3, 1.0),)),
        ("network", [{"topology": "Ring", "npus": 2, "bandwidth_gbps": 1, "latency_ns": 0}] * 2,
         (Dimension("Ring", 2, 1.0, 0.0),) * 2),
    ],
)  # fmt: skip
def test_one_field_is_replaced(field: str, value: object, stored: object) -> None:
    changed = replace_field(SYSTEM, path(field), value)
    got = read_field(changed, path(field))
    assert (got, type(got)) == (stored, type(stored))
    assert replace_field(changed, path(field), read_field(SYSTEM, path(field))) == SYSTEM


def test_entries_beside_the_replaced_one_stay() -> None:
    changed = replace_field(SYSTEM, path("network.1.bandwidth_gbps"), 400)
    assert changed == replace(SYSTEM, network=(SYSTEM.network[0], Dimension("Ring", 4, 400.0, 50)))
    assert changed.network[0] is SYSTEM.network[0]


def test_groups_in_lists_become_dataclasses() -> None:
    fault = {"source": 0, "destination": 1, "removed": True}
    assert replace_field(AWARE, ("faults",), [fault]).faults == (LinkFault(0, 1, removed=True),)
    assert replace_field(AWARE, ("faults",), []).faults == ()


def test_several_fields_are_checked_together_and_a_whole_applies_before_its_parts() -> None:
    changed = replace_fields(
        SYSTEM,
        [
            (path("network.0.bandwidth_gbps"), 7.0),
            (path("network.0.shape"), (2, 2)),
            (path("network.0.topology"), "Torus2D"),
            (path("network"), (Dimension("Ring", 4, 1.0, 2.0),) * 3),
        ],
    )
    assert changed.network == (
        Dimension("Torus2D", 4, 7.0, 2.0, (2, 2)),
        *(Dimension("Ring", 4, 1.0, 2.0),) * 2,
    )


NETWORK = "a.network.0"
ERRORS: list[tuple[str, Any, str]] = [
    ("network.0.bandwith_gbps", 1, "unknown key a.network.0.bandwith_gbps; did you mean 'bandwidth_gbps'? "
     "Keys of a.network.0 are topology, npus, bandwidth_gbps, latency_ns, shape, routing, file, routes"),
    ("netwrk.0.npus", 1, "unknown key a.netwrk; did you mean 'network'? Keys of a are name, network, "),
    ("network.x.npus", 1, "a.network.x: 'x' is not an index; write 0, 1, …"),
    ("network.-1.npus", 1, "a.network.-1: '-1' is not an index; write 0, 1, …"),
    ("network.2.npus", 4, "a.network.2 does not exist: a.network has 2 entries, 0 to 1"),
    ("faults.0.source", 4, "a.faults.0 does not exist: a.faults has no entries"),
    ("peak_tflops.0", 1, "a.peak_tflops is a number, so it has no '0'"),
    ("peak_tflops", "x", "a.peak_tflops is 'x'; it must be a number"),
    ("peak_tflops", True, "a.peak_tflops is true; it must be a number"),
    ("peak_tflops", None, "a.peak_tflops is null; it must be a number"),
    ("peak_tflops", -1, "system.peak_tflops is -1.0; it must be a number 0 or greater"),
    ("network.0.npus", 4.0, "a.network.0.npus is 4.0; it must be an integer"),
    ("network.0.npus", True, "a.network.0.npus is true; it must be an integer"),
    ("network.0.file", 3, "a.network.0.file is 3; it must be a text or null"),
    ("roofline_enabled", 1, "a.roofline_enabled is 1; it must be true or false"),
    ("network_model", 1, "a.network_model is 1; it must be a text"),
    ("network.0.shape", 4, "a.network.0.shape is 4; it must be a list"),
    ("network.0.shape", [2, "x"], "a.network.0.shape.1 is 'x'; it must be an integer"),
    ("deratings", [3], "a.deratings.0 is 3; it must be a group with the keys npu, compute_factor, "),
    ("deratings", [{}], "a.deratings.0.npu has no value; it must be an integer"),
    ("deratings", [{"npu": 0, "factor": 2}], "unknown key a.deratings.0.factor; did you mean "
     "'memory_factor'? Keys of a.deratings.0 are npu, compute_factor, memory_factor"),
    ("deratings", [{"npu": 99}], "system.deratings.0.npu is 99, but the network has 16 NPUs"),
    ("network.0.shape", [2, 2], "system.network.0.shape is [2, 2]; Ring has none"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "message"), ERRORS)
def test_an_error_names_the_key_what_was_got_and_what_is_allowed(
    field: str, value: object, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        replace_field(SYSTEM, path(field), value, f"a.{field}")
    assert str(caught.value).startswith(message)


def test_without_a_key_messages_use_the_path() -> None:
    with pytest.raises(InputError, match=r"^unknown key seq_length; did you mean 'seq_len'\? Known keys"):
        replace_field(TINY, ("seq_length",), 4)
    with pytest.raises(InputError, match=r"^network\.2 does not exist: network has 2 entries, 0 to 1$"):
        replace_field(SYSTEM, path("network.2.npus"), 4)
    with pytest.raises(InputError, match=r"^network\.2 does not exist: network has 2 entries, 0 to 1$"):
        read_field(SYSTEM, path("network.2.npus"))
    with pytest.raises(InputError, match=r"^unknown key network\.0\.npu; did you mean 'npus'\? Keys of"):
        read_field(SYSTEM, path("network.0.npu"))

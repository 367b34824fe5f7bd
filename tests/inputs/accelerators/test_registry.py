"""Accelerator types: every file of conf/accelerator, names and aliases, carried-over constants, mistakes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from dse.base.errors import InputError
from dse.base.files import conf_folder
from dse.base.records import converted
from dse.inputs.accelerators import Accelerator, Efficiency, accelerator, accelerator_names, aliases_of
from dse.inputs.accelerators.registry import PRECISIONS

OWN = """\
peak_tflops: {bf16: 500, fp8: 1000}
memory: 100GB
memory_bandwidth_gbps: 3000
efficiency_of: h100_sxm
sources: {peak_tflops: mine, memory: mine, memory_bandwidth_gbps: mine}
"""


def own(folder: Path, text: str = OWN) -> str:
    path = folder / "mine.yaml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", accelerator_names())
def test_every_type_is_complete_and_says_where_its_figures_are_from(name: str) -> None:
    found = accelerator(name)
    assert found.name == name
    known = yaml.safe_load((conf_folder() / "accelerator" / f"{name}.yaml").read_text())
    given = {"memory_reserve", "host_bandwidth_gbps", "kernels"} & known.keys()
    if not found.kernels and "efficiency_of" in known:
        given |= {"efficiency_of"}  # why this relative
    assert found.sources.keys() >= {"peak_tflops", "memory", "memory_bandwidth_gbps"} | given
    assert found.calibration
    assert 10**9 < found.memory_bytes < 10**12
    peaks = found.peak_tflops
    rising = [peaks[precision] for precision in PRECISIONS if precision in peaks]
    assert rising == sorted(rising)


@pytest.mark.parametrize(
    ("gpu", "name", "memory_bytes", "terabytes_per_second"),
    [  # as tables of measured training steps call them
        ("V100-32GB", "v100_32", 34_089_205_760, 0.9),
        ("A100-80GB-SXM", "a100_80", 85_899_345_920, 2.039),
        ("H100-80GB-SXM", "h100_sxm", 85_520_809_984, 3.35),
        ("H100", "h100_sxm", 85_520_809_984, 3.35),
        ("H100-96GB-HBM2e (2.4 TB/s, 500 W)", "h100_hbm2e", 96 * 10**9, 2.4),
        ("B200", "b200", 192_265_846_784, 8),
        ("B200-180GB-SXM", "b200", 192_265_846_784, 8),
        ("GB200", "gb200", 198_674_743_296, 8),
        ("GB300", "gb300", 298_013_687_808, 8),
        ("h200", "h200", 150_754_820_096, 4.8),
        ("mi300x", "mi300x", 206_141_652_992, 5.3),
        ("TPUv5p", "tpu_v5p", 96 * 2**30, 2.765),
        ("Ironwood", "tpu7x", 192 * 2**30, 7.38),
        ("MI325X", "mi325x", 256 * 2**30, 6),
        ("MI355X", "mi355x", 288 * 2**30, 8),
        ("Gaudi3", "gaudi3", 128 * 2**30, 3.7),
        ("H100-PCIe", "h100_pcie", 85_520_809_984, 2.039),
        ("RTX-PRO-6000", "rtx_pro_6000", 102_641_958_912, 1.597),
        ("T4", "t4", 15 * 2**30, 0.32),
    ],
)
def test_types_are_found_by_the_names_that_people_use(
    gpu: str, name: str, memory_bytes: int, terabytes_per_second: float
) -> None:
    found = accelerator(gpu)
    assert (found.name, found.memory_bytes) == (name, memory_bytes)
    assert found.memory_bandwidth_gbps == round(1000 * terabytes_per_second)


def test_memory_is_what_nvidia_smi_shows_and_the_driver_takes_its_part_of_it() -> None:
    shown_mib = {"h100_sxm": 81_559, "h200": 143_771, "b200": 183_359, "gb200": 189_471, "gb300": 284_208}
    assert {name: accelerator(name).memory_bytes / 2**20 for name in shown_mib} == shown_mib
    h100 = accelerator("h100_sxm")
    assert h100.memory_reserve_bytes == 551 * 2**20
    assert h100.usable_memory_bytes == (81_559 - 551) * 2**20


def test_a_type_whose_file_says_no_reserve_has_all_of_its_memory(tmp_path: Path) -> None:
    assert accelerator(own(tmp_path)).usable_memory_bytes == 100 * 10**9


def test_a_reserve_is_a_key_of_the_file(tmp_path: Path) -> None:
    found = accelerator(own(tmp_path, OWN + "memory_reserve: 2GB\n"))
    assert (found.memory_bytes, found.usable_memory_bytes) == (100 * 10**9, 98 * 10**9)


def test_dense_peaks_are_those_of_the_data_sheets() -> None:
    peaks = {
        name: (accelerator(name).peak_tflops["bf16"], accelerator(name).peak_tflops.get("fp8"))
        for name in ("a100_80", "h100_sxm", "h200", "b200", "gb200", "mi300x", "tpu_v5p")
    }
    assert peaks == {
        "a100_80": (312, None),
        "h100_sxm": (989.4, 1978.9),
        "h200": (989.4, 1978.9),
        "b200": (2250, 4500),
        "gb200": (2500, 5000),
        "mi300x": (1307.4, 2614.9),
        "tpu_v5p": (459, None),
    }


def test_no_two_types_share_an_alias() -> None:
    words = [word.lower() for name in accelerator_names() for word in {name, *aliases_of(name)}]
    assert len(set(words)) == len(words)


def test_a_type_without_measurements_has_the_constants_of_another_and_says_so() -> None:
    found, lender = accelerator("h200"), accelerator("h100_sxm")
    assert found.efficiency == lender.efficiency
    assert found.calibration == "carried over from h100_sxm: no measurements of this type"
    assert not lender.calibration.startswith("carried over")


def test_single_shares_may_be_a_types_own_and_the_answer_says_which() -> None:
    """An MI300X reaches .45 of its peak where an H100 reaches .7; of its collectives nothing is known."""
    found, lender = accelerator("mi300x"), accelerator("h100_sxm")
    assert (found.efficiency.matrix, found.efficiency.memory) == (0.45, 0.81)
    assert (found.efficiency.links, found.efficiency.launch_us) == (
        lender.efficiency.links,
        lender.efficiency.launch_us,
    )
    assert found.calibration == (
        "carried over from h100_sxm but for matrix, matrix_8bit, attention, memory: "
        "no measurements of this type"
    )
    assert "matrix" in lender.uncertainty
    assert "matrix" not in found.uncertainty
    assert "arXiv:2510.27583" in found.sources["efficiency"]


def test_shares_of_kernels_stand_where_no_step_was_measured() -> None:
    """The L40S has kernels of its own; the L4, of its generation, has those."""
    assert accelerator("l40s").calibration == "shares of kernels that were measured alone: no measured step"
    assert accelerator("l4").calibration == "carried over from l40s: no measurements of this type"
    assert accelerator("l4").efficiency == accelerator("l40s").efficiency


def test_a_file_of_ones_own_is_an_accelerator(tmp_path: Path) -> None:
    found = accelerator(own(tmp_path))
    assert (found.name, found.memory_bytes, found.peak_tflops["bf16"]) == ("mine", 100 * 10**9, 500.0)
    assert found.efficiency == accelerator("h100_sxm").efficiency


def test_fields_take_a_type_by_its_name() -> None:
    assert converted("H100", Accelerator, "system.accelerator") == accelerator("h100_sxm")


def test_types_can_be_hashed_and_show_their_names() -> None:
    assert len({accelerator("b200"), accelerator("B200"), accelerator("h200")}) == 2
    assert str(accelerator("B200")) == "b200"


def test_an_unknown_type_is_refused_with_the_nearest() -> None:
    message = r"^accelerator is 'h100_smx'; did you mean 'h100_sxm'\? Allowed are a100_40, .*, or a file$"
    with pytest.raises(InputError, match=message):
        accelerator("h100_smx")
    with pytest.raises(InputError, match=r"^system\.accelerator is 'x/y\.yaml'; there is no such file$"):
        accelerator("x/y.yaml", "system.accelerator")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("memory: 100GB", "memory: 100", "accelerator.memory is 100; it must be a text"),
        ("memory: 100GB", "memory: '100'", "accelerator.memory '100' has no unit; write 100GB"),
        ("memory: 100GB\n", "", "accelerator.memory has no value; it must be a text"),
        (
            "memory: 100GB",
            "memory: 100GB\nmemory_reserve: 100GB",
            "accelerator.memory_reserve is 100GB; it must be below accelerator.memory, which is 100GB",
        ),
        ("memory: 100GB", "memory: 100GB\nmemory_reserve: 2", "accelerator.memory_reserve is 2; it must be"),
        (
            "memory: 100GB",
            "memori: 100GB",
            r"unknown key memori; did you mean 'memory'\? Known keys are name, ",
        ),
        (
            "memory: 100GB",
            "memory: 100GB\nframework: maxtxt",
            r"accelerator.framework is maxtxt; did you mean 'maxtext'\? Allowed are llm-foundry, maxtext, ",
        ),
        ("3000", "-3", "accelerator.memory_bandwidth_gbps is -3.*; it must be a number above 0"),
        ("bf16: 500", "bf17: 500", r"accelerator.peak_tflops has bf17; did you mean 'bf16'\? Allowed prec"),
        ("bf16: 500", "bf16: ''", "accelerator.peak_tflops.bf16 is ''; it must be a number"),
        ("bf16: 500", "16: 500", "accelerator.peak_tflops has the key 16; a key must be a text"),
        ("bf16: 500", "1.5: 500", "accelerator.peak_tflops has the key 1.5; a key must be a text"),
        ("bf16: 500", "bf16: 9" + "9" * 5000, "line 1: the number 9+… has 5001 characters; at most 250"),
        ("sources:", "sauces:", "unknown key sauces; did you mean 'sources'"),
        (OWN[OWN.index("sources:") :], "", "accelerator.sources has no value; it must be a group of texts"),
        (
            OWN[OWN.index("sources:") :],
            "sources: []",
            r"accelerator.sources is \[\]; it must be a group of te",
        ),
        ("bf16: 500, ", "", "accelerator.peak_tflops lacks bf16 and fp16"),
        ("bf16: 500", "bf16: 0", "accelerator.peak_tflops.bf16 is 0; it must be a number above 0"),
        ("memory: mine", "memori: mine", "accelerator.sources.memory is missing"),
        (
            "efficiency_of: h100_sxm\n",
            "",
            "accelerator needs efficiency, its own constants, or efficiency_of",
        ),
        ("h100_sxm", "h100_smx", "accelerator.efficiency_of is 'h100_smx'; did you mean 'h100_sxm'"),
        ("h100_sxm", "h800", "accelerator.efficiency_of is h800, which has none of its own either"),
        ("h100_sxm", "h100_sxm\nefficiency: {matrix: 0.5}", "accelerator.sources.efficiency is missing"),
        (
            "h100_sxm",
            "h100_sxm\nefficiency: {matrices: 0.5}",
            "accelerator.efficiency.matrices; did you mean",
        ),
        ("h100_sxm", "h100_sxm\nefficiency: {matrix: 1.5}", "accelerator.efficiency.matrix is 1.5; it must"),
        ("efficiency_of: h100_sxm", "efficiency: {matrix: 0.5}", "accelerator.efficiency.* has no value"),
        ("h100_sxm", "h100_sxm\ncalibration: mine", "calibration and uncertainty belong to efficiency"),
        ("peak_tflops: {", "peak_tflops: [", "malformed YAML"),
        (OWN, "one word", "must hold keys and values"),
    ],
)
def test_mistakes_in_a_file_name_the_file_and_the_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = own(tmp_path, OWN.replace(old, new, 1))
    with pytest.raises(InputError, match=f"^{re.escape(path)}: .*{message}") as caught:
        accelerator(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("uncertainty", "message"),
    [
        ('{matrix: ""}', "accelerator.uncertainty.matrix is ''; it must be a number"),
        ("{matrix: null}", "accelerator.uncertainty.matrix is null; it must be a number"),
        ("{matrix: -0.1}", "accelerator.uncertainty.matrix is -0.1; it must be a number of at least 0"),
        ("{matrix: .inf}", "accelerator.uncertainty.matrix is inf; it must be a number of at least 0"),
        ("{matrices: 0.1}", "unknown key accelerator.uncertainty.matrices; did you mean 'matrix'?"),
        ("{1.5: 0.1}", "accelerator.uncertainty has the key 1.5; a key must be a text"),
        ("[matrix]", "accelerator.uncertainty is ['matrix']; it must be a group of numbers, such as "),
    ],
)
def test_an_uncertainty_is_a_number_of_a_constant(tmp_path: Path, uncertainty: str, message: str) -> None:
    text = (conf_folder() / "accelerator" / "b200.yaml").read_text()
    path = own(tmp_path, re.sub(r"(?m)^uncertainty: .*$", f"uncertainty: {uncertainty}", text))
    with pytest.raises(InputError, match=f"^{re.escape(f'{path}: {message}')}"):
        accelerator(path)


def test_a_file_that_takes_its_efficiency_from_itself_is_refused(tmp_path: Path) -> None:
    path = own(tmp_path, OWN.replace("h100_sxm", str(tmp_path / "mine.yaml"), 1))
    with pytest.raises(InputError, match="which has none of its own either"):
        accelerator(path)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("matrix", 1.2, "accelerator.efficiency.matrix is 1.2; it must be a number above 0 and at most 1"),
        ("links", 0.0, "accelerator.efficiency.links is 0.0; it must be a number above 0 and at most 1"),
        ("launch_us", -1.0, "accelerator.efficiency.launch_us is -1.0; it must be a number above 0"),
    ],
)
def test_a_share_above_the_whole_is_refused(tmp_path: Path, name: str, value: float, message: str) -> None:
    import dataclasses

    values = dataclasses.asdict(accelerator("h100_sxm").efficiency) | {name: value}
    assert values.keys() == {field.name for field in dataclasses.fields(Efficiency)}
    listed = ", ".join(f"{key}: {number}" for key, number in values.items() if number is not None)
    path = own(tmp_path, OWN.replace("efficiency_of: h100_sxm", f"efficiency: {{{listed}}}"))
    with pytest.raises(InputError, match=re.escape(message)):
        accelerator(path)


@pytest.mark.parametrize("value", ["-1", "0", ".nan", ".inf", "1.2"])
def test_shares_of_kernels_alone_are_checked_as_those_of_steps(tmp_path: Path, value: str) -> None:
    text = (conf_folder() / "accelerator" / "h100_sxm.yaml").read_text()
    path = own(tmp_path, text.replace("kernels: {matrix: 0.726", f"kernels: {{matrix: {value}"))
    with pytest.raises(InputError, match=r"accelerator\.kernels\.matrix is .*; it must be a number above 0"):
        accelerator(path)

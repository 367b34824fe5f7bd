"""Tables of kernels and outputs of nccl-tests: what is read, and one line for each mistake."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_lines import error_of, run_ok

from dse.base.errors import InputError
from dse.inputs.accelerators import accelerator
from dse.inputs.accelerators.kernel_constants import kernel_constants
from dse.inputs.machines.nccl_tests import read_collective_times
from dse.prediction.kernels.calibration import table_of_times
from dse.prediction.kernels.collectives import collective_s
from dse.prediction.kernels.machine import KernelMachine
from dse.prediction.kernels.tables import KernelTable, read_table

GOLDEN = Path(__file__).parents[2] / "golden" / "kernels"
OUTPUT = (GOLDEN / "all_reduce_perf.txt").read_text()


def output_of(path: Path) -> KernelTable:
    return table_of_times(read_collective_times(path))


def test_parquet_and_csv_are_one_table(tmp_path: Path) -> None:
    path = tmp_path / "gemm.parquet"
    names = ["system", "dtype", "n", "k", "m", "us"]
    rows = [line.split(",") for line in (GOLDEN / "gemm.csv").read_text().splitlines()[1:]]
    cells = list(zip(*rows, strict=True))
    columns = {
        "system": pa.array(cells[0]).dictionary_encode(),
        "dtype": pa.array(cells[2]),
        **{name: pa.array(map(int, cells[3 + at])) for at, name in enumerate("nkm")},
        "us": pa.array(map(float, cells[6]), pa.float32()),
    }
    pq.write_table(pa.table(columns), path)
    one, two = read_table(path), read_table(GOLDEN / "gemm.csv")
    assert one.kind == two.kind == "gemm"
    assert all(np.array_equal(one[name], two[name]) for name in names[:-1])
    assert np.allclose(one["us"], two["us"], rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; the first line must name the columns"),
        ("a,b\n1,2\n", "its columns are a, b; a table of kernels has dtype, m, n, k, us (gemm); or "),
        ("dtype,m,n,k,us\n", "has no rows; a kernel that was measured is one row"),
        ("dtype,m,n,k,k\nbf16,1,1,1,1\n", "line 1: a column is there twice; once is allowed"),
        ("dtype,m,n,k,us\nbf16,1,1,1\n", "row 1: has 4 cells; it must have 5, one a column"),
        (
            "dtype,m,n,k,us\nbf16,1,0,1,3\n",
            "row 1, column n: '0.0' is not allowed; it must be a whole number",
        ),
        ("dtype,m,n,k,us\nbf16,1,x,1,3\n", "row 1, column n: 'x' is not allowed; it must be a whole number"),
        (
            "dtype,m,n,k,us\nbf16,1,1,1,nan\n",
            "row 1, column us: 'nan' is not allowed; it must be a number above 0",
        ),
        ('dtype,m,n,k,us\n"bf16,1,1,1,3\n', "line 2: malformed CSV: "),
    ],
)
def test_a_mistake_in_a_table_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_table(path)
    assert str(error.value).replace("'0'", "'0.0'").startswith((f"{path}: {message}", f"{path}, {message}"))


def test_a_file_that_is_no_parquet_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "mine.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(InputError, match="is no Parquet file: ") as error:
        read_table(tmp_path / "mine.parquet")
    assert "\n" not in str(error.value)


def test_more_experts_a_token_than_there_are_is_refused(tmp_path: Path) -> None:
    header = (GOLDEN / "deepep.csv").read_text().splitlines()[0]
    (tmp_path / "bad.csv").write_text(f"{header}\nh100_sxm,deepep,2,7168,4,8,64,24,24,79,137\n")
    with pytest.raises(InputError, match="row 1: topk is 8 of 4 experts; it must be at most all of them"):
        read_table(tmp_path / "bad.csv")


def test_the_output_of_nccl_tests_is_a_table_of_collectives() -> None:
    table = output_of(GOLDEN / "all_reduce_perf.txt")
    assert len(table) == 21
    assert set(table["op"]) == {"all_reduce"}
    assert set(table["gpus"]) == {8.0}
    assert table["bytes"][0] == 512
    assert table["us"][-1] == pytest.approx(2121, rel=0.2)


def test_a_reduction_is_told_from_its_two_bandwidths(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(OUTPUT)
    assert set(output_of(tmp_path / "log.txt")["op"]) == {"all_reduce"}


def _older_release(line: str) -> str:
    """A line as nccl-tests without the column root print it, with an error for #wrong."""
    cells = line.split()
    if not cells or not cells[0].isdecimal():
        return line.replace("redop    root", "redop").replace("#wrong", " error")
    return "  ".join([*cells[:4], *cells[5:8], "4e-07", *cells[9:12], "N/A"])


@pytest.mark.parametrize(
    "change",
    [
        _older_release,
        lambda line: _older_release(line).replace("half  sum", "half"),
        lambda line: f"[1,0]<stdout>:{line}",
        lambda line: f" 0: {line}",
        lambda line: f"   [1,0]<stdout>:{line}",
        lambda line: f"[rank0]: {line}",
        lambda line: f"2024-05-01T10:00:00.123456789Z {line}",
        lambda line: f"    {line}",
    ],
)
def test_other_forms_of_the_output_have_the_same_times(tmp_path: Path, change: Callable[[str], str]) -> None:
    path = tmp_path / "h100_new_all_reduce_perf.log"
    path.write_text("\n".join(map(change, OUTPUT.splitlines())))
    table = output_of(path)
    assert set(table["op"]) == {"all_reduce"}
    assert set(table["gpus"]) == {8.0}
    assert table["us"][:3].tolist() == [15.59, 15.6, 15.68]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OUTPUT + OUTPUT, "names rank 0 twice; give the output of one run"),
        (OUTPUT.replace("Rank  7 Group  0", "Rank  0 Group  1"), "its GPUs are split into groups"),
        (OUTPUT + "1024 512 8.5 1 1 2 2\n", "line 40: '1024 512 8.5 1 1 2 2' is not size"),
        ("nothing\n", "no line begins with '#  Rank', which nccl-tests print for each GPU"),
        ("#  Rank  0 Group  0 Pid 1 on node-1 device 0 H100\n", "nccl-tests ran on one GPU"),
        (OUTPUT.split("#        (B)")[0], "has no line with a size and its time"),
        (
            OUTPUT.replace("     sum", "    none"),
            "does not say which collective it is of; name the file after",
        ),
        (
            OUTPUT + "# Collective test starting: broadcast_perf\n",
            "is of broadcast_perf; allowed are all_gather_perf",
        ),
        (
            OUTPUT + "   1024   512  half  sum  -1  fast  1  1\n",
            "line 40: '1024 512 half sum -1 fast 1 1' is not size",
        ),
        (
            OUTPUT + "   1024   512  half  sum  -1  15.6  0.1  0.2  7  15.6  0.1  0.2  0\n",
            "line 40: 7 values of 1024 bytes are wrong (#wrong), so that no time can be trusted",
        ),
        *(
            (
                OUTPUT + f"   1024   512  half  sum  -1  15.6  0.1  0.2  {out}  15.6  0.1  0.2  {within}\n",
                "line 40: 1.04858e+06 values of 1024 bytes are wrong (#wrong)",
            )
            for out, within in (("1.04858e+06", "0"), ("0", "1.04858e+06"), ("N/A", "1.04858e+06"))
        ),
    ],
)
def test_a_mistake_in_an_output_of_nccl_tests_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "log.txt"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        output_of(path)
    assert str(error.value).startswith((f"{path}: {message}", f"{path}, {message}"))


def test_own_nccl_tests_give_the_constants_of_collectives(tmp_path: Path) -> None:
    line = ("nccl=all_reduce_perf.txt", "accelerator=h100_sxm", "-o", str(tmp_path / "mine.yaml"))
    done = run_ok("calibrate", *line, cwd=GOLDEN)
    assert done.out.splitlines()[2].split()[:3] == ["nccl", "-", "21"]
    own, shipped = kernel_constants(str(tmp_path / "mine.yaml")), kernel_constants("h100_sxm")
    assert own.collectives is not None
    assert 0.8 < own.collectives.share <= 1
    assert own.products == shipped.products


def test_own_nccl_tests_change_the_links_of_steps_by_their_ratio(tmp_path: Path) -> None:
    """Links that take 1.25 times as long as those of the shipped constants have 0.8 of their share."""
    table = read_table(GOLDEN / "nccl.csv")
    rows = table.where(table["system"] == "h100_sxm")
    shipped, steps = KernelMachine.named("H100"), accelerator("H100").efficiency.links
    (tmp_path / "own.csv").write_text(
        "op,gpus,bytes,us\n"
        + "".join(
            f"{op},{gpus:.0f},{size:.0f},{_slower_us(shipped, op, gpus, size):.6g}\n"
            for op, gpus, size in zip(rows["op"], rows["gpus"], rows["bytes"], strict=True)
        )
    )
    line = ("kernels=own.csv", "accelerator=H100", "steps=mine.yaml")
    run_ok("calibrate", *line, cwd=tmp_path)
    own = accelerator(str(tmp_path / "mine.yaml"))
    assert own.efficiency.links == pytest.approx(0.8 * steps, rel=0.02)
    assert own.efficiency.matrix == accelerator("H100").efficiency.matrix
    assert own.calibration.startswith("calibrated on your cluster: links by own.csv; others fitted to ")
    assert "links" not in own.uncertainty
    said = run_ok(
        "point",
        "model=llama3_8b",
        "system=dgx_h100",
        "system.nodes=1",
        "system.accelerator=mine.yaml",
        "strategy.dp=8",
        cwd=tmp_path,
    )
    assert "calibrated on your cluster: links by own.csv" in said.out + said.err


def _slower_us(machine: KernelMachine, op: str, gpus: float, size: float) -> float:
    """The time on links with 0.8 of the share."""
    assert machine.constants.collectives is not None
    slow = replace(machine.constants.collectives, share=0.8 * machine.constants.collectives.share)
    return 1e6 * float(collective_s(op, size, gpus, link_gbps=450.0, constants=slow))


def test_several_hosts_are_noted(tmp_path: Path) -> None:
    lines = [line.replace("node-1", "node-2") if "Rank  7" in line else line for line in OUTPUT.splitlines()]
    (tmp_path / "all_reduce_perf.txt").write_text("\n".join(lines))
    done = run_ok("calibrate", "nccl=all_reduce_perf.txt", "accelerator=H100", cwd=tmp_path)
    assert (
        "note: all_reduce_perf.txt: 2 hosts; the law of collectives is that of one NVLink domain" in done.err
    )
    assert "note: nccl: the rows hardly tell share" in done.err


def test_types_by_the_words_of_pytorch_are_known(tmp_path: Path) -> None:
    lines = (GOLDEN / "gemm.csv").read_text().replace(",bf16,", ",torch.bfloat16,").replace(",fp8,", ",INT4,")
    (tmp_path / "own.csv").write_text(lines)
    assert {"bf16", "int4"} <= set(read_table(tmp_path / "own.csv")["dtype"])


def test_measured_gpus_of_another_type_are_noted(tmp_path: Path) -> None:
    (tmp_path / "all_reduce_perf.txt").write_text(OUTPUT.replace("H100 80GB HBM3", "A100-SXM4-80GB"))
    done = run_ok("calibrate", "nccl=all_reduce_perf.txt", "accelerator=H100", cwd=tmp_path)
    assert "its GPUs are of type a100_80; the constants are written as those of h100_sxm" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nccl=all_reduce_perf.txt",), "accelerator=… is missing: a type of conf/accelerator with kernels"),
        (
            ("kernels=gemm.csv", "accelerator=H100", "constants=matrix"),
            "constants is for runs; kernels= and nccl=",
        ),
        (("kernels=gemm.csv", "accelerator=B300"), "gemm.csv: no law has 8 rows of b300 or more"),
        (("steps=a.yaml", "accelerator=H100"), "steps=… needs kernels=… or nccl=…, measurements of your own"),
        (
            ("kernels=moe.csv", "accelerator=H100", "steps=a.yaml"),
            "moe change no share of training steps",
        ),
        (("kernels=no.csv", "accelerator=H100"), "no.csv: cannot be read: No such file or directory"),
    ],
)
def test_calibrating_kernels_refuses_what_it_cannot_use(arguments: tuple[str, ...], message: str) -> None:
    assert message in error_of("calibrate", *arguments, cwd=GOLDEN)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "products: {bf17: {share: 1, memory_share: 1, launch_us: 1}}",
            "kernels.products has bf17; did you mean",
        ),
        (
            "dispatch: {two: {launch_us: 1, share: 1}}",
            "kernels.dispatch has 'two'; it must be a number of nodes",
        ),
        (
            "constants_of: gb300",
            "kernels.constants_of of h100_sxm is 'gb300'; it must be a type with constants",
        ),
        ("link_gbps: 0", "kernels.link_gbps is 0; it must be above 0"),
    ],
)
def test_a_key_that_no_law_asks_for_is_refused(tmp_path: Path, line: str, message: str) -> None:
    text = "name: h100_sxm\nmultiprocessors: 132\nlink_gbps: 450\nsources: {}\n"
    kept = "".join(each for each in text.splitlines(keepends=True) if each[:5] != line[:5])
    (tmp_path / "mine.yaml").write_text(f"{kept}{line}\n")
    with pytest.raises(InputError, match=re.escape(message)):
        kernel_constants(str(tmp_path / "mine.yaml"))


def test_constants_that_no_kernel_has_are_refused(tmp_path: Path) -> None:
    text = "name: h100_sxm\nmultiprocessors: 132\nlink_gbps: 450\nsources: {}\n"
    (tmp_path / "mine.yaml").write_text(
        f"{text}collectives: {{launch_us: 5, step_us: 1, share: 1.2, own_share: 1}}\n"
    )
    with pytest.raises(
        InputError, match=r"kernels.collectives.share is 1.2; it must be a number above 0 and at"
    ):
        kernel_constants(str(tmp_path / "mine.yaml"))


def test_a_type_without_kernels_is_calibrated_from_a_file_with_its_links(tmp_path: Path) -> None:
    text = "name: h20\nmultiprocessors: 78\nlink_gbps: 450\nsources: {link_gbps: my data sheet}\n"
    (tmp_path / "h20.yaml").write_text(text)
    (tmp_path / "own.csv").write_text((GOLDEN / "nccl.csv").read_text().replace("h100_sxm", "h20"))
    done = run_ok("calibrate", "kernels=own.csv", "accelerator=h20.yaml", "-o", "mine.yaml", cwd=tmp_path)
    assert "hardly tell" not in done.err
    own = kernel_constants(str(tmp_path / "mine.yaml"))
    assert own.collectives is not None
    assert own.collectives.share == pytest.approx(0.93, abs=0.05)
    assert (own.name, own.products) == ("h20", {})

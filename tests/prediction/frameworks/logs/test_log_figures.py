"""Figures of logs of eight frameworks: medians after the first steps, spread, memory; hostile logs."""

from __future__ import annotations

import os
from pathlib import Path

import log_samples
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.prediction.frameworks.logs.figures import READERS, LogFigures, read_log

LOGS = {
    "megatron-lm": log_samples.megatron_lm(),
    "megatron-bridge": log_samples.megatron_bridge(),
    "torchtitan": log_samples.torchtitan(),
    "maxtext": log_samples.maxtext(),
    "nemo": log_samples.nemo(),
    "deepspeed": log_samples.deepspeed(),
    "nanotron": log_samples.nanotron(),
    "llm-foundry": log_samples.llm_foundry(),
}


def read(tmp_path: Path, text: str | bytes, framework: str = "") -> LogFigures:
    path = tmp_path / "run.log"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_log(path, framework)


def test_every_reader_has_a_log_here() -> None:
    assert {*LOGS, "accelerate"} == set(READERS)  # a Trainer writes no line of a step


@pytest.mark.parametrize("framework", sorted(LOGS))
def test_a_log_is_of_the_framework_whose_lines_it_has(tmp_path: Path, framework: str) -> None:
    found = read(tmp_path, LOGS[framework])
    assert (found.framework, found.steps, found.left_out) == (framework, 4, 2)
    assert found.notes == (
        f"{found.path}: 2 steps left out, the first 2 of each start: they compile and warm up",
    )
    assert read(tmp_path, LOGS[framework], framework) == found


@pytest.mark.parametrize("samples", ["42.67", "'42.67'"])
def test_a_trainer_tells_the_average_of_its_run(tmp_path: Path, samples: str) -> None:
    log = "{'loss': 1.2, 'epoch': 0.1}\n 10%|# | 10/100 [00:30<04:30,  3.00s/it]\n"
    log += f"{{'train_runtime': 300.0, 'train_samples_per_second': {samples}, 'train_loss': 0.9}}\n"
    found = read(tmp_path, log)
    assert (found.framework, found.steps, found.samples_s) == ("accelerate", 1, (42.67, 42.67, 42.67))
    assert found.notes[0].endswith("has only averages since the start, of which the last counts")


def test_seconds_and_words_of_older_releases_are_read(tmp_path: Path) -> None:
    bloom = "[default7]: iteration  {}/ 99 | elapsed time per iteration (s): 105.2 | TFLOPs: 149.02 |\n"
    found = read(tmp_path, "".join(bloom.format(step) for step in range(1, 9)))
    assert (found.framework, found.steps, found.seconds) == ("megatron-lm", 6, (105.2, 105.2, 105.2))
    assert found.tflops_gpu == (149.02, 149.02, 149.02)
    titan = "".join(f"[rank0]:step: {step}  loss: 9.1  wps: 2,340  mfu: 30.1%\n" for step in range(1, 9))
    assert read(tmp_path, titan).tokens_s_gpu == (2340, 2340, 2340)


def test_ranks_that_write_a_step_late_start_no_new_run(tmp_path: Path) -> None:
    order = [(0, 1), (1, 1), (0, 2), (2, 1), (1, 2), (0, 3), (2, 2), (1, 3), (2, 3)]
    order += [(0, step) for step in range(4, 9)] + [(1, 4), (2, 8)]
    line = "[rank{}]:[titan] step: {}  loss: 9.1  memory: 38.02GiB(40.02%)  tps: {}\n"
    log = "".join(line.format(rank, step, 7000 + step - rank) for rank, step in order)
    found = read(tmp_path, log)
    assert (found.steps, found.left_out, found.tokens_s_gpu) == (6, 2, (7005.5, 7001.0, 7007.0))
    again = read(tmp_path, log + "".join(line.format(rank, 5, 7000) for rank in (2, 0, 1)))
    assert (again.steps, again.left_out) == (7, 2)


@pytest.mark.parametrize("labels", [("",), ("[rank0]: ",), ("[rank0]: ", "[rank1]: ")])
@pytest.mark.parametrize(("first", "counted"), [(1, 16), (6, 11)])
def test_a_job_that_starts_again_has_two_runs_with_and_without_labels(
    tmp_path: Path, labels: tuple[str, ...], first: int, counted: int
) -> None:
    line = "{}step: {}  loss: 9.1  memory: 38.02GiB(40.02%)  tps: {}\n"
    steps = [(step, 100) for step in range(1, 11)] + [(step, 200) for step in range(first, 11)]
    found = read(tmp_path, "".join(line.format(who, *step) for step in steps for who in labels))
    assert (found.steps, found.left_out) == (counted, 4)
    assert found.tokens_s_gpu == (150 if first == 1 else 100, 100, 200)


@pytest.mark.parametrize("framework", ["megatron-lm", "megatron-bridge", "maxtext", "nemo", "nanotron"])
def test_seconds_are_the_median_of_the_later_steps(tmp_path: Path, framework: str) -> None:
    assert read(tmp_path, LOGS[framework]).seconds == pytest.approx((4.15, 4.0, 4.3))


def test_megatron_lm_tells_batch_flops_and_memory_of_the_fullest_rank(tmp_path: Path) -> None:
    found = read(tmp_path, LOGS["megatron-lm"])
    assert found.batch == 128
    assert found.memory_gib == 40.5
    assert found.tflops_gpu == pytest.approx((241.0, 232.6, 250.0), abs=0.06)


def test_bridge_counts_the_memory_of_its_allocator_and_the_batch_of_megatrons_lines(tmp_path: Path) -> None:
    found = read(tmp_path, LOGS["megatron-bridge"])
    assert (found.memory_gib, found.batch) == (46.0, 128)
    older = LOGS["megatron-bridge"].replace("MODEL_TFLOP/s/GPU", " TFLOP/s/GPU")
    assert read(tmp_path, older).tflops_gpu == found.tflops_gpu
    assert read(tmp_path, LOGS["megatron-lm"], "megatron-bridge").seconds == found.seconds


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("colours", [False, True])
def test_torchtitan_tells_tokens_with_and_without_colours(tmp_path: Path, colours: bool, ranks: int) -> None:
    """Lines of several ranks are one step, as fast as the slowest."""
    found = read(tmp_path, log_samples.torchtitan(colours, ranks))
    assert found.steps == 4
    assert found.tokens_s_gpu == (1974.0 - ranks + 1, 1905.0 - ranks + 1, 2048.0 - ranks + 1)
    assert (found.seconds, found.memory_gib) == (None, 66.0)


def test_nanotron_tells_tokens_and_memory_and_a_batch_that_is_not_rounded(tmp_path: Path) -> None:
    found = read(tmp_path, LOGS["nanotron"])
    assert (found.batch, found.memory_gib) == (128, 40.0)
    assert found.tokens_s_gpu == pytest.approx((7895.0, 7620.0, 8190.0))
    assert found.tflops_gpu == pytest.approx((241.0, 233.0, 250.0), abs=0.6)
    newer = LOGS["nanotron"].replace("elapsed_time", "time").replace("batch_size: 128", "batch_size: 1.02K")
    assert (read(tmp_path, newer).batch, read(tmp_path, newer).seconds) == (None, found.seconds)


def test_llm_foundry_tells_batches_or_samples_per_second(tmp_path: Path) -> None:
    found = read(tmp_path, LOGS["llm-foundry"])
    assert found.seconds == pytest.approx((4.15, 4.0, 4.3), abs=1e-4)
    assert found.memory_gib == pytest.approx(40.0, abs=1e-4)
    samples = read(tmp_path, LOGS["llm-foundry"].replace("batches_per_sec", "x")).samples_s
    assert samples == pytest.approx((30.85, 29.77, 32.0), abs=0.01)


def test_maxtext_tells_tokens_too(tmp_path: Path) -> None:
    found = read(tmp_path, LOGS["maxtext"])
    assert found.tokens_s_gpu is not None
    assert found.tokens_s_gpu.median == pytest.approx(8192 * (1 / 4.2 + 1 / 4.1) / 2, abs=0.001)
    older = LOGS["maxtext"].replace("TFLOP/s/device", "TFLOP/s").replace("Tokens/s/device", "X")
    assert read(tmp_path, older).tflops_gpu == found.tflops_gpu


def test_nemo_has_progress_bars(tmp_path: Path) -> None:
    """The last one is cut off in the middle of a word, after its figure."""
    found = read(tmp_path, log_samples.nemo(bar=True))
    assert found.seconds == pytest.approx((4.15, 4.0, 4.3))
    assert read(tmp_path, LOGS["nemo"]).batch == 512


def test_deepspeed_tells_samples_of_a_step(tmp_path: Path) -> None:
    found = read(tmp_path, LOGS["deepspeed"])
    assert found.samples_s == pytest.approx((32 * (1 / 4.2 + 1 / 4.1) / 2, 32 / 4.3, 32 / 4.0))
    assert (found.seconds, found.memory_gib) == (None, 63.5)


def test_deepspeed_without_them_tells_parts_of_a_step_or_an_average(tmp_path: Path) -> None:
    parts = "".join(line + "\n" for line in LOGS["deepspeed"].splitlines() if "time (ms)" in line)
    assert read(tmp_path, parts).seconds == pytest.approx((4.15 * 0.9, 3.6, 3.87))
    older = "".join(
        f"[2022-03-11 02:06:58,985] [timer.py:189:stop] 0/{step}0, SamplesPerSec={rate}, MemAllocated=9GB\n"
        for step, rate in enumerate((1.5, 70.0, 80.0, 83.25), 1)
    )
    found = read(tmp_path, older)
    assert (found.samples_s, found.steps) == ((83.25, 83.25, 83.25), 1)
    assert found.notes == (f"{found.path}: has only averages since the start, of which the last counts",)
    engine = "steps: 10 loss: 9.12 iter time (s): 1.25 samples/sec: 207.5\n"
    assert read(tmp_path, engine).seconds == (1.25, 1.25, 1.25)
    memory = "MA 5.1 GB         Max_MA 7.25 GB         CA 8 GB         Max_CA 9 GB\n"
    assert read(tmp_path, memory + engine).memory_gib == 7.25


def test_megatron_on_deepspeed_is_a_framework_of_its_own(tmp_path: Path) -> None:
    found = read(tmp_path, LOGS["deepspeed"] + LOGS["megatron-lm"])
    assert (found.framework, found.seconds) == ("megatron-deepspeed", pytest.approx((4.15, 4.0, 4.3)))


def test_few_steps_all_count(tmp_path: Path) -> None:
    found = read(tmp_path, log_samples.megatron_lm((5.0, 3.0, 4.0)))
    assert (found.steps, found.left_out, found.seconds, found.notes) == (3, 0, (4.0, 3.0, 5.0), ())


def test_the_first_steps_of_each_start_are_left_out(tmp_path: Path) -> None:
    again = log_samples.megatron_lm((90.0, 50.0, 4.0, 4.0), first=4)
    found = read(tmp_path, log_samples.megatron_lm() + again)
    assert (found.steps, found.left_out) == (6, 4)
    assert found.seconds == pytest.approx((4.05, 4.0, 4.3))


def test_only_the_last_batch_counts(tmp_path: Path) -> None:
    ramp = log_samples.megatron_lm((1.0, 1.0, 1.0), batch=64) + log_samples.megatron_lm(
        (2.0, 2.5, 3.0), first=4
    )
    found = read(tmp_path, ramp)
    assert (found.batch, found.steps, found.seconds) == (128, 3, (2.5, 2.0, 3.0))
    assert found.notes == (f"{found.path}: only steps of the last batch, 128 sequences, count",)


@pytest.mark.parametrize("bad", ["nan", "-4000.0", "0.0", "inf", "1e999"])
def test_figures_that_are_none_are_passed_over_and_counted(tmp_path: Path, bad: str) -> None:
    text = LOGS["megatron-lm"].replace("(ms): 4300.0", f"(ms): {bad}")
    found = read(tmp_path, text)
    assert found.seconds == pytest.approx((4.1, 4.0, 4.2))
    assert f"{found.path}: 1 line passed over: a figure is not finite and above 0" in found.notes


def test_a_line_that_is_cut_off_is_no_shorter_step(tmp_path: Path) -> None:
    """Half of 4300.0 would be a step of 43 ms."""
    text = LOGS["megatron-lm"]
    cut = text[: text.index("(ms): 4300.0") + len("(ms): 43")]
    assert read(tmp_path, cut).seconds == pytest.approx((4.1, 4.0, 4.2))


def test_garbage_and_endless_lines_are_read_in_bounded_pieces(tmp_path: Path) -> None:
    garbage = bytes(range(256)) * 40 + b"\xff\xfe\0" * 100
    long = b"elapsed time per iteration (ms): " + b"9" * 3_000_000
    text = garbage + b"\n" + long + b"\n" + LOGS["megatron-lm"].encode() + garbage
    assert read(tmp_path, text).seconds == pytest.approx((4.15, 4.0, 4.3))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.sampled_from(sorted(LOGS)), st.data())
def test_a_damaged_log_has_figures_above_0_or_an_error(
    tmp_path: Path, framework: str, data: st.DataObject
) -> None:
    text = bytearray(LOGS[framework].encode())
    for _ in range(data.draw(st.integers(1, 20))):
        place = data.draw(st.integers(0, len(text) - 1))
        text[place : place + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=4))
    try:
        found = read(tmp_path, bytes(text))
    except InputError:
        return
    spreads = (found.seconds, found.tokens_s_gpu, found.samples_s)
    assert any(spread is not None for spread in spreads)
    assert all(0 < spread.low <= spread.median <= spread.high for spread in spreads if spread is not None)


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    for text in ("", "hello\n" * 10, "iteration 5/ 10 | elapsed time per iteration (ms): | x\n"):
        with pytest.raises(
            InputError, match=r"run\.log: has no line that says how long a step took, as logs of "
        ):
            read(tmp_path, text)
    with pytest.raises(InputError, match="as logs of torchtitan do"):
        read(tmp_path, LOGS["nemo"], "torchtitan")
    with pytest.raises(InputError, match="; 2 lines have a figure that is not above 0"):
        read(tmp_path, "completed step: 1, seconds: -1\ncompleted step: 2, seconds: nan\n")
    with pytest.raises(InputError, match="framework is 'megatron'"):
        read(tmp_path, LOGS["nemo"], "megatron")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_log(tmp_path / "absent.log")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe or a device"):
        read_log(tmp_path / "pipe")

"""Lines of logs in the published formats of frameworks, with figures of our own."""

from __future__ import annotations

from collections.abc import Sequence

SECONDS = (9.0, 5.0, 4.2, 4.0, 4.1, 4.3)
"""Of six steps; the median of those after the first two is 4.15."""


def megatron_lm(seconds: Sequence[float] = SECONDS, batch: int = 128, first: int = 1) -> str:
    lines = ["using world size: 16, data-parallel size: 4", "training ..."]
    for step, time in enumerate(seconds, first):
        lines.append(
            f" [2026-04-06 02:55:{step:02}] iteration {step:8}/  100 | consumed samples: {step * batch:12} "
            f"| elapsed time per iteration (ms): {time * 1000:.1f} | throughput per GPU (TFLOP/s/GPU): "
            f"{1000 / time:.1f} | learning rate: 4.0E-07 | global batch size: {batch:5} | lm loss: 2.02E+00 "
            "| number of nan iterations:   0 |"
        )
        if step == first:
            for rank in (0, 1):
                lines.append(
                    f"[Rank {rank}] (after 1 iterations) memory (MB) | allocated: 30720.5 | max allocated: "
                    f"{40960.0 + 512 * rank} | reserved: 45056.0 | max reserved: {46080.0 + 1024 * rank}"
                )
    return "\n".join(lines) + "\n"


def megatron_bridge() -> str:
    """Bridge writes its own line of a step, then that of Megatron-LM."""
    *head, last = megatron_lm().splitlines()
    lines = []
    for line in (*head, last):
        if "elapsed time" in line:
            time = float(line.split("(ms): ")[1].split()[0]) / 1000
            lines.append(f"Step Time : {time:.2f}s GPU utilization: {1000 / time:.1f}MODEL_TFLOP/s/GPU")
        lines.append(line)
    return "\n".join(lines) + "\n"


def torchtitan(colours: bool = False, ranks: int = 1) -> str:
    """Tokens per second such that 8 sequences of 8192 tokens on 8 GPUs take `SECONDS`."""
    red, blue, plain = ("\x1b[31m", "\x1b[38;5;33m", "\x1b[39m") if colours else ("", "", "")
    lines = ["[titan] 2026-02-24 19:46:00,000 - root - INFO - Training starts at step 1"]
    for step, time in enumerate(SECONDS, 1):
        for rank in range(ranks):
            tps = round(8192 / time) - rank
            lines.append(
                f"[rank{rank}]:[titan] 2026-02-24 19:46:{step:02},508 - root - INFO - {red}step: {step:2}  "
                f"{plain}loss:  7.62585  grad_norm: 26.6250  {blue}memory: {60 + step:.2f}GiB(54.51%)  "
                f"tps: {tps:,}  tflops: 314.71  mfu: 13.99%{plain}"
            )
    return "\n".join(lines) + "\n"


def maxtext() -> str:
    """Tokens such that a device has 8192 of a step."""
    return "".join(
        f"I0811 21:54:{step + 10}.531340 138304841739136 metric_logger.py:226] completed step: {step}, "
        f"seconds: {time:.3f}, TFLOP/s/device: {400 / time:.3f}, Tokens/s/device: {8192 / time:.3f}, "
        "total_weights: 65536, loss: 12.979\n"
        for step, time in enumerate(SECONDS)
    )


def nemo(bar: bool = False) -> str:
    """Lines of its logger, or a progress bar that overwrites itself."""
    if bar:
        return "\r".join(
            f"Epoch 0: :   3%|x  | {step}/300 [1:42<55:37, v_num=0-56, reduced_train_loss=2.0, global_step="
            f"{step}.0, consumed_samples=6.3e+5, train_step_timing in s={time:.3f}, val_loss=7.04]"
            for step, time in enumerate(SECONDS)
        )
    return "".join(
        f"Training epoch 0, iteration {step}/99 | lr: 1.2e-05 | global_batch_size: 512 | global_step: "
        f"{step} | reduced_train_loss: 11.2 | train_step_timing in s: {time:.2f} | consumed_samples: 6144\n"
        for step, time in enumerate(SECONDS)
    )


def deepspeed() -> str:
    """Samples per second of a batch of 32, with the parts of each step."""
    lines = []
    for step, time in enumerate(SECONDS, 1):
        head = "[2026-07-25 21:03:17,269] [INFO] "
        lines += [
            f"{head}[timer.py:215:stop] epoch=0/micro_step={2 * step}/global_step={step}, "
            f"RunningAvgSamplesPerSec=7.86, CurrSamplesPerSec={32 / time}, MemAllocated=59.65GB, "
            "MaxMemAllocated=63.5GB",
            f"{head}[Rank 0] rank=0 time (ms) | forward_microstep: 652.42 | backward_microstep: 2164.53 | "
            "backward_inner_microstep: 2001.89 | step_microstep: 1172.13",
            f"{head}[Rank 0] rank=0 time (ms) | forward: {time * 250} | backward: {time * 500} | "
            f"backward_inner: 2001.89 | backward_allreduce: 162.60 | step: {time * 150}",
        ]
    return "\n".join(lines) + "\n"


def nanotron() -> str:
    """Lines of a rank, whose large figures are rounded with a letter."""
    head = "04/06/2026 02:55:11 [INFO|DP=0|PP=0|TP=0|node1]: "
    lines = [f"{head} Memory usage: 900.25MiB. Peak allocated 40960.00MiB. Peak reserved: 46080.00MiB"]
    for step, time in enumerate(SECONDS, 1):
        lines.append(
            f"{head}iteration: {step} / 100 | consumed_tokens: {step * 1.05:.3g}M | "
            f"elapsed_time_per_iteration_ms: {time:.3g}K | tokens_per_sec: {8 * 32.768 / time:.3g}K | "
            f"tokens_per_sec_per_gpu: {32.768 / time:.3g}K | global_batch_size: 128 | lm_loss: 11.2 | "
            f"model_tflops_per_gpu: {1000 / time:.3g} | hardware_tflops_per_gpu: {1100 / time:.3g}"
        )
    return "\n".join(lines) + "\n"


def llm_foundry() -> str:
    """A figure of a batch in each line."""
    lines = []
    for step, time in enumerate(SECONDS, 1):
        lines += [
            f"[batch={step}/100]:",
            f"\t Train time/batch: {step - 1}",
            "\t Train memory/current_allocated_mem: 12.3450",
            "\t Train memory/peak_allocated_mem: 42.9497",
            "\t Train loss/train/total: 11.2345",
            f"\t Train throughput/batches_per_sec: {1 / time:.6f}",
            f"\t Train throughput/samples_per_sec: {128 / time:.4f}",
            f"\t Train throughput/device/batches_per_sec: {1 / time / 8:.6f}",
            f"\t Train throughput/device/tokens_per_sec: {32768 / time:.4f}",
        ]
    return "\n".join(lines) + "\n"

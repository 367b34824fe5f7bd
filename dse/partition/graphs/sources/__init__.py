"""Where graphs and devices come from: files, models of PyTorch, our workloads, systems, matrices."""

from __future__ import annotations

"""Training plans for mixed clusters: problem, planners, costs, certificates, and their simulation."""

from __future__ import annotations

"""Proofs of certificates: the checker's own tables of stages, bounds and searches."""

from __future__ import annotations

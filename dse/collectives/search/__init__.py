"""Searches for schedules: synthesizers, reductions, and fixed algorithms to compare with."""

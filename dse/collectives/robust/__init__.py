"""Schedules under failures and under links that vary."""

"""Logs of frameworks, read into measured rows."""

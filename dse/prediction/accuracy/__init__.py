"""Errors of predictions against measured steps: by source, over all rows, and as a ranking."""

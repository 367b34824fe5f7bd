"""Training frameworks: their configurations read, judged and written, and their logs read."""

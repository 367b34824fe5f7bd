"""The readers of logs: a module each, which calls its own `READER`."""

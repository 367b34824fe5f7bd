"""Interpreters of the files that runtimes load: they read a file alone, move numbers, and find races."""

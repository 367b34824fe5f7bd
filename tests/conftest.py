"""Puts this folder on the import path, so that every test finds `builders`; nothing else."""

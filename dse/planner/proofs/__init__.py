"""Proofs of certificates: the checker's own tables of stages, bounds and searches."""

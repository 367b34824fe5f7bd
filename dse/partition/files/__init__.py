"""Answers of partitions as files and text."""

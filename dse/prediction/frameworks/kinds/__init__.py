"""The dialects of frameworks: a module each, with its table of keys and rules."""

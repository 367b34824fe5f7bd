"""Design-space exploration of AI training systems: one sub-package per noun, see docs/architecture.md."""

__version__ = "0.1.0"

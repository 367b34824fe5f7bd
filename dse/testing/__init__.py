"""Contracts of simulators, workload generators, searches, executors and partitioners, as tests to inherit.

A test class of yours inherits a contract and says in `make` what is tested; pytest does the rest. Modules
besides the contracts have the small models, systems, traces and spaces that they use.
"""

try:
    import pytest
except ImportError:
    raise ImportError("dse.testing needs pytest: pip install pytest") from None

pytest.register_assert_rewrite(
    *(
        f"{__name__}.{module}"
        for module in ("executors", "partitioners", "searches", "simulators", "workloads")
    )
)

"""Clusterwright plans, builds, verifies, runs and repairs GPU training clusters.

The names of the Python interface (docs/api.md) are imported on first use; `__init__.pyi` has their types.
"""

__version__ = "0.1.0"

# Names and the modules that define them; the package alone for a package.
_PUBLIC = {
    "Cluster": "config.cluster", "Finding": "errors", "Job": "config.job", "SpecError": "errors",
    "WrightError": "errors", "catalog": "catalog", "check": "check", "diagnose": "diagnose", "launch": "launch",
    "load_cluster": "config.load", "load_job": "config.load", "monitor": "monitor", "plan": "plan",
    "validate": "config.load",
}  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # hosts never need it

    module = import_module(f"{__name__}.{_PUBLIC[name]}")
    return module if name == _PUBLIC[name] else getattr(module, name)


def __dir__() -> list:
    return sorted(["__version__", *_PUBLIC])

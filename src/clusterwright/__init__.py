"""Clusterwright plans, builds, verifies, runs and repairs GPU training clusters.

The names of the Python interface (docs/api.md) are imported on first use; `__init__.pyi` has their types.
"""

__version__: str

# Names and the modules that define them; the package alone for a package.
_PUBLIC = {
    "Cluster": "config.cluster",
    "Finding": "errors",
    "Job": "config.job",
    "SpecError": "errors",
    "WrightError": "errors",
    "catalog": "catalog",
    "check": "check",
    "diagnose": "diagnose",
    "launch": "launch",
    "load_cluster": "config.load",
    "load_job": "config.load",
    "monitor": "monitor",
    "plan": "plan",
    "validate": "config.load",
}


def __getattr__(name: str) -> object:
    """Return a public name, or `__version__` from the metadata of the installed package; hosts never ask for either."""
    if name == "__version__":
        return _version()
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # hosts never need it

    module = import_module(f"{__name__}.{_PUBLIC[name]}")
    return module if name == _PUBLIC[name] else getattr(module, name)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("clusterwright")
    except PackageNotFoundError:  # modules without an installation
        return "0+unknown"


def __dir__() -> list:
    return sorted(["__version__", *_PUBLIC])

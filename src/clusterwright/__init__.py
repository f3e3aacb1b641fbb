"""Clusterwright plans, builds, verifies, runs and repairs GPU training clusters."""

__version__: str


def __getattr__(name: str) -> str:
    """Return `__version__` from the metadata of the installed package; hosts have the modules alone and never ask."""
    if name != "__version__":
        raise AttributeError(name)
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("clusterwright")
    except PackageNotFoundError:  # modules without an installation
        return "0+unknown"

"""Choose the container runtime for an image by the form of its address."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.config.environments import Runtime


def starters(image: str) -> tuple[Runtime, ...]:
    """Return the runtimes that can start an image: a folder is an OCI bundle, .sqsh is enroot's, .sif Apptainer's."""
    if image.endswith(".sqsh"):
        return ("pyxis",)
    if image.endswith(".sif"):
        return ("apptainer",)
    if image.startswith("/"):
        return ("oci",)
    return ("pyxis",) if "#" in image or "://" not in image else ("apptainer", "pyxis")


def runtime(image: str, cluster: Cluster) -> Runtime | None:
    """Return the first of the cluster's container runtimes that can start the image; None if none can."""
    can = starters(image)
    return next((candidate for candidate in cluster.environments.containers if candidate in can), None)

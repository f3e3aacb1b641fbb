"""From a file's text to a Cluster or a Job, or to every finding at once."""

from __future__ import annotations

from pathlib import Path

from ruamel.yaml import YAML

from clusterwright.spec.cluster import Cluster
from clusterwright.spec.job import Job


def load_cluster(path: Path) -> Cluster:
    """The cluster that the file describes.

    Raises:
        SpecError: everything that is wrong with the file, each with its place and its mend.
    """
    return Cluster.model_validate(YAML(typ="safe").load(path.read_text()), strict=False)


def load_job(path: Path) -> Job:
    """The job that the file describes.

    Raises:
        SpecError: everything that is wrong with the file, each with its place and its mend.
    """
    return Job.model_validate(YAML(typ="safe").load(path.read_text()), strict=False)

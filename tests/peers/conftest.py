"""The examples, and Slurm's files of each for any release."""

from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.provision.render.cgroup_conf import cgroup_conf
from clusterwright.provision.render.gres_conf import gres_conf
from clusterwright.provision.render.slurm_conf import slurm_conf
from clusterwright.provision.render.topology_conf import topology

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/cluster.yaml"))


@pytest.fixture(params=EXAMPLES, ids=lambda file: file.parent.name)
def example(request):
    """Each example as a cluster."""
    return load_cluster(request.param)


@pytest.fixture
def slurm_files():
    """Name and text of each of Slurm's files of a cluster, as its own release or another takes them."""

    def files(cluster, release=None):
        if release:
            software = cluster.software.model_copy(update={"slurm": release})
            cluster = cluster.model_copy(update={"software": software})
        told = topology(cluster, "")
        return {
            "slurm.conf": slurm_conf(cluster, ""),
            "cgroup.conf": cgroup_conf(cluster, ""),
            "gres.conf": gres_conf(cluster, ""),
            **({told[0]: told[1]} if told else {}),
        }

    return files


@pytest.fixture
def rows():
    """Lines of KEY=VALUE pairs that begin with a key, each as a dictionary."""

    def of(text, first):
        lines = [line.split() for line in text.splitlines() if line.startswith(f"{first}=")]
        return [dict(word.split("=", 1) for word in line if "=" in word) for line in lines]

    return of

"""What an hour of a job's GPU costs."""

from pathlib import Path

import pytest

from clusterwright.catalog.prices import price
from clusterwright.catalog.records import Deal
from clusterwright.config.load import load_cluster
from clusterwright.launch.submission import hourly

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(("name", "item"), [("a100", "a100-sxm-80gb"), ("hgx", "h100-sxm-80gb")])
def test_it_is_the_catalogs_price_of_that_gpu(a_job, name, item):
    """By model, memory and NVLink, as the cluster file says them."""
    found = hourly(a_job(), load_cluster(EXAMPLES / name / "cluster.yaml"))

    assert found["amount"] == price(item, Deal.ON_DEMAND).likely
    assert item in found["source"]


def test_a_labs_gpus_cost_nothing(a_job, cluster):
    """They are simulated."""
    assert hourly(a_job(), cluster) is None


def test_a_gpu_that_the_catalog_does_not_have_has_no_price(a_job):
    """And the job is submitted all the same."""
    cluster = load_cluster(EXAMPLES / "a100" / "cluster.yaml")
    nodes = {
        name: group.model_copy(update={"gpus": group.gpus and group.gpus.model_copy(update={"model": "z9"})})
        for name, group in cluster.nodes.items()
    }

    assert hourly(a_job(), cluster.model_copy(update={"nodes": nodes})) is None

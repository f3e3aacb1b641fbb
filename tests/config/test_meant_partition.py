"""A job for a partition that is misspelled: judged by the one that is meant, in the same run."""

from pathlib import Path

import pytest

from clusterwright.config.job import Job
from clusterwright.config.load import check_job_against, load_cluster

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"


@pytest.mark.parametrize(("misspelled", "is_meant"), [(True, True), (False, False)])
def test_limits_of_the_partition_that_is_meant(misspelled, is_meant):
    """Without a similar name only the unknown name is reported."""
    cluster = load_cluster(LAB)
    name = next(iter(cluster.partitions))
    partition = f"{name}x" if misspelled else "zzqqzzqq"
    job = Job(name="big", command=("train.py",), nodes=5000, gpus_per_node=1, time="1h", partition=partition)
    codes = [finding.code for finding in check_job_against(job, cluster)]
    assert "unknown-name" in codes
    assert ("too-many-nodes" in codes) is is_meant

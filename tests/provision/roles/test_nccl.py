"""What NCCL is told on hosts."""

from clusterwright.provision.roles import desired_resources

PATH = "file:/etc/nccl.conf"
SAID = {"jobs": {"variables": {"NCCL_ALGO": "Tree", "OMP_NUM_THREADS": "4"}}}


def found(cluster, host, given):
    """The resources of a host, by id."""
    return {resource.id: resource for resource in desired_resources(cluster, cluster.host(host), given)}


def test_only_nccl_s_own_and_only_where_jobs_compute(altered, given):
    """The file knows no other variable; the control host has none."""
    cluster = altered(SAID)

    assert found(cluster, "gpu-node1", given)[PATH].content.endswith("\nNCCL_ALGO=Tree\n")
    assert PATH not in found(cluster, "control", given)


def test_without_a_setting_there_is_no_file(cluster, given):
    """An nccl.conf that somebody made is left alone."""
    assert PATH not in found(cluster, "gpu-node1", given)

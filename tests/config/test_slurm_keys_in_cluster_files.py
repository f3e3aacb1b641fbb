"""Keys of slurm.conf in a cluster file: the line of the cluster file that says the same."""

import pytest

from clusterwright.config.load import load_cluster, load_job
from clusterwright.config.other_files import cluster_line
from clusterwright.errors import SpecError


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("RealMemory", "257000", "memory: 257000MiB"),
        ("Gres", "gpu:a100:4", "gpus: {model: a100, count: 4}"),
        ("Default", "YES", "default: true"),
        ("MaxTime", "3-00:00:00", "max_time: 3d"),
        ("DefaultTime", "90", "default_time: 1h30m"),
        ("MaxTime", "INFINITE", ""),
        ("Weight", "5", ""),
    ],
)
def test_a_key_of_slurm_conf_has_its_line(key, value, line):
    """With the value of the file."""
    assert cluster_line(key, value, value) == line


def test_the_fix_of_an_unknown_key_is_the_line(tmp_path):
    """Also for a value that YAML reads in two ways; the key that is meant is not missing."""
    file = tmp_path / "cluster.yaml"
    file.write_text(
        "ClusterName: campus\nos: rocky-9\nnetworks: {a: {subnet: 192.0.2.0/24, rate: 1Gbit/s}}\n"
        "partitions: {train: {nodes: [gpu], Default: YES}}\n"
    )
    with pytest.raises(SpecError) as caught:
        load_cluster(file)
    fixes = [finding.fix for finding in caught.value.findings]
    assert "write name: campus" in fixes
    assert "write default: true" in fixes
    assert not [f for f in caught.value.findings if f.message == "the cluster file has no `name`"]


def test_two_programs_are_named_although_their_values_are_wrong(tmp_path):
    """That both are set does not depend on the values."""
    file = tmp_path / "job.yaml"
    file.write_text(
        "name: gpt\nrecipe: gtp\ncommand: python train.py\nnodes: two\ngpus_per_node: 8\ntime: 1h\n"
    )
    with pytest.raises(SpecError) as caught:
        load_job(file)
    assert "command-or-recipe" in [finding.code for finding in caught.value.findings]

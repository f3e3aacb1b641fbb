"""What must agree across a file: the cases beside the golden examples."""

import time
from importlib import import_module
from inspect import getmembers, isfunction
from pathlib import Path
from pkgutil import iter_modules

import pytest

from clusterwright.config import rules
from clusterwright.config.load import check_job_against, cluster_of, job_of
from clusterwright.config.reader import read
from clusterwright.errors import SpecError

GOLDEN = Path(__file__).parents[1] / "golden" / "errors"
CLUSTER = (GOLDEN / "common.cluster.yaml").read_text()
GPUS = "    gpus: {model: a100, count: 4}\n"
JOB = "name: j\nrecipe: gpt\nnodes: 2\ngpus_per_node: 2\ntime: 30m\n"


def clashes(text):
    """The codes and messages of what a cluster's rules find."""
    try:
        cluster_of(read(text, "cluster.yaml"))
    except SpecError as error:
        return [(finding.code, finding.message) for finding in error.findings]
    return []


def codes(text):
    """The codes only."""
    return [code for code, _ in clashes(text)]


def changed(*pairs):
    """The common cluster with some texts replaced."""
    text = CLUSTER
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def against(job, cluster=CLUSTER):
    """The codes of what a job cannot do on a cluster."""
    found = check_job_against(job_of(read(job, "job.yaml")), cluster_of(read(cluster, "cluster.yaml")))
    return [finding.code for finding in found]


@pytest.mark.parametrize("folder", ["cluster", "job", "job_cluster"])
def test_each_public_function_of_a_module_of_rules_is_a_rule(folder):
    """Adding the function is the whole registration; two rules of a folder never share a name."""
    package = import_module(f"{rules.__name__}.{folder}")
    modules = [import_module(f"{package.__name__}.{each.name}") for each in iter_modules(package.__path__)]
    functions = [
        (name, function)
        for module in modules
        for name, function in getmembers(module, isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    ]
    names = [name for name, _ in functions]

    assert names
    assert all(function.__doc__ for _, function in functions)
    assert len(set(names)) == len(names)
    assert set(rules.rules_about(folder)) == set(names)


def test_the_common_cluster_and_job_are_good():
    """The cases below differ from it in one thing."""
    assert clashes(CLUSTER) == []
    assert against(JOB) == []


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("10.77.0.11", "10.77.0.251")], []),  # .251 to .254: the last address that fits
        ([("10.77.0.11", "10.77.0.252")], ["address-outside-network"]),
        ([("10.77.0.10", "10.77.0.0")], ["address-outside-network"]),
        ([("10.77.0.10", "255.255.255.255")], ["address-outside-network"]),
        ([("10.77.0.11", "255.255.255.254")], ["address-outside-network"]),
        ([("10.77.0.10", "10.77.0.14")], ["address-taken"]),
        ([("10.77.0.10", "10.77.0.15")], []),
        ([("gpu-node[1-4]", "gpu-node[1-300]")], ["address-outside-network"]),
        ([("gpu-node[1-4]", "gpu-node[1-65535]")], ["address-outside-network"]),
        ([("hosts: control", "hosts: gpu-node1")], ["host-in-two-groups"]),
    ],
)
def test_addresses(pairs, expected):
    """The edges of a network and of a group, and groups that run out of the address space."""
    assert codes(changed(*pairs)) == expected


def test_a_network_that_is_too_small_is_to_be_widened():
    """No first address would do; the fix says so."""
    with pytest.raises(SpecError, match=r"widen 10\.77\.0\.0/24"):
        cluster_of(read(changed(("gpu-node[1-4]", "gpu-node[1-300]")), "cluster.yaml"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", ["reserved-path"]),
        ("/etc", ["reserved-path"]),
        ("/etc/slurm", ["reserved-path"]),
        ("/home", []),
        ("/var/lib/clusterwright", ["reserved-path"]),
        ("/home/shared", []),
        ("/srv/shared", []),
        ("/sharedx", []),
    ],
)
def test_mounts(path, expected):
    """Folders of the system are not hidden; folders of one's own are fine."""
    assert codes(changed(("path: /shared", f"path: {path}"))) == expected


def test_scratch_disks_are_mounted_beside_the_shared_folder():
    """A disk's mount is held to the same rules."""
    disks = "disks: [{size: 1TB, mount: /shared/scratch}, {size: 1TB, mount: /usr}]"

    assert sorted(codes(changed(("    memory: 16GiB", f"    {disks}\n    memory: 16GiB")))) == [
        "paths-nested",
        "reserved-path",
    ]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(", default: true", "")], ["default-partition"]),
        ([("nodes: [a100]", "nodes: [a100], gpus_per_node: 4")], []),
        ([(GPUS, ""), ("nodes: [a100]", "nodes: [a100], gpus_per_node: 1")], ["gres-mismatch"]),
        ([("nodes: [a100]", "nodes: [a100], teams: [vison]")], ["unknown-name"]),
        ([("team: language}", "team: physics, additional_teams: [language]}")], ["unknown-name"]),
        ([("partitions:", "slurm: {ports: [63000, 60001]}\npartitions:")], ["port-range"]),
        ([("partitions:", "slurm: {ports: [20, 30]}\npartitions:")], ["port-range"]),
        ([("partitions:", "slurm: {ports: [20000, 29999]}\npartitions:")], ["port-range"]),
        ([("partitions:", "slurm: {ports: [27999, 30000]}\npartitions:")], ["port-range"]),
        ([("partitions:", "slurm: {ports: [10000, 65000]}\npartitions:")], ["port-range"]),
        ([("partitions:", "slurm: {ports: [28000, 32767]}\npartitions:")], []),
        ([("partitions:", "slurm: {ports: [61000, 62000]}\npartitions:")], []),
        ([("name: lab", "name: lab\nlab: {}")], []),
        ([("name: lab", 'name: lab\nlab: {}\nsoftware: {slurm: "22.05.8"}')], []),
        ([("name: lab", 'name: lab\nlab: {}\nsoftware: {slurm: "22.051"}')], ["lab-unsupported", "slurm-release"]),
    ],
)  # fmt: skip
def test_other_rules(pairs, expected):
    """Partitions, people, ports and labs."""
    assert codes(changed(*pairs)) == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("partition: trian\n", ["unknown-name"]),
        ("user: carol\n", ["unknown-name"]),
        ("team: physics\n", ["unknown-name"]),
        ("user: alice\nteam: language\n", []),
        ("recovery: {on_host_loss: spare, spare_nodes: 2}\n", []),
        ("recovery: {on_host_loss: spare, spare_nodes: 3}\n", ["too-many-nodes"]),
        ("data: [{path: /shared/a}, {path: /data}]\n", ["folder-not-shared"]),
        ("checkpoint: {folder: /shared}\n", []),
    ],
)
def test_a_job_on_the_common_cluster(more, expected):
    """Names, hosts with spares, folders."""
    assert against(JOB + more) == expected


def test_a_job_may_be_charged_to_each_team_of_its_user():
    """Also to an additional one."""
    cluster = changed(("team: language}", "team: language, additional_teams: [vision]}"))

    assert against(JOB + "user: alice\nteam: vision\n", cluster) == []
    assert against(JOB + "user: alice\nteam: vision\n") == ["team-mismatch"]


def test_a_partition_may_give_fewer_gpus_than_its_hosts_have():
    """Its own limit is the other side of the clash."""
    cluster = changed(("nodes: [a100]", "nodes: [a100], gpus_per_node: 1"))
    found = check_job_against(job_of(read(JOB, "job.yaml")), cluster_of(read(cluster, "cluster.yaml")))

    assert [place.path for place in found[0].places] == ["gpus_per_node", "partitions.train.gpus_per_node"]


def test_a_cluster_without_shared_storage_cannot_keep_a_run():
    """A host that takes over would find nothing."""
    cluster = changed(("storage:\n  shared: {kind: nfs, path: /shared, server: control}\n", ""))

    assert against(JOB, cluster) == ["folder-not-shared"]


def test_on_hosts_without_gpus_the_ranks_run_on_processors():
    """A partition of CPU hosts takes as many ranks as a job says, and still no more hosts than it has."""
    assert against(JOB, changed((GPUS, ""))) == []
    assert against(JOB.replace("nodes: 2", "nodes: 9"), changed((GPUS, ""))) == ["too-many-nodes"]


def test_an_absent_host_leaves_the_addresses_of_the_others():
    """The third of four has the third address, though the second is gone; nobody else may take its own."""
    text = changed(("hosts: gpu-node[1-4]\n", "hosts: gpu-node[1-4]\n    absent: gpu-node2\n"))
    whole, cut = cluster_of(read(CLUSTER, "c")), cluster_of(read(text, "c"))
    before = {host.name: host.addresses for host in whole.hosts()}

    assert {host.name: host.addresses for host in cut.hosts()} == {
        name: addresses for name, addresses in before.items() if name != "gpu-node2"
    }


def test_not_every_host_of_a_group_is_absent():
    """A group without hosts would be a partition without nodes."""
    text = changed(("hosts: gpu-node[1-4]\n", "hosts: gpu-node[1-4]\n    absent: gpu-node[1-4]\n"))

    assert codes(text) == ["absent-host"]


def test_overlaps_of_many_reservations_are_reported_in_time():
    """Twenty of the half million of a thousand reservations of the same hosts."""
    rows = "".join(
        f"  r{number}: {{start: 2027-01-15T08:00, duration: 1h, hosts: 'gpu-node[1-4]', teams: [lab]}}\n"
        for number in range(1000)
    )
    begun = time.process_time()
    found = codes(CLUSTER + "reservations:\n" + rows)

    assert found.count("reservation-overlap") == 20
    assert time.process_time() - begun < 30

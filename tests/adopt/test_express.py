"""Sites that a cluster file describes: partitions with features, weights and QOS, configless, cloud nodes, includes."""

from ipaddress import IPv4Address

import pytest

from clusterwright.adopt.express import ObservedHardware, SiteFacts
from clusterwright.adopt.site import describe
from clusterwright.config.load import cluster_of
from clusterwright.config.reader import read
from clusterwright.config.slurm_rules import Source
from clusterwright.errors import SpecError, WrightError
from clusterwright.provision.package_bundle.requirements import context_without_secrets
from clusterwright.provision.render.cgroup_conf import cgroup_conf
from clusterwright.provision.render.gres_conf import gres_conf
from clusterwright.provision.render.topology_conf import topology
from clusterwright.provision.resources import File
from clusterwright.provision.roles import desired_resources

SITE = """ClusterName=Physics_2
SlurmctldHost=ctl(10.1.0.1)
SlurmctldHost=ctl2(10.1.0.2)
SlurmctldParameters=enable_configless,cloud_dns
Include nodes.conf
PartitionName=DEFAULT MaxTime=3-0 State=UP
PartitionName=gpu Nodes=g[1-4] Default=YES PriorityTier=10 AllowQos=normal,high PreemptMode=REQUEUE
PartitionName=short Nodes=g[1-2],big MaxTime=30 DefaultTime=10 MaxNodes=1 OverSubscribe=EXCLUSIVE Hidden=YES
PartitionName=burst Nodes=cloud[1-8] MaxTime=INFINITE
"""
NODES = """NodeName=DEFAULT Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=500000
NodeName=g[1-4] NodeAddr=10.1.1.[1-4] Gres=gpu:a100:4 Feature=ib,a100 Weight=50
NodeName=big RealMemory=2000000 MemSpecLimit=8192 Weight=100 NodeAddr=10.1.2.9
NodeName=cloud[1-8] State=CLOUD Port=17001
"""


def described(text=SITE, nodes=NODES, facts=None, **more):
    """The site of these files."""
    included = (Source("nodes.conf", "slurm.conf", nodes),)
    sources = [Source("slurm.conf", "slurm.conf", text, {"nodes.conf": included})]
    sources += [Source(f"{name}.conf", f"{name}.conf", text) for name, text in more.items()]
    return describe(sources, "24.05.3", "a folder", facts)


def test_a_site_of_several_partitions_is_the_same_site_again():
    """Features, weights, QOS, exclusive use, cloud nodes, two controllers, an include and defaults of lines."""
    site = described()

    assert site.differences == ()
    assert site.adopted.left_out == ()
    partition = site.cluster.partitions["short"]
    assert (partition.max_time, partition.default_time, partition.max_nodes) == (1800, 600, 1)
    assert partition.exclusive
    assert partition.options == {"Hidden": "YES"}


def test_hosts_of_a_line_in_different_partitions_are_groups():
    """g1 and g2 are in two partitions, g3 and g4 in one."""
    groups = described().cluster.nodes

    assert {name: group.hosts for name, group in groups.items() if "g" in name} == {
        "g": "g[1-2]", "g-2": "g[3-4]", "big": "big",
    }  # fmt: skip
    assert groups["g-2"].options == {"NodeAddr": "10.1.1.3,10.1.1.4", "Feature": "ib,a100", "Weight": "50"}


def test_addresses_are_those_of_the_hosts():
    """With an address of each host the groups have them; hosts with a gap between addresses are two groups."""
    cloud = {f"cloud{number}": IPv4Address(f"10.1.9.{number}") for number in (1, 2, 3, 4, 6, 7, 8)}
    cloud |= {"cloud5": IPv4Address("10.1.9.50")}

    cluster = described(facts=SiteFacts(cloud)).cluster

    assert str(cluster.networks.management.subnet) == "10.1.0.0/20"
    hosts = {host.name: str(host.management) for host in cluster.hosts()}
    assert (hosts["ctl2"], hosts["g3"], hosts["cloud5"]) == ("10.1.0.2", "10.1.1.3", "10.1.9.50")
    assert len(cluster.nodes) == 2 + 3 + 3


def test_without_addresses_the_file_says_that_they_are_placeholders():
    """Cloud nodes have no address: no address of the file is one of a host."""
    site = described()

    assert str(site.cluster.networks.management.subnet) == "198.18.0.0/15"
    assert "#   nodes.NAME.addresses" in site.text


def test_what_the_file_cannot_hold_is_listed_with_its_place():
    """A key that the release does not have, a state of nodes, and lines of slurmdbd.conf."""
    text = SITE + "Frobnicate=1\nDownNodes=g1 State=DOWN\n"

    site = described(text, slurmdbd="DbdHost=ctl\nPurgeEventAfter=1month\n")

    places = {(line.file, line.line, line.text) for line in site.adopted.left_out}
    assert places == {
        ("slurm.conf", 10, "Frobnicate=1"),
        ("slurm.conf", 11, "DownNodes=g1"),
        ("slurmdbd.conf", 1, "DbdHost=ctl"),
        ("slurmdbd.conf", 2, "PurgeEventAfter=1month"),
    }
    assert "#   slurmdbd.conf:2: PurgeEventAfter=1month: " in site.text


GRES = """# GPUs
AutoDetect=off
NodeName=g[1-4] Name=gpu Type=a100 \\
  File=/dev/nvidia[0-3] Cores=0-15  # the first socket
Include more.conf
"""
TOPOLOGY = """# switches
- topology: network
  tree:
    switches:
      - switch: s1  # leaf
        nodes: g[1-4]
"""


def test_other_files_are_held_line_by_line_where_no_field_has_their_meaning():
    """gres.conf, cgroup.conf and topology are rendered from the file as they are, with what they include."""
    included = {"more.conf": (Source("more.conf", "gres.conf", "NodeName=big Name=nic Count=2\n"),)}
    sources = [
        Source(
            "slurm.conf", "slurm.conf", SITE, {"nodes.conf": (Source("nodes.conf", "slurm.conf", NODES),)}
        ),
        Source("gres.conf", "gres.conf", GRES, included),
        Source("cgroup.conf", "cgroup.conf", "ConstrainCores=no\nConstrainDevices=yes\n"),
        Source("topology.yaml", "topology.yaml", TOPOLOGY),
    ]

    site = describe(sources, "25.05.1", "a folder")

    assert site.adopted.left_out == ()
    assert site.cluster.slurm.files["gres.conf"] == (
        "AutoDetect=off",
        "NodeName=g[1-4] Name=gpu Type=a100 File=/dev/nvidia[0-3] Cores=0-15",
        "NodeName=big Name=nic Count=2",
    )
    assert cgroup_conf(site.cluster, "") == "ConstrainCores=no\nConstrainDevices=yes\n"
    name, text = topology(site.cluster, "")
    assert (name, text.splitlines()[-1]) == ("topology.yaml", "        nodes: g[1-4]")
    assert gres_conf(site.cluster, "", site.cluster.nodes["g"]).startswith("AutoDetect=off\n")


def test_other_files_that_fields_hold_are_not_lines():
    """GPUs whose gres.conf has the meaning of the rendered one need no line in the file."""
    line = "NodeName=g[1-4] Name=gpu Type=a100 File=/dev/nvidia0,/dev/nvidia1,/dev/nvidia[2-3]\n"

    assert described(gres=line).cluster.slurm.files == {}


def test_lines_of_other_files_belong_to_the_file_of_a_site_only():
    """In a file of ours the fields decide, and a second source would contradict them."""
    text = described(cgroup="ConstrainCores=no\n").text.replace("defaults: slurm", "defaults: clusterwright")

    with pytest.raises(SpecError) as error:
        cluster_of(read(text.encode(), "cluster.yaml"))

    assert "slurm.files" in str(error.value)


def test_programs_of_the_site_keep_their_paths():
    """Prolog, epilog and other programs are options; the role slurm renders the paths and writes no program."""
    paths = {
        "Prolog": "/etc/slurm/prolog.d/*",
        "Epilog": "/usr/local/sbin/epilog.sh",
        "TaskProlog": "/etc/slurm/task_prolog",
        "PrologSlurmctld": "/opt/site/ctld",
        "HealthCheckProgram": "/usr/sbin/nhc",
    }
    site = described(SITE + "".join(f"{key}={path}\n" for key, path in paths.items()))

    managed = site.cluster.model_copy(update={"manage": ("slurm",)})
    resources = desired_resources(managed, managed.control, context_without_secrets())
    assert site.differences == ()
    assert {key: site.cluster.slurm.options[key] for key in paths} == paths
    assert not {resource.path for resource in resources if isinstance(resource, File)} & set(paths.values())


def test_a_password_is_not_in_the_file():
    """Of a line with a secret only its key and its place are listed."""
    text = (
        SITE
        + "JobCompPass=hunter2\nAccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=ctl\n"
    )

    site = described(text, slurmdbd="DbdHost=ctl\nStoragePass=hunter2\n")

    assert "slurmdbd.conf:2: StoragePass=" in site.text
    assert "slurm.conf:10: JobCompPass=" in site.text
    assert "hunter2" not in site.text


@pytest.mark.parametrize(
    "value", ['"; rm -rf /', "a: b", "- x", "{a", "*x", "&y", "!t", "yes", "0o17", "1_000", "~"]
)
def test_any_value_is_text_in_the_file(value):
    """YAML reads no value of slurm.conf as another type or as its own syntax."""
    site = described(f"{SITE}MailProg={value}\n")

    expected = value if '"' not in value else None
    assert site.cluster.slurm.options.get("MailProg", "").strip('"') in (
        expected,
        value.split()[0].strip('"'),
        "",
    )
    assert site.differences == () or '"' in value


def test_a_slurm_conf_without_nodes_is_refused():
    """A fragment has nothing that a cluster file could describe."""
    with pytest.raises(WrightError) as error:
        describe([Source("slurm.conf", "slurm.conf", "ClusterName=c\n")], "24.05", "x")

    assert error.value.findings[0].code == "no-nodes"


def test_a_thousand_nodes_with_a_line_each_are_few_groups():
    """Nodes of one rack in the same partitions are a group; every address is that of its host."""
    lines = [
        f"NodeName=n{number:04} NodeAddr=10.{number // 250}.1.{number % 250 + 1} Gres=gpu:a100:8"
        f" Feature=r{number // 40}\n"
        for number in range(1000)
    ]
    text = (
        "ClusterName=big\nSlurmctldHost=ctl\nNodeName=DEFAULT Sockets=2 CoresPerSocket=32 RealMemory=500000\n"
        f"{''.join(lines)}PartitionName=a Nodes=n[0000-0499] Default=YES\nPartitionName=b Nodes=n[0400-0999]\n"
    )

    site = describe(
        [Source("slurm.conf", "slurm.conf", text)], "24.05", "x", SiteFacts({"ctl": IPv4Address("10.9.9.9")})
    )

    assert site.differences == ()
    assert len(site.cluster.nodes) < 40
    assert str(site.cluster.host("n0777").management) == "10.3.1.28"


def test_cpus_without_a_topology_are_those_of_the_host():
    """CPUs=8 names no sockets, cores and threads: the hosts' are in `cpus`, and the line means what it did."""
    text = (
        "ClusterName=a\nSlurmctldHost=ctl\nNodeName=g[1-2] CPUs=8\nNodeName=h1\nPartitionName=p Nodes=ALL\n"
    )
    lscpu = {"sockets": 1, "cores_per_socket": 4, "threads_per_core": 2}
    hardware = {"g1": ObservedHardware(lscpu, "8GiB"), "h1": ObservedHardware(lscpu, "8GiB")}

    site = described(text, facts=SiteFacts(hardware=hardware))

    assert site.differences == ()
    assert site.cluster.nodes["g"].cpus.model_dump() == lscpu
    assert site.cluster.nodes["g"].options == {"RealMemory": "1", "CPUs": "8"}
    assert site.cluster.nodes["h"].cpus.threads == 1  # Slurm uses one of the eight


def test_a_host_beyond_a_gap_has_a_group_of_its_own_name():
    """Hosts of one line whose addresses are not consecutive are groups, each named after its hosts."""
    text = "ClusterName=a\nSlurmctldHost=ctl\nNodeName=g[1-2],n1 CPUs=8\nPartitionName=p Nodes=ALL\n"
    addresses = {"ctl": "10.1.0.1", "g1": "10.1.0.11", "g2": "10.1.0.12", "n1": "10.1.0.31"}

    site = described(text, facts=SiteFacts({name: IPv4Address(text) for name, text in addresses.items()}))

    assert {name: group.hosts for name, group in site.cluster.nodes.items()} == {
        "control": "ctl", "g": "g[1-2]", "n": "n1",
    }  # fmt: skip


def test_yes_of_cgroup_conf_is_yes_in_any_spelling():
    """Ansible writes True and False: a file that means what ours does is in the fields, another one line by line."""
    ours = (
        "ConstrainDevices=True",
        "ConstrainRAMSpace=TRUE",
        "ConstrainSwapSpace=False",
        "ConstrainCores=YES",
    )

    same = described(cgroup="\n".join(ours)).cluster
    other = described(cgroup="\n".join(("ConstrainDevices=False", *ours[1:]))).cluster

    assert same.slurm.files == {}
    assert other.slurm.files["cgroup.conf"] == ("ConstrainDevices=False", *ours[1:])


def test_a_configless_site_is_configless():
    """Compute hosts have no files there: checks do not compare them, and the role of Slurm writes none."""
    assert described().cluster.slurm.configless
    assert not described(SITE.replace("enable_configless,", "")).cluster.slurm.configless

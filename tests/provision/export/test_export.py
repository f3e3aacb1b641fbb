"""What `wright export` writes: files, an inventory, a playbook; pure values."""

import io
import re
import tarfile
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright.config.load import load_cluster
from clusterwright.provision.export.export import export
from clusterwright.provision.export.fold import places
from clusterwright.provision.export.inventory import group_of, inventory
from clusterwright.provision.export.steps import steps, widest
from clusterwright.provision.resources import Derived, File
from clusterwright.provision.roles import desired_resources

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(params=["lab", "a100", "hgx", "gpu1024"])
def example(request):
    """Each example in turn."""
    return load_cluster(EXAMPLES / request.param / "cluster.yaml")


def read(exported, name):
    """The document of an exported YAML file."""
    return YAML(typ="safe").load(exported[name].data.decode())


def hosts_of(tree, name):
    """All hosts below a group of the inventory."""
    groups = tree["all"]["children"]
    below = [hosts_of(tree, child) for child in groups[name].get("children", {})]
    return set(groups[name].get("hosts", {})).union(*below)


def test_every_file_of_every_host_is_there_byte_for_byte(example, given):
    """A host's four places together hold what an apply would write, and the library's archive the rest."""
    exported = export(example, given, with_secrets=True)
    with tarfile.open(fileobj=io.BytesIO(exported["library.tar"].data)) as tar:
        library = {entry.name: tar.extractfile(entry).read() for entry in tar}

    for host in example.hosts():
        for file in desired_resources(example, host, given):
            if not isinstance(file, File):
                continue
            content = file.content if isinstance(file.content, bytes) else file.content.encode()
            if file.path.startswith("/opt/clusterwright/lib/"):
                assert library[file.path.removeprefix("/opt/clusterwright/lib/")] == content
                continue
            top = "secrets" if file.secret else "files"
            found = [f"{top}/{place}{file.path}" for place in places(host)]
            assert [exported[name].data for name in found if name in exported] == [content], file.path


def test_files_that_hosts_compute_are_named_with_their_hosts(cluster, given):
    """Without the lines of pam_slurm_adopt, logins are not restricted to users with a job."""
    text = export(cluster, given)["README.md"].data.decode()
    resources = [resource for host in cluster.hosts() for resource in desired_resources(cluster, host, given)]
    paths = {resource.path for resource in resources if isinstance(resource, Derived)}

    assert "/etc/pam.d/sshd" in paths
    assert all(f"- `{path}` on gpu-node[1-4]" in text for path in paths)
    assert "users without a job can log in" in text


def test_secrets_are_exported_only_when_asked(cluster, given):
    """Then with mode 0600; else the README names what is missing."""
    key = "secrets/all/etc/munge/munge.key"
    plain, whole = export(cluster, given), export(cluster, given, with_secrets=True)

    assert not [name for name, file in plain.items() if given.secrets["munge.key"] in file.data]
    assert (whole[key].data, whole[key].mode) == (given.secrets["munge.key"], 0o600)
    assert f"`{key}`" in plain["README.md"].data.decode()


def test_the_inventory_has_every_host_in_its_groups_with_its_addresses(example):
    """By role and by node group."""
    tree = inventory(example)

    for host in example.hosts():
        group = group_of(example, f"groups/{host.group_name}")
        assert host.name in hosts_of(tree, f"role_{host.group.role}")
        assert tree["all"]["children"][group]["hosts"][host.name]["address_management"] == str(
            host.management
        )


def test_the_playbook_has_what_apply_wants_in_its_order(example, given):
    """Every file, group and user once; files before the units that read them; a unit that reads is notified."""
    (play,) = read(export(example, given, ansible=True), "site.yaml")
    names = [task["name"] for task in play["tasks"]]
    files = [step.resource for step in steps(example, given) if isinstance(step.resource, File)]
    slurm = next(task for task in play["tasks"] if task["name"] == "/etc/slurm/slurm.conf")

    assert [name for name in names if name in {file.path for file in files}] == [file.path for file in files]
    assert (
        names.index("/etc/slurm/slurm.conf")
        < names.index("slurmctld.service")
        < names.index("slurmd.service")
    )
    assert {"restart slurmctld.service", "restart slurmd.service"} <= set(slurm["notify"])
    assert {word for task in play["tasks"] for word in task.get("notify", [])} <= {
        handler["name"] for handler in play["handlers"]
    }


def test_only_the_modules_of_ansible_core_are_used(example, given):
    """No collection has to be installed."""
    (play,) = read(export(example, given, ansible=True), "site.yaml")
    words = {"name", "when", "tags", "notify", "meta", "no_log", "register", "failed_when", "changed_when"}

    modules = {key for task in play["tasks"] + play["handlers"] for key in task if key not in words}
    assert all(module.startswith("ansible.builtin.") for module in modules)


def test_a_source_leads_to_a_file_that_is_there(example, given):
    """For every host that the task is for, by the names that the inventory gives."""
    exported = export(example, given, ansible=True, with_secrets=True)
    (play,) = read(exported, "site.yaml")
    sources = {
        task["name"]: task["ansible.builtin.copy"]["src"]
        for task in play["tasks"]
        if "ansible.builtin.copy" in task
    }
    for host in example.hosts():
        names = {"inventory_hostname": host.name, "node_group": host.group_name, "node_role": host.group.role}
        for file in desired_resources(example, host, given):
            if isinstance(file, File) and file.path in sources:
                text = sources[file.path]
                for name, value in names.items():
                    text = text.replace(f"{{{{ {name} }}}}", value).replace(f"' ~ {name} ~ '", value)
                found = re.findall(r"(?:files|secrets)/[^']+", text)
                assert [name for name in found if name in exported], (host.name, text)


def test_a_condition_holds_on_exactly_the_hosts(example, given):
    """The places that stand for a step's hosts have these and no others."""
    for step in steps(example, given):
        chosen = widest(example, step.hosts)
        assert {host.name for host in example.hosts() if set(places(host)) & set(chosen)} == set(step.hosts)


def test_groups_whose_names_ansible_would_confuse_stay_apart(altered):
    """`a-1` and `a_1` are one word for Ansible."""
    nodes = {
        name: {
            "role": "compute",
            "hosts": host,
            "cpus": {"cores_per_socket": 1},
            "memory": "16GiB",
            "switch": "leaf1",
            "addresses": {"management": f"10.77.0.{last}", "compute": f"10.77.1.{last}"},
        }
        for name, host, last in [("a-1", "one", 50), ("a_1", "two", 51)]
    }
    partition = {"partitions.train.nodes": ["a100", "a-1", "a_1"]}
    cluster = altered({f"nodes.{name}": group for name, group in nodes.items()} | partition)

    assert {group_of(cluster, f"groups/{name}") for name in ("a-1", "a_1")} == {"group_a_1_1", "group_a_1_2"}


def test_the_archive_is_the_same_for_the_same_files(cluster, given):
    """So that an export of an unchanged file changes nothing."""
    assert export(cluster, given)["library.tar"].data == export(cluster, given)["library.tar"].data


def test_the_database_runs_before_slurmctld(example, given):
    """And knows the accounts; all on the host that does the accounting, where the script lies."""
    exported = export(example, given, ansible=True)
    (play,) = read(exported, "site.yaml")
    names = [task["name"] for task in play["tasks"]]
    order = [
        "mariadb.service",
        "slurmdbd.service",
        "names of accounts",
        "restart what reads what has changed",
    ]
    order += ["slurmctld.service", "accounts"]  # only slurmctld says that GPUs can be limited
    script = exported["accounts.sh"].content

    assert sorted(order, key=names.index) == order
    for team in example.teams:
        assert f"say add account {team} " in script
    for name in example.qos:
        assert script.index(f"say add qos {name}\n") < script.index(f"say modify qos where name={name} ")

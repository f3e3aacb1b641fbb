"""The roles of the base system: what each distribution is asked to have, and why."""

import re
import shutil
import subprocess

import pytest

from clusterwright.config.field import Cost
from clusterwright.provision.render.authorized_keys import hosts_only
from clusterwright.provision.resources import Group, Hold, Package, RoleContext, User
from clusterwright.provision.roles import desired_resources
from clusterwright.provision.roles.hugepages import pages
from clusterwright.provision.roles.package_hold import DRIVER, FABRIC, KERNEL, SLURM, expression

KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQENBF\n-----END PGP PUBLIC KEY BLOCK-----\n"
SITE = {"slurm": "25.11", "repositories": {"slurm": {"url": "https://x/y", "key": KEY}}}


@pytest.fixture
def of(altered, given):
    """Resources of a compute host by id, for these changes of the example; no lab."""

    def find(changes=None, host="gpu-node1"):
        cluster = altered({"lab": None} | (changes or {}))
        return {resource.id: resource for resource in desired_resources(cluster, cluster.host(host), given)}

    return find


def test_a_user_has_all_teams_and_no_password(of):
    """The first team is the primary group; passwords only where the file lets them in over SSH."""
    closed = of({"users.bob.additional_teams": ["language"]})["user:bob"]
    opened = of({"security.password_login": True})["user:bob"]

    assert closed == User(name="bob", uid=6002, group="vision", groups=("language",), password=False)
    assert opened.password
    assert (opened.groups, opened.not_in) == ((), ("language",))


def test_sshd_meets_our_settings_first(of):
    """Of several values it takes the first; cloud images have theirs in 50-cloud-init.conf."""
    [path] = [name for name in of() if "sshd_config.d" in name]

    assert path.removeprefix("file:/etc/ssh/sshd_config.d/") < "01"


def test_an_old_sshd_has_its_settings_from_its_unit(of):
    """OpenSSH 8.0 of Rocky 8 reads no folder; systemd would take %u for its own."""
    found = of({"os": "rocky-8", "software": SITE})
    unit = found["file:/etc/systemd/system/sshd.service.d/clusterwright.conf"]

    assert not [name for name in found if "sshd_config.d" in name]
    assert "authorized_keys.d/%%u" in unit.content
    assert '-o "PasswordAuthentication no"' in unit.content
    assert found["unit:sshd.service"].restart_on == (unit.id,)


def test_the_clusters_key_opens_from_its_hosts_alone(real):
    """Every address of every host, and not one more."""
    blocks = hosts_only(real).split(",")

    assert blocks[0] == "10.77.0.10/31"
    assert sum(2 ** (32 - int(block.split("/")[1])) for block in blocks) == sum(
        len(host.addresses) for host in real.hosts()
    )


def test_a_users_own_key_is_theirs(of):
    """A private key that others can read is refused by ssh; it is a secret in every report."""
    key = of()["file:/etc/ssh/cluster_keys.d/bob"]

    assert (key.owner, key.group, key.mode, key.secret) == ("bob", "vision", 0o600, "ssh/bob")


def test_names_of_hosts_are_folded_for_ssh(altered, given):
    """Four hosts or four thousand: a few words."""
    cluster = altered(
        {"lab": None, "nodes.a100.hosts": "gpu-node[1-12]", "nodes.a100.addresses.compute": "10.77.1.20"}
    )
    found = {one.id: one for one in desired_resources(cluster, cluster.control, given)}
    text = found["file:/etc/ssh/ssh_config.d/50-clusterwright.conf"].content

    assert "Host control gpu-node? gpu-node??\n" in text


@pytest.mark.parametrize(("os", "path"), [("ubuntu-22.04", "apt/sources.list.d"), ("rocky-9", "yum.repos.d")])
def test_a_repository_comes_before_the_packages_and_is_checked(of, os, path):
    """Its key lies in a file, and nothing else is trusted."""
    found = of({"os": os, "software": SITE})
    [source] = [one for name, one in found.items() if path in name]
    [key] = [one for one in found.values() if getattr(one, "content", "") == KEY]

    assert source.early
    assert key.early
    assert key.path in source.content
    assert ("Signed-By" in source.content) == (os == "ubuntu-22.04")
    assert "Trusted" not in source.content


def test_a_repository_without_a_key_says_that_nothing_is_checked(of):
    """In the words of each package manager."""
    software = {
        "slurm": "25.11",
        "repositories": {"own": {"url": "https://x/y", "suite": "jammy", "unsigned": True}},
    }
    deb = of({"os": "ubuntu-22.04", "software": software})[
        "file:/etc/apt/sources.list.d/clusterwright-own.sources"
    ]
    rpm = of({"os": "rocky-9", "software": software})["file:/etc/yum.repos.d/clusterwright-own.repo"]

    assert "Suites: jammy\nComponents: main\nTrusted: yes\n" in deb.content
    assert "gpgcheck=0" in rpm.content


def test_epel_is_there_where_something_comes_from_it(of):
    """A site that cannot reach it names its copy."""
    copy = SITE | {"repositories": {"epel": {"url": "https://x/epel", "unsigned": True}}}
    plain = {"os": "rocky-9", "software": SITE}

    assert of(plain)["package:epel-release"] == Package(name="epel-release", early=True)
    assert "package:epel-release" not in of(plain | {"software": copy})
    assert "package:epel-release" not in of(plain | {"monitoring": {"node_exporter": False}})
    assert "package:epel-release" not in of()


def test_slurms_account_is_made_where_no_package_makes_it(of):
    """With one id on all hosts, as munge's credentials need it."""
    made = of({"os": "ubuntu-22.04", "software": SITE})

    assert made["group:slurm"] == Group(name="slurm", gid=64030, system=True)
    assert made["user:slurm"] == User(name="slurm", uid=64030, group="slurm", system=True)
    assert "user:slurm" not in of()


def test_driver_fabric_and_slurm_are_held_and_what_the_site_adds(of):
    """The same patterns for who upgrades by hand and for unattended upgrades."""
    found = of({"system": {"hold_packages": ["docker-ce"]}}, host="control")

    assert found["hold:packages"] == Hold(name="packages", patterns=(*DRIVER, *FABRIC, *SLURM, "docker-ce"))
    assert '  "docker-ce$";\n' in found["file:/etc/apt/apt.conf.d/52clusterwright-hold"].content


def test_the_kernel_is_held_where_there_are_gpus(of):
    """Their driver's module is built for it; a control host takes its security updates by itself."""
    held = {host: of(host=host)["hold:packages"].patterns for host in ("control", "gpu-node1")}

    assert set(held["gpu-node1"]) - set(held["control"]) == set(KERNEL)


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("nvidia-*", "nvidia-driver-580", True), ("docker-ce", "docker-ce", True),
        ("docker-ce", "docker-ce-cli", False), ("libstdc++6", "libstdc++6", True), ("a.b", "axb", False),
    ],
)  # fmt: skip
def test_a_pattern_means_the_same_to_unattended_upgrades(pattern, name, fits):
    """That matches Python's expressions from the start of a name."""
    assert bool(re.match(expression(pattern), name)) == fits


def test_hugepages_are_whole_pages_and_wait_for_the_boot(of, altered):
    """Rounded up; only on compute hosts; never taken from under running jobs."""
    asked = {"system": {"hugepages": "4GiB"}}
    path = "file:/etc/sysctl.d/61-clusterwright-hugepages.conf"

    assert "vm.nr_hugepages = 2048\n" in of(asked)[path].content
    assert of(asked)[path].cost is Cost.REBOOT
    assert not [name for name in of(asked) if name == "sysctl:vm.nr_hugepages"]
    assert path not in of(asked, host="control")
    assert path not in of()
    assert pages(altered({"system": {"hugepages": "3MiB"}})) == 2


@pytest.mark.parametrize(
    ("system", "there", "missing"),
    [
        ({}, ["scaling_governor", "swapoff -a"], []),
        ({"governor": "as-is"}, ["swapoff -a"], ["scaling_governor"]),
        ({"swap": True}, ["scaling_governor"], ["swapoff"]),
    ],
)
def test_tuning_does_what_the_file_says_and_no_more(of, system, there, missing):
    """An empty unit file masks swap.target, and goes again when swap is wanted."""
    found = of({"system": system})
    text = found["file:/etc/clusterwright/tuning.sh"].content

    assert all(word in text for word in there)
    assert not any(word in text for word in missing)
    assert ("file:/etc/systemd/system/swap.target" in found) == ("swap" not in system)


@pytest.mark.skipif(
    not shutil.which("shellcheck"), reason="shellcheck is not installed (apt-get install shellcheck)"
)
def test_the_tuning_script_is_clean(of):
    """For any POSIX shell."""
    text = of()["file:/etc/clusterwright/tuning.sh"].content
    done = subprocess.run(
        ["shellcheck", "--shell", "sh", "-"], input=text, capture_output=True, text=True, check=False
    )

    assert done.stdout == ""


def test_the_tuning_script_sets_what_is_there_and_passes_over_the_rest(of, tmp_path):
    """Two CPUs with a governor, one file that is read-only, and no swap."""
    text = of()["file:/etc/clusterwright/tuning.sh"].content.replace("/sys/", f"{tmp_path}/sys/")
    text = text.replace("/proc/swaps", f"{tmp_path}/swaps")
    for index in range(2):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{index}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text("powersave\n")
    (tmp_path / "swaps").write_text("Filename Type Size Used Priority\n")
    done = subprocess.run(["sh"], input=text, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert {path.read_text() for path in tmp_path.rglob("scaling_governor")} == {"performance\n"}


def test_the_journal_has_its_bound_and_is_kept(of):
    """In a unit that journald reads."""
    text = of({"system": {"journal": "2GiB"}})[
        "file:/etc/systemd/journald.conf.d/50-clusterwright.conf"
    ].content

    assert "SystemMaxUse=2048M" in text
    assert "Storage=persistent" in text


@pytest.mark.parametrize(
    ("os", "pool", "path"),
    [
        ("debian-12", "2.debian.pool.ntp.org", "/etc/chrony/chrony.conf"),
        ("rocky-9", "2.rocky.pool.ntp.org", "/etc/chrony.conf"),
    ],
)
def test_without_servers_the_distributions_own_pool_stays(of, os, pool, path):
    """A control host that asks nobody would lead all others astray."""
    found = of({"os": os, "time": {"zone": "UTC"}}, host="control")

    assert f"pool {pool} iburst" in found[f"file:{path}"].content
    assert "pool" not in of({"os": os, "time": {"servers": ["ntp1"]}}, host="control")[f"file:{path}"].content


def test_rocky_has_a_unit_of_ours_for_node_exporter(of):
    """EPEL's has had more than one name."""
    found = of({"os": "rocky-9"})

    assert "package:golang-github-prometheus-node-exporter" in found
    unit = found["file:/etc/systemd/system/prometheus-node-exporter.service"]
    assert "--web.listen-address=10.77.0.11:9100" in unit.content
    assert unit.id in found["unit:prometheus-node-exporter.service"].restart_on


@pytest.mark.parametrize(
    ("os", "flag"),
    [
        ("debian-12", "--web.config.file=/etc/clusterwright/node-exporter.yml"),
        ("ubuntu-22.04", "--web.config=/etc/clusterwright/node-exporter.yml"), ("ubuntu-20.04", ""),
    ],
)  # fmt: skip
def test_host_metrics_are_for_who_has_a_certificate(of, os, flag):
    """The flag has had two names; Ubuntu 20.04's is too old for either, and answers in the clear."""
    found = of({"os": os, "software": SITE})

    words = f"--web.listen-address=10.77.0.11:9100 {flag}".strip()
    assert f'ARGS="{words}"' in found["file:/etc/default/prometheus-node-exporter"].content
    assert ("file:/etc/clusterwright/node-exporter.yml" in found) is bool(flag)
    key = found["file:/etc/clusterwright/tls/host.key"]
    assert (key.secret, key.mode, key.group) == ("tls/gpu-node1.key", 0o640, "clusterwright-tls")


@pytest.mark.parametrize("os", ["debian-13", "ubuntu-20.04", "ubuntu-24.04", "rocky-8", "alma-9"])
def test_every_distribution_renders_whole(of, os):
    """All roles, without two that contradict each other."""
    found = of({"os": os, "software": SITE})

    assert len(found) > 40
    assert all(
        name in found for name in ("file:/etc/slurm/slurm.conf", "package:chrony", "unit:munge.service")
    )


def test_without_secrets_a_tree_shows_their_names_only(cluster):
    """As `wright render` does, which touches none."""
    given = RoleContext({"munge.key": b""})
    found = {one.id: one for one in desired_resources(cluster, cluster.control, given)}

    assert "<public key ssh/bob>" in found["file:/etc/ssh/authorized_keys.d/bob"].content

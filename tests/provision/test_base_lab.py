"""The base system on real hosts: accounts, ways in, packages held, clocks; in a lab of its own."""

import re
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.edge.bundler import PROVISION, program_command, program_input
from clusterwright.lab.able import able
from clusterwright.provision.apply import apply, build_context, remote_of
from clusterwright.provision.bundle import Order, bundle
from clusterwright.provision.render.chrony_conf import chrony_conf
from clusterwright.provision.resources import File, Hold, Package
from clusterwright.provision.roles import desired_resources
from clusterwright.provision.roles.package_hold import FABRIC
from clusterwright.provision.roles.repositories import repositories
from clusterwright.provision.work import read_answer

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
NAME, SUBNETS = "test-base", "10.205."
MISSING = able()
HASH = "$6$salt$IxDD3jeSOb5eB1CX5LBsqZFVkJdido3OUILO5Ifz5iwMuTS4XMS130MTSuDDl3aCI6WouIL9AjRbLCelDCy.g."
DEB = """set -e
mkdir -p {repo}/{name}-{version}/DEBIAN && cd {repo}
printf 'Package: {name}\\nVersion: {version}\\nArchitecture: all\\nMaintainer: nobody <n@example.org>\\n\
Description: nothing\\n' >{name}-{version}/DEBIAN/control
dpkg-deb --build {name}-{version} {name}_{version}_all.deb >/dev/null
: >Packages
for deb in *.deb; do
  dpkg-deb --field "$deb" >>Packages
  printf 'Filename: ./%s\\nSize: %s\\nSHA256: %s\\n\\n' "$deb" "$(stat -c %s "$deb")" \
    "$(sha256sum "$deb" | cut -d' ' -f1)" >>Packages
done
"""

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


class Site:
    """A control host and two compute hosts, and what an apply of their file gives."""

    def __init__(self, folder):
        self.folder, self.file = folder, folder / "cluster.yaml"
        self.write({})
        self.cluster = load_cluster(self.file)

    def write(self, changes):
        """The example, smaller, with this lab's name and subnets, and these values by dotted path; None: gone."""
        yaml = YAML()
        document = yaml.load(LAB.read_text().replace("10.77.", SUBNETS))
        ours = {
            "name": NAME,
            "nodes.a100.hosts": "gpu-node[1-2]",
            "security.login": "free",  # users log in from host to host here, without jobs
        }
        if not {"users", "users.bob"} & set(changes):
            ours["users.bob.additional_teams"] = ["language"]
        for path, value in (ours | {"accounting": {"enabled": False}} | changes).items():
            *parents, last = path.split(".")
            place = document
            for part in parents:
                place = place.setdefault(part, {})
            if value is None:
                del place[last]
            else:
                place[last] = value
        yaml.dump(document, self.file)

    def apply(self, changes=None, **options):
        """An apply of the file, with other values for once."""
        self.write(changes or {})
        cluster = load_cluster(self.file)
        report = apply(cluster, str(self.file), remote_of(cluster), **options)
        assert report.ok, [(host.host, host.error) for host in report.hosts]
        return {(change.id, change.summary) for host in report.hosts for change in host.changes}

    def run(self, host, text, stdin=b"", *, fails=False):
        """What a command on a host said; it must end well, or badly."""
        done = remote_of(self.cluster).run(host, text, stdin=stdin, timeout_s=120)
        assert done.ok != fails, f"{host}: {text}: {done.code}: {done.out}{done.err}"
        return done.out + (done.err if fails else "")

    def agent(self, host, *resources, mode="apply"):
        """The agent on a host, with these resources in place of, or beside, those of the file."""
        everything = desired_resources(
            self.cluster, self.cluster.host(host), build_context(self.cluster, "cluster.yaml")
        )
        every = {resource.id: resource for resource in (*everything, *resources)}
        order = program_input(PROVISION) + bundle(Order(mode, "cluster.yaml", "1"), every.values())
        done = remote_of(self.cluster).run(host, program_command(), stdin=order, timeout_s=200)
        return read_answer(host, done)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Applied once; taken down at the end, whatever happened."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))  # the keys of these tests are not the user's
        site = Site(folder)
        lab.down(NAME)
        try:
            lab.up(site.cluster)
            # What a cloud image brings: the first value that sshd meets would let passwords in.
            cloud = "echo 'PasswordAuthentication yes' >/etc/ssh/sshd_config.d/50-cloud-init.conf"
            site.run("gpu-node1", cloud)
            # One who was there before us, with a password and in a group of the site's own.
            site.run("gpu-node1", "groupadd -g 5000 vision; groupadd -g 7000 audio2")
            site.run("gpu-node1", f"useradd -m -u 6002 -g 5000 -G audio2 -p '{HASH}' bob")
            site.apply()
            yield site
        finally:
            left = lab.down(NAME)
        assert left == []


def test_a_second_apply_changes_nothing_also_where_all_was_there_by_hand(site):
    """Without our receipt a host is like one that somebody set up just so."""
    again = site.apply(dry_run=True)
    site.run("gpu-node2", "mv /var/lib/clusterwright /root/kept")
    by_hand = site.apply(dry_run=True)
    site.run("gpu-node2", "rm -rf /var/lib/clusterwright; mv /root/kept /var/lib/clusterwright")

    assert (again, by_hand) == (set(), set())


def test_teams_are_groups_and_what_the_site_gave_stays(site):
    """The first team is the primary group; a group of the site's own is not ours to take."""
    assert site.run("gpu-node2", "id -gn bob; id -Gn bob").split() == ["vision", "vision", "language"]
    assert site.run("gpu-node1", "id -Gn bob").split() == ["vision", "audio2", "language"]


def test_who_leaves_a_team_leaves_its_group_and_no_other(site):
    """Files of that team are not for them any more; what the site gave stays."""
    changes = site.apply({"users.bob": {"uid": 6002, "team": "vision"}})
    groups = site.run("gpu-node1", "id -Gn bob").split()
    back = site.apply()

    assert ("user:bob", "remove from language") in changes
    assert groups == ["vision", "audio2"]
    assert ("user:bob", "into language") in back


def test_nobody_has_a_password(site):
    """Of new accounts and of those that were there; and sshd asks for none, whatever else its files say."""
    fields = site.run("gpu-node1", "getent shadow alice bob").splitlines()

    assert [line.split(":")[1][:1] for line in fields] == ["!", "!"]
    assert "passwordauthentication no" in site.run("gpu-node1", "sshd -T")
    assert "NOPASSWD" in site.run("gpu-node1", "runuser -u alice -- sudo -n -l")


@pytest.mark.parametrize(
    ("user", "start", "end"), [("alice", "gpu-node1", "gpu-node2"), ("bob", "control", "gpu-node1")]
)
def test_a_user_goes_from_host_to_host_without_a_question(site, user, start, end):
    """BatchMode fails where anything would be asked: password, passphrase, or whether a host is known."""
    said = site.run(start, f"cd /; runuser -u {user} -- ssh -o BatchMode=yes {end} hostname")

    assert said.split()[-1] == end


def test_the_clusters_key_is_of_no_use_elsewhere(site):
    """From this machine, with the private half in hand, sshd refuses."""
    key = site.folder / "state" / "clusterwright" / NAME / "ssh" / "alice"
    options = [
        "BatchMode=yes",
        "IdentitiesOnly=yes",
        "StrictHostKeyChecking=no",
        "UserKnownHostsFile=/dev/null",
    ]
    argv = ["ssh", "-F", "none", "-i", key, *(word for one in options for word in ("-o", one))]
    done = subprocess.run(
        [*argv, f"alice@{SUBNETS}0.12", "true"], capture_output=True, text=True, check=False, timeout=150
    )

    assert done.returncode == 255
    assert "Permission denied (publickey)" in done.stderr


def test_a_key_is_for_its_user_alone(site):
    """Another user of the same host cannot read it."""
    assert site.run("gpu-node1", "stat -c '%U %G %a' /etc/ssh/cluster_keys.d/alice").split() == [
        "alice", "language", "600",
    ]  # fmt: skip
    assert "Permission denied" in site.run(
        "gpu-node1", "runuser -u bob -- cat /etc/ssh/cluster_keys.d/alice", fails=True
    )


def test_who_leaves_the_file_is_locked_out_and_keeps_the_files(site):
    """No way in by any key, no keys of ours; back in the file, all is as before."""
    site.run("gpu-node2", "echo mine >/home/bob/results; mkdir -p /home/bob/.ssh; chown -R bob: /home/bob")
    enter = "cd /; runuser -u bob -- ssh -o BatchMode=yes gpu-node2 cat results"
    before = site.run("gpu-node1", enter)
    without = {"users.bob": None, "teams.vision": None}
    gone = site.apply(without)
    site.run("gpu-node1", "ssh-keygen -q -t ed25519 -N '' -f /root/own")
    own = site.run("gpu-node1", "cat /root/own.pub")
    site.run("gpu-node2", "cat >/home/bob/.ssh/authorized_keys", own.encode())
    refused = site.run("gpu-node1", "ssh -o BatchMode=yes -i /root/own bob@gpu-node2 true", fails=True)
    kept = site.run(
        "gpu-node2", "cat /home/bob/results; ls /etc/ssh/cluster_keys.d /etc/ssh/authorized_keys.d"
    )
    quiet = site.apply(without, dry_run=True)
    back = site.apply()

    assert before == "mine\n"
    assert {("gone-user:bob", "lock"), ("gone:/etc/ssh/cluster_keys.d/bob", "remove")} <= gone
    assert "Permission denied" in refused or "Connection closed" in refused
    assert kept.split() == [
        "mine",
        "/etc/ssh/authorized_keys.d:",
        "alice",
        "/etc/ssh/cluster_keys.d:",
        "alice",
    ]
    assert quiet == set()
    assert ("user:bob", "unlock") in back
    assert site.run("gpu-node1", enter) == "mine\n"


def test_an_id_that_another_has_is_named_on_its_host_and_the_others_are_finished(site):
    """Nothing is made with a number that files of somebody else carry."""
    site.run("gpu-node2", "useradd -u 6009 -M stranger")
    site.write({"users.carol": {"uid": 6009, "team": "language"}})
    cluster = load_cluster(site.file)
    report = apply(cluster, str(site.file), remote_of(cluster))
    made = site.run("gpu-node1", "id -u carol")
    site.run("gpu-node2", "userdel stranger")
    site.apply()

    assert {host.host: host.error for host in report.hosts if host.error} == {
        "gpu-node2": "user:carol: stranger has id 6009 on this host. Give stranger and its files another id"
    }
    assert made.strip() == "6009"


def test_packages_of_slurm_and_of_the_fabric_are_held(site):
    """Also those that only came along; nothing else is."""
    held = site.run("gpu-node1", "apt-mark showhold").split()

    assert {"slurmd", "slurm-wlm-basic-plugins"} <= set(held)
    ours = ("*slurm*", *FABRIC)
    assert [name for name in held if not any(fnmatch(name, pattern) for pattern in ours)] == []
    assert '"slurm";' in site.run("gpu-node1", "apt-config dump Unattended-Upgrade::Package-Blacklist")


def test_apt_waits_for_another_apt_and_upgrades_what_is_held_when_the_file_says_so(site):
    """A package from a repository on the host; its newer release only when it is asked for, and held again."""
    source = File(
        path="/etc/apt/sources.list.d/clusterwright-test.sources",
        content="Types: deb\nURIs: file:///root/repo\nSuites: ./\nTrusted: yes\n",
        early=True,
    )
    hold = Hold(name="packages", patterns=("slurm*", "nothing-*"))
    site.run("gpu-node1", DEB.format(repo="/root/repo", name="nothing-here", version="1.0"))
    locked = (
        "setsid python3 -c 'import fcntl,time; "
        'files=[open(f"/var/lib/{name}","w") for name in ("dpkg/lock-frontend","apt/lists/lock")]; '
        "[fcntl.lockf(file,fcntl.LOCK_EX) for file in files]; time.sleep(6)' >/dev/null 2>&1 & sleep 0.5"
    )
    site.run("gpu-node1", locked)
    first = site.agent("gpu-node1", source, Package(name="nothing-here", version="1"), hold)
    site.run("gpu-node1", DEB.format(repo="/root/repo", name="nothing-here", version="2.0"))
    site.run("gpu-node1", "apt-get update && apt-get -y upgrade")
    stayed = site.run("gpu-node1", "dpkg-query -W -f '${Version}' nothing-here")
    second = site.agent("gpu-node1", source, Package(name="nothing-here", version="2"), hold)
    third = site.agent("gpu-node1", source, Package(name="nothing-here", version="2"), hold, mode="check")
    site.run("gpu-node1", "apt-mark unhold nothing-here; dpkg --purge nothing-here; rm -r /root/repo")
    site.run("gpu-node1", f"rm {source.path}; apt-get update")
    site.apply()

    assert (first.error, second.error) == ("", "")
    assert first.seconds > 5
    assert ("package:nothing-here", "install") in {(change.id, change.summary) for change in first.changes}
    assert stayed == "1.0"
    assert ("package:nothing-here", "1.0 -> 2") in {(change.id, change.summary) for change in second.changes}
    assert [change.id for change in third.changes if "nothing" in change.id or "hold" in change.id] == []


@pytest.fixture
def signed(site, tmp_path):
    """A signed repository in gpu-node2's /root/signed, and the keys of its maker and of a stranger, as text."""

    def gpg(*arguments):
        return subprocess.run(
            ["gpg", "--homedir", tmp_path / "keys", "--batch", "--yes", "--passphrase", "", *arguments],
            capture_output=True, check=True, timeout=60,
        ).stdout  # fmt: skip

    (tmp_path / "keys").mkdir(mode=0o700)
    for name in ("maker", "stranger"):
        gpg("--quick-generate-key", f"{name}@example.org", "ed25519", "sign", "never")
    site.run("gpu-node2", DEB.format(repo="/root/signed", name="signed-thing", version="1.0"))
    packages = site.run("gpu-node2", "cd /root/signed; sha256sum Packages; stat -c %s Packages").split()
    release = f"Date: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n {packages[0]} {packages[2]} Packages\n"
    (tmp_path / "Release").write_text(release)
    gpg(
        "--local-user",
        "maker@example.org",
        "--clearsign",
        "--output",
        tmp_path / "InRelease",
        tmp_path / "Release",
    )
    site.run("gpu-node2", "cat >/root/signed/InRelease", (tmp_path / "InRelease").read_bytes())
    keys = {
        name: gpg("--armor", "--export", f"{name}@example.org").decode() for name in ("maker", "stranger")
    }
    yield keys
    subprocess.run(
        ["gpgconf", "--homedir", tmp_path / "keys", "--kill", "all"], check=False, capture_output=True
    )
    site.run("gpu-node2", "dpkg --purge signed-thing; rm -r /root/signed")
    site.apply()


@pytest.mark.skipif(not shutil.which("gpg"), reason="gpg is not installed (apt-get install gpg)")
def test_a_repository_is_good_with_its_makers_key_alone(site, signed):
    """Signed by another, apt takes nothing from it and says why."""

    def install(name):
        software = {
            "slurm": "22.05",
            "repositories": {"own": {"url": "file:///root/signed", "key": signed[name]}},
        }
        site.write({"software": software})
        cluster = load_cluster(site.file)
        site.write({})
        ours = repositories(cluster, cluster.host("gpu-node2"), build_context(cluster, "cluster.yaml"))
        return site.agent("gpu-node2", *ours, Package(name="signed-thing"))

    refused, taken = install("stranger"), install("maker")

    assert "NO_PUBKEY" in refused.error
    assert taken.error == ""
    assert site.run("gpu-node2", "dpkg-query -W -f '${Version}' signed-thing") == "1.0"


def test_a_compute_host_is_tuned_where_it_can_be_and_left_alone_where_not(site):
    """Here /sys is read-only and swap the machine's: the unit runs well and changes nothing."""
    state = site.run(
        "gpu-node1", "systemctl is-active clusterwright-tuning; systemctl is-enabled swap.target || true"
    )

    assert state.split() == ["active", "masked"]
    assert "swap.target" not in site.run("control", "ls /etc/systemd/system")


def test_units_of_ours_are_good_units(site):
    """By systemd's own word, without a warning."""
    said = site.run("gpu-node1", "systemd-analyze verify /etc/systemd/system/clusterwright-*.service 2>&1")

    assert said == ""


@pytest.mark.parametrize("host", ["control", "gpu-node1"])
def test_units_of_ours_are_closed(site, host):
    """Those that run a program for longer than a moment; systemd's exposure of what it has loaded, 0 to 10."""
    services = ("exporter", "notify", "firewall", "tuning")
    units = [f"clusterwright-{name}.service" for name in services]
    loaded = site.run(host, f"systemctl list-units --all --plain --no-legend {' '.join(units)}").split()
    found = [unit for unit in units if unit in loaded]

    exposures = {
        unit: float(
            re.search(
                r"Overall exposure level.*: ([0-9.]+)",
                site.run(host, f"systemd-analyze security --no-pager {unit}"),
            )[1]
        )
        for unit in found
    }

    assert "clusterwright-exporter.service" in exposures
    assert {unit: exposure for unit, exposure in exposures.items() if exposure > 3.4} == {}


def test_an_old_sshd_takes_its_settings_from_the_unit(site):
    """Rocky 8's ExecStart as systemd splits it: sshd prints what it understood."""
    site.write(
        {
            "lab": None,
            "os": "rocky-8",
            "software": {"slurm": "23.11", "repositories": {"a": {"url": "https://a", "unsigned": True}}},
        }
    )
    cluster = load_cluster(site.file)
    site.write({})
    path = "/etc/systemd/system/sshd.service.d/clusterwright.conf"
    found = desired_resources(cluster, cluster.host("gpu-node1"), build_context(cluster, "c"))
    [text] = [one.content for one in found if one.id == f"file:{path}"]
    once = "[Service]\nType=oneshot\nStandardOutput=file:/run/test-sshd\n"
    text = text.replace("sshd -D", "sshd -T").replace("[Service]\n", once)
    site.run(
        "gpu-node1", "cat >/run/systemd/system/test-sshd.service; systemctl start test-sshd", text.encode()
    )
    said = site.run(
        "gpu-node1", "cat /run/test-sshd; rm /run/test-sshd /run/systemd/system/test-sshd.service"
    )

    assert (
        "authorizedkeysfile .ssh/authorized_keys .ssh/authorized_keys2 /etc/ssh/authorized_keys.d/%u" in said
    )
    assert "passwordauthentication no" in said
    assert "kbdinteractiveauthentication no" in said


def test_the_journal_is_bounded(site):
    """Journald says what it uses of its own setting."""
    said = site.run(
        "gpu-node1", "journalctl --unit systemd-journald --grep 'Journal .*max' --output cat | tail -1"
    )

    assert "/var/log/journal/" in said
    assert "max 1.0G" in said


@pytest.mark.parametrize("host", ["control", "control2", "gpu-node1"])
def test_chronyd_takes_its_file_also_with_two_control_hosts(site, host):
    """Each control host has the other as a source, and the rest have both."""
    second = {"role": "control", "hosts": "control2", "addresses": {"management": f"{SUBNETS}0.20"}}
    second |= {"cpus": {"cores_per_socket": 2}, "memory": "4GiB"}
    site.write({"nodes.second": second, "lab": None})
    cluster = load_cluster(site.file)
    site.write({})
    text = chrony_conf(cluster, cluster.host(host), "# header\n")
    read = site.run("gpu-node1", "cat >/tmp/chrony.conf; chronyd -p -f /tmp/chrony.conf", text.encode())

    others = {f"server {SUBNETS}0.10", f"server {SUBNETS}0.20"} - {f"server {cluster.host(host).management}"}
    assert all(other in read for other in others)
    assert ("local stratum 10 orphan" in read) == host.startswith("control")


def test_hosts_follow_the_control_host(site):
    """As chronyd itself says."""
    assert f"{SUBNETS}0.10" in site.run("gpu-node1", "chronyc -n sources")


def test_a_cluster_without_users_is_applied_too(site):
    """Nothing to own, nothing to lock twice; and back."""
    nobody = {"users": None, "teams": None}
    site.apply(nobody)
    again = site.apply(nobody, dry_run=True)
    site.apply()

    assert again == set()


def test_roles_give_every_host_its_secrets(site):
    """What is applied is never a placeholder."""
    given = build_context(site.cluster, "cluster.yaml")

    assert given.secrets["ssh/alice"].startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----")
    assert given.secrets["ssh/alice.pub"].startswith(b"ssh-ed25519 ")

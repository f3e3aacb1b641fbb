"""Accounts, QOS, reservations and kernel settings typed by hand are adopted from a real slurmdbd, and watched."""

import pytest

from clusterwright import lab
from clusterwright.adopt.facts import facts_of
from clusterwright.adopt.gather import gather
from clusterwright.adopt.site import describe
from clusterwright.cli.diff import watched_lines
from clusterwright.config.load import load_cluster
from clusterwright.lab.able import able
from clusterwright.provision.apply import apply, remote_of

NAME, NET = "test-adopt-accounts", "10.249.0"
TEXT = f"""name: {NAME}
networks:
  management: {{subnet: {NET}.0/24, rate: 1Gbit/s}}
nodes:
  control: {{role: control, hosts: head, addresses: {{management: {NET}.10}}, cpus: {{cores_per_socket: 2}},
    memory: 4GiB}}
  nodes: {{role: compute, hosts: "m[1-2]", addresses: {{management: {NET}.11}}, cpus: {{cores_per_socket: 2}},
    memory: 4GiB}}
storage: {{shared: {{kind: local, path: /shared}}}}
partitions: {{debug: {{nodes: [nodes], default: true}}}}
manage: [base, clock, munge, slurm_account, slurm, accounting, teams]
slurm: {{health: false}}
lab: {{}}
"""
MISSING = able()
pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]
# As in sacctmgr(1); nothing of it is in the file of the lab.
BY_HAND = """set -e
s() { sacctmgr -iQ "$@"; }
s add qos low PreemptMode=cancel UsageFactor=0.5
s add qos high Priority=100 GraceTime=120 Preempt=low,normal PreemptMode=requeue Flags=DenyOnLimit \\
  GrpTRES=cpu=512,gres/gpu=16 MaxWall=1-0 MaxJobsPU=4 MaxSubmitJobsPU=20
s add account science Fairshare=70 MaxJobs=20
s modify account science set QosLevel=high,low,normal DefaultQOS=normal
s add account hep parent=science Fairshare=parent GrpJobs=50 GrpTRES=cpu=100,gres/gpu=8
s add account astro Fairshare=30
useradd -u 7101 carl
s add user carl account=hep
s add user erik account=astro
s add user erik account=hep Fairshare=5
scontrol -Q create ReservationName=maint StartTime=2031-01-15T08:00:00 Duration=480 Nodes=ALL Users=root Flags=MAINT
scontrol -Q create ReservationName=course StartTime=2031-01-16T08:00:00 Duration=150 Nodes=m2 Accounts=astro \\
  Flags=WEEKLY
"""
CHANGE = """sacctmgr -iQ modify qos high set MaxSubmitJobsPU={jobs}
sacctmgr -iQ modify account astro set Fairshare={shares}
"""
ON_HOSTS = "echo vm.swappiness=1 >/etc/sysctl.d/90-hpc.conf"


@pytest.fixture(scope="module")
def remote(tmp_path_factory):
    """The connection to a lab with slurmdbd, whose accounts, reservations and kernel settings are typed by hand."""
    folder = tmp_path_factory.mktemp("lab")
    file = folder / "cluster.yaml"
    file.write_text(TEXT)
    cluster = load_cluster(file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))  # keys of the lab
        lab.up(cluster)
        try:
            remote = remote_of(cluster)
            report = apply(cluster, str(file), remote)
            assert report.ok, [host.error for host in report.hosts]
            run(remote, "head", BY_HAND)
            for host in ("m1", "m2"):
                run(remote, host, ON_HOSTS)
            yield remote
        finally:
            lab.down(NAME)


def run(remote, host, script):
    """The output of a script on a host, which must end well."""
    result = remote.run(host, "sh -s", stdin=script.encode(), timeout_s=120)
    assert result.ok, result.out + result.err
    return result.out


@pytest.fixture
def adopted(remote, tmp_path, monkeypatch):
    """The adopted cluster and its file, which reaches the lab."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    site = gather(remote, "head", ("m1", "m2"))
    text = describe(site.sources(), site.version, "head", facts_of(site)).text
    file = tmp_path / "cluster.yaml"
    config = f"{lab_folder()}/ssh_config"
    file.write_text(text.replace("manage: []", f"manage: []\nssh: {{config: {config}}}"))
    return load_cluster(file), file


def lab_folder():
    """The state folder of the lab."""
    return f"/var/lib/clusterwright/labs/{NAME}"


def test_the_role_teams_has_nothing_to_change(remote, adopted):
    """Taken over straight after `wright adopt`, the role would call sacctmgr and scontrol for nothing."""
    cluster, file = adopted

    report = apply(cluster.model_copy(update={"manage": ("teams",)}), str(file), remote, dry_run=True)

    assert list(cluster.teams) == ["astro", "science", "hep"]
    assert set(cluster.reservations) == {"maint", "course"}
    assert cluster.qos["high"].options["MaxSubmitJobsPerUser"] == "20"
    assert report.ok, [host.error for host in report.hosts]
    assert [change.summary for host in report.hosts for change in host.changes] == []


def test_what_somebody_changes_is_watched_until_it_is_changed_back(remote, adopted):
    """Nothing differs first; then each change is one line with both values; an apply changes nothing."""
    cluster, file = adopted
    before = watched_lines(cluster)

    run(
        remote,
        "head",
        "sacctmgr -iQ modify qos high set MaxSubmitJobsPU=25; sacctmgr -iQ modify account astro set Fairshare=31",
    )
    run(remote, "m2", "echo vm.swappiness=60 >/etc/sysctl.d/90-hpc.conf")
    changed = watched_lines(cluster)
    applied = apply(cluster, str(file), remote)
    run(
        remote,
        "head",
        "sacctmgr -iQ modify qos high set MaxSubmitJobsPU=20; sacctmgr -iQ modify account astro set Fairshare=30",
    )
    run(remote, "m2", ON_HOSTS)

    assert before == []
    assert changed == [
        "qos.high: MaxSubmitJobsPerUser: 20 -> 25",
        "teams.astro: shares: 30 -> 31",
        "m2: system.sysctl: vm.swappiness: 1 -> 60",
    ]
    assert (applied.ok, applied.changed) == (True, 0)
    assert watched_lines(cluster) == []

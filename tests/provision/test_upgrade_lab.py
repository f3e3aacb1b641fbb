"""Slurm 24.11 becomes 26.05 on real hosts while a job runs: Debian 13's, then the packages of the Debian after it."""

import contextlib
import io
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.cli.upgrade import upgrade
from clusterwright.config.load import load_cluster
from clusterwright.errors import WrightError
from clusterwright.lab import image
from clusterwright.lab.able import able
from clusterwright.provision.apply import apply, remote_of

ROOT = Path(__file__).parents[2]
PACKAGES = Path("/var/cache/clusterwright/newer-slurm")
NAME, SUBNETS = "test-upgrade", "10.210."
MISSING = able()
SOFTWARE = """
software:
  slurm: "24.11"  # what Debian 13 has
  slurm_packages: distribution
  repositories:
    newer: {url: "file:///shared/newer-slurm"}
"""

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


class Site:
    """Three hosts of Debian 13 and their file."""

    def __init__(self, folder):
        self.file = folder / "cluster.yaml"
        text = (ROOT / "examples" / "lab" / "cluster.yaml").read_text().replace("10.77.", SUBNETS)
        for old, new in (
            ("name: lab\n", f"name: {NAME}\n"),
            ("os: debian-12", "os: debian-13"),
            ("gpu-node[1-4]", "gpu-node[1-2]"),
            ('\n# software: {slurm: "22.05"}', SOFTWARE),
        ):
            assert old in text
            text = text.replace(old, new)
        self.file.write_text(text[: text.index("reservations:")] + text[text.index("# This section") :]
                             if "reservations:" in text else text)  # fmt: skip
        self.cluster = load_cluster(self.file)

    def run(self, host, text, stdin=b""):
        """A command on a host, which must end well."""
        done = remote_of(self.cluster).run(host, text, stdin=stdin, timeout_s=60)
        assert done.ok, f"{host}: {text}: {done.out}{done.err}"
        return done.out


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Up and applied, the newer packages in the shared folder; taken down at the end."""
    made = subprocess.run(
        [ROOT / "tools" / "newer-slurm", PACKAGES, image.build("debian-13", print)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip(f"the packages of the newer Slurm cannot be had here: {made.stderr.strip()[-200:]}")
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        site = Site(folder)
        lab.down(NAME)
        try:
            lab.up(site.cluster)
            shared = Path("/var/lib/clusterwright/labs") / NAME / "shared" / "shared" / "newer-slurm"
            shared.mkdir()
            for path in PACKAGES.iterdir():
                (shared / path.name).write_bytes(path.read_bytes())
            # Open MPI holds its Debian's hwloc, and the repository has no newer one.
            for host in site.cluster.hosts():
                site.run(host.name, "apt-get -y remove libopenmpi40 >/dev/null")
            report = apply(site.cluster, str(site.file), remote_of(site.cluster))
            assert report.ok, [(host.host, host.error, host.left_out) for host in report.hosts if not host.ok]
            yield site
        finally:
            left = lab.down(NAME)
        assert left == []


@dataclass(frozen=True)
class Upgrade:
    """One that was made under a running job, and what was seen of both."""

    ended: int
    said: str
    before: str
    faults: list[str]
    versions: str


@pytest.fixture(scope="module")
def upgraded(site, heart):
    """The site after its upgrade; every test may come first."""
    beating = heart(site.run)
    before, said = site.file.read_text(), io.StringIO()
    with contextlib.redirect_stderr(said):
        ended = upgrade(cluster=site.file, slurm="26.05", yes=True)
    versions = site.run("control", "scontrol show config | grep SLURM_VERSION; scontrol -o show node")
    faults = beating.faults()
    beating.end()
    return Upgrade(ended, said.getvalue(), before, faults, versions)


def test_a_job_lives_through_an_upgrade(site, upgraded):
    """Every daemon is of the new release; the job, its processes and its heartbeat are those of before."""
    hosts = sorted(site.run("control", "timeout 60 srun -N2 hostname").split())

    assert upgraded.ended == 0, upgraded.said
    assert upgraded.faults == []
    assert upgraded.versions.count("26.05.") == 3, upgraded.versions
    assert site.file.read_text() == upgraded.before.replace(
        'slurm: "24.11"  # what', 'slurm: "26.05"  # what'
    )
    assert "running jobs: 1" in upgraded.said
    assert hosts == ["gpu-node1", "gpu-node2"]


def test_what_was_kept_can_be_read(site, upgraded):
    """The state folder and the whole database of before, for root's eyes only."""
    kept = site.run(
        "control", "cd /var/lib/clusterwright/kept/*-before-slurm-26.05; stat -c '%a %n' *"
    ).split()
    jobs = site.run("control", "tar -tzf /var/lib/clusterwright/kept/*/state.tar.gz")
    dump = site.run(
        "control", "zcat /var/lib/clusterwright/kept/*/accounting.sql.gz | grep -c 'CREATE TABLE'"
    )

    assert kept == ["600", "accounting.sql.gz", "600", "state.tar.gz"]
    assert "./job_state" in jobs.split()
    assert int(dump) > 20


def test_a_second_upgrade_has_nothing_to_do_and_a_step_back_is_refused(site, upgraded, capsys):
    """No daemon is stopped for either."""
    started = site.run("control", "systemctl show -P ActiveEnterTimestamp slurmctld")
    again = upgrade(cluster=site.file, slurm="26.05", yes=True)
    with pytest.raises(WrightError, match="Slurm has no downgrade"):
        upgrade(cluster=site.file, slurm="24.11", yes=True)

    assert again == 0
    assert "nothing to do" in capsys.readouterr().err
    assert site.run("control", "systemctl show -P ActiveEnterTimestamp slurmctld") == started
    assert load_cluster(site.file).software.slurm == "26.05"


def test_an_apply_after_it_changes_nothing(site, upgraded):
    """The file and the hosts agree."""
    report = apply(load_cluster(site.file), str(site.file), remote_of(site.cluster), dry_run=True)

    assert (report.ok, report.pending) == (True, 0), report

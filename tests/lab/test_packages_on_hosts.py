"""The packages of `make dist` on real hosts: installed, without effect until configured, removed, purged."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.edge.ssh import Ssh
from clusterwright.lab import image

ROOT = Path(__file__).parents[2]
NAME = "wright-packages"
UNITS = "clusterwright-exporter clusterwright-heal clusterwright-notify"
FOUND = (
    "find / -xdev '(' -name '*clusterwright*' -o -name 'wright*' ')' -not -name '*clusterwright-lab*' | sort"
)
SETTINGS = '{"node": "control"}'

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The packages, as `make dist` builds them."""
    folder = tmp_path_factory.mktemp("dist")
    seconds = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60
    ).stdout.strip()
    env = os.environ | {"SOURCE_DATE_EPOCH": seconds}
    wheel = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(wheel, cwd=ROOT, check=True, capture_output=True, env=env, timeout=120)
    command = [sys.executable, ROOT / "tools" / "packages", *folder.glob("*.whl"), folder]
    subprocess.run(command, check=True, env=env, timeout=900)
    return folder


@pytest.fixture
def control(cluster_file, built):
    """Run a command on a control host that no apply has configured; the package lies at /root/package.deb there."""
    from clusterwright.config.load import load_cluster

    cluster = load_cluster(cluster_file(NAME, 232))
    try:
        state = lab.up(cluster)
        remote = Ssh(config=state.ssh_config)
        [package] = built.glob("*.deb")
        assert remote.run("control", "cat > /root/package.deb", stdin=package.read_bytes(), timeout_s=60).ok

        def run(command, code=0):
            done = remote.run("control", command, timeout_s=180)
            assert done.code == code, f"{command}: {done.code}: {done.out}{done.err}"
            return done.out.strip()

        yield run
    finally:
        assert lab.down(NAME) == []


def test_the_deb_on_a_host(control):
    """Its units start nothing before they have settings; nothing of it is left after a purge."""
    before = control(FOUND)
    control("dpkg -i /root/package.deb")

    assert control("wright --version")[0].isdigit()
    assert "Traceback" not in control(
        "cd /tmp && wright init --template university --out c.yaml && wright validate c.yaml"
    )
    assert control(f"systemctl is-enabled {UNITS}; true").split() == ["disabled"] * 3
    control(f"systemctl start {UNITS}")
    assert control(f"systemctl is-active {UNITS}; true").split() == ["inactive"] * 3

    control(f"mkdir -p /etc/clusterwright && echo '{SETTINGS}' > /etc/clusterwright/exporter.json")
    control("systemctl enable --now clusterwright-exporter")
    metrics = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:9105/metrics', timeout=5).read().decode())"
    control(
        f'for i in $(seq 60); do python3 -c "{metrics}" >/root/metrics 2>/dev/null && break; sleep 0.5; done'
    )
    assert "clusterwright_" in control("cat /root/metrics")

    pid = control("systemctl show -P MainPID clusterwright-exporter")
    control("dpkg -i /root/package.deb")  # an upgrade runs the new modules
    assert control("systemctl show -P MainPID clusterwright-exporter") not in (pid, "0")
    assert control("systemctl is-active clusterwright-exporter") == "active"

    control("dpkg -r clusterwright")
    assert control("ls /usr/lib/clusterwright /usr/bin/wright 2>&1; true").count("No such file") == 2
    assert control("cat /etc/clusterwright/exporter.json") == SETTINGS
    control("dpkg -P clusterwright; rm -f /root/metrics /tmp/c.yaml")
    assert control(FOUND) == before


def test_a_purge_leaves_what_an_apply_has_installed(control):
    """The unit in /etc replaces the package's, and neither stops nor loses its state."""
    control("dpkg -i /root/package.deb")
    unit = "/etc/systemd/system/clusterwright-exporter.service"
    control(f"sed s/Description=/Description=Applied/ /usr/lib/systemd/system/{Path(unit).name} > {unit}")
    control(f"mkdir -p /etc/clusterwright && echo '{SETTINGS}' > /etc/clusterwright/exporter.json")
    control("cp -r /usr/lib/clusterwright/lib/python3.11/site-packages /opt/clusterwright/lib")
    control(f"sed -i s,/usr/lib/clusterwright/lib/python3.11/site-packages,/opt/clusterwright/lib, {unit}")
    control("systemctl daemon-reload && systemctl enable --now clusterwright-exporter")
    pid = control("systemctl show -P MainPID clusterwright-exporter")

    assert control("systemctl show -P Description clusterwright-exporter").startswith("Applied")
    control("dpkg -P clusterwright")
    assert control("systemctl show -P MainPID clusterwright-exporter") == pid != "0"
    assert control("ls /var/lib/clusterwright /etc/clusterwright").split()[-1] == "exporter"


@pytest.fixture
def root_folder(tmp_path):
    """A copy of the node image that takes no space, to change root to."""
    lower = image.build("debian-12", lambda _line: None)
    for name in ("upper", "work", "root"):
        (tmp_path / name).mkdir()
    options = f"lowerdir={lower},upperdir={tmp_path / 'upper'},workdir={tmp_path / 'work'}"
    subprocess.run(
        ["mount", "-t", "overlay", "overlay", "-o", options, tmp_path / "root"], check=True, timeout=30
    )
    yield tmp_path / "root"
    subprocess.run(["umount", tmp_path / "root"], check=True, timeout=30)


def test_the_rpm_in_a_root_folder(built, root_folder):
    """Its scripts choose a Python, compile the modules, and remove them again."""
    if not shutil.which("rpm"):
        pytest.skip("rpm is not installed")
    [package] = built.glob("*.rpm")

    def rpm(*words):
        command = ["rpm", "--root", root_folder, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "scriptlet failed" not in done.stderr

    def wright(*words):
        command = ["chroot", root_folder, "wright", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout

    rpm("-i", "--nodeps", package)
    assert os.readlink(root_folder / "usr/lib/clusterwright/bin/python3") == "../../../bin/python3"
    assert list((root_folder / "usr/lib/clusterwright").rglob("*.pyc"))
    assert wright("--version")[0].isdigit()
    rpm("-V", "--nodeps", "clusterwright")
    rpm("-e", "clusterwright")
    assert not (root_folder / "usr/lib/clusterwright").exists()
    assert not (root_folder / "usr/bin/wright").is_symlink()

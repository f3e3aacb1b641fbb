"""Packages by real rpm and dnf, from a repository made here, into a folder that stands for a Rocky host."""

import fnmatch
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.provision.agent.dnf import ROCKY, host_of, needs_dnf, what

from clusterwright.config.field import Cost
from clusterwright.edge.bundler import program_command
from clusterwright.onhost.provision import packages
from clusterwright.onhost.provision.host import LocalHost
from clusterwright.provision.packages import slurm_packages
from clusterwright.provision.resources import File, Hold, Package
from clusterwright.provision.roles.package_hold import DRIVER, FABRIC, SLURM
from clusterwright.provision.roles.repositories import repositories

VERSIONLOCK = list(Path("/usr/lib/python3").glob("dist-packages/dnf-plugins/versionlock.py"))


@needs_dnf
def test_dnf_installs_what_is_missing_and_no_more(rocky, repository, altered, given):
    """All in one go, the release that the file names, from the site's repository; again: nothing."""
    url = repository(
        "site", ("slurm", "24.11.5"), ("slurm-slurmd", "24.11.5", "slurm"), ("slurm-slurmd", "25.05.1")
    )
    cluster = altered(site_file(url))
    wanted = [*repositories(cluster, cluster.control, given), *slurm_packages(cluster, "slurmd")]
    wanted = [resource for resource in wanted if resource.id != "package:epel-release"]

    assert what(rocky("apply", *wanted)) == {"package:slurm-slurmd": "install"}
    assert what(rocky("check", *wanted)) == {}
    assert packages.rpm_installed(host_of(rocky))["slurm-slurmd"] == ("0:24.11.5-1", False)


@needs_dnf
def test_the_sites_slurm_goes_before_epels(rocky, repository, altered, given):
    """EPEL has a higher version; the site's repository wins by its priority."""
    url = repository("ours", ("slurm", "24.11.5"), ("slurm-slurmd", "24.11.5", "slurm"))
    epel = repository("epel", ("slurm", "25.99.1"), ("slurm-slurmd", "25.99.1", "slurm"))
    folder = rocky.root / "etc/yum.repos.d"
    folder.mkdir()
    (folder / "epel.repo").write_text(f"[epel]\nname=EPEL\nbaseurl={epel}\ngpgcheck=0\n")
    cluster = altered(site_file(url))
    ours = [one for one in repositories(cluster, cluster.control, given) if one.id != "package:epel-release"]
    answer = rocky("apply", *ours, Package(name="slurm-slurmd"))

    assert what(answer) == {"package:slurm-slurmd": "install"}
    assert packages.rpm_installed(host_of(rocky))["slurm"][0] == "0:24.11.5-1"


@needs_dnf
def test_a_release_of_the_file_is_an_upgrade_with_its_cost(rocky, repository):
    """Shown as a restart, made by dnf, and the lock moves along."""
    old, new = repository("old", ("slurm-slurmd", "24.05.2")), repository("new", ("slurm-slurmd", "24.11.5"))
    folder = rocky.root / "etc/yum.repos.d"
    folder.mkdir()
    (folder / "a.repo").write_text(f"[a]\nname=a\nbaseurl={old}\ngpgcheck=0\n")
    hold = Hold(name="packages", patterns=SLURM)
    first = rocky("apply", Package(name="slurm-slurmd", version="24.05"), hold)
    (folder / "b.repo").write_text(f"[b]\nname=b\nbaseurl={new}\ngpgcheck=0\n")
    second = rocky("apply", Package(name="slurm-slurmd", version="24.11"), hold, when="200")
    third = rocky("check", Package(name="slurm-slurmd", version="24.11"), hold)

    assert what(first) == {"package:slurm-slurmd": "install", "hold:packages": "hold slurm-slurmd"}
    assert what(second) == {
        "package:slurm-slurmd": "24.05.2-1 -> 24.11",
        "hold:packages": "hold slurm-slurmd",
    }
    assert [row["cost"] for row in second["changes"]] == ["restart", "live"]
    assert what(third) == {}
    assert (rocky.root / "etc/dnf/plugins/versionlock.list").read_text() == "slurm-slurmd-0:24.11.5-1.*\n"


@needs_dnf
@pytest.mark.skipif(not VERSIONLOCK, reason="no versionlock plugin (apt-get install dnf-plugins-core)")
def test_a_lock_of_ours_holds_against_an_upgrade_of_everything(rocky, repository, tmp_path):
    """By dnf's own plugin, on the list that we wrote."""
    url = repository("one", ("slurm-slurmd", "24.05.2"), ("other", "1"))
    newer = repository("two", ("slurm-slurmd", "24.11.5"), ("other", "2"))
    folder = rocky.root / "etc/yum.repos.d"
    folder.mkdir()
    (folder / "a.repo").write_text(f"[a]\nname=a\nbaseurl={url}\ngpgcheck=0\n")
    rocky("apply", Package(name="slurm-slurmd"), Package(name="other"), Hold(name="packages", patterns=SLURM))
    (folder / "b.repo").write_text(f"[b]\nname=b\nbaseurl={newer}\ngpgcheck=0\n")
    settings = tmp_path / "plugins"
    settings.mkdir()
    locks = rocky.root / "etc/dnf/plugins/versionlock.list"
    (settings / "versionlock.conf").write_text(f"[main]\nenabled = 1\nlocklist = {locks}\n")
    root = ["--installroot", rocky.root, f"--setopt=pluginconfpath={settings}"]
    subprocess.run(["dnf", "upgrade", "-y", *root], check=True, capture_output=True, timeout=60)
    there = packages.rpm_installed(host_of(rocky))

    assert there == {"slurm-slurmd": ("0:24.05.2-1", True), "other": ("0:2-1", False)}


@needs_dnf
def test_a_package_that_no_repository_has_is_named(rocky, repository):
    """In dnf's own words."""
    folder = rocky.root / "etc/yum.repos.d"
    folder.mkdir()
    (folder / "a.repo").write_text(f"[a]\nname=a\nbaseurl={repository('few', ('one', '1'))}\ngpgcheck=0\n")
    answer = rocky("apply", Package(name="slurm-slurmd", version="24.11"))

    assert "package:slurm-slurmd" in answer["error"]
    assert "slurm-slurmd-24.11*" in answer["error"]


@pytest.mark.parametrize(
    ("version", "wanted", "fit"),
    [
        ("24.11.5-4", "24.11", True), ("24.110-1", "24.11", False), ("22.05.8-4+deb12u3", "22.05", True),
        ("22.05.8", "22.05.8", True), ("22.05.80", "22.05.8", False), ("1.0", "", True), ("1:24.11.5", "24.11", True),
    ],
)  # fmt: skip
def test_a_release_fits_its_versions(version, wanted, fit):
    """24.11 is not 24.110."""
    assert packages.matches_release(version, wanted) == fit


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("nvidia-driver-580", True), ("libnvidia-compute-580", True), ("linux-modules-nvidia-580-generic", True),
        ("slurm-smd-slurmd", True), ("slurmd", True), ("libslurm38", True), ("doca-ofed", True), ("rdma-core", True),
        ("kmod-nvidia-open-dkms", True), ("openssh-server", False), ("linux-image-amd64", False), ("munge", False),
    ],
)  # fmt: skip
def test_what_runs_under_jobs_is_held_and_the_rest_is_not(name, held):
    """Driver, fabric and Slurm; security updates of everything else go on."""
    assert bool(packages.matching([name], [*DRIVER, *FABRIC, *SLURM])) == held


@given(st.lists(st.text("ab*?[]", max_size=4), max_size=4), st.lists(st.text("abc[", max_size=4), max_size=6))
def test_prefixes_and_names_match_as_fnmatch_does(patterns, names):
    """They are compared without a regular expression; `a?` beside `a*` stays a pattern of its own."""
    expected = [name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]

    assert packages.matching(names, patterns) == expected


def test_a_debian_with_rpm_installed_is_a_debian(tmp_path):
    """Told by os-release, not by what programs there are."""
    (tmp_path / "etc").mkdir()
    host = LocalHost({"root": str(tmp_path), "resources": []})
    (tmp_path / "etc/os-release").write_text("ID=ubuntu\nID_LIKE=debian\n")
    debian = packages.has_dnf(host)
    (tmp_path / "etc/os-release").write_text(ROCKY)

    assert (debian, packages.has_dnf(host)) == (False, True)


def site_file(url):
    """A Rocky cluster with Slurm 24.11 from that repository."""
    software = {"slurm": "24.11", "repositories": {"slurm": {"url": url, "unsigned": True}}}
    return {"lab": None, "os": "rocky-9", "software": software}


def test_the_agent_finds_the_python_of_dnf(tmp_path):
    """Rocky 8 may have no other; here a program of that name stands for it."""
    path = tmp_path / "bin"
    path.mkdir()
    for name in ("sh", "echo"):
        (path / name).symlink_to(shutil.which(name))
    done = subprocess.run(
        [shutil.which("sh"), "-c", program_command()],
        env={"PATH": str(path)},
        capture_output=True,
        check=False,
    )

    assert b"/usr/libexec/platform-python" in done.stderr


def driver(version):
    """A set of two packages of one version, and a file beside it."""
    of = {"version": version, "set_name": "driver", "cost": Cost.REBOOT}
    module, tools = Package(name="kmod-nvidia-open-dkms", **of), Package(name="nvidia-driver-cuda", **of)
    return (module, tools, File(path="/etc/said", content=version))


@needs_dnf
def test_dnf_brings_a_set_to_its_version_forward_and_back(rocky, repository):
    """Shown as a reboot, which is owed from then on; a version that is not there leaves the set and does the rest."""
    versions = ("580.65.06", "580.95.05")
    rows = [(name, one) for one in versions for name in ("kmod-nvidia-open-dkms", "nvidia-driver-cuda")]
    folder = rocky.root / "etc/yum.repos.d"
    folder.mkdir()
    url = repository("cuda", *rows, ("kmod-nvidia-open-dkms", "580.105.08"))
    (folder / "cuda.repo").write_text(f"[cuda]\nname=cuda\nbaseurl={url}\ngpgcheck=0\n")
    first = rocky("apply", *driver("580.65.06"))
    second = rocky("apply", *driver("580.95.05"), when="200")
    missing = rocky("apply", *driver("580.105.08"), when="300")
    back = rocky("apply", *driver("580.65.06"), when="400")

    assert set(what(first).values()) == {"install"}
    assert first["facts"]["owes"] == []
    assert set(what(second).values()) == {"580.65.06-1 -> 580.95.05"}
    assert second["facts"]["owes"] == ["package:kmod-nvidia-open-dkms", "package:nvidia-driver-cuda"]
    assert "No match for argument: nvidia-driver-cuda-580.105.08" in missing["error"]
    assert "set a version that the repository has" in missing["error"]
    assert (missing["fault_domain"], (rocky.root / "etc/said").read_text()) == ("host", "580.65.06")
    assert [row["applied"] for row in missing["changes"] if row["id"] == "file:/etc/said"] == [True]
    assert set(what(back).values()) == {"580.95.05-1 -> 580.65.06"}
    assert packages.rpm_installed(host_of(rocky))["nvidia-driver-cuda"][0] == "0:580.65.06-1"

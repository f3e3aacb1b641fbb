"""NVIDIA's and AMD's software: which packages each system is asked for, in which versions, and what runs."""

from pathlib import Path

import pytest

from clusterwright.config.field import Cost
from clusterwright.provision.resources import File, Hold, Package, Unit
from clusterwright.provision.roles import desired_resources

KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQENBF\n-----END PGP PUBLIC KEY BLOCK-----\n"
REPOSITORIES = {
    "cuda": {"url": "https://x.example.org/cuda", "key": KEY},
    "slurm": {"url": "https://x.example.org/slurm", "key": KEY},
}
SOFTWARE = {
    "slurm": "25.11",
    "driver": "580.95.05",
    "cuda": "12.8.1",
    "cudnn": "9.10.2",
    "nccl": "2.27.3",
    "nvidia": {"repository": "cuda", "dcgm": "4.4.1", "container_toolkit": "1.17.8"},
    "repositories": REPOSITORIES,
}
LIBRARIES = {"cuda-toolkit-12-8": "12.8.1", "libcudnn9-cuda-12": "9.10.2"}
DCGM = {"datacenter-gpu-manager-4-core": "4.4.1", "datacenter-gpu-manager-4-cuda12": "4.4.1"}
CONTAINERS = dict.fromkeys(
    (
        "nvidia-container-toolkit",
        "nvidia-container-toolkit-base",
        "libnvidia-container-tools",
        "libnvidia-container1",
    ),
    "1.17.8",
)
DRIVERS = {
    "debian-12": ("nvidia-kernel-open-dkms", "nvidia-driver-cuda", "nvidia-persistenced"),
    "ubuntu-22.04": (
        "nvidia-dkms-580-open", "libnvidia-compute-580", "nvidia-utils-580", "nvidia-compute-utils-580",
    ),
    "rocky-9": ("kmod-nvidia-open-dkms", "nvidia-driver-cuda", "nvidia-persistenced"),
}  # fmt: skip
NCCL = {"debian": ("libnccl2", "libnccl-dev"), "rocky": ("libnccl", "libnccl-devel")}
EIGHT = {"nodes.a100.gpus.count": 8, "nodes.a100.cpus.sockets": 2}


@pytest.fixture
def of(altered, given):
    """Resources of a compute host by id, for this software and these other changes; no lab."""

    def find(software=None, changes=None, host="gpu-node1"):
        said = {key: value for key, value in (SOFTWARE | (software or {})).items() if value is not None}
        cluster = altered({"lab": None, "software": said} | (changes or {}))
        return {resource.id: resource for resource in desired_resources(cluster, cluster.host(host), given)}

    return find


def packages(found, sets=("driver", "cuda", "cudnn", "nccl", "dcgm", "container", "rocm", "amdgpu")):
    """Name and version of the packages of these sets."""
    return {
        one.name: one.version for one in found.values() if isinstance(one, Package) and one.set_name in sets
    }


@pytest.mark.parametrize("system", DRIVERS)
def test_every_system_is_asked_for_its_own_names(of, system):
    """In whole versions, the driver's parts all in the driver's."""
    found = of(changes={"os": system})
    nccl = NCCL["rocky" if system.startswith("rocky") else "debian"]
    driver = dict.fromkeys(DRIVERS[system], "580.95.05")

    assert packages(found) == driver | LIBRARIES | dict.fromkeys(nccl, "2.27.3") | DCGM | CONTAINERS
    assert {found[f"package:{name}"].built_for for name in nccl} == {"+cuda12"}
    assert {found[f"package:{name}"].cost for name in driver} == {Cost.REBOOT}
    assert {found[f"package:{name}"].cost for name in nccl} == {Cost.DRAIN}


def test_a_later_driver_has_names_without_its_branch(of):
    """NVIDIA renamed Ubuntu's packages with 590."""
    found = packages(of({"driver": "590.44.01"}, {"os": "ubuntu-24.04"}), ("driver",))

    assert set(found) == {"nvidia-dkms-open", "libnvidia-compute", "nvidia-utils", "nvidia-compute-utils"}


def test_a_file_without_the_section_asks_for_nothing(of):
    """The versions are then only what checks hold hosts against."""
    found = of({"nvidia": None} | {"cuda": "12.8", "cudnn": "9.8", "nccl": "2.27", "driver": "580.95"})

    assert packages(found) == {}
    assert not [name for name in found if "nvidia" in name]


def test_control_hosts_have_none_of_it(of):
    """They have no GPUs."""
    found = of(host="control")

    assert packages(found) == {}
    assert not [name for name in found if "nvidia" in name]


@pytest.mark.parametrize(
    ("model", "count", "nvlink", "said", "runs"),
    [
        ("a100", 8, True, "auto", True),
        ("a100", 8, False, "auto", False),
        ("a100", 4, True, "auto", False),
        ("h100", 8, True, "auto", True),
        ("b200", 8, True, "auto", True),
        ("v100", 8, True, "auto", False),
        ("v100", 16, True, "auto", True),
        ("a100", 4, True, "always", True),
        ("a100", 8, False, "never", False),
    ],
)
def test_fabric_manager_is_where_switches_are(of, model, count, nvlink, said, runs):
    """Boards of 8 from Ampere on have NVSwitches, boards of 4 and the first of 8 join their GPUs directly."""
    changes = {
        "nodes.a100.gpus.model": model, "nodes.a100.gpus.count": count, "nodes.a100.gpus.nvlink": nvlink,
        "nodes.a100.gpus.memory": None,
    }  # fmt: skip
    found = of({"nvidia": {"repository": "cuda", "fabric_manager": said}}, changes)
    names = packages(found, ("driver",))

    assert ("unit:nvidia-fabricmanager.service" in found) is runs
    assert names.get("nvidia-fabricmanager-580") == ("580.95.05" if runs else None)
    assert ("libnvidia-nscq-580" in names) is runs


@pytest.mark.parametrize(
    ("model", "kind"), [("v100", "nvidia-kernel-dkms"), ("h100", "nvidia-kernel-open-dkms")]
)
def test_each_generation_has_the_modules_that_it_takes(of, model, kind):
    """The open ones do not know Volta."""
    found = of(changes={"nodes.a100.gpus.model": model, "nodes.a100.gpus.memory": None})

    assert {name for name in packages(found, ("driver",)) if "kernel" in name} == {kind}


def test_daemons_wait_for_the_reboot_and_for_their_packages(of):
    """A new driver restarts none of them: they would meet the old module. DCGM's own version does restart it."""
    found = of(changes=EIGHT)
    persistence, fabric, dcgm = (
        found[f"unit:nvidia-{name}.service"] for name in ("persistenced", "fabricmanager", "dcgm")
    )

    assert (persistence.restart_on, fabric.restart_on) == ((), ())
    assert "package:nvidia-fabricmanager-580" in fabric.needs
    assert dcgm.restart_on == tuple(f"package:{name}" for name in DCGM)
    assert all(isinstance(unit, Unit) and unit.independent for unit in (persistence, fabric, dcgm))


def test_what_comes_with_the_driver_has_its_version(of):
    """Or apt would take the newest library with an older module, and then refuse both; dnf has a stream of its own."""
    deb = of()["file:/etc/apt/preferences.d/clusterwright-nvidia"]
    rpm = of(changes={"os": "rocky-9"})["file:/etc/dnf/modules.d/nvidia-driver.module"]

    assert "Pin: version 580.95.05*\nPin-Priority: 1001\n" in deb.content
    assert "stream=580-open\n" in rpm.content
    assert deb.early
    assert rpm.early


def test_what_is_installed_is_held(of):
    """unattended-upgrades and people with `apt upgrade` leave it alone."""
    [hold] = [one for one in of().values() if isinstance(one, Hold)]

    assert {"nvidia-*", "libcuda1", "libnccl*", "libcudnn*", "cuda-toolkit-*"} <= set(hold.patterns)


def test_the_list_of_devices_is_written_by_the_toolkit_or_by_us(of):
    """From 1.18 on the package does it itself."""
    own = of()["unit:clusterwright-cdi.service"]
    theirs = of({"nvidia": {"repository": "cuda", "container_toolkit": "1.18.0"}})

    assert "file:/etc/systemd/system/clusterwright-cdi.service" in own.restart_on
    assert "unit:clusterwright-cdi.service" not in theirs


def test_amd_has_the_same_shape(of):
    """Driver and ROCm in their versions, devices that users may open, nothing of NVIDIA's."""
    software = {"rocm": {"version": "6.4.1", "driver": "6.12.12", "repository": "cuda"}, "driver": None}
    software |= {"nvidia": None, "cuda": None, "cudnn": None, "nccl": None}
    found = of(
        software, {"nodes.a100.gpus.model": "mi300x", "nodes.a100.gpus.memory": None, "os": "ubuntu-22.04"}
    )

    assert packages(found) == {"amdgpu-dkms": "6.12.12", "rocm": "6.4.1"}
    assert found["package:amdgpu-dkms"].cost is Cost.REBOOT
    assert (
        'KERNEL=="kfd", MODE="0666"' in found["file:/etc/udev/rules.d/70-clusterwright-amdgpu.rules"].content
    )


PLANS = Path(__file__).parents[2] / "golden" / "nvidia"
SYSTEMS = (
    "debian-12", "debian-13", "ubuntu-20.04", "ubuntu-22.04", "ubuntu-24.04", "rocky-8", "rocky-9", "alma-8", "alma-9",
)  # fmt: skip


def lines(found):
    """Every package with its version and cost, every unit with what it waits for, every file of ours with its text."""
    words = ("nvidia", "cuda", "cdi", "dcgm")
    for one in found.values():
        if isinstance(one, Package) and one.set_name:
            yield f"package {one.name} {one.version}{one.built_for} [{one.cost}] of {one.set_name}"
        elif isinstance(one, Unit) and any(word in one.name for word in words):
            yield f"unit {one.name} needs {len(one.needs)} packages, restarts on {', '.join(one.restart_on) or 'none'}"
        elif isinstance(one, File) and any(word in one.path for word in words):
            yield f"file {one.path} [{one.cost}]"
            yield from (f"    {line}".rstrip() for line in str(one.content).splitlines())


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_plan_of_each_system_is_its_golden_text(of, system, golden):
    """On hosts of 8 A100 joined by NVSwitches; repositories of the site's own, which have a file each, too."""
    text = "\n".join(lines(of(changes={"os": system} | EIGHT))) + "\n"
    file = PLANS / f"{system}.txt"
    if golden:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    assert "nvidia-fabricmanager" in text
    assert text == file.read_text()

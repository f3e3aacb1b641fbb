"""The versions of an image, and its files, for clusters and jobs."""

import json
from pathlib import Path

import pytest

from clusterwright.catalog.rows import rows
from clusterwright.catalog.software import releases, version
from clusterwright.config.load import cluster_of, job_of
from clusterwright.config.reader import read
from clusterwright.errors import WrightError
from clusterwright.launch.image.choice import choose_image
from clusterwright.launch.image.containerfile import image_files
from clusterwright.launch.image.requirements import parse_requirements
from clusterwright.platforms import platforms

EXAMPLES = Path(__file__).parents[3] / "examples"


def cluster(name="a100", **changes):
    """An example's cluster with other values in `software`, or another `os`."""
    source = read((EXAMPLES / name / "cluster.yaml").read_bytes(), "cluster.yaml")
    os = changes.pop("os", None)
    source.values["software"] = {**source.values.get("software", {}), **changes}
    if os:
        source.values["os"] = os
    return cluster_of(source)


def job(framework, launcher="agent"):
    """A job of a framework."""
    text = f"name: t\ncommand: [train.py]\nframework: {framework}\nlauncher: {launcher}\ntime: 1h\n"
    return job_of(read(text.encode(), "job.yaml"))


def test_the_versions_are_those_of_the_cluster_file():
    """CUDA and NCCL of `software`, the distribution of the hosts, the newest PyTorch for them and its Python."""
    choice = choose_image(cluster())

    assert choice.base == "nvcr.io/nvidia/cuda:12.8.1-devel-rockylinux9"
    assert (choice.cuda, choice.nccl, choice.nccl_pin) == ("12.8", "2.27.5", "")
    release = releases()[choice.torch]
    assert (release.cuda, release.nccl) == ("12.8", "2.27.5")
    assert choice.index.endswith("/cu128")
    assert choice.notes == ()


@pytest.mark.parametrize(
    ("changes", "cuda", "note"),
    [
        ({"cuda": "12.5", "nccl": None, "cudnn": None}, "12.4", "CUDA 12.4 in place of 12.5"),
        ({"cuda": None, "cudnn": None, "nccl": None, "driver": "550.54"}, "12.6", "minor-version compatibility"),
        ({"os": "ubuntu-24.04"}, "12.8", ""),
        ({"os": "alma-9"}, "12.8", "rockylinux9 in its place"),
        ({"os": "debian-12", "slurm": "22.05", "repositories": {}}, "12.8", "ubuntu22.04 in its place"),
    ],
)  # fmt: skip
def test_what_differs_from_the_hosts_is_a_note(changes, cuda, note):
    """The nearest CUDA, the driver by minor-version compatibility, the nearest distribution."""
    choice = choose_image(cluster(**changes))

    assert choice.cuda == cuda
    assert note in " ".join(choice.notes)
    assert bool(note) == bool(choice.notes)


def test_a_newer_nccl_of_the_cluster_replaces_that_of_pytorch_and_an_older_one_does_not():
    """PyTorch may call what an older library lacks."""
    newer = choose_image(cluster(nccl="2.28"))
    older = choose_image(cluster(nccl="2.26"), requirements="torch==2.10.0\n")

    assert newer.nccl_pin == "nvidia-nccl-cu12==2.28.*"
    assert (
        'pip install --no-cache-dir --no-deps "nvidia-nccl-cu12==2.28.*"'
        in image_files(newer, "c", "", "")["Containerfile"]
    )
    assert older.nccl_pin == ""
    assert "PyTorch needs its own 2.27.5" in " ".join(older.notes)


def test_packages_follow_network_launcher_and_framework():
    """RDMA only on InfiniBand or RoCE; MPI for mpirun and srun; the framework of the job."""
    torch = choose_image(cluster(), job("pytorch"))
    mpi = choose_image(cluster(), job("pytorch", "srun"))
    deepspeed = choose_image(cluster("university"), job("deepspeed"))

    assert "libibverbs" in torch.rdma_packages
    assert torch.mpi_packages == ()
    assert "pmix" in mpi.mpi_packages
    assert deepspeed.rdma_packages == ()
    assert "deepspeed" in image_files(deepspeed, "lab", "", "")["Containerfile"]


def test_the_requirements_choose_the_release_or_are_refused():
    """One that suits the cluster is taken; one for another CUDA, and one over NGC's own, are refused."""
    choice = choose_image(cluster(), requirements="torch==2.8.0\nnumpy\n")

    assert (choice.torch, choice.nccl) == ("2.8.0", "2.27.3")
    with pytest.raises(
        WrightError, match=r"image-torch-conflict.*2\.13\.0 .*\nfix: choose one of .*2\.10\.0"
    ):
        choose_image(cluster(), requirements="torch==2.13.0\n")
    with pytest.raises(WrightError, match=r"image-torch-conflict.*line 2 .*nvcr"):
        choose_image(cluster(), requirements="numpy\ntorch==2.1\n", base="nvcr.io/nvidia/pytorch:23.10-py3")


def test_a_cluster_without_a_release_is_refused_with_its_versions():
    """CUDA 11.0 runs no PyTorch of the catalog."""
    with pytest.raises(WrightError, match=r"image-no-release.*a100, driver 450\.80 and CUDA 11\.0"):
        choose_image(cluster(driver="450.80", cuda="11.0", cudnn="8.0", nccl="2.14"))


def test_later_packages_cannot_replace_pytorch():
    """constraints.txt has it, with the versions of an earlier build; the last step asserts its CUDA."""
    choice = choose_image(cluster())
    files = image_files(choice, "a100", "numpy\n", "numpy==2.1.3\ntorch==2.7.0+cu126\n")
    text = files["Containerfile"]

    assert files["constraints.txt"] == f"torch=={choice.torch}\nnumpy==2.1.3\n"
    assert text.index("ENV PIP_CONSTRAINT") < text.index("torch==") < text.index("requirements.txt")
    assert "assert torch.version.cuda == '12.8'" in text
    assert json.loads(files["image.lock.json"])["torch"] == choice.torch


@pytest.mark.parametrize(
    "line",
    ["--extra-index-url https://evil.example/simple #==", "torch @ https://evil.example/torch.whl #==", "-r x==1",
     "numpy==1.0 --hash=sha256:0", "-e git+https://evil.example/x==1"],
)  # fmt: skip
def test_a_lock_of_requirements_brings_no_option_and_no_address(line):
    """It may come with a repository, and pip honors both in a file of constraints."""
    files = image_files(choose_image(cluster()), "a100", "", f"{line}\nnumpy==2.1.3\n")
    assert files["constraints.txt"].splitlines()[1:] == ["numpy==2.1.3"]


@pytest.mark.parametrize("line", ["Torch==9.9", "TORCH==8"])
def test_a_lock_of_requirements_replaces_no_chosen_version(line):
    """Also under another spelling of its name, which pip takes for the same package and refuses."""
    choice = choose_image(cluster())
    files = image_files(choice, "a100", "", f"{line}\nnumpy==2.1.3\n")
    assert files["constraints.txt"] == f"torch=={choice.torch}\nnumpy==2.1.3\n"


def test_an_ngc_image_keeps_its_own_pytorch():
    """No torch, no Python, no MPI is installed over it."""
    text = image_files(choose_image(cluster(), base="nvcr.io/nvidia/pytorch:25.09-py3"), "c", "numpy\n", "")[
        "Containerfile"
    ]

    assert "FROM nvcr.io/nvidia/pytorch:25.09-py3\n" in text
    assert not any(word in text for word in ("venv", "apt-get", "dnf", "--index-url"))
    assert "/etc/pip/constraint.txt" in text


def test_requirements_are_read_as_pip_reads_them():
    """Ranges, extras, markers, addresses, comments and options."""
    lines = (
        *("# c", "-r more.txt", "NumPy==2.1", "torch_geometric[all]>=2"),
        *("x @ https://e.org/x.whl", "a===1 ; python_version<'4'"),
    )
    text = "\n".join(lines)

    assert [(item.name, item.version, item.pinned) for item in parse_requirements(text)] == [
        ("numpy", "2.1", True), ("torch-geometric", "", False), ("x", "", True), ("a", "1", True),
    ]  # fmt: skip


def test_every_base_is_the_image_of_a_platform_and_has_a_python_for_a_release():
    """Each row of the table is used by a release of PyTorch with its CUDA."""
    for row in rows("base_images"):
        for system in row["systems"].split():
            pythons = {
                python
                for platform in platforms()
                if platform.cuda_image == system and system.startswith(platform.os_release_id)
                for python in platform.pythons
            }
            assert any(
                release.cuda == row["cuda"]
                and version(release.python_min) <= version(python) <= version(release.python_max)
                for release in releases().values()
                for python in pythons
            ), (row, system)


@pytest.mark.parametrize(
    "base", ["a/pytorch\nRUN id", "x\nRUN id", "x AS y", "--platform=linux/arm64", "x\\", "x\t", "n" * 513]
)
def test_a_base_that_is_no_name_of_an_image_is_refused(base):
    """It is a word of the Containerfile, in which a line end begins another command."""
    with pytest.raises(WrightError, match="is no name of an image"):
        choose_image(cluster(), base=base)


@pytest.mark.parametrize("base", ["scratch", "localhost:5000/a/b_c:1.2-3", "debian@sha256:" + "0" * 64])
def test_a_base_with_registry_port_tag_or_digest_is_taken(base):
    """All forms of a reference."""
    assert choose_image(cluster(), base=base).base == base

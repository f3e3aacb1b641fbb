"""Images are built by the real buildah; apt, pip and Python inside are substitutes, since no registry is reached."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from clusterwright.cli.image import build
from clusterwright.diagnose.subjects import log
from clusterwright.errors import WrightError
from clusterwright.launch.image import build as builder
from clusterwright.launch.image.containerfile import MARKER

LAB = Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml"
NEEDS = [tool for tool in ("buildah", "busybox", "umoci") if not shutil.which(tool)]
real = pytest.mark.skipif(
    bool(NEEDS) or os.geteuid() != 0, reason=f"needs root and {NEEDS or 'nothing else'}"
)
BASE = "localhost/base:1"
PINS = "numpy==2.1.3\ntorch==2.14.0"
SUBSTITUTE = f"""#!/bin/sh
echo "$(basename $0) $*" >> /calls
case "$*" in
  freeze) echo '{PINS}' ;;
  *' -r '*) if grep -q no-such-package "$4"; then
    echo 'ERROR: No matching distribution found for no-such-package'
    exit 1
  fi ;;
  '-m venv '*) mkdir -p "$3/bin" ;;
esac
"""


@pytest.fixture
def storage(tmp_path, monkeypatch):
    """A storage of images of its own with a base image of busybox."""
    conf = tmp_path / "storage.conf"
    conf.write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{tmp_path}/images"\nrunroot = "{tmp_path}/run"\n'
    )
    monkeypatch.setenv("CONTAINERS_STORAGE_CONF", str(conf))
    monkeypatch.setenv("BUILDAH_ISOLATION", "chroot")
    root = tmp_path / "base" / "root"
    for folder in ("bin", "usr/bin", "tmp", "var/lib/apt/lists", "etc"):
        (root / folder).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), root / "bin/busybox")
    for name in ("sh", "mkdir", "rm", "cat", "echo", "basename", "grep"):
        (root / "bin" / name).symlink_to("busybox")
    for name in ("apt-get", "pip", "python3", "python3.10"):
        (root / "bin" / name).write_text(SUBSTITUTE)
        (root / "bin" / name).chmod(0o755)
    (tmp_path / "base" / "Containerfile").write_text("FROM scratch\nCOPY root /\n")
    argv = ["buildah", "bud", "--tag", BASE, str(tmp_path / "base")]
    subprocess.run(argv, check=True, capture_output=True, timeout=200)
    return tmp_path


@real
def test_buildah_runs_every_line_and_the_image_becomes_a_bundle_for_slurm(storage, capsys):
    """The tag, the locks, the packages in their order, and the printed commands up to the root file system."""
    out = storage / "out"
    (storage / "requirements.txt").write_text("numpy\n")
    assert (
        build(cluster=LAB, out=out, requirements=storage / "requirements.txt", base=BASE, tag="localhost/t:1")
        == 0
    )
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    (push, unpack, _readable), use = lines[:3], lines[-1]
    bundle = storage / "bundle"
    for line in (push, unpack.replace("/shared/images/t", str(bundle))):
        subprocess.run(line.split(), check=True, capture_output=True, timeout=200)

    assert use == "container: {image: /shared/images/t}"
    calls = (bundle / "rootfs/calls").read_text().splitlines()
    assert [call.split()[:2] for call in calls][-4:-1] == [
        ["pip", "install"],
        ["pip", "install"],
        ["python3", "-I"],
    ]
    assert "apt-get install" in " ".join(calls)
    assert (bundle / "rootfs/shared").is_dir()
    assert "PATH=/opt/env/bin:" in (bundle / "config.json").read_text()
    built = json.loads((out / "image.lock.json").read_text())["built"]
    assert built["tag"] == "localhost/t:1"
    assert len(built["image"]) == 64
    assert (out / "requirements.lock").read_text().split() == PINS.split()
    assert "numpy==2.1.3" not in (out / "constraints.txt").read_text()

    build(cluster=LAB, out=out, requirements=storage / "requirements.txt", base=BASE, tag="localhost/t:1")
    assert "numpy==2.1.3" in (out / "constraints.txt").read_text()


@real
def test_a_full_disk_is_the_cause(storage):
    """The storage of images is a file system of 5 MB."""
    (storage / "small").mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=5M", "tmpfs", storage / "small"], check=True, timeout=10
    )
    try:
        conf = (storage / "storage.conf").read_text()
        shutil.move(storage / "base" / "root", storage / "out")
        (storage / "storage.conf").write_text(conf.replace(f"{storage}/images", f"{storage}/small"))
        (storage / "out" / "Containerfile").write_text(
            f"{MARKER}\nFROM scratch\nCOPY bin /bin\nCOPY bin /bin2\n"
        )
        assert builder.build("buildah", storage / "out", "localhost/t:1") is None
        first = log(storage / "out" / "build.log")[0]
    finally:
        subprocess.run(["umount", "-R", storage / "small"], check=True, timeout=10)

    assert first.kind == "storage-full"


@real
@pytest.mark.parametrize(
    ("base", "requirements", "reason"),
    [
        ("registry.invalid/cuda:9.9", "numpy\n", "cuda:9.9: the build machine cannot reach the registry"),
        ("localhost/base:9.9", "numpy\n", "There is no image localhost/base:9.9"),
        (BASE, "no-such-package\n", "Pip finds no no-such-package"),
    ],
)
def test_a_failed_build_has_its_cause(storage, base, requirements, reason):
    """No network, an unknown tag, a package that does not exist: as `wright why` explains them."""
    (storage / "requirements.txt").write_text(requirements)
    with pytest.raises(
        WrightError, match=rf"image-build-failed\]: buildah did not build the image: .*{reason}"
    ):
        build(cluster=LAB, out=storage / "out", requirements=storage / "requirements.txt", base=base)

    assert (storage / "out" / "build.log").stat().st_size > 0


def test_without_a_tool_the_command_is_printed(tmp_path, monkeypatch, capsys):
    """Where neither buildah nor podman is installed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert build(cluster=LAB, out=tmp_path / "out") == 0
    printed = capsys.readouterr()

    command = f"buildah bud --tag localhost/lab:latest --file {tmp_path}/out/Containerfile {tmp_path}/out"
    assert printed.out.splitlines()[0] == command
    assert "neither buildah nor podman" in printed.err


def test_a_containerfile_of_another_origin_stays(tmp_path):
    """It is not replaced."""
    (tmp_path / "Containerfile").write_text("FROM scratch\n")
    with pytest.raises(WrightError, match="image-folder"):
        build(cluster=LAB, out=tmp_path, files_only=True)

    assert (tmp_path / "Containerfile").read_text() == "FROM scratch\n"


@pytest.mark.parametrize(
    ("runtime", "image", "last"),
    [
        ("oci", "/shared/images/t", "chmod"),
        ("apptainer", "/shared/images/t.sif", "apptainer build /shared/images/t.sif"),
        ("pyxis", "/shared/images/t.sqsh", "enroot import --output /shared/images/t.sqsh"),
    ],
)
def test_the_image_is_converted_for_the_runtime_of_the_cluster(runtime, image, last):
    """A bundle, a .sif or a .sqsh file on shared storage, which the job file names."""
    from clusterwright.config.load import load_cluster

    cluster = load_cluster(LAB)
    environments = cluster.environments.model_copy(update={"containers": (runtime,)})
    path, commands = builder.conversion(
        cluster.model_copy(update={"environments": environments}), "buildah", Path("o"), "localhost/t:1"
    )

    assert path == image
    assert commands[-1].startswith(last)


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to another user")
def test_a_folder_of_another_user_gets_no_containerfile(tmp_path):
    """That user could exchange it before the build reads it."""
    (tmp_path / "image").mkdir()
    os.chown(tmp_path / "image", 64001, 64001)
    with pytest.raises(WrightError, match="other users can change") as refused:
        builder.write_folder(tmp_path / "image", {"Containerfile": f"{MARKER}\n"})
    assert refused.value.code == "image-folder"
    assert list((tmp_path / "image").iterdir()) == []


def test_a_link_in_place_of_the_requirements_publishes_no_other_file(tmp_path):
    """The folder of a job file may be a stranger's repository; a file that is named is used."""
    (tmp_path / "job").mkdir()
    (tmp_path / "secrets.env").write_text("TOKEN==1\n")
    (tmp_path / "job/requirements.txt").symlink_to("../secrets.env")
    job, out = tmp_path / "job/job.yaml", tmp_path / "out"
    job.write_text("name: x\ncommand: [train.py]\nnodes: 1\ngpus_per_node: 1\ntime: 1h\n")
    with pytest.raises(WrightError, match="another folder than the job file"):
        build(cluster=LAB, job=job, out=out, files_only=True)
    assert not out.exists()
    build(cluster=LAB, job=job, out=out, files_only=True, requirements=tmp_path / "job/requirements.txt")
    assert (out / "requirements.txt").read_text() == "TOKEN==1\n"


def test_files_of_others_are_not_overwritten(tmp_path, monkeypatch):
    """A repository's link in place of the folder, and a folder with a file of that name but no image of ours."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "requirements.txt").write_text("mine\n")
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "image").symlink_to("../precious")
    for folder in (Path("repository/image"), Path("precious"), tmp_path / "precious"):
        with pytest.raises(WrightError) as refused:
            builder.write_folder(folder, {"Containerfile": MARKER, "requirements.txt": "numpy\n"})
        assert refused.value.code == "image-folder"
        assert "repository" not in str(folder) or "is a link" in str(refused.value)

    assert (tmp_path / "precious" / "requirements.txt").read_text() == "mine\n"
    builder.write_folder(Path("new"), {"Containerfile": MARKER})
    builder.write_folder(Path("new"), {"Containerfile": MARKER, "requirements.txt": "numpy\n"})


def test_versions_come_from_no_linked_file(tmp_path, monkeypatch):
    """A repository may link requirements.lock to a file that only its reader may read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_text("topsecret==1\n")
    build(cluster=LAB, out=Path("image"), files_only=True)
    (tmp_path / "image" / "requirements.lock").symlink_to("../secret")
    build(cluster=LAB, out=Path("image"), files_only=True)

    assert not [
        file
        for file in (tmp_path / "image").rglob("*")
        if not file.is_symlink() and "topsecret" in file.read_text()
    ]

"""A Python environment of a team, really made; its packages come from a folder."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from clusterwright.onhost.containers import make_python
from clusterwright.onhost.containers.make_python import commands

PROGRAM = make_python.__file__


def wheel(folder, name, version):
    """The smallest wheel that pip takes."""
    folder.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{name}.py", f"VERSION = '{version}'\n")
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{info}/RECORD", "")


@pytest.fixture
def make(tmp_path):
    """Make an environment with other wishes; the process that did."""

    def run(**changes):
        wanted = {
            "name": "seeing", "path": str(tmp_path / "envs" / "seeing"), "kind": "venv", "program": sys.executable,
            "packages": [], "requirements": None, "wheels": str(tmp_path / "wheels"), **changes,
        }  # fmt: skip
        (tmp_path / "envs").mkdir(exist_ok=True)
        (tmp_path / "wanted.json").write_text(json.dumps(wanted))
        argv = [sys.executable, PROGRAM, str(tmp_path / "wanted.json")]
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=200)

    return run


def test_a_new_version_takes_the_place_of_the_old_and_one_that_fails_does_not(make, tmp_path):
    """Jobs name one path; what runs from the version before goes on, since that stays."""
    path = tmp_path / "envs" / "seeing"
    ask = [path / "bin" / "python", "-c", "import eyes; print(eyes.VERSION)"]
    for version in ("1.0", "2.0"):
        wheel(tmp_path / "wheels", "eyes", version)
    made = make(packages=["eyes==1.0"])
    first, target = subprocess.check_output(ask, text=True), path.readlink()
    again = make(packages=["eyes==1.0"])
    failed = make(packages=["eyes==3.0"])
    kept = subprocess.check_output(ask, text=True)
    newer = make(packages=["eyes==2.0"])

    assert (made.returncode, made.stderr) == (0, "")
    assert (first, kept, again.returncode) == ("1.0\n", "1.0\n", 0)
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1].startswith("environment `seeing`: `")
    assert failed.stderr.endswith("eyes==3.0` failed; the previous version stays\n")
    assert newer.returncode == 0
    assert subprocess.check_output(ask, text=True) == "2.0\n"
    assert Path(target, "bin", "python").exists()
    assert len(list(Path(f"{path}.versions").iterdir())) == 2


def test_what_the_file_of_packages_says_counts(make, tmp_path):
    """Other lines are another version, though the cluster file has not changed."""
    listed = tmp_path / "requirements.txt"
    for version in ("1.0", "2.0"):
        wheel(tmp_path / "wheels", "eyes", version)
    seen = []
    for version in ("1.0", "2.0"):
        listed.write_text(f"eyes=={version}\n")
        assert make(requirements=str(listed)).returncode == 0
        seen.append((tmp_path / "envs" / "seeing").readlink())

    assert len(set(seen)) == 2


def test_a_file_of_packages_that_is_not_there_is_named(make):
    """Before anything is made."""
    refused = make(requirements="/nowhere/requirements.txt")

    assert refused.returncode == 1
    assert refused.stderr == (
        "environment `seeing`: /nowhere/requirements.txt cannot be read: No such file or directory;"
        " the previous version stays\n"
    )


def test_conda_is_asked_for_all_at_once():
    """Rendered only: there is no conda here."""
    wanted = {
        "kind": "conda",
        "program": "/shared/bin/micromamba",
        "packages": ["pytorch"],
        "requirements": "/r.txt",
    }

    assert commands(wanted, "/e") == [
        [
            "/shared/bin/micromamba",
            "create",
            "--yes",
            "--quiet",
            "--prefix",
            "/e",
            "--file",
            "/r.txt",
            "pytorch",
        ]
    ]


def test_the_folder_of_versions_exists_before_a_build_begins(make, tmp_path):
    """All users see the processes of a build, and could create the folder when it begins."""
    program = tmp_path / "python"
    program.write_text(
        f'#!/bin/sh\nmkdir -m 777 "{tmp_path}/envs/seeing.versions" && touch "{tmp_path}/eve"\nexit 1\n'
    )
    program.chmod(0o755)
    made = make(program=str(program))

    assert made.returncode == 1
    assert not (tmp_path / "eve").exists()
    assert (tmp_path / "envs/seeing.versions").stat().st_mode & 0o1002 == 0


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to own folders as another user")
@pytest.mark.parametrize("name", ["seeing", "seeing.versions"])
def test_a_folder_that_another_user_made_first_is_not_used(make, tmp_path, name):
    """Its owner could put code into the environment of a team."""
    taken = tmp_path / "envs" / name
    taken.mkdir(parents=True)
    os.chown(taken, 65534, 65534)
    made = make()

    assert made.returncode == 1
    assert f"{taken} belongs to user id 65534" in made.stderr
    assert list(taken.iterdir()) == []

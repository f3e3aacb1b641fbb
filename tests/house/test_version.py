"""The version of a build: from a tag, from a clone without tags, from a source archive."""

import importlib.util
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

import clusterwright

ROOT = Path(__file__).parents[2]
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false")


@pytest.fixture(scope="module")
def program():
    """The module tools/version.py."""
    spec = importlib.util.spec_from_file_location("version", ROOT / "tools" / "version.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path):
    """A repository with one commit and a prepared release, and a function that runs Git there."""
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## Unreleased\n\n## 1.3.0 - 2026-01-31\n\n## 1.2.0\n"
    )

    def git(*arguments):
        subprocess.run([*GIT, *arguments], cwd=tmp_path, check=True, capture_output=True, timeout=60)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    return tmp_path, git


def test_a_clone_without_tags_is_a_development_version_of_the_prepared_release(program, checkout):
    """It counts commits and names the last one; uncommitted changes show."""
    folder, _git = checkout

    assert re.fullmatch(r"1\.3\.0\.dev1\+g[0-9a-f]{9}", program.version(folder))
    (folder / "CHANGELOG.md").write_text("## 1.3.0\n")
    assert re.fullmatch(r"1\.3\.0\.dev1\+g[0-9a-f]{9}\.dirty", program.version(folder))


def test_a_tag_is_the_version(program, checkout):
    """A changed file or a further commit belongs to the next patch release; tags of other forms do not count."""
    folder, git = checkout
    git("tag", "v1.3.0")
    git("tag", "nightly")

    assert program.version(folder) == "1.3.0"
    (folder / "more").write_text("more")
    assert program.version(folder) == "1.3.0"  # a file that Git does not track is not built in
    git("add", ".")
    assert re.fullmatch(r"1\.3\.1\.dev0\+g[0-9a-f]{9}\.dirty", program.version(folder))
    git("commit", "-qm", "two")
    assert re.fullmatch(r"1\.3\.1\.dev1\+g[0-9a-f]{9}", program.version(folder))


def test_a_tag_older_than_the_prepared_release(program, checkout):
    """Commits after 1.2.0 lead to the release that the changelog prepares."""
    folder, git = checkout
    git("tag", "v1.2.0")
    git("commit", "-q", "--allow-empty", "-m", "two")

    assert re.fullmatch(r"1\.3\.0\.dev1\+g[0-9a-f]{9}", program.version(folder))


def test_a_folder_without_git(program, tmp_path):
    """The changelog alone; without a section of a version, the error names what is missing."""
    (tmp_path / "CHANGELOG.md").write_text("## 1.3.0 - 2026-01-31\n")
    assert program.version(tmp_path) == "1.3.0.dev0"

    (tmp_path / "CHANGELOG.md").write_text("## Unreleased\n")
    with pytest.raises(ValueError, match=r"no section of a version"):
        program.version(tmp_path)


def test_a_source_archive_builds_the_version_that_it_was_made_of(tmp_path):
    """Outside of the repository, also inside of another one."""
    build = [sys.executable, "-m", "hatchling", "build"]
    subprocess.run(
        [*build, "-t", "sdist", "-d", tmp_path], cwd=ROOT, check=True, capture_output=True, timeout=120
    )
    [archive] = tmp_path.glob("*.tar.gz")
    version = archive.name.removeprefix("clusterwright-").removesuffix(".tar.gz")
    subprocess.run([*GIT, "init", "-q"], cwd=tmp_path, check=True, timeout=60)
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    folder = tmp_path / f"clusterwright-{version}"
    subprocess.run(
        [*build, "-t", "wheel", "-d", tmp_path], cwd=folder, check=True, capture_output=True, timeout=120
    )

    assert (tmp_path / f"clusterwright-{version}-py3-none-any.whl").is_file()


def test_the_version_of_the_package_is_that_of_its_metadata():
    """No file of the source repeats it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert "version" in project["dynamic"]
    assert clusterwright.__version__[0].isdigit()
    with pytest.raises(AttributeError):
        _ = clusterwright.no_such_name

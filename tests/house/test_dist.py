"""`make dist` as a whole: everything that a release has, the same bytes twice, and the distributions' own checkers."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "tools" / "packages"
KINDS = {
    *("clusterwright-*-py3-none-any.whl", "clusterwright-*.cdx.json", "clusterwright-*.tar.gz", "wright.pyz"),
    *("clusterwright_*.deb", "clusterwright-*.rpm", "RELEASE-NOTES.md", "SHA256SUMS"),
}

pytestmark = [pytest.mark.long, pytest.mark.timeout(2400)]


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """The folders that two runs of tools/dist write, in two clones of the last commit, with other umasks."""
    folder = tmp_path_factory.mktemp("releases")
    builds = {folder / "one": 0o022, folder / "other": 0o077}
    for clone, umask in builds.items():
        command = ["git", "clone", "-q", "--depth", "1", "--no-tags", f"file://{ROOT}", clone]
        subprocess.run(command, check=True, timeout=120, umask=umask)
        (clone / ".venv").symlink_to(Path(sys.prefix))
    for clone, umask in builds.items():
        env = os.environ | {"PYTHONPATH": str(clone / "src")}
        subprocess.run([clone / "tools" / "dist"], check=True, env=env, timeout=1200, umask=umask)
    return folder / "one" / "dist", folder / "other" / "dist"


def test_a_release_has_every_file_and_two_have_the_same_bytes(releases):
    """The checksums are those of the files; the notes are those of the release."""
    one, other = (sorted(folder.iterdir()) for folder in releases)

    assert [path.name for path in one] == [path.name for path in other]
    assert [
        path.name for path, same in zip(one, other, strict=True) if path.read_bytes() != same.read_bytes()
    ] == []
    assert len(one) == len(KINDS)
    assert {kind for kind in KINDS if len(list(releases[0].glob(kind))) == 1} == KINDS
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=releases[0], check=True, timeout=60)
    assert "### Added" in (releases[0] / "RELEASE-NOTES.md").read_text()


def test_the_executable_prints_the_version_of_the_wheel(releases, tmp_path):
    """It unpacks itself into a folder of the user once."""
    [wheel] = releases[0].glob("*.whl")
    env = os.environ | {"SHIV_ROOT": str(tmp_path)}
    env.pop("PYTHONPATH", None)
    command = [sys.executable, releases[0] / "wright.pyz", "-V"]
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True, timeout=120)

    assert done.stdout.strip() == wheel.name.split("-")[1]


def test_the_packages_have_compiled_modules_for_each_python(releases):
    """Of the same modules for 3.11 to 3.14; nothing of the machine that built them."""
    [package] = releases[0].glob("*.deb")
    command = ["dpkg-deb", "-c", package]
    listing = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    compiled = re.findall(r"/(\w+)\.cpython-(\d+)-\S+\.so$", listing, re.MULTILINE)
    modules = {python: {name for name, one in compiled if one == python} for _, python in compiled}

    assert set(modules) == {"311", "312", "313", "314"}
    assert {"_pydantic_core", "ahocorasick_rs"} <= modules["311"]
    assert all(names == modules["311"] for names in modules.values())
    assert re.findall(r"\S*(?:RECORD|direct_url\.json|\.data/.*)$", listing, re.MULTILINE) == []


@pytest.mark.parametrize(("program", "file"), [("lintian", "*.deb"), ("rpmlint", "*.rpm")])
def test_the_distributions_own_checkers_accept_the_package(releases, program, file):
    """Each report that they may make has its reason in tools/packages."""
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed (apt-get install {program})")
    options = {"lintian": ["--allow-root"], "rpmlint": ["-c", TOOLS / "rpmlint.toml"]}
    command = [program, *options[program], *releases[0].glob(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    reports = re.findall(r"^(?:[EW]:|.*: [EW]:).*", done.stdout, re.MULTILINE)

    assert reports == []
    assert done.returncode == 0, done.stdout + done.stderr

"""The rules find nothing in the files that Clusterwright renders."""

from pathlib import Path

import pytest

from clusterwright.config.slurm_rules import KINDS, Source, check, parse_conf

RENDER = Path(__file__).parents[2] / "golden" / "render"
EXAMPLES = sorted(path.name for path in RENDER.iterdir() if (path / "all").is_dir())
RELEASES = sorted(path.name for path in (RENDER / "versions").iterdir() if path.is_dir())


def findings(files, release="26.05"):
    """Return what the rules find in these files of one host."""
    sources = [Source(path.name, path.name, path.read_text()) for path in files if path.name in KINDS]
    return [f"{one.code} {one.file}:{one.line} {one.message}" for one in check(parse_conf(sources, release))]


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("role", ["control", "compute"])
def test_rendered_files_of_a_host_have_no_findings(example, role):
    """All files of /etc/slurm on a controller and on a compute host."""
    folders = (RENDER / example / "all", RENDER / example / "roles" / role)
    files = {path.name: path for folder in folders for path in sorted((folder / "etc/slurm").glob("*.*"))}

    assert files
    assert findings(files.values()) == []


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("variant", ["", "v2"])
def test_rendered_files_of_each_release_have_no_findings(release, variant):
    """With control groups of version 1 and 2."""
    folder = RENDER / "versions" / release
    files = {path.name: path for path in (*folder.glob("*.*"), *(folder / variant).glob("*.*"))}

    assert findings(files.values(), release) == []

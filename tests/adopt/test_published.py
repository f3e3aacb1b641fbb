"""Published slurm.conf: described as a cluster file, rendered from it again, and compared by meaning."""

import sys
from pathlib import Path

import pytest

from clusterwright.adopt.site import describe
from clusterwright.config.slurm_rules import Source
from clusterwright.errors import WrightError

PUBLISHED = Path(__file__).parent.parent / "config" / "slurm_rules" / "public"
SITES = sorted(site.name for site in PUBLISHED.iterdir())
# What a cluster file cannot describe at all, with the reason.
UNFIT = {
    "01": "the partitions have other nodes than the NodeName lines",
    "05": "node names with dots",
    "25": "no NodeName line: its nodes register themselves",
}


def described(name):
    """The site of a published configuration."""
    folder = PUBLISHED / name
    version = (folder / "findings.txt").read_text().splitlines()[0]
    sources = [Source(path.name, path.name, path.read_text()) for path in sorted(folder.glob("*.conf"))]
    return describe(sources, version, name)


def same_meaning(name):
    """Whether a slurm.conf rendered from the cluster file means the same, and every line of it is in the file."""
    try:
        site = described(name)
    except WrightError as error:
        return f"{name}: {error.findings[0].message}"
    lines = [str(line) for line in site.adopted.left_out if line.file == "slurm.conf"]
    return "; ".join(f"{name}: {text}" for text in (*map(str, site.differences), *lines))


def test_published_configurations_round_trip(capsys):
    """Of forty published configurations all but three render to a slurm.conf of the same meaning."""
    failures = {name: why for name in SITES if (why := same_meaning(name))}

    with capsys.disabled():
        figure = f"{len(SITES) - len(failures)} of {len(SITES)} published slurm.conf round-trip"
        sys.stdout.write("\n  ".join(("\n" + figure, *failures.values(), "")))
    assert len(SITES) >= 40
    assert set(failures) == set(UNFIT)


@pytest.mark.parametrize("name", [name for name in SITES if name not in UNFIT])
def test_each_line_of_the_other_files_is_held_or_listed(name):
    """A line of gres.conf or cgroup.conf that no field holds is in the file with its place."""
    site = described(name)

    listed = [line for line in site.adopted.left_out if line.file != "slurm.conf"]
    for line in listed:
        text = (PUBLISHED / name / line.file).read_text().splitlines()[line.line - 1]
        assert text.partition("=")[0].strip().lower() == line.text.partition("=")[0].lower()
        assert f"{line.file}:{line.line}:" in site.text


def test_an_adopted_file_manages_no_role_and_is_valid():
    """The file loads, manages nothing, and sets no setting of ours."""
    site = described("33")

    assert site.cluster.manage == ()
    assert not site.cluster.manages("slurm")
    assert site.cluster.slurm.defaults == "slurm"
    assert "EnforcePartLimits" not in site.text

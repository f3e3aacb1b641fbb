"""Fixes of a cluster file that fit the file: its networks, the releases that exist, who owns it."""

import re
from errno import EACCES, ENOENT
from pathlib import Path

import pytest

from clusterwright.config.load import cluster_of, load_cluster, source_of
from clusterwright.config.reader import read
from clusterwright.errors import SpecError, unreadable_fix

EXAMPLES = Path(__file__).parents[2] / "examples"
LAB, CAMPUS = EXAMPLES / "lab" / "cluster.yaml", EXAMPLES / "university" / "cluster.yaml"


def findings_of(text):
    """Return what is wrong with a cluster file."""
    with pytest.raises(SpecError) as caught:
        cluster_of(read(text, "cluster.yaml"))
    return caught.value.findings


def test_a_file_without_permission_names_its_owner_as_the_fix(tmp_path):
    """And a folder in place of a file its entries; not a new file, for which there is no place."""
    file = tmp_path / "cluster.yaml"
    fix = unreadable_fix(PermissionError(EACCES, "Permission denied"), file, "another path")

    assert fix == f"ask its owner for read permission: `namei -l {file}` shows owner and mode"
    assert unreadable_fix(FileNotFoundError(ENOENT, "No such file"), file, "another path") == "another path"
    with pytest.raises(SpecError, match=rf"is a folder; name a file, such as one that `ls {tmp_path}` shows"):
        load_cluster(tmp_path)


def test_a_second_file_is_not_proposed_to_be_the_first(tmp_path):
    """A comparison of a file with itself shows nothing."""
    first = tmp_path / "cluster.yaml"
    first.write_text(LAB.read_text())
    with pytest.raises(SpecError, match=r"did you mean .*cluster\.yaml"):
        source_of(tmp_path / "cluster-old.yaml")
    with pytest.raises(SpecError, match="pass the path of a file that exists"):
        source_of(tmp_path / "cluster-old.yaml", other_than=first)


def test_an_address_is_downloaded_first():
    """A path of the same text has one slash less."""
    with pytest.raises(
        SpecError, match=r"download the file first: curl -fsSO https://example\.org/a/cluster\.yaml\n"
    ):
        load_cluster(Path("https://example.org/a/cluster.yaml"))


def test_markers_of_a_merge_have_their_own_fix():
    """The parser only knows that a line has no colon."""
    text = CAMPUS.read_text() + "<<<<<<< HEAD\nname: a\n=======\nname: b\n>>>>>>> x\n"
    finding, *_others = findings_of(text)

    number = len(CAMPUS.read_text().splitlines()) + 1
    assert finding.message == "the file has the markers of an unfinished merge"
    assert [place.line for place in finding.places] == [number, number + 2, number + 4]


@pytest.mark.parametrize(
    ("slurm", "fix"),
    [
        ("latest", '"26.05": 19.05, 20.02'),
        ('"23.11 or later"', '"26.05": 19.05, 20.02'),
        ("[1]", 'write a value such as slurm: "25.11"'),
    ],
)
def test_a_version_of_slurm_that_is_none_names_the_releases(slurm, fix):
    """A list is no number either."""
    text = re.sub("  slurm: .*", f"  slurm: {slurm}", CAMPUS.read_text())
    (finding,) = findings_of(text)

    assert fix in finding.fix


def test_missing_addresses_are_proposed_in_the_networks_of_the_file():
    """Each group gets others, which no host has."""
    text = re.sub("(?m)^    addresses: .*\n", "", CAMPUS.read_text())
    control, gpu = (finding for finding in findings_of(text) if finding.code == "missing-key")

    assert "management: 192.168.10.10, compute: 192.168.20.10, storage: 192.168.30.10" in control.fix
    assert "management: 192.168.10.11, compute: 192.168.20.11, storage: 192.168.30.11" in gpu.fix


def test_no_addresses_are_proposed_where_none_is_free():
    """Networks of six addresses have none for more hosts."""
    text = re.sub("(?m)^    addresses: .*\n", "", CAMPUS.read_text())
    text = re.sub(r"subnet: ([0-9.]+)/\d+", r"subnet: \1/29", text)
    fixes = [finding.fix for finding in findings_of(text) if finding.code == "missing-key"]

    assert [fix.split(" (")[0] for fix in fixes] == ["add `addresses: ...`"] * 2

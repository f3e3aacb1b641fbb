"""Each release of a distribution is one file, complete and sourced."""

import re
import sys
import tomllib
from dataclasses import asdict
from typing import get_type_hints

import pytest
from pydantic import TypeAdapter

from clusterwright.config.cluster import Cluster
from clusterwright.platforms import (
    DEFAULT,
    EXAMPLE,
    Platform,
    names_by_os_release,
    platform,
    platform_names,
    platforms,
)
from clusterwright.platforms.platform import FAMILIES, RELEASES


@pytest.mark.parametrize("name", platform_names())
def test_every_file_is_complete(name):
    """Every field has a value of its type, from the file or one that it is like."""
    values = asdict(platform(name))

    assert values["name"] == name
    for field, kind in get_type_hints(Platform).items():
        assert TypeAdapter(kind).validate_python(values[field], strict=True) == values[field], field


def test_the_default_and_the_example_have_a_file():
    """The schema offers them."""
    assert {DEFAULT, EXAMPLE} <= set(platform_names())
    assert Cluster.model_json_schema()["properties"]["os"]["enum"] == list(platform_names())


def test_every_name_that_differs_says_from_where():
    """A name that is the same everywhere needs no line; one without a source is a guess."""
    texts = [file.read_text() for file in (*FAMILIES.glob("*.toml"), *RELEASES.glob("*.toml"))]
    tables = [tomllib.loads(text).get(kind, {}) for text in texts for kind in ("packages", "units", "paths")]
    sourced = {name for text in texts for name in re.findall(r'(?m)^"?([\w./-]+)"? = .* # .', text)}
    rows = [row for table in tables for row in table.items()]

    assert len(rows) > 20
    assert [name for name, own in rows if own in (name, [name])] == []
    assert {name for name, _own in rows} <= sourced


@pytest.mark.parametrize(("os", "unit"), [("rocky-9", "sshd.service"), ("ubuntu-22.04", "ssh.service")])
def test_a_unit_has_its_own_name(os, unit):
    """And what is in no row has Debian's."""
    assert platform(os).unit("ssh.service") == unit
    assert platform(os).unit("munge.service") == "munge.service"


@pytest.mark.parametrize("os", platform_names())
def test_every_system_of_the_file_is_of_a_family(os):
    """Rocky and Alma have dnf, all others apt."""
    rhel = os.startswith(("rocky", "alma"))

    assert platform(os).family == ("rhel" if rhel else "debian")
    assert platform(os).package_manager == ("dnf" if rhel else "apt")


def test_a_release_differs_from_the_one_it_is_like_only_by_what_its_file_says():
    """AlmaLinux is Rocky Linux under other names."""
    rocky, alma = asdict(platform("rocky-9")), asdict(platform("alma-9"))
    differing = {key for key, value in rocky.items() if value != alma[key]}

    assert differing == {"name", "os_release_id", "ntp_pool", "container_image"}


def test_what_a_host_calls_itself_names_one_release():
    """Two files with the same ID and version could not be told apart."""
    assert len(names_by_os_release()) == len(platforms())
    assert names_by_os_release()["almalinux-9"] == "alma-9"


@pytest.mark.parametrize(
    ("os", "version", "has"),
    [("debian-12", "22.05", True), ("debian-12", "22.05.8", True), ("debian-12", "22.050", False)],
)
def test_a_version_of_its_own_release_is_its_own(os, version, has):
    """22.05.8 is of 22.05."""
    assert platform(os).has_slurm(version) == has


@pytest.mark.parametrize(("line", "says"), [("lab_suit = 1", "lab_suit"), ("", "has_selinux")])
def test_a_field_that_is_unknown_or_missing_is_refused(tmp_path, monkeypatch, line, says):
    """By its name. No seam: the folder is the package's own."""
    monkeypatch.setattr(sys.modules[Platform.__module__], "RELEASES", tmp_path)
    like = 'like = "rhel"\n' if line else ""
    (tmp_path / "fakeos-1.toml").write_text(f"{like}{line}\n")

    with pytest.raises(TypeError, match=says):
        platform.__wrapped__("fakeos-1")

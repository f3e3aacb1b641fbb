"""The node image's sources and name."""

import pytest

from clusterwright.errors import WrightError
from clusterwright.lab import image

DEB822 = """Types: deb
# a snapshot
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://third.example/nodejs
Suites: nodistro
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
"""
ONE_LINE = """# deb http://commented.example bookworm main
deb [arch=amd64 signed-by=/x.gpg] http://mirror.example/debian bookworm main non-free
deb http://mirror.example/security bookworm-security main
deb-src http://mirror.example/debian bookworm main
deb http://third.example/docker bookworm stable
"""
SIGNED = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"


def test_debian_comes_from_where_this_machine_gets_it():
    """Only Debian 12's main, whatever else is listed or switched off."""
    found = image.sources(
        {"/etc/apt/sources.list": ONE_LINE, "/etc/apt/sources.list.d/debian.sources": DEB822}, "bookworm"
    )

    assert found == (
        f"{SIGNED} http://mirror.example/debian bookworm main",
        f"{SIGNED} http://mirror.example/security bookworm-security main",
        f"{SIGNED} http://mirror.example/debian bookworm-updates main",
    )


def test_another_release_comes_from_the_same_mirrors():
    """Trixie with its updates and its security fixes."""
    found = image.sources({"/etc/apt/sources.list": ONE_LINE}, "trixie")

    assert [line.split()[3] for line in found] == ["trixie", "trixie-security"]


def test_another_kind_of_machine_names_no_mirror():
    """As on Ubuntu, whose own sources hold no Debian: mmdebstrap knows Debian's mirrors."""
    assert (
        image.sources({"/etc/apt/sources.list": "deb http://archive.example/ubuntu jammy main"}, "bookworm")
        == ()
    )


def test_another_recipe_is_another_image(monkeypatch):
    """The constant is what a developer would edit: no argument stands for it."""
    before = image.digest("debian-12")
    monkeypatch.setattr(image, "PACKAGES", (*image.PACKAGES, "hello"))

    assert len({before, image.digest("debian-12"), image.digest("debian-13")}) == 3


def test_an_image_that_is_there_is_not_built(tmp_path):
    """Found by its name."""
    assert image.ready("debian-12", tmp_path) is None
    (tmp_path / image.digest("debian-12")).mkdir()

    assert image.build("debian-12", pytest.fail, images=tmp_path) == tmp_path / image.digest("debian-12")


def test_enough_space_is_no_error(tmp_path, monkeypatch):
    """A limit beyond any disk shows that the check looks."""
    image.check_space(tmp_path)
    monkeypatch.setattr(image, "SPACE_BYTES", 2**70)

    with pytest.raises(WrightError, match="no-space"):
        image.check_space(tmp_path)

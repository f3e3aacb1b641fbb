"""Which Slurm goes with which operating system, and where its packages come from."""

import pytest
from ruamel.yaml import YAML

from clusterwright.config.load import load_cluster
from clusterwright.errors import SpecError
from clusterwright.platforms import platforms

LAB = "examples/lab/cluster.yaml"
REPOSITORY = {"slurm": {"url": "https://packages.example.org/slurm", "unsigned": True}}


@pytest.fixture
def said(tmp_path, pytestconfig):
    """Message and fix for an operating system, a Slurm and repositories; none where the file is good."""

    def say(os, slurm, repositories=None):
        yaml = YAML()
        document = yaml.load(pytestconfig.rootpath / LAB)
        del document["lab"]
        document["os"] = os
        if os != "debian-13":  # which has no other than v2; Slurm 21.08 has no other than v1
            document["slurm"]["cgroup"] = "v1"
        document["software"] = {"slurm": slurm, "repositories": repositories or {}}
        yaml.dump(document, tmp_path / "cluster.yaml")
        try:
            load_cluster(tmp_path / "cluster.yaml")
        except SpecError as error:
            return [(found.code, found.message, found.fix) for found in error.findings]
        return []

    return say


@pytest.mark.parametrize(("os", "own"), [(one.name, one.slurm) for one in platforms()])
def test_the_distributions_own_slurm_needs_no_repository(said, os, own):
    """Where it is one that we can set up; older ones are refused, and the fix does not offer them."""
    findings = said(os, own)

    assert bool(findings) == (own < "21.08")
    assert all("the oldest is 21.08" in message and own not in fix for _code, message, fix in findings)


def test_another_slurm_needs_a_repository_that_is_named(said):
    """Both ways out are offered: name one, or take the distribution's own."""
    [(code, message, fix)] = said("ubuntu-22.04", "25.11")

    assert code == "slurm-no-package"
    assert "for ubuntu-22.04, which itself has 21.08" in message
    assert (
        fix
        == 'add a repository with packages of this Slurm version to `software.repositories`, or set `slurm: "21.08"`'
    )
    assert said("ubuntu-22.04", "25.11", REPOSITORY) == []


def test_a_slurm_that_nobody_packs_for_debian_is_refused(said):
    """Slurm's own deb packaging begins with 23.11; its rpm packaging is older."""
    [(_code, message, fix)] = said("debian-12", "23.02", REPOSITORY)

    assert "deb packages start with 23.11" in message
    assert 'set `slurm: "22.05"`' in fix
    assert said("rocky-8", "23.02", REPOSITORY) == []


@pytest.mark.parametrize("url", ["ftp://x", "https://user:secret@x/y", "https://x/$(reboot)", "file:x"])
def test_an_address_is_an_address(said, url):
    """No password lies in a file that everybody reads, and no shell's words."""
    [(code, _message, _mend)] = said("debian-12", "25.11", {"slurm": {"url": url}})

    assert code == "bad-name"


def test_a_key_is_a_public_key_as_text(said):
    """A path, a private key or a key without its end is refused."""
    begin, end = "-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----"
    good = f"{begin}\n\nmQENBF\n{end}\n"
    private = good.replace("PUBLIC", "PRIVATE")
    codes = [
        [code for code, *_ in said("debian-12", "25.11", {"a": {"url": "https://x", "key": key}})]
        for key in (good, "/etc/key", private, f"{begin}\nmQENBF\n")
    ]

    assert codes == [[], ["bad-key"], ["bad-key"], ["bad-key"]]

"""A cluster file that was found and not named."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.cli._found_file import require_trusted
from clusterwright.errors import WrightError

WRIGHT = (sys.executable, "-m", "clusterwright")
CLUSTER = (Path(__file__).parents[2] / "examples/university/cluster.yaml").read_text()
LAB = (Path(__file__).parents[2] / "examples/lab/cluster.yaml").read_text()
MALLORY = 64001


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """The current folder, a git repository of a stranger with an ssh_config that starts a program."""
    folder = tmp_path / "clone"
    (folder / ".git").mkdir(parents=True)
    (folder / "site").mkdir()
    (folder / "evil").write_text(f"Host *\n  ProxyCommand sh -c 'touch {tmp_path}/ran'\n")
    (folder / "site/link").symlink_to("../evil")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("CLUSTERWRIGHT_CLUSTER", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return folder


@pytest.fixture
def ssh_folder(tmp_path):
    """The folder .ssh of the user's home."""
    folder = tmp_path / "home/.ssh"
    folder.mkdir(parents=True)
    return folder


def write_cluster(folder, config):
    """A cluster file with this ssh_config file."""
    text = "".join(line for line in CLUSTER.splitlines(keepends=True) if not line.startswith("ssh:"))
    (folder / "cluster.yaml").write_text(f"{text}\nssh: {{user: root, config: {config}}}\n")
    return folder / "cluster.yaml"


@pytest.mark.parametrize("config", ["/proc/self/cwd/evil", "/proc/self/cwd/site/link", "{clone}/evil"])
def test_a_found_file_brings_no_programs_of_ssh(clone, tmp_path, config):
    """Neither by the current folder of ssh nor by a link; the same file starts them once it is named."""
    write_cluster(clone, config.format(clone=clone))
    jobs = [*WRIGHT, "jobs"]

    found = subprocess.run(jobs, capture_output=True, text=True, check=False)
    assert "error[cluster-file-untrusted]" in found.stderr
    assert not (tmp_path / "ran").exists()
    subprocess.run([*jobs, "--cluster", "cluster.yaml"], capture_output=True, check=False)
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("mark", [None, "clone/.git", ".git", "clone/site/.git"])
@pytest.mark.parametrize(
    "config",
    [
        "{clone}/evil",
        "{clone}/../evil",
        "{clone}/site/link",
        "{home}/.ssh/../../clone/evil",
        "/proc/self/cwd/evil",  # wright train site/job.yaml
    ],
)
def test_no_tree_around_a_found_file_brings_programs(clone, tmp_path, mark, config):
    """An unpacked archive, a repository around it, and a submodule (whose .git is a file), each with a parent."""
    (clone / ".git").rmdir()
    (tmp_path / "evil").write_text("")
    if mark:
        (tmp_path / mark).touch()
    file = write_cluster(clone / "site", config.format(clone=clone, home=tmp_path / "home"))

    with pytest.raises(WrightError, match="can start programs"):
        require_trusted(file)


def test_an_escape_does_not_hide_the_field(clone):
    """YAML has escapes in quoted keys."""
    file = write_cluster(clone, clone / "evil")
    file.write_text(file.read_text().replace("config:", '"con\\x66ig":'))
    with pytest.raises(WrightError, match="can start programs"):
        require_trusted(file)


def test_an_ssh_config_of_the_user_or_of_root_is_used(clone, ssh_folder):
    """Also by a link that the user made; and a cluster file without one, and one of a lab."""
    (ssh_folder / "site").write_text("")
    (ssh_folder / "dotfiles").symlink_to(clone / "evil")
    for config in (ssh_folder / "site", ssh_folder / "dotfiles", "/etc/ssh/ssh_config"):
        assert require_trusted(write_cluster(clone, config)) is None
    (clone / "cluster.yaml").write_text(CLUSTER)
    assert require_trusted(clone / "cluster.yaml") is None
    (clone / "cluster.yaml").write_text(LAB)
    assert require_trusted(clone / "cluster.yaml") is None


def test_a_pipe_is_no_cluster_file(clone):
    """A command would wait for it without end."""
    os.mkfifo(clone / "cluster.yaml")
    with pytest.raises(WrightError, match="a pipe"):
        require_trusted(clone / "cluster.yaml")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
def test_a_file_of_another_user_is_not_found(clone, ssh_folder):
    """Whether the file, its folder or its ssh_config is that user's."""
    file = write_cluster(clone, ssh_folder / "site")
    (ssh_folder / "site").write_text("")
    for path in (file, clone, ssh_folder / "site"):
        require_trusted(file)
        os.chown(path, MALLORY, MALLORY)
        with pytest.raises(WrightError, match="another user can change") as refused:
            require_trusted(file)
        assert f"can change {path}" in str(refused.value).replace("\n", " ")
        os.chown(path, 0, 0)

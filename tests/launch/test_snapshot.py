"""The code of a run is what it was when the run was submitted."""

import io
import os
import subprocess
import tarfile

import pytest

from clusterwright.config.job import Code
from clusterwright.errors import WrightError
from clusterwright.launch import snapshot as module
from clusterwright.launch.snapshot import check_folder, snapshot


@pytest.fixture
def code(tmp_path):
    """A folder with a program, a module in a folder, and what does not belong to it."""
    for name, text in {
        "train.py": "print(1)", "lib/model.py": "x = 1", "__pycache__/a.pyc": "", "data/big.bin": "0" * 5000,
        "out.log": "x",
    }.items():  # fmt: skip
        path = tmp_path / "code" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "code"


def of(folder=".", **more):
    """The section of a job."""
    return Code.model_validate({"folder": str(folder), **more}, strict=False)


def test_a_folder_goes_whole_but_for_leavings(code):
    """A relative one begins beside the job file."""
    assert snapshot(of("code"), code.parent).names == {"train.py", "lib/model.py", "data/big.bin", "out.log"}


def test_git_tells_what_belongs_to_it(code):
    """What it ignores stays behind; what is new and not ignored comes along."""
    subprocess.run(["git", "init", "-q"], cwd=code, check=True)
    (code / ".gitignore").write_text("data\n*.log\n__pycache__\n")

    assert snapshot(of(), code).names == {".gitignore", "train.py", "lib/model.py"}


def test_names_and_paths_can_be_left_out(code):
    """At any depth by a name, from the top by a path."""
    assert snapshot(of(exclude=["*.log", "data/", "lib/model.py"]), code).names == {"train.py"}


def test_the_same_files_have_the_same_digest(code):
    """Whenever they were written; another byte or another right gives another."""
    first = snapshot(of(), code)
    os.utime(code / "train.py", (1, 1))
    again = snapshot(of(), code)
    (code / "train.py").write_text("print(2)")

    assert (first.digest, first.data) == (again.digest, again.data)
    assert snapshot(of(), code).digest != first.digest


def test_what_is_unpacked_is_what_was_packed(code, tmp_path):
    """Rights to run are kept; a link is the file that it names."""
    (code / "train.py").chmod(0o755)
    (code / "same.py").symlink_to("train.py")
    made = snapshot(of(), code)
    made.unpack(tmp_path / "there")

    assert (tmp_path / "there" / "same.py").read_text() == "print(1)"
    assert (tmp_path / "there" / "train.py").stat().st_mode & 0o111
    with tarfile.open(fileobj=io.BytesIO(made.data)) as tar:
        assert {entry.mtime for entry in tar} == {0}


def test_too_much_is_refused_with_the_largest(code):
    """And with the ways to leave it out."""
    with pytest.raises(WrightError, match=r"data/big\.bin") as refused:
        snapshot(of(limit="4KiB"), code)

    assert refused.value.findings[0].code == "code-too-large"
    assert ".gitignore" in refused.value.findings[0].fix


@pytest.mark.parametrize(("folder", "more"), [("nowhere", {}), (".", {"exclude": ["*"]})])
def test_no_folder_and_an_empty_one_are_refused(code, folder, more):
    """Before anything is submitted."""
    with pytest.raises(WrightError) as refused:
        snapshot(of(folder, **more), code)

    assert refused.value.findings[0].code == "code-folder"


def test_a_link_out_of_the_folder_is_refused(code, tmp_path):
    """A repository could publish the user's private key; a link within the folder is copied as its file."""
    (tmp_path / "id_ed25519").write_text("PRIVATE")
    (code / "same.py").symlink_to("train.py")
    assert "same.py" in snapshot(of("code"), code.parent).names

    for target in ("../id_ed25519", str(tmp_path / "id_ed25519")):
        (code / "data" / "notes.txt").symlink_to(target if target.startswith("/") else f"../{target}")
        with pytest.raises(WrightError, match="is a link to"):
            snapshot(of("code"), code.parent)
        assert "data/notes.txt" not in snapshot(of("code", exclude=["data"]), code.parent).names
        (code / "data" / "notes.txt").unlink()
    (code / "up").symlink_to("..")
    assert not any("ed25519" in name for name in snapshot(of("code"), code.parent).names)


def test_a_job_file_names_no_folder_elsewhere(code, tmp_path, monkeypatch):
    """Neither a private one, nor the home or what is above it, nor by a link or the settings of a repository."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (code / "keys").symlink_to("../.ssh")
    (code / ".git").mkdir()
    (code / ".git" / "config").write_text("[core]\n\tworktree = /\n")
    for folder in (tmp_path / ".ssh", "../.ssh", "..", "../..", "/", "/etc", "keys"):
        with pytest.raises(WrightError) as refused:
            check_folder(of(folder), code)

        assert refused.value.findings[0].code == "code-folder-outside"


def test_folders_of_the_job_file_s_project_are_allowed(code, monkeypatch):
    """Its own, those below it, and others of its repository."""
    monkeypatch.setenv("HOME", "/nowhere")
    (code / "jobs").mkdir()
    (code / ".git").mkdir()

    for base, folder in (
        (code, "."),
        (code, "lib"),
        (code / "jobs", ".."),
        (code / "jobs", "../lib"),
        (code / "jobs", code),
    ):
        assert check_folder(of(folder), base) is None


@pytest.mark.parametrize("folder", [".", "code", ".config", "code/lib"])
@pytest.mark.parametrize("is_above", [False, True])
def test_a_job_file_in_the_home_copies_nothing(code, monkeypatch, folder, is_above):
    """Saved there as somebody asked for it, it would publish the settings of all programs, with their tokens."""
    home = code if is_above else code.parent
    monkeypatch.setenv("HOME", str(home))

    with pytest.raises(WrightError, match="in your home") as refused:
        check_folder(of(folder), code.parent)

    assert refused.value.findings[0].code == "code-folder-outside"


def test_a_job_file_among_the_settings_of_programs_copies_nothing(code, monkeypatch):
    """Hidden names begin above the folder; a repository has a list of its files."""
    monkeypatch.setenv("HOME", str(code.parent))
    settings = code.parent / ".config" / "gh"
    settings.mkdir(parents=True)
    for base, folder in ((settings, "."), (settings.parent, "."), (settings.parent, "gh")):
        with pytest.raises(WrightError, match="in your home"):
            check_folder(of(folder), base)

    (settings / ".git").mkdir()
    assert check_folder(of("."), settings) is None


def test_outside_of_git_nothing_hidden_is_copied(code):
    """Tokens and passwords of programs, and files that are named as keys; no list of names is complete."""
    for name in (
        ".config/gh/hosts.yml",
        ".config/git/credentials",
        ".cache/huggingface/token",
        ".pypirc",
        ".npmrc",
        ".vault-token",
        ".my.cnf",
        ".env",
        ".bash_history",
        ".unknown-program/token",
        "lib/.unknown-program/token",
        "id_ecdsa_sk",
        "id_ed25519_work",
        "work_key.pem",
        "lib/tls.key",
    ):
        (code / name).parent.mkdir(parents=True, exist_ok=True)
        (code / name).write_text("PRIVATE")

    assert snapshot(of(), code).names == {"train.py", "lib/model.py", "data/big.bin", "out.log"}


@pytest.mark.parametrize("is_repository", [False, True])
def test_folders_above_the_project_are_not_the_job_file_s(code, tmp_path, monkeypatch, is_repository):
    """They contain the user's other projects."""
    monkeypatch.setenv("HOME", "/nowhere")
    (code / "jobs").mkdir()
    if is_repository:
        (code / ".git").mkdir()

    for base, folder in (
        (code, ".."),
        (code, tmp_path),
        (code / "jobs", "../.."),
        *([] if is_repository else [(code / "jobs", "..")]),
    ):
        with pytest.raises(WrightError) as refused:
            check_folder(of(folder), base)

        assert refused.value.findings[0].code == "code-folder-outside"


@pytest.mark.parametrize("target", ["secrets.env", "notes.env", ".git/config", "data/more.env"])
@pytest.mark.parametrize("with_git", [False, True])
def test_a_link_copies_no_file_that_is_not_copied_by_its_own_name(code, with_git, target):
    """A private file, one that git or the job file leaves out, and the password in the settings of a repository."""
    if with_git:
        subprocess.run(["git", "init", "-q"], cwd=code, check=True)
        (code / ".gitignore").write_text("*.env\n")
    target = target if with_git or not target.startswith(".git/") else "deep/.git"
    (code / target).parent.mkdir(exist_ok=True)
    (code / target).touch()
    (code / "lib" / "data.txt").symlink_to(f"../{target}")

    with pytest.raises(WrightError, match="is a link to"):
        snapshot(of(exclude=[] if with_git else ["*.env"]), code)


def test_the_files_of_a_repository_are_those_that_git_lists_or_none(code):
    """A repository that git cannot read would be copied with its ignored files."""
    subprocess.run(["git", "init", "-q"], cwd=code, check=True)
    (code / ".gitignore").write_text("*.env\n")
    (code / "own.env").touch()
    (code / ".git" / "index").write_text("damaged")

    for folder in (code, code / "lib"):
        with pytest.raises(WrightError, match="git cannot list"):
            snapshot(of(), folder)


def test_a_file_that_is_exchanged_meanwhile_leads_nowhere_else(code, tmp_path, monkeypatch):
    """Another user who may write in the folder puts a link in place of a file that was checked."""
    (tmp_path / "id_rsa").write_text("PRIVATE")
    check_size = module._check_size

    def exchange(*arguments):
        check_size(*arguments)
        (code / "train.py").unlink()
        (code / "train.py").symlink_to(tmp_path / "id_rsa")

    # Between check and copy there is no seam.
    monkeypatch.setattr(module, "_check_size", exchange)
    with pytest.raises(OSError, match="lies outside"):
        snapshot(of(), code)


@pytest.mark.parametrize("with_git", [False, True])
def test_keys_are_never_copied(code, with_git):
    """Whether or not git tracks them."""
    for name in (
        ".ssh/id_ed25519",
        "sub/.aws/credentials",
        ".netrc",
        ".config/gcloud/credentials.db",
        "id_rsa",
        "id_ed25519_sk",
        ".env",
    ):
        (code / name).parent.mkdir(parents=True, exist_ok=True)
        (code / name).write_text("PRIVATE")
    if with_git:
        subprocess.run("git init -q && git add -f .", cwd=code, check=True, shell=True)

    private = ("ssh", "aws", "netrc", "gcloud", "id_", "env")
    assert not any(text in name for name in snapshot(of(), code).names for text in private)


def test_a_repository_names_no_program_to_run(code, tmp_path):
    """Git would execute `core.fsmonitor` to list files."""
    subprocess.run(["git", "init", "-q"], cwd=code, check=True)
    (tmp_path / "monitor").write_text(f"#!/bin/sh\ntouch {tmp_path}/executed\n")
    (tmp_path / "monitor").chmod(0o755)
    subprocess.run(["git", "config", "core.fsmonitor", str(tmp_path / "monitor")], cwd=code, check=True)
    snapshot(of(), code)

    assert not (tmp_path / "executed").exists()


def test_a_repository_fetches_nothing(code, tmp_path):
    """A partial clone fetches objects that it lacks, and its own settings name the program for that."""
    (tmp_path / "remote").write_text(f"touch {tmp_path}/executed\n")
    commands = f"""set -e
        git init -q; git add .; git -c user.name=x -c user.email=x@localhost commit -q -m x
        git sparse-checkout set --cone --sparse-index lib
        tree=$(git rev-parse HEAD:data)
        rm .git/objects/$(echo "$tree" | cut -c 1-2)/$(echo "$tree" | cut -c 3-)
        git config core.repositoryformatversion 1; git config extensions.partialClone origin
        git config remote.origin.promisor true; git config protocol.ext.allow always
        git config remote.origin.url "ext::sh {tmp_path}/remote"
    """
    subprocess.run(commands, cwd=code, check=True, shell=True)
    subprocess.run([*module.GIT, "."], cwd=code, check=False, capture_output=True)
    assert (tmp_path / "executed").exists()
    (tmp_path / "executed").unlink()

    assert "lib/model.py" in snapshot(of(), code).names
    assert not (tmp_path / "executed").exists()


def test_a_virtual_environment_is_left_out_whatever_its_name(code):
    """Its links lead out of the folder, and its packages are not the user's code."""
    (code / "env311" / "bin").mkdir(parents=True)
    (code / "env311" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (code / "env311" / "bin" / "python").symlink_to("/usr/bin/python3")

    assert not any(name.startswith("env311") for name in snapshot(of("code"), code.parent).names)

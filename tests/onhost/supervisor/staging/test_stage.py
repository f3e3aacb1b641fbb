"""Data copied to local scratch: once for a team, whole or not at all, room made by age."""

import os
import stat
import subprocess
import threading

import pytest

from clusterwright.onhost.supervisor.staging import stage as staging
from clusterwright.onhost.supervisor.staging import store
from clusterwright.onhost.supervisor.staging.manifest import manifest_of
from clusterwright.onhost.supervisor.staging.store import Store


@pytest.fixture(autouse=True)
def umask():
    """What the program sets for itself, it sets for this process, too."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def source(tmp_path):
    """A folder with files, a folder in it and a link."""
    folder = tmp_path / "text"
    (folder / "sub").mkdir(parents=True)
    (folder / "one").write_bytes(b"1" * 10_000)
    (folder / "sub" / "a b").write_bytes(b"2")
    (folder / "link").symlink_to("one")
    return folder


@pytest.fixture
def place(tmp_path):
    """`place(job)` is a scratch as the prolog leaves it for that job."""

    def make(job):
        scratch = tmp_path / "scratch"
        (scratch / "jobs" / job).mkdir(parents=True, exist_ok=True)
        (scratch / "staged" / str(os.getgid())).mkdir(parents=True, exist_ok=True)
        return scratch

    return make


@pytest.fixture
def kept(place):
    """`kept(job)` is the team's store for that job."""
    return lambda job: Store(str(place(job) / "staged" / str(os.getgid())), str(place(job) / "jobs"), job)


def test_a_job_finds_its_data_behind_its_prefix(source, place, capfd):
    """Under the path that it has on shared storage, with times, links and nothing to write to."""
    scratch = place("7")
    staging.stage(str(scratch), "7", [str(source)])

    seen = scratch / "jobs/7/data" / str(source).lstrip("/")
    assert (seen / "one").read_bytes() == b"1" * 10_000
    assert (seen / "sub" / "a b").read_bytes() == b"2"
    assert os.readlink(seen / "link") == "one"
    assert int((seen / "one").stat().st_mtime) == int((source / "one").stat().st_mtime)
    assert not stat.S_IMODE((seen / "one").stat().st_mode) & 0o222
    assert "2 files, 0.0 MB, copied in" in capfd.readouterr().out


def test_the_next_job_of_the_team_copies_nothing(source, place, capfd):
    """The same file, by its inode."""
    for job in ("7", "8"):
        staging.stage(str(place(job)), job, [str(source)])
    files = [place(job) / "jobs" / job / "data" / str(source).lstrip("/") / "one" for job in ("7", "8")]

    assert files[0].stat().st_ino == files[1].stat().st_ino
    assert "already on this host" in capfd.readouterr().out


def test_data_that_changed_is_another_copy(source, kept):
    """The job that reads the old one keeps it."""
    old, _ = kept("7").find(str(source), manifest_of(str(source)))
    (source / "one").write_bytes(b"new")
    new, was_there = kept("8").find(str(source), manifest_of(str(source)))

    assert not was_there
    assert os.path.getsize(f"{old}/one") == 10_000
    assert os.path.getsize(f"{new}/one") == 3


def test_a_copy_that_somebody_changed_is_made_anew(source, kept):
    """Sizes and times tell."""
    copy, _ = kept("7").find(str(source), manifest_of(str(source)))
    os.chmod(f"{copy}/one", 0o600)
    with open(f"{copy}/one", "a") as file:
        file.write("more")
    again, was_there = kept("8").find(str(source), manifest_of(str(source)))

    assert not was_there
    assert os.path.getsize(f"{again}/one") == 10_000


def test_the_longest_unused_goes_when_room_is_short_and_what_a_job_uses_stays(
    source, kept, monkeypatch, tmp_path
):
    """Three copies fit; the fourth takes the place of the oldest that no job uses."""
    found = {}
    for number, job in enumerate(("1", "2", "3")):
        (source / "one").write_bytes(b"x" * (10_000 + number))
        found[job], _ = kept(job).find(str(source), manifest_of(str(source)))
        os.utime(os.path.join(os.path.dirname(found[job]), "jobs"), (number, number))
    (tmp_path / "scratch/jobs/2").rmdir()
    (tmp_path / "scratch/jobs/3").rmdir()
    (source / "one").write_bytes(b"y" * 10_000)
    wanted = manifest_of(str(source))

    def free(self):  # a disk that holds three: no file system of that size is at hand
        there = sum(
            manifest_of(f"{self.folder}/{name}/data").disk_bytes
            for name in os.listdir(self.folder)
            if name[0] != "."
        )
        return store.LEFT_OVER + 3 * wanted.disk_bytes - there

    monkeypatch.setattr(Store, "free", free)
    kept("4").find(str(source), wanted)

    assert [os.path.exists(found[job]) for job in ("1", "2", "3")] == [True, False, True]


def test_a_full_disk_is_named_before_anything_is_copied(source, place, monkeypatch, capfd):
    """With the room that is wanted, the room that there is, and the fix; what is there stays."""
    monkeypatch.setattr(Store, "free", lambda _self: store.LEFT_OVER + 4096)
    monkeypatch.setenv("SLURM_JOB_ID", "9")
    code = staging.main([str(place("9")), str(source)])
    said = capfd.readouterr().err

    assert code == 1
    assert f"{source} needs 0.0 MB and" in said
    assert "Nothing was copied" in said
    assert "fix:" in said
    assert [name for name in os.listdir(place("9") / "staged" / str(os.getgid())) if name[0] != "."] == []


def test_a_copy_that_is_cut_short_leaves_nothing(source, kept, monkeypatch):
    """Nothing that a later job could take for the data."""
    monkeypatch.setattr(
        store, "copy_file", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(OSError, match="No space left"):
        kept("7").find(str(source), manifest_of(str(source)))

    assert os.listdir(kept("7").folder) == []


def test_what_a_killed_copy_left_is_taken_away(source, kept):
    """By the next one of the team."""
    left = os.path.join(kept("7").folder, ".part-6")
    os.makedirs(left + "/data")
    kept("7").find(str(source), manifest_of(str(source)))

    assert not os.path.exists(left)


def test_data_that_changes_while_it_is_copied_is_refused(source, kept, monkeypatch):
    """The copy would be of no moment."""
    real = store.copy_file

    def slow(start, data, path):
        real(start, data, path)
        (source / "late").write_text("x")

    monkeypatch.setattr(store, "copy_file", slow)
    with pytest.raises(OSError, match="was changed while"):
        kept("7").find(str(source), manifest_of(str(source)))

    assert os.listdir(kept("7").folder) == []


def test_two_jobs_at_once_copy_once(source, place, capfd):
    """The second waits, and finds it."""
    jobs = [
        threading.Thread(target=staging.stage, args=(str(place(job)), job, [str(source)])) for job in "78"
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(20)
    said = capfd.readouterr().out

    assert (said.count("copied in"), said.count("already on this host")) == (1, 1)


def test_a_file_that_the_team_may_not_read_stays_the_owners(source, kept):
    """A copy gives nobody more than the source did."""
    (source / "one").chmod(0o600)
    copy, _ = kept("7").find(str(source), manifest_of(str(source)))

    assert stat.S_IMODE(os.stat(f"{copy}/one").st_mode) == 0o400


def test_without_the_prologs_places_the_reason_is_told(source, tmp_path, monkeypatch, capfd):
    """And what brings them."""
    monkeypatch.setenv("SLURM_JOB_ID", "9")

    assert staging.main([str(tmp_path / "nowhere"), str(source)]) == 1
    assert "slurm.health: true" in capfd.readouterr().err


def test_a_folder_that_is_not_there_is_named(place, monkeypatch, capfd):
    """With the host."""
    monkeypatch.setenv("SLURM_JOB_ID", "9")
    monkeypatch.setenv("SLURMD_NODENAME", "gpu7")

    assert staging.main([str(place("9")), "/nowhere/data"]) == 1
    assert "stage: gpu7:" in capfd.readouterr().err


def test_a_lock_that_is_never_released_ends_the_wait(kept):
    """The error names the lock and how to find its holder."""
    mine, theirs = kept("7"), kept("8")
    with (
        theirs.exclusive(),
        pytest.raises(OSError, match=r"another process of the team holds .*/\.lock"),
        mine.exclusive(0.3),
    ):
        pass
    with mine.exclusive(0.3):
        pass


@pytest.mark.skipif(os.getuid() != 0, reason="needs another account")
def test_nobody_else_replaces_own_copies(source, place, tmp_path, monkeypatch):
    """A member of the team moves the copy of the team away and puts another one in its place; own copies stay."""
    scratch = place("7")
    own = scratch / "staged" / f"user-{os.getuid()}"
    own.mkdir(mode=0o700)
    (scratch / "staged" / str(os.getgid())).chmod(0o2770)
    for parent in (tmp_path, *tmp_path.parents[:-1]):
        parent.chmod(parent.stat().st_mode | 0o111)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    (tmp_path / "more").mkdir()
    assert staging.main([str(scratch), str(source)]) == 0
    assert staging.main(["--private", str(scratch), str(tmp_path / "more")]) == 0

    def replaces(folder):
        take = ["setpriv", "--reuid", "41001", "--regid", str(os.getgid()), "--clear-groups"]
        script = 'for copy in "$1"/*-*; do mv "$copy" "$copy.old" && mkdir "$copy" && exit 0; done; exit 1'
        return (
            subprocess.run([*take, "sh", "-c", script, "sh", str(folder)], check=False, timeout=60).returncode
            == 0
        )

    assert list(own.glob("more-*"))
    assert replaces(scratch / "staged" / str(os.getgid()))
    assert not replaces(own)
    assert [path.name.startswith("more-") for path in own.iterdir() if not path.name.startswith(".")] == [
        True
    ]


def test_own_copies_are_apart_from_those_of_the_team(source, place, capfd):
    """Neither uses the other's."""
    scratch = place("7")
    (scratch / "staged" / f"user-{os.getuid()}").mkdir(mode=0o700)
    staging.stage(str(scratch), "7", [str(source)])
    place("8")
    staging.stage(str(scratch), "8", [str(source)], private=True)
    link = scratch / "jobs/8/data" / str(source).lstrip("/")

    assert capfd.readouterr().out.count("copied in") == 2
    assert f"/staged/user-{os.getuid()}/" in os.readlink(link)

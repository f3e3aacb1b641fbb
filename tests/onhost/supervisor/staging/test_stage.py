"""Data copied to local scratch: once for a user, or for a team that wants it; whole or not at all, room made by age."""

import os
import shutil
import stat
import struct
import subprocess
import threading

import pytest

from clusterwright.onhost.supervisor.staging import stage as staging
from clusterwright.onhost.supervisor.staging import store
from clusterwright.onhost.supervisor.staging.manifest import manifest_of
from clusterwright.onhost.supervisor.staging.store import Store

OWN, TEAM = f"user-{os.getuid()}", str(os.getgid())
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs another account")


@pytest.fixture(autouse=True)
def umask():
    """What the program sets for itself, it sets for this process, too."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def source(tmp_path):
    """A folder with files, a folder in it and a link, which everybody can reach."""
    for parent in (tmp_path, *tmp_path.parents[:-1]):
        parent.chmod(parent.stat().st_mode | 0o111)
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
        (scratch / "staged" / OWN).mkdir(parents=True, exist_ok=True)
        (scratch / "staged" / OWN).chmod(0o700)
        (scratch / "staged" / TEAM).mkdir(exist_ok=True)
        (scratch / "staged" / TEAM).chmod(0o3770)
        return scratch

    return make


@pytest.fixture
def kept(place):
    """`kept(job)` is the user's store for that job."""
    return lambda job: Store(str(place(job) / "staged" / OWN), str(place(job) / "jobs"), job)


@pytest.fixture
def run(place, monkeypatch):
    """`run(job, *arguments)` is the program on one host; its exit code and the folder with the job's data."""

    def stage(job, *arguments):
        scratch = place(job)
        monkeypatch.setenv("SLURM_JOB_ID", job)
        shown = [path for path in arguments if str(path).startswith("/")]
        return staging.main([str(scratch), *map(str, arguments)]), (
            scratch / "jobs" / job / "data" / str(shown[0]).lstrip("/")
        )

    return stage


@pytest.fixture
def eve(tmp_path):
    """`eve(script, *arguments)` is another member of the team; whether the script ends well."""
    for parent in (tmp_path, *tmp_path.parents[:-1]):
        parent.chmod(parent.stat().st_mode | 0o111)
    take = ["setpriv", "--reuid", "41001", "--regid", TEAM, "--clear-groups"]

    def act(script, *arguments):
        done = subprocess.run([*take, "sh", "-c", script, "sh", *arguments], check=False, timeout=60)
        return done.returncode == 0

    return act


def test_a_job_finds_its_data_behind_its_prefix(source, run, capfd):
    """Under the path that it has on shared storage, with times, links and nothing to write to."""
    code, seen = run("7", source)

    assert code == 0
    assert (seen / "one").read_bytes() == b"1" * 10_000
    assert (seen / "sub" / "a b").read_bytes() == b"2"
    assert os.readlink(seen / "link") == "one"
    assert int((seen / "one").stat().st_mtime) == int((source / "one").stat().st_mtime)
    assert not stat.S_IMODE((seen / "one").stat().st_mode) & 0o222
    assert "2 files, 0.0 MB, copied in" in capfd.readouterr().out


@pytest.mark.parametrize("whose", [(), ("--team",)])
def test_the_next_job_copies_nothing(whose, source, run, capfd):
    """The same file, by its inode."""
    files = [run(job, *whose, source)[1] / "one" for job in ("7", "8")]

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
    assert [name for name in os.listdir(place("9") / "staged" / OWN) if name[0] != "."] == []


def test_a_copy_that_is_cut_short_leaves_nothing(source, kept, monkeypatch):
    """Nothing that a later job could take for the data."""
    monkeypatch.setattr(
        store, "copy_file", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(OSError, match="No space left"):
        kept("7").find(str(source), manifest_of(str(source)))

    assert os.listdir(kept("7").folder) == []


def test_what_a_killed_copy_left_is_taken_away(source, kept):
    """By the next job."""
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
        threading.Thread(target=staging.JobStaging(str(place(job)), job).stage, args=(str(source),))
        for job in "78"
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(20)
    said = capfd.readouterr().out

    assert (said.count("copied in"), said.count("already on this host")) == (1, 1)


def test_a_file_that_the_team_may_not_read_stays_the_owners(source, run):
    """A copy gives nobody more than the source did."""
    (source / "one").chmod(0o600)
    _, copy = run("7", "--team", source)

    assert stat.S_IMODE((copy / "one").stat().st_mode) == 0o400
    assert stat.S_IMODE((copy / "sub" / "a b").stat().st_mode) == 0o440


def private_subfolder(source):
    """Of files that everybody could read, could everybody reach them."""
    (source / "sub").chmod(0o700)
    return "sub/a b"


def listed_subfolder(source):
    """The names in it are readable, and nothing else."""
    (source / "sub").chmod(0o744)
    return "sub/a b"


def folder_of_the_team_that_is_closed_to_it(source):
    """Others may enter it; the mode of the group counts for its members."""
    (source / "sub").chmod(0o705)
    return "sub/a b"


def nested_in_a_private_folder(source):
    """However open it is itself."""
    (source / "sub" / "open").mkdir()
    (source / "sub" / "open" / "file").write_text("3")
    (source / "sub").chmod(0o700)
    return "sub/open/file"


def private_folder(source):
    """The data themselves."""
    source.chmod(0o700)
    return "sub/a b"


def private_folder_above(source):
    """A home, for example."""
    source.parent.chmod(0o700)
    return "one"


def closed_to_the_team(source):
    """Readable by all others."""
    (source / "one").chmod(0o604)
    return "one"


def of_another_group(source):
    """Whose mode says nothing about the team."""
    os.chown(source / "one", -1, 41_002)
    (source / "one").chmod(0o640)
    return "one"


def shared_with_one_by_a_list(source):
    """The bits of the group are then those of the list's mask, and the group itself may nothing."""
    (source / "one").chmod(0o600)
    _set_list(source / "one", [(1, 6, -1), (2, 4, 41_003), (4, 0, -1), (16, 4, -1), (32, 0, -1)])
    return "one"


def denied_to_the_team_by_a_list(source):
    """Which all others may read."""
    os.chown(source / "one", -1, 41_002)
    _set_list(source / "one", [(1, 6, -1), (4, 4, -1), (8, 0, int(TEAM)), (16, 4, -1), (32, 4, -1)])
    return "one"


def in_a_folder_denied_by_a_list(source):
    """Its own mode is open."""
    os.chown(source / "sub", -1, 41_002)
    _set_list(source / "sub", [(1, 7, -1), (4, 5, -1), (8, 0, int(TEAM)), (16, 5, -1), (32, 5, -1)])
    return "sub/a b"


def below_a_folder_denied_by_a_list(source):
    """A folder above the data."""
    os.chown(source.parent, -1, 41_002)
    _set_list(source.parent, [(1, 7, -1), (4, 5, -1), (8, 0, int(TEAM)), (16, 5, -1), (32, 5, -1)])
    return "one"


def closed_to_another_group(source):
    """Members of the team may be in it as well, and others may read."""
    os.chown(source / "one", -1, 41_002)
    (source / "one").chmod(0o604)
    return "one"


def _set_list(path, entries):
    """Give the path an access control list of (tag, bits, account)."""
    value = struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tag, bits, who & 0xFFFFFFFF) for tag, bits, who in entries
    )
    os.setxattr(path, "system.posix_acl_access", value)


@needs_root
@pytest.mark.parametrize(
    "hide",
    [
        private_subfolder,
        listed_subfolder,
        folder_of_the_team_that_is_closed_to_it,
        nested_in_a_private_folder,
        private_folder,
        private_folder_above,
        closed_to_the_team,
        of_another_group,
        shared_with_one_by_a_list,
        denied_to_the_team_by_a_list,
        in_a_folder_denied_by_a_list,
        below_a_folder_denied_by_a_list,
        closed_to_another_group,
    ],
)
def test_what_the_team_cannot_reach_at_the_source_stays_the_owners(source, run, eve, hide):
    """A member of the team reads no more in the copy than at the source."""
    for path in (source, source / "sub", source / "one", source / "sub" / "a b"):
        os.chown(path, -1, int(TEAM))
    hidden = hide(source)

    _, copy = run("7", "--team", source)
    copy = copy.resolve()
    source.parent.chmod(0o755)

    assert (copy / hidden).read_bytes() == (source / hidden).read_bytes()
    assert not eve('cat "$1" >/dev/null 2>&1', str(copy / hidden))


@needs_root
def test_a_member_of_the_team_reads_what_is_readable_at_the_source(source, run, eve):
    """Beside private folders."""
    (source / "private").mkdir(mode=0o700)
    _, copy = run("7", "--team", source)

    for name in ("one", "sub/a b"):
        assert eve('cat "$1" >/dev/null', str(copy.resolve() / name))


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
        pytest.raises(OSError, match=r"another process holds .*/\.lock"),
        mine.exclusive(0.3),
    ):
        pass
    with mine.exclusive(0.3):
        pass


REPLACE = """for copy in "$1"/*-*; do mv "$copy" "$copy.old" && mkdir "$copy" && exit 0; done; exit 1"""


@needs_root
def test_nobody_else_reads_replaces_or_locks_a_users_copies(source, run, place, eve):
    """A member of the team finds no way to the copies, and none to the lock."""
    assert run("7", source)[0] == 0
    own = str(place("7") / "staged" / OWN)

    assert not eve(REPLACE, own)
    assert not eve('flock -n "$1/.lock" true', own)
    assert not eve('cat "$1"/*/data/one', own)


@needs_root
def test_by_default_a_job_reads_nothing_that_another_user_made(source, run, eve, place):
    """A copy of the same size and time, which a member of the team has put where the team looks for it."""
    _, mine = run("7", "--team", source)
    name = mine.resolve().parent.name
    team = place("7") / "staged" / TEAM
    shutil.rmtree(team / name)
    assert eve(
        'mkdir -p "$1/$2/jobs" && cp -a "$3" "$1/$2/data" && cd "$1/$2" && chmod 777 . jobs'
        " && tr 1 X <data/one >evil && touch -r data/one evil && mv -f evil data/one",
        *map(str, (team, name, source)),
    )
    _, shared = run("8", "--team", source)
    _, own = run("9", source)

    assert (shared / "one").read_bytes() == b"X" * 10_000
    assert (own / "one").read_bytes() == b"1" * 10_000


@needs_root
def test_a_member_of_the_team_changes_no_shared_copy_of_another(source, run, eve, place):
    """Neither the copy nor what is in it, nor where the next one is written; the sticky bit and the modes hold it."""
    _, copy = run("7", "--team", source)
    team = place("7") / "staged" / TEAM

    assert eve('cat "$1/one"', str(copy.resolve()))
    assert not eve(REPLACE, str(team))
    assert not eve('cd "$1" && { rm -f one || : >one || touch new || mv sub other; }', str(copy.resolve()))
    assert (copy / "one").read_bytes() == b"1" * 10_000


@needs_root
@pytest.mark.parametrize(
    ("trap", "store_name"),
    [
        ('flock "$1/.lock" timeout 5 sleep 5 & sleep 0.5', OWN),
        ('ln -s /etc/passwd "$1/.lock"', OWN),
        ('mkfifo "$1/.lock"', TEAM),
        ('mkdir -p "$1/$2"', OWN),
        ('ln -s /tmp "$1/$2"', OWN),
    ],
)
def test_a_member_of_the_team_in_the_way_costs_a_copy(
    trap, store_name, source, run, place, eve, monkeypatch, capfd
):
    """A lock, a link, a pipe, a folder: the job reads a copy of its own, soon."""
    monkeypatch.setattr(staging, "TEAM_LOCK_LIMIT_S", 0.3)
    _, first = run("6", "--team", source)
    name, team = first.resolve().parent.name, place("6") / "staged" / TEAM
    shutil.rmtree(team / name)
    (team / ".lock").unlink()
    assert eve(trap, str(team), name)
    code, copy = run("7", "--team", source)

    assert (code, (copy / "one").read_bytes()) == (0, b"1" * 10_000)
    assert copy.resolve().parent.parent.name == store_name
    assert ("using a copy of this user only" in capfd.readouterr().err) == (store_name == OWN)


@needs_root
@pytest.mark.parametrize("name", ["NAME", ".part-6-x"])
def test_nested_folders_of_a_member_of_the_team_cost_a_copy(name, source, run, place, eve):
    """Deeper than Python calls functions, in the copy or beside it."""
    _, first = run("6", "--team", source)
    name, team = name.replace("NAME", first.resolve().parent.name), place("6") / "staged" / TEAM
    shutil.rmtree(first.resolve().parent)
    try:
        assert eve('mkdir -p "$1/$2/data/$(printf "a/%.0s" $(seq 1500))"', str(team), name)
        code, copy = run("7", "--team", source)

        assert (code, (copy / "one").read_bytes()) == (0, b"1" * 10_000)
    finally:
        subprocess.run(["rm", "-rf", team / name], check=True)  # pytest cannot


@needs_root
@pytest.mark.parametrize(
    ("path", "owner", "mode"),
    [
        ("staged", 41001, 0o755),
        ("staged", 0, 0o777),
        (f"staged/{OWN}", 41001, 0o777),
        (f"staged/{OWN}", 0, 0o770),
        ("jobs/7", 41001, 0o777),
        ("jobs", 0, 0o775),
        ("", 0, 0o777),
    ],
)
def test_a_folder_that_others_can_exchange_is_refused(path, owner, mode, source, place, monkeypatch, capfd):
    """Made first by another user, or writable by one."""
    scratch = place("7")
    os.chown(scratch / path, owner, 0)
    (scratch / path).chmod(mode)
    monkeypatch.setenv("SLURM_JOB_ID", "7")

    assert staging.main([str(scratch), str(source)]) == 1
    assert "is not safe to use" in capfd.readouterr().err

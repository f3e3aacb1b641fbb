"""Folders that the prolog makes for a job: its scratch, staged data and caches, in spite of other users."""

import contextlib
import os
import pwd
import shutil
import subprocess

import pytest
from tests.provision.job_hooks import codes

pytestmark = [
    pytest.mark.skipif(os.getuid() != 0, reason="the programs run as root"),
    pytest.mark.skipif(not shutil.which("flock"), reason="flock is not here (apt-get install util-linux)"),
]

EVE = 41001
FASTER = """while :; do
  mkdir -m 777 "$1" 2>/dev/null && mkdir -m 777 "$1/$2"
done"""


def as_eve(script, *arguments):
    """Another user's script, which goes on."""
    argv = ["setpriv", "--reuid", str(EVE), "--regid", str(EVE), "--clear-groups", "sh", "-c", script, "sh"]
    return subprocess.Popen([*argv, *arguments], start_new_session=True, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("where", ["caches", "staged"])
def test_a_user_who_is_faster_than_the_prolog_gets_no_folder_of_another(hooks, where):
    """Where all users may create folders, one makes them in a loop: those that the job uses are not hers."""
    nobody, shared = pwd.getpwuid(65534), hooks.folder / "shared"
    for parent in (hooks.folder, *hooks.folder.parents[:-1]):
        parent.chmod(parent.stat().st_mode | 0o111)
    shared.mkdir()
    shared.chmod(0o1777)
    hooks.more(f"SCRATCH='{shared}' CACHES='{shared}/caches' SCRATCH_MOUNTED=0\n")
    own = shared / where / (nobody.pw_name if where == "caches" else f"user-{nobody.pw_uid}")
    eve = as_eve(FASTER, str(own.parent), own.name)
    owners = []
    try:
        for job in range(10):
            shutil.rmtree(own.parent, ignore_errors=True)
            hooks.run("prolog", job=job, uid=nobody.pw_uid)
            parent = own.parent.lstat()
            folder = own.lstat()
            owners.append((parent.st_uid, parent.st_mode & 0o7777, folder.st_uid, folder.st_mode & 0o7777))
    finally:
        os.killpg(eve.pid, 9)
        eve.wait()

    assert set(owners) == {(0, 0o755, nobody.pw_uid, 0o700)}


@pytest.mark.parametrize("where", ["caches", "staged"])
def test_a_link_in_place_of_a_folder_of_roots_keeps_jobs_away(hooks, where):
    """Nothing is made where it points."""
    place, target = hooks.scratch / where, hooks.folder / "target"
    target.mkdir()
    place.symlink_to(target)
    hooks.more(f"CACHES='{hooks.scratch}/caches'\n")
    done = hooks.run("prolog", uid=65534)

    assert done.returncode == 1
    assert codes(done) == [{"caches": "cache-foreign", "staged": "scratch-unsafe"}[where]]
    assert not list(target.iterdir())


EXCHANGING = """#!/bin/sh
[ -L '{path}' ] || {{ mv '{path}' '{path}.old' && ln -s '{target}' '{path}'; }}
exec /bin/chmod "$@"
"""


def with_tool(hooks, name, text):
    """The programs call this in place of the host's."""
    tools = hooks.folder / "tools"
    tools.mkdir()
    (tools / name).write_text(text)
    (tools / name).chmod(0o755)
    hooks.say(
        "common", (hooks.folder / "common").read_text().replace("PATH=/usr/local", f"PATH={tools}:/usr/local")
    )


@pytest.mark.parametrize("where", ["caches", "staged"])
def test_a_folder_that_is_exchanged_after_each_check_opens_no_other(hooks, where):
    """A link to a private folder of root's, just before the mode is changed."""
    target = hooks.folder / "target"
    target.mkdir(mode=0o700)
    with_tool(hooks, "chmod", EXCHANGING.format(path=hooks.scratch / where, target=target))
    hooks.more(f"CACHES='{hooks.scratch}/caches'\n")
    done = hooks.run("prolog", uid=65534)

    assert done.returncode == 1
    assert (target.stat().st_mode & 0o7777, list(target.iterdir())) == (0o700, [])


@pytest.mark.parametrize("where", ["caches", "staged"])
def test_a_folder_that_is_exchanged_for_a_moment_drains_no_host(hooks, where):
    """The link is gone when the prolog tries again."""
    place = hooks.scratch / where
    place.symlink_to(hooks.folder)
    with_tool(hooks, "sleep", f"#!/bin/sh\n[ ! -L '{place}' ] || rm '{place}'\nexec /bin/sleep \"$@\"\n")
    hooks.more(f"CACHES='{hooks.scratch}/caches'\n")
    done = hooks.run("prolog", uid=65534, gpus="")

    assert (done.returncode, place.lstat().st_uid, place.lstat().st_mode & 0o7777) == (0, 0, 0o755)


def test_a_teams_copies_cannot_be_exchanged_by_its_members(hooks):
    """The folder of the team is sticky, also one from before."""
    team = hooks.scratch / "staged" / "65534"
    team.mkdir(parents=True)
    team.chmod(0o2770)
    hooks.run("prolog", uid=65534)

    assert (team.stat().st_uid, team.stat().st_mode & 0o7777) == (0, 0o3770)


def test_copies_of_absent_users_make_room(hooks):
    """Those unused longest, until half of the disk is free; those of users with a job stay."""
    with_tool(
        hooks,
        "df",
        "#!/bin/sh\necho head\n"
        f"echo disk 100 $(($(ls -d {hooks.scratch}/staged/user-410* | wc -l) * 20)) 40 50% /\n",
    )
    for number, uid in enumerate((41003, 41001, 41002, 41004)):
        copy = hooks.scratch / "staged" / f"user-{uid}"
        (copy / "text-1").mkdir(parents=True)
        os.utime(copy, (number, number))
        os.chown(copy, uid, uid)
    done = hooks.run("prolog", uid=41003)
    left = sorted(path.name for path in (hooks.scratch / "staged").glob("user-*"))

    assert (left, codes(done)[:2]) == (["user-41003", "user-41004"], ["stage-removed", "stage-removed"])
    assert [path.name for path in (hooks.scratch / "jobs").iterdir()] == ["7"]


@pytest.fixture
def small_disk(hooks):
    """A scratch disk with 200 inodes."""
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "nr_inodes=200,mode=755", "tmpfs", hooks.scratch], check=True
    )
    yield hooks.scratch
    subprocess.run(["umount", "-l", hooks.scratch], check=True)


def fill(folder, most):
    """Create empty files, as many as there is room for."""
    with contextlib.suppress(OSError):
        for number in range(most):
            (folder / str(number)).touch()


@pytest.mark.parametrize("missing", ["", "jobs", "staged"])
def test_a_user_who_takes_all_inodes_of_scratch_drains_no_host_beyond_the_share(hooks, small_disk, missing):
    """Whichever folder of a prolog has no room; the health program sees the same fault, and drains by the share."""
    first = hooks.run("prolog", job=7)
    if missing == "jobs":
        shutil.rmtree(small_disk / "jobs")
        fill(small_disk, 300)
    elif missing == "staged":
        shutil.rmtree(small_disk / "staged")
        fill(small_disk / "jobs" / "7", 300)
        (small_disk / "jobs" / "7" / "0").unlink()  # room for the job's folder alone
    else:
        fill(small_disk / "jobs" / "7", 300)
    refused = hooks.run("prolog", job=8, uid=EVE)
    shutil.rmtree(small_disk / "jobs" / "8", ignore_errors=True)
    (hooks.folder / "state" / "beyond").touch()
    let_in = hooks.run("prolog", job=8, uid=EVE)
    health = hooks.run("health")

    assert (first.returncode, refused.returncode, let_in.returncode) == (0, 1, 0), let_in.stderr
    assert set(codes(refused)) & set(codes(let_in)) == {"disk-full"}
    assert not [code for code in codes(refused) + codes(let_in) if code.startswith("scratch-")]
    assert f"disk-full {small_disk} has no room for a folder" in health.stderr

"""A run is known by Slurm's user of its jobs and the owner of its folder, never by what a user writes."""

import os
import tempfile
import time
from pathlib import Path

import pytest

from clusterwright.onhost.runs import run_files, run_folders, run_jobs

ALICE, MALLORY = 41001, 41002
ALICES = "gpt-20261121-100000"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="folders of two users need root")


@pytest.fixture
def folder():
    """The folder of all runs, which every user reaches (pytest's own only root)."""
    with tempfile.TemporaryDirectory(prefix="cw-trust-") as path:
        os.chmod(path, 0o755)  # as on a cluster
        yield Path(path)


@pytest.fixture
def submit(folder):
    """Create a user's run with the job ids that its folder claims."""

    def make(name, user, *jobs):
        run = folder / name
        run.mkdir(parents=True)
        (run / "job.json").write_text("{}")
        (run / "jobs").write_text("\n".join(jobs))
        for path in (run, run / "job.json", run / "jobs"):
            os.chown(path, user, user)
        time.sleep(0.01)  # the clock of a file system ticks every 4 ms
        return run

    return make


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Slurm's programs with the given jobs, as (id, uid, name); returns the calls of scancel."""
    programs, calls = tmp_path / "bin", tmp_path / "scancel"
    programs.mkdir()
    calls.touch()

    def with_jobs(*jobs):
        by_user = "".join(
            f'case " $* " in *" --user={uid} "*) echo "{id_}|{uid}|RUNNING|None|{name}" ;; esac\n'
            for id_, uid, name in jobs
        )
        by_id = "".join(
            f'case " $* " in *" --jobs={id_} "*) echo "{uid}|{name}"; exit 0 ;; esac\n'
            for id_, uid, name in jobs
        )
        for program, text in {
            "squeue": by_id + 'case "$*" in *--jobs=*) exit 1 ;; esac\n' + by_user,
            "sacct": "exit 1\n",
            "scancel": f'echo "$*" >>{calls}\n',
        }.items():
            (programs / program).write_text("#!/bin/sh\n" + text)
            (programs / program).chmod(0o755)
        return lambda: calls.read_text().splitlines()

    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return with_jobs


def test_a_folder_with_the_name_of_another_users_run_cancels_nothing_of_it(
    submit, slurm, monkeypatch, folder
):
    """The victim's folder may be elsewhere or gone; root, who may cancel everything, cancels by owner and id."""
    canceled = slurm(("5", ALICE, ALICES), ("6", MALLORY, ALICES))
    submit(ALICES, MALLORY, "5")
    monkeypatch.setattr(run_jobs, "in_queue", lambda _: False)
    run_jobs.cancel(str(folder / ALICES))

    assert canceled()
    assert all(call.split()[0] == f"--user={MALLORY}" and "5" not in call.split() for call in canceled())


def test_a_job_with_forged_rows_in_its_name_adds_only_jobs_of_its_own_user(submit, slurm, folder):
    """A name may contain a newline; Slurm itself then keeps to `--user`."""
    canceled = slurm(
        ("6", MALLORY, f"x\n5|{MALLORY}|RUNNING|None|{ALICES}\n--user=alice|{MALLORY}|RUNNING|None|{ALICES}")
    )
    run = submit(ALICES, MALLORY)
    run_files.cancel_jobs(str(run))

    for call in canceled():
        first, *ids = call.split()
        assert first == f"--user={MALLORY}"
        assert all(word.isdigit() or word == "--state=PENDING" for word in ids)


def test_the_last_run_is_not_the_one_with_the_greatest_name(submit, folder):
    """Nor the one whose time was set to the future."""
    forged = submit("zzz-99991231-235959", MALLORY)
    os.utime(forged / "job.json", (2**33, 2**33))
    os.utime(forged, (2**33, 2**33))
    time.sleep(0.01)
    newest = submit(ALICES, ALICE)

    assert run_folders.find(str(folder), "last") == str(newest)


def test_the_last_run_of_a_user_is_their_own(submit, folder, monkeypatch):
    """Whoever else has submitted since; an administrator without runs sees the last of all."""
    own, other = submit(ALICES, ALICE), submit("b-20261121-110000", MALLORY)
    monkeypatch.setenv("SUDO_UID", str(ALICE))
    assert run_folders.find(str(folder), "last") == str(own)

    monkeypatch.setenv("SUDO_UID", "41999")
    assert run_folders.find(str(folder), "last") == str(other)


def test_the_last_run_of_another_user_is_named_and_canceled_by_its_name_only(
    submit, folder, monkeypatch, capsys
):
    """A folder without any job is a run, so that a user can always have the last one."""
    submit(ALICES, ALICE)
    last = submit("b-20261121-110000", MALLORY)
    monkeypatch.setenv("SUDO_UID", "41999")

    assert run_folders.find(str(folder), "last", cancels=True) == ""
    assert f"run {last.name} of {MALLORY} is the last one; use the name" in capsys.readouterr().err
    assert run_folders.find(str(folder), "last") == str(last)
    assert f"run {last.name} of {MALLORY} is the last one" in capsys.readouterr().err
    assert run_folders.find(str(folder), last.name, cancels=True) == str(last)

    monkeypatch.setenv("SUDO_UID", str(ALICE))
    assert run_folders.find(str(folder), "last", cancels=True) == str(folder / ALICES)


def test_a_job_is_found_in_the_folder_of_its_user(submit, slurm, folder):
    """Though a later folder of another user claims its id."""
    slurm(("5", ALICE, ALICES))
    own = submit(ALICES, ALICE, "5")
    submit("b-20261121-110000", MALLORY, "5")

    assert run_folders.find(str(folder), "5") == str(own)


def test_a_job_whose_only_claim_is_another_users_has_no_run(submit, slurm, folder):
    """Better none than the wrong one."""
    slurm(("5", ALICE, ALICES))
    submit(ALICES, MALLORY, "5")

    assert run_folders.find(str(folder), "5") == ""


def test_a_job_that_slurm_has_purged_is_found_unless_two_users_claim_it(submit, slurm, folder, capsys):
    """Then the person has to name the run."""
    slurm()
    own = submit(ALICES, ALICE, "5")
    assert run_folders.find(str(folder), "5") == str(own)

    submit("b-20261121-110000", MALLORY, "5")
    assert run_folders.find(str(folder), "5") == ""
    assert "name of a run" in capsys.readouterr().err


def test_of_several_runs_with_a_job_that_slurm_has_purged_the_callers_is_found(
    submit, slurm, folder, monkeypatch
):
    """Otherwise any user could take the job ids of others away."""
    slurm()
    own = submit(ALICES, ALICE, "5")
    submit("b-20261121-110000", MALLORY, "5")
    monkeypatch.setenv("SUDO_UID", str(ALICE))

    assert run_folders.find(str(folder), "5") == str(own)
    assert run_folders.find(str(folder), "5", cancels=True) == str(own)


def test_a_run_of_another_user_for_a_job_that_slurm_does_not_know_is_named_and_not_canceled(
    submit, slurm, folder, monkeypatch, capsys
):
    """Its owner may have written any job id into it."""
    slurm()
    run = submit("b-20261121-110000", MALLORY, "5")
    monkeypatch.setenv("SUDO_UID", str(ALICE))

    assert run_folders.find(str(folder), "5") == str(run)
    assert f"run {run.name} of {MALLORY} contains job id 5" in capsys.readouterr().err
    assert run_folders.find(str(folder), "5", cancels=True) == ""
    monkeypatch.setattr("sys.argv", ["run_jobs", "cancel", str(folder), "5"])
    assert run_jobs.main() == run_jobs.NO_RUN
    assert sorted(os.listdir(run)) == ["job.json", "jobs"]


@pytest.mark.parametrize("name", ["2", "42", "1-20261121-100000"])
def test_a_number_is_never_the_name_or_the_end_of_a_name(name, submit, slurm, folder):
    """`wright cancel 42` means the job."""
    slurm()
    submit(name, MALLORY)

    assert run_folders.find(str(folder), "42") == ""


@pytest.mark.parametrize(
    "own_path", ["{run}", "{run}/", "{run}/job.out", "{run}/logs", "{run}/logs/1/h/0.out"]
)
@pytest.mark.parametrize("root", ["{folder}/", "", "./", "/mnt/{name}/", "../{name}/"])
def test_a_path_names_the_run_that_contains_it(own_path, root, submit, slurm, folder, monkeypatch):
    """Another user may have runs with the names of its parts, also of the folders above."""
    slurm()
    monkeypatch.setenv("SUDO_UID", str(ALICE))
    own = submit(ALICES, ALICE)
    for part in ("logs", "1", "h", "0.out", "job.out", "mnt", "tmp", folder.name, "job.json", "..."):
        submit(part, MALLORY)
    path = (root + own_path).format(folder=folder, name=folder.name, run=ALICES)

    assert run_folders.find(str(folder), path) == str(own)


@pytest.mark.parametrize("caller", [ALICE, 0])
@pytest.mark.parametrize(
    "path", ["logs/1/h/0.out", "./logs", "logs/", "logs/.", "checkpoints/step-5", "a/../logs", "../runs/logs"]
)
def test_a_relative_path_names_no_run_of_another_user(path, caller, submit, slurm, folder, monkeypatch):
    """It is one in the working folder, which may be a run's own."""
    slurm()
    monkeypatch.setenv("SUDO_UID", str(caller))
    submit(ALICES, ALICE)
    for name in ("logs", "checkpoints", "a", "runs"):
        submit(name, MALLORY)

    assert run_folders.find(str(folder), path) == ""
    assert run_folders.denied(str(folder), path) == ""


@pytest.mark.parametrize(
    "path", ["slurm-5.out", "{folder}/{run}/slurm-5.out", "/home/a/slurm-5.out", "./slurm-5.out"]
)
def test_an_output_file_belongs_to_its_job(path, submit, slurm, folder):
    """Whatever another user names a run."""
    slurm(("5", ALICE, ALICES))
    own = submit(ALICES, ALICE, "5")
    for name in ("slurm-5.out", "home", "a"):
        submit(name, MALLORY, "5")

    assert run_folders.find(str(folder), path.format(folder=folder, run=ALICES)) == str(own)


def test_a_path_of_a_run_that_does_not_exist_names_no_other_run(submit, slurm, folder):
    """Not that with the name of the file."""
    slurm()
    submit("logs", MALLORY)

    for path in (f"{folder}/{ALICES}/logs", f"{ALICES}/logs", "/home/alice/logs"):
        assert run_folders.find(str(folder), path) == ""


def test_a_link_and_a_folder_with_another_users_record_are_no_runs(submit, folder):
    """A link leads root to any folder."""
    run = submit(ALICES, ALICE)
    (folder / "link-20261121-120000").symlink_to(run)
    os.chown(submit("b-20261121-110000", MALLORY) / "job.json", ALICE, ALICE)

    assert run_folders.newest(str(folder)) == [ALICES]


@pytest.mark.parametrize("hinder", ["unwritable", "pipe", "link"])
def test_the_owner_of_a_folder_cannot_keep_an_administrator_from_canceling(
    hinder, submit, slurm, monkeypatch, folder
):
    """The ranks are then not told to save, and Slurm ends the job."""
    canceled = slurm(("6", MALLORY, ALICES))
    run, victim = submit(ALICES, MALLORY), folder / "victim"
    if hinder == "unwritable":
        run.chmod(0o500)
    elif hinder == "pipe":
        os.mkfifo(run / "cancelled")
    else:
        (run / "cancelled").symlink_to(victim)
    monkeypatch.setattr(run_jobs, "in_queue", lambda _: False)
    run_jobs.cancel(str(run))

    assert canceled()[-1] == f"--user={MALLORY} 6"
    assert not victim.exists()


def test_long_lists_of_jobs_hide_no_run_of_others(submit, slurm, folder):
    """Of a run, the ids of an array and of a thousand successors are read, in linear time."""
    run = submit(ALICES, ALICE, "555")
    bulky = submit("bulky-20261121-100000", MALLORY, *map(str, range(10_000, 40_000)))
    (bulky / "chain").mkdir()
    for number in range(1, 5):
        ids = range(number * 1_000_000, number * 1_000_000 + 100_000)
        (bulky / "chain" / str(number)).write_text("\n".join(map(str, ids)))
    slurm((555, ALICE, ALICES))
    begun = time.process_time()

    assert run_folders.find(str(folder), "555") == str(run)
    assert len(run_folders.job_ids(str(bulky))) == 30_000
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("claimed", "row", "program"),
    [
        ("7", "7_[1-10%2]|7|7", "squeue"),
        ("7_3", "7_3|12|7", "squeue"),
        ("12", "7_3|12|7", "squeue"),
        ("8", "8+0|8|8", "squeue"),
        ("8+1", "8+0|8|8", "squeue"),
        ("12", "7_3|12", "sacct"),
        ("7", "7_3|12", "sacct"),
        ("00007", "7|7|7", "squeue"),
    ],
)
def test_no_id_of_another_users_job_is_taken_as_ones_own(
    submit, tmp_path, monkeypatch, claimed, row, program
):
    """Slurm prints tasks of arrays and parts of heterogeneous jobs by other ids than a folder may claim."""
    run = submit("eve-20261121-100000", MALLORY, claimed, "99", "\u0667", "9" * 200, "7_", "-1")
    (tmp_path / program).write_text(f"#!/bin/sh\nprintf '%s\\n' '{row}|{ALICE}' '99|99|99|{MALLORY}'\n")
    (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    assert run_folders.own_job_ids(str(run)) == ["99"]


@pytest.mark.parametrize(
    "answer", ["exit 1", "echo 'squeue: error: Invalid job id: 888' >&2; exit 1", "exit 124"]
)
def test_no_job_is_ones_own_without_an_answer_of_slurm(submit, tmp_path, monkeypatch, answer):
    """A folder may name jobs of others, and a number that Slurm refuses beside them."""
    run = submit("eve-20261121-100000", MALLORY, "888", "555")
    for program in ("squeue", "sacct"):
        (tmp_path / program).write_text(f"#!/bin/sh\n{answer}\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    assert run_folders.own_job_ids(str(run)) == []


def test_a_number_that_no_job_has_keeps_no_others_job_in_ones_own(submit, tmp_path, monkeypatch):
    """Slurm refuses a query with it."""
    run = submit("eve-20261121-100000", MALLORY, "99", "0", "555", "2147483648", "00555")
    refusal = (
        'case ",$*," in *[,=]0,*|*,2147483648,*) echo "squeue: error: Invalid job id: 0" >&2; exit 1 ;; esac'
    )
    (tmp_path / "squeue").write_text(
        f"#!/bin/sh\n{refusal}\nprintf '%s\\n' '555|555|555|{ALICE}' '99|99|99|{MALLORY}'\n"
    )
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    assert run_folders.own_job_ids(str(run)) == ["99"]


@pytest.mark.parametrize("number", ["0", "007", "2147483648", "1_99999999", "99999999999"])
def test_a_number_that_no_job_has_names_no_run(number, submit, slurm, folder):
    """Nor the run that another user gave that number as its name."""
    slurm()
    submit(number, MALLORY, number)

    assert run_folders.find(str(folder), number) == ""


def test_more_ids_than_an_argument_has_room_for_are_queried(submit, tmp_path, monkeypatch):
    """A query that cannot start would leave all of them."""
    run = submit("eve-20261121-100000", MALLORY, *(str(2_000_000_000 + number) for number in range(20_000)))
    (tmp_path / "squeue").write_text(
        '#!/bin/sh\nfor a; do case $a in --jobs=*) IFS=,; for i in ${a#--jobs=}; do echo "$i|$i|$i|'
        f'{ALICE}"; done ;; esac; done\n'
    )
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    assert run_folders.own_job_ids(str(run)) == []


def test_digits_of_other_scripts_are_no_job(submit, slurm, folder):
    """Slurm knows no such job, so the folder's claim alone would count."""
    submit("eve-20261121-100000", MALLORY, "\u0667")
    slurm((7, ALICE, ALICES))

    assert run_folders.find(str(folder), "\u0667") == ""

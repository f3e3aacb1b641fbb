import base64
import json
import os
import subprocess
from pathlib import Path

import pytest

from clusterwright.edge.fakes import FakeClock, FakeRemote
from clusterwright.edge.processes import run
from clusterwright.errors import WrightError
from clusterwright.launch.run import run_name
from clusterwright.launch.submission import resume, submit


class ThisMachine:
    """A Remote that runs the command here, with programs of our own first in PATH."""

    def __init__(self, programs):
        self.env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def run(self, host, command, *, stdin=b"", timeout_s=60):
        """Run by sh, as sshd does by the login shell."""
        return run(["sh", "-c", command], stdin=stdin, timeout_s=timeout_s, env=self.env)


@pytest.fixture
def here(tmp_path):
    """This machine with an sbatch that takes every job, and a folder for runs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    sbatch = programs / "sbatch"
    sbatch.write_text("#!/bin/sh\necho sbatch: a warning; echo '123;lab'\n")
    # whoever runs the tests is neither asked to be root nor to become alice
    own = {
        "id": '[ "$1" = -g ] && exec /usr/bin/id -g; echo alice',
        "stat": '[ "$2" = %U ] || exec /usr/bin/stat "$@"; echo alice',
        "runuser": 'shift 3; exec "$@"',
    }
    for name, text in own.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    return ThisMachine(programs)


@pytest.fixture
def small(cluster, tmp_path):
    """The example's cluster with its shared folder in ours."""
    folder = cluster.storage["shared"].model_copy(update={"path": str(tmp_path / "shared")})
    return cluster.model_copy(update={"storage": {"shared": folder}})


def test_a_run_has_its_folder_with_the_job_and_the_script(small, here, a_job):
    """Everything that outlives a host is there before Slurm takes the job."""
    made = submit(a_job(user="alice"), small, here, clock=FakeClock())
    folder = Path(made.folder)

    assert made.job_id == "123"
    assert made.name.startswith("gpt-2023")
    assert json.loads((folder / "job.json").read_text())["job"]["name"] == "gpt"
    assert (folder / "job.sh").read_text().startswith("#!/bin/bash\n")
    assert (folder / "jobs").read_text() == "123\n"
    assert {"events", "logs", "checkpoints"} <= {path.name for path in folder.iterdir()}


def test_a_submission_says_what_slurms_settings_will_cost(small, here, a_job, tmp_path):
    """Read in the same command; the job id is still what comes last."""
    scontrol = tmp_path / "bin" / "scontrol"
    scontrol.write_text("#!/bin/sh\necho 'SlurmdTimeout           = 300 sec'\n")
    scontrol.chmod(0o755)
    made = submit(a_job(user="alice"), small, here)

    assert made.job_id == "123"
    assert "SlurmdTimeout" in [one.setting for one in made.warnings]
    assert "SlurmdTimeout" in [one.setting for one in resume(made.name, small, here, user="alice").warnings]


def test_a_job_that_slurm_refuses_leaves_no_folder(small, here, a_job, tmp_path):
    """And the error quotes Slurm."""
    (tmp_path / "bin" / "sbatch").write_text(
        "#!/bin/sh\necho 'sbatch: error: invalid partition' >&2; exit 1\n"
    )
    with pytest.raises(WrightError, match="invalid partition"):
        submit(a_job(user="alice"), small, here)

    assert list((tmp_path / "shared" / "runs").iterdir()) == []


def test_root_does_not_run_jobs(small, here, a_job, tmp_path):
    """Without a user the error says where to name one."""
    (tmp_path / "bin" / "id").write_text("#!/bin/sh\necho 0\n")
    with pytest.raises(WrightError, match="--as USER"):
        submit(a_job(), small, here)


def test_one_user_cannot_submit_for_another(small, here, a_job, tmp_path):
    """Only root can become somebody else."""
    with pytest.raises(WrightError, match="neither root nor bob"):
        submit(a_job(), small, here, user="bob")


def test_an_unreachable_host_is_named(small, a_job):
    """Nothing was changed there, and the error says so."""
    remote = FakeRemote(lambda *_: "", down=frozenset({"control"}))
    with pytest.raises(WrightError, match="control is unreachable"):
        submit(a_job(user="alice"), small, remote)


def test_without_a_shared_folder_there_is_no_run(small, here, a_job):
    """A checkpoint on a host that dies is none."""
    with pytest.raises(WrightError, match="no shared folder"):
        submit(a_job(user="alice"), small.model_copy(update={"storage": {}}), here)


def test_what_is_sent_is_not_on_the_command_line(small, a_job):
    """The script travels on stdin: a command line is shown to everyone on the host."""
    sent = []
    remote = FakeRemote(lambda host, command, stdin: sent.append(stdin) or "5\n")
    submit(a_job(user="alice", environment={"variables": {"NAME": "hidden-value"}}), small, remote)

    assert "hidden-value" not in remote.calls[0][1]
    assert b"hidden-value" in base64.b64decode(sent[0].splitlines()[0])


def test_a_run_is_resumed_in_its_own_folder(small, here, a_job):
    """Marks of its end are removed, checkpoints stay."""
    made = submit(a_job(user="alice"), small, here)
    folder = Path(made.folder)
    for name in ("ended.json", "cancelled", "stop"):
        (folder / name).touch()
    (folder / "checkpoints" / "step-00000010").mkdir()

    assert resume(made.name, small, here, user="alice").folder == made.folder
    assert not any((folder / name).exists() for name in ("ended.json", "cancelled", "stop"))
    assert (folder / "checkpoints" / "step-00000010").exists()
    assert (folder / "jobs").read_text() == "123\n123\n"


@pytest.mark.parametrize(
    "stat", ["echo eve", '[ "$3" = . ] && echo alice || echo eve', '[ "$3" = . ] && echo alice']
)
def test_a_script_of_another_user_is_not_resubmitted(small, here, a_job, tmp_path, stat):
    """It would run with the rights of who resumes: the folder's owner counts, the script's, and a missing script's."""
    made = submit(a_job(user="alice"), small, here)
    (tmp_path / "bin" / "stat").write_text(f"#!/bin/sh\n{stat}\n")
    (Path(made.folder) / "ended.json").touch()

    with pytest.raises(WrightError) as error:
        resume(made.name, small, here, user="alice")

    assert error.value.findings[0].code == "run-of-other-user"
    assert (Path(made.folder) / "ended.json").exists()
    assert (Path(made.folder) / "jobs").read_text() == "123\n"


def test_a_link_in_the_place_of_the_script_is_not_resubmitted(small, here, a_job):
    """Even one to a script of the same user."""
    made = submit(a_job(user="alice"), small, here)
    script = Path(made.folder) / "job.sh"
    script.rename(script.with_name("other.sh"))
    script.symlink_to("other.sh")

    with pytest.raises(WrightError):
        resume(made.name, small, here, user="alice")

    assert (Path(made.folder) / "jobs").read_text() == "123\n"


def test_the_shell_lines_are_plain_sh(small, a_job):
    """The shell of Debian reads them without complaint."""
    remote = FakeRemote(lambda *_: "5\n")
    submit(a_job(user="alice"), small, remote)

    assert subprocess.run(["sh", "-n"], input=remote.calls[0][1], text=True, check=False).returncode == 0


def code_beside(tmp_path, **more):
    """A folder with a program, and a job that names it."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "train.py").write_text("print(1)\n")
    return folder, {
        "recipe": None,
        "command": ["train.py"],
        "code": {"folder": "mine"},
        "user": "alice",
        **more,
    }


def test_the_code_of_a_run_is_what_it_was(small, here, a_job, tmp_path):
    """Copied when the run was submitted; later edits do not change it, and its digest is kept."""
    folder, fields = code_beside(tmp_path)
    made = Path(submit(a_job(**fields), small, here, base_folder=tmp_path).folder)
    (folder / "train.py").write_text("print(2)\n")

    assert (made / "code" / "train.py").read_text() == "print(1)\n"
    assert len(json.loads((made / "job.json").read_text())["code"]) == 64
    assert f"#SBATCH --chdir={made}/code\n" in (made / "job.sh").read_text()
    assert json.loads((made / "job.json").read_text())["launch"]["workdir"] == f"{made}/code"


@pytest.mark.parametrize(
    ("command", "reason"),
    [("other.py", "is not in the copy"), ("SHARED/other.py", "does not exist on control")],
)
def test_a_script_that_is_not_there_is_refused(small, here, a_job, tmp_path, command, reason):
    """In the copy of the code, or on shared storage; nothing is left of the run."""
    _, fields = code_beside(tmp_path)
    shared = small.storage["shared"].path
    fields["command"] = [command.replace("SHARED", shared)]
    with pytest.raises(WrightError, match=reason) as refused:
        submit(a_job(**fields), small, here, base_folder=tmp_path)

    assert refused.value.findings[0].code == "script-missing"
    assert not list(Path(shared).glob("runs/*"))


def test_a_relative_script_begins_somewhere(small, here, a_job):
    """The run's own folder holds none."""
    with pytest.raises(WrightError, match="run's own folder") as refused:
        submit(a_job(recipe=None, command=["train.py"], user="alice"), small, here)

    assert "code: {folder: .}" in refused.value.findings[0].fix


def test_an_array_is_runs_with_folders_of_their_own_and_one_copy_of_the_code(small, here, a_job, tmp_path):
    """Each with its script, its job, its part of the array's id, and its name in the queue."""
    _, fields = code_beside(tmp_path, sweep={"lr": [0.1, 0.01]})
    scontrol = tmp_path / "scontrol-asked"
    (tmp_path / "bin" / "scontrol").write_text(f'#!/bin/sh\necho "$@" >> {scontrol}\n')
    (tmp_path / "bin" / "scontrol").chmod(0o755)
    made = submit(a_job(**fields), small, here, base_folder=tmp_path)
    runs = [Path(made.folder).parent / name for name in made.runs]

    told = [f"update jobid=123_{number} jobname={name}" for number, name in enumerate(made.runs)]

    assert [line for line in scontrol.read_text().splitlines() if "jobname" in line] == told
    assert [(run / "jobs").read_text() for run in runs] == ["123_0\n", "123_1\n"]
    assert [(run / "code" / "train.py").read_text() for run in runs] == ["print(1)\n"] * 2
    assert ["--lr=0.01" in (run / "job.json").read_text() for run in runs] == [False, True]
    assert "#SBATCH --array=0-1\n" in (Path(made.folder) / "array.sh").read_text()
    assert {"events", "logs", "checkpoints", "job.json"} <= {path.name for path in runs[0].iterdir()}


def test_a_refused_array_leaves_no_folder(small, here, a_job, tmp_path):
    """Neither its own nor those of its runs."""
    (tmp_path / "bin" / "sbatch").write_text("#!/bin/sh\necho 'sbatch: error: no such qos' >&2; exit 1\n")
    with pytest.raises(WrightError, match="no such qos"):
        submit(a_job(user="alice", array="0-2"), small, here)

    assert list((tmp_path / "shared" / "runs").iterdir()) == []


def test_a_run_waits_for_others(small, here, a_job, tmp_path):
    """By a job's id, or by the newest job of a run."""
    (tmp_path / "bin" / "sbatch").write_text('#!/bin/sh\necho "$@" > "$HOME/asked"; echo 124\n')
    here.env["HOME"] = str(tmp_path)
    other = tmp_path / "shared" / "runs" / "other-20261121-131500"
    other.mkdir(parents=True)
    (other / "jobs").write_text("7\n9\n")
    submit(a_job(user="alice", dependencies=["5", other.name]), small, here)

    assert (tmp_path / "asked").read_text().startswith("--parsable --dependency=afterok:5:9 ")


def test_runs_of_the_same_second_have_names_of_their_own(small, here, a_job):
    """The second one's is that of the next second; the first one stays as it is."""
    clock = FakeClock()
    first, second = (submit(a_job(user="alice"), small, here, clock=clock) for _ in range(2))

    assert first.name != second.name
    assert (Path(first.folder) / "job.sh").exists()
    assert f".supervisor {second.folder}\n" in (Path(second.folder) / "job.sh").read_text()


@pytest.mark.parametrize("kind", ["folder", "file", "link to nothing"])
def test_folders_that_another_user_made_beforehand_do_not_stop_a_submission(
    small, here, a_job, tmp_path, kind
):
    """Names end in the second of the submission, so those of the next hour can be taken."""
    runs = tmp_path / "shared" / "runs"
    runs.mkdir(parents=True)
    clock = FakeClock()
    for second in range(3600):
        path = runs / run_name("gpt", clock.now() + second)
        {
            "folder": path.mkdir,
            "file": path.touch,
            "link to nothing": lambda at=path: at.symlink_to("/nonexistent"),
        }[kind]()
    made = submit(a_job(user="alice"), small, here, clock=clock)

    assert made.name.startswith(run_name("gpt", clock.now()) + "-")
    assert Path(made.folder, "jobs").read_text() == "123\n"


def test_a_run_of_an_array_is_not_written_into_a_folder_of_another_user(small, here, a_job, tmp_path):
    """Its owner could exchange the script; the folder stays as it is."""
    clock = FakeClock()
    theirs = tmp_path / "shared" / "runs" / run_name("gpt-1", clock.now())
    theirs.mkdir(parents=True)
    theirs.chmod(0o777)
    made = submit(a_job(user="alice", array="0-2"), small, here, clock=clock)

    assert list(theirs.iterdir()) == []
    assert theirs.name not in made.runs
    assert {path.name for path in theirs.parent.iterdir()} == {made.name, *made.runs, theirs.name}


def test_a_run_of_another_user_is_no_dependency(small, here, a_job, tmp_path):
    """Its owner decides what its folder names as its job."""
    other = tmp_path / "shared" / "runs" / "other-20261121-131500"
    other.mkdir(parents=True)
    (other / "jobs").write_text("9,singleton\n")
    (tmp_path / "bin" / "stat").write_text("#!/bin/sh\necho eve\n")
    with pytest.raises(WrightError, match="belongs to eve") as refused:
        submit(a_job(user="alice", dependencies=[other.name]), small, here)

    assert refused.value.findings[0].code == "run-of-other-user"
    assert list(other.parent.iterdir()) == [other]

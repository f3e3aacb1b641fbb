import base64
import json
import os
import subprocess
from pathlib import Path

import pytest

from clusterwright.edge.fakes import FakeClock, FakeRemote
from clusterwright.edge.processes import run
from clusterwright.errors import WrightError
from clusterwright.train.launch import resume, submit


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
    for name, text in {"id": "echo alice", "runuser": 'shift 3; exec "$@"'}.items():
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
    with pytest.raises(WrightError, match="control was not reached"):
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

    assert "hidden-value" not in remote.asked[0][1]
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


def test_the_shell_lines_are_plain_sh(small, a_job):
    """The shell of Debian reads them without complaint."""
    remote = FakeRemote(lambda *_: "5\n")
    submit(a_job(user="alice"), small, remote)

    assert subprocess.run(["sh", "-n"], input=remote.asked[0][1], text=True, check=False).returncode == 0

"""An sshd of the user's own inside the job, on the loopback address: its logins are confined to the job's GPUs."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import time
from typing import Any, Dict, List

from clusterwright.onhost.dev.events import Trouble
from clusterwright.onhost.dev.home import home
from clusterwright.onhost.dev.ports import answers, free
from clusterwright.onhost.lib import processes

START_LIMIT_S = 20
KEYGEN_S = 30
ATTEMPTS = 5
POLL_INTERVAL_S = 0.05
_PLACES = "/usr/sbin:/usr/local/sbin:/sbin"
# StrictModes would check all parent folders, of which the shared one is writable for everybody.
_CONFIG = """ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
AllowUsers {user}
StrictModes no
PidFile none
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
X11Forwarding no
PrintMotd no
Subsystem sftp internal-sftp
SetEnv {variables}
"""


class Sshd:
    """One sshd of a session, with its own host key."""

    def __init__(self, folder: str, request: Dict[str, Any]) -> None:
        self.folder, self.request, self.port = folder, request, 0
        self.notes: List[str] = []
        self.process: Any = None
        self.log = os.path.join(folder, "sshd.log")

    def start(self) -> None:
        """Start sshd with a new host key on a free port, and wait until it listens.

        Raises:
            Trouble: it is not installed or does not start.
        """
        program, keygen = shutil.which("sshd", path=_PLACES), shutil.which("ssh-keygen")
        if not program or not keygen:
            raise Trouble(
                "dev-no-sshd", "this host has no sshd or no ssh-keygen", "install openssh-server on the host"
            )
        self.notes = list(home(self.folder).notes)
        result = processes.run(
            [keygen, "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", f"{self.folder}/host_key"], KEYGEN_S
        )
        if not result.ok:
            raise Trouble(
                "dev-no-sshd", f"{keygen}: {result.reason}", f"check that {self.folder} has free space"
            )
        for _ in range(ATTEMPTS):
            self.port = free(self.request["port"])
            self._write_config()
            with open(self.log, "wb") as log:
                self.process = processes.start(
                    [program, "-D", "-e", "-f", f"{self.folder}/sshd_config"], stdout=log, stderr=log
                )
            if self._wait_until_ready():
                return
        raise Trouble("dev-did-not-start", f"sshd did not listen: {self._read_log()}", f"see {self.log}")

    def _write_config(self) -> None:
        text = _CONFIG.format(
            port=self.port, folder=self.folder, user=getpass.getuser(), variables=_session_environment()
        )
        with open(f"{self.folder}/sshd_config", "w", encoding="utf-8") as file:
            file.write(text)

    def _wait_until_ready(self) -> bool:
        end = time.monotonic() + START_LIMIT_S
        while time.monotonic() < end and self.process.poll() is None:
            if answers(self.port):
                return True
            time.sleep(POLL_INTERVAL_S)
        return False

    def _read_log(self) -> str:
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return " | ".join(file.read().strip().splitlines()[-3:])

    def facts(self) -> Dict[str, Any]:
        """Return sshd's port and host key, with which the user connects."""
        with open(f"{self.folder}/host_key.pub", encoding="utf-8") as file:
            return {"port": self.port, "host_key": " ".join(file.read().split()[:2])}

    def active(self, _now: float) -> float:
        """Return 0: the activity of logins shows in CPU time and terminals."""
        return 0.0

    def alive(self) -> bool:
        """Return True while the session's sshd runs."""
        return self.process.poll() is None

    def stop(self) -> None:
        """End sshd and delete the host key; Slurm ends open logins."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        with contextlib.suppress(OSError):
            os.unlink(f"{self.folder}/host_key")


def _session_environment() -> str:
    """Return Slurm's variables of the job for SetEnv, since sshd starts each login with a clean environment."""
    names = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "TMPDIR")
    variables = {
        name: text
        for name, text in os.environ.items()
        if (name in names or name.startswith("SLURM_JOB")) and not set(text) & set('"\n\\')
    }
    return " ".join(f'{name}="{text}"' for name, text in sorted(variables.items()))

"""The folder of a run: files that supervisor and agents write, and the only state that outlives a host."""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from typing import Any, Dict, List, Optional, Sequence, Tuple

from clusterwright.onhost.lib.files import write_atomic
from clusterwright.onhost.supervisor import console
from clusterwright.onhost.supervisor.job import InvalidRecordError, JobRecord, read_record


class Folder:
    """Paths and claims of a run's folder; a claim is one O_EXCL creation, which is atomic on NFS since version 3."""

    def __init__(self, path: str) -> None:
        self.path = path
        for name in ("events", "samples", "logs", "chain", "checkpoints"):
            os.makedirs(os.path.join(path, name), exist_ok=True)

    def path_to(self, *parts: str) -> str:
        """Return the path of a file or folder inside the run's folder."""
        return os.path.join(self.path, *parts)

    def has(self, name: str) -> bool:
        """Return True if the file exists in the run's folder."""
        return os.path.exists(self.path_to(name))

    def write(self, name: str, document: Dict[str, Any]) -> bool:
        """Write a JSON document to a file of the run's folder atomically; return True on success.

        False if the storage fails, which is printed: such a failure must not end a training.
        """
        try:
            write_atomic(self.path_to(name), json.dumps(document), durable=False)
        except OSError as error:
            console.error(f"{name} is not written: {error}")
            return False
        return True

    def read(self, name: str) -> Dict[str, Any]:
        """Return the JSON object in a file of the run's folder; empty if it cannot be read or is incomplete."""
        try:
            with open(self.path_to(name), encoding="utf-8") as file:
                document = json.load(file)
        except (OSError, ValueError):
            return {}
        return document if isinstance(document, dict) else {}

    def remove(self, name: str) -> None:
        """Remove a file of the run's folder; nothing happens if it does not exist."""
        try:
            os.unlink(self.path_to(name))
        except FileNotFoundError:
            return

    def claim(self, name: str, text: str) -> bool:
        """Create a file of the run's folder with this text; return False if it exists: another process has it."""
        try:
            handle = os.open(self.path_to(name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return False
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        return True

    def token(self) -> str:
        """Return the run's secret, which the first call of any process creates; only the run's user can read it (0600).

        Raises:
            OSError: the file stays incomplete.
        """
        self.claim("token", secrets.token_hex(32))
        # the creator writes 64 bytes; 5 s is ten thousand times what that takes
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            with open(self.path_to("token"), encoding="utf-8") as file:
                text = file.read()
            if len(text) == 64:
                return text
            time.sleep(0.01)
        raise OSError(f"{self.path_to('token')} is incomplete; remove it and submit the job again")

    def join_chain(self, job_id: str) -> int:
        """Add this job to the run's chain of supervisors and return its number, from 1; the highest supervises."""
        number = 1 + max(_numbers(self.path_to("chain")), default=0)
        while not self.claim(f"chain/{number}", job_id):
            number += 1
        return number

    def successor(self, number: int) -> str:
        """Return the job id of the supervisor with the number after `number`; empty if there is none."""
        return self._text(f"chain/{number + 1}")

    def jobs_to(self, number: int) -> int:
        """Return the number of distinct jobs in the chain of supervisors up to this number.

        One job has several supervisors after a failover.
        """
        return len({self._text(f"chain/{link}") for link in range(1, number + 1)})

    def _text(self, name: str) -> str:
        """Return the text of a claim (a file of the run's folder); `?` while it is being written, empty without one."""
        try:
            with open(self.path_to(name), encoding="utf-8") as file:
                return file.read() or "?"
        except FileNotFoundError:
            return ""

    def last_generation(self) -> int:
        """Return the number of the newest generation that was started, by the folders of logs; 0 for none."""
        return max(_numbers(self.path_to("logs")), default=0)

    def trained_hosts(
        self, generation: int, hosts: Sequence[str], lost_hosts: Sequence[str] = ()
    ) -> Tuple[str, ...]:
        """Return those of `hosts` that trained in the generation (have logs of it); lost ones only if no other did."""
        begun = tuple(host for host in hosts if self.has(os.path.join("logs", str(generation), host)))
        return tuple(host for host in begun if host not in lost_hosts) or begun

    def newest_step(self, checkpoints: Optional[str] = None) -> int:
        """Return the step of the newest checkpoint folder, which is not verified here; 0 for none."""
        folder = checkpoints or self.path_to("checkpoints")
        names = [name[5:] for name in _names(folder) if name.startswith("step-")]
        return max((int(name) for name in names if name.isdigit()), default=0)


class Events:
    """One writer's file under events/ or another subfolder; each event is one `write` to a file opened for appending.

    A failed write is reported once and raises nothing; after half a line, the next event starts a new one.
    """

    def __init__(self, folder: Folder, name: str, host: str, *, subfolder: str = "events") -> None:
        self._path, self._host = folder.path_to(subfolder, f"{name}.jsonl"), host
        self._torn = False

    def write(self, event: str, generation: int, **more: Any) -> None:
        """Append an event with time, host, generation and these fields to the event file; a failure is only logged."""
        line = {"time": time.time(), "event": event, "host": self._host, "generation": generation, **more}
        data = b"\n" * self._torn + json.dumps(line).encode() + b"\n"
        try:
            handle = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)
            try:
                written = os.write(handle, data)
            finally:
                os.close(handle)
        except OSError as error:
            written = 0
            if not self._torn:
                console.error(f"events are lost: {error}")
        self._torn = written < len(data)


def _names(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _numbers(folder: str) -> List[int]:
    return [int(name) for name in _names(folder) if name.isdigit()]


def set_umask(path: str) -> None:
    """Set this process's umask by the run's folder: who cannot read the folder cannot read the run's new files."""
    os.umask(~os.stat(path).st_mode & 0o777 | 0o022)


def open_run(path: str) -> Tuple[Folder, JobRecord]:
    """Set the umask by the run's folder; return the folder of the run and its record.

    An invalid record ends the run as failed, and this process.
    """
    set_umask(path)
    folder = Folder(path)
    try:
        return folder, read_record(path)
    except InvalidRecordError as error:
        reason = str(error)
    folder.write("ended.json", {"outcome": "failed", "code": 1, "reason": reason, "time": time.time()})
    sys.exit(reason)

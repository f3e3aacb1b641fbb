"""The folder of a run, as far as supervisor and agents write it; it is all that survives a host."""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from typing import Any, Dict, List, Optional, Sequence, Tuple

from clusterwright.onhost.lib.files import write_atomic
from clusterwright.onhost.supervisor import console
from clusterwright.onhost.supervisor.job import InvalidRecordError, Record, read_record


class Folder:
    """Paths of a run and the claims in it; every claim is one O_EXCL creation, which NFS since version 3 keeps."""

    def __init__(self, path: str) -> None:
        self.path = path
        for name in ("events", "logs", "chain", "checkpoints"):
            os.makedirs(os.path.join(path, name), exist_ok=True)

    def path_to(self, *parts: str) -> str:
        """A path inside."""
        return os.path.join(self.path, *parts)

    def has(self, name: str) -> bool:
        """True when the file is there."""
        return os.path.exists(self.path_to(name))

    def write(self, name: str, document: Dict[str, Any]) -> bool:
        """Written whole or not at all; False when the storage does not take it, which must not end a training."""
        try:
            write_atomic(self.path_to(name), json.dumps(document), durable=False)
        except OSError as error:
            console.error(f"{name} is not written: {error}")
            return False
        return True

    def read(self, name: str) -> Dict[str, Any]:
        """The document; empty when it is not there or not whole."""
        try:
            with open(self.path_to(name), encoding="utf-8") as file:
                document = json.load(file)
        except (OSError, ValueError):
            return {}
        return document if isinstance(document, dict) else {}

    def remove(self, name: str) -> None:
        """Removed, or not there to begin with."""
        try:
            os.unlink(self.path_to(name))
        except FileNotFoundError:
            return

    def claim(self, name: str, text: str) -> bool:
        """True for the one who creates the file."""
        try:
            handle = os.open(self.path_to(name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return False
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        return True

    def token(self) -> str:
        """The run's secret, made by whoever asks first; only the run's user can read it (mode 0600)."""
        self.claim("token", secrets.token_hex(32))
        deadline = (
            time.monotonic() + 5
        )  # the creator writes 64 bytes; 5 s is ten thousand times what that takes
        while time.monotonic() < deadline:
            with open(self.path_to("token"), encoding="utf-8") as file:
                text = file.read()
            if len(text) == 64:
                return text
            time.sleep(0.01)
        raise OSError(f"{self.path_to('token')} is not whole; remove it and submit again")

    def join_chain(self, job_id: str) -> int:
        """This job's number in the chain of jobs of this run, from 1; a later one takes over from all before it."""
        number = 1 + max(_numbers(self.path_to("chain")), default=0)
        while not self.claim(f"chain/{number}", job_id):
            number += 1
        return number

    def successor(self, number: int) -> str:
        """The job of the supervisor that follows this one, which must then let go; empty while there is none."""
        return self._text(f"chain/{number + 1}")

    def jobs_to(self, number: int) -> int:
        """How many jobs the chain has had up to this number; a job whose supervisor died may hold several."""
        return len({self._text(f"chain/{link}") for link in range(1, number + 1)})

    def _text(self, name: str) -> str:
        """What a claim says; a question mark when it is just being written."""
        try:
            with open(self.path_to(name), encoding="utf-8") as file:
                return file.read() or "?"
        except FileNotFoundError:
            return ""

    def last_generation(self) -> int:
        """The newest generation that was ever begun."""
        return max(_numbers(self.path_to("logs")), default=0)

    def trained_hosts(
        self, generation: int, hosts: Sequence[str], lost_hosts: Sequence[str] = ()
    ) -> Tuple[str, ...]:
        """Those of these hosts that have begun the generation; of them that count as lost, only where no other has."""
        begun = tuple(host for host in hosts if self.has(os.path.join("logs", str(generation), host)))
        return tuple(host for host in begun if host not in lost_hosts) or begun

    def newest_step(self, checkpoints: Optional[str] = None) -> int:
        """The step of the newest checkpoint folder; whether it is good is the runtime's to say."""
        folder = checkpoints or self.path_to("checkpoints")
        names = [name[5:] for name in _names(folder) if name.startswith("step-")]
        return max((int(name) for name in names if name.isdigit()), default=0)


class Events:
    """One writer's file under events/; each event is one `write` to a file opened for appending.

    A write that fails is said once and ends nothing; where it left half a line, the next event begins a new one.
    """

    def __init__(self, folder: Folder, name: str, host: str) -> None:
        self._path, self._host = folder.path_to("events", f"{name}.jsonl"), host
        self._torn = False

    def write(self, event: str, generation: int, **more: Any) -> None:
        """Append one event with the time, the host and the generation."""
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


def open_run(path: str) -> Tuple[Folder, Record]:
    """The folder of a run and its record; the run ends here when the record is invalid."""
    folder = Folder(path)
    try:
        return folder, read_record(path)
    except InvalidRecordError as error:
        reason = str(error)
    folder.write("ended.json", {"outcome": "failed", "code": 1, "why": reason, "time": time.time()})
    sys.exit(reason)

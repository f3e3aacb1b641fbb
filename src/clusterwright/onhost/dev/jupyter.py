"""JupyterLab on the loopback address of this host; its token is in a file that only the user can read."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
import urllib.error
import urllib.request
from datetime import datetime
from typing import Any, Dict, List

from clusterwright.onhost.dev.events import Trouble
from clusterwright.onhost.dev.home import home
from clusterwright.onhost.dev.ports import free, is_ours
from clusterwright.onhost.lib import processes

START_LIMIT_S = 180  # the imports take a minute from a cold file server
ATTEMPTS = 5
POLL_INTERVAL_S = 0.1
_PORT_IN_USE = ("is not available", "is already in use")


class Jupyter:
    """One JupyterLab server of a session."""

    def __init__(self, folder: str, request: Dict[str, Any]) -> None:
        self.folder, self.request, self.port = folder, request, 0
        self.notes: List[str] = []
        self.token = ""  # nosec B105 (not created yet)
        self.process: Any = None
        self.log = os.path.join(folder, "jupyter.log")

    def start(self) -> None:
        """Start the server and wait until it responds; if its port is taken meanwhile, retry with another one.

        Raises:
            Trouble: the requested folder is missing, or the server did not start.
        """
        user_home = home(self.folder)
        self.notes = list(user_home.notes)
        root = self.request["folder"] or user_home.root
        variables = {
            **os.environ,
            **user_home.variables,
            "JUPYTER_RUNTIME_DIR": os.path.join(self.folder, "runtime"),
        }
        if not os.path.isdir(root):
            raise Trouble("dev-no-folder", f"this host has no folder {root}", "choose another one: --folder")
        for _ in range(ATTEMPTS):
            self._choose_port()
            self.token = secrets.token_hex(24)  # whoever took the port before knows the last one
            self._write_config(root)
            self._begin(variables, root)
            if self._wait_until_ready():
                requested_port = self.request["port"]
                if requested_port and self.port != requested_port:
                    self.notes.append(
                        f"port {requested_port} is in use on this host; the server uses {self.port}"
                    )
                return
        raise Trouble(
            "dev-did-not-start", f"{ATTEMPTS} ports in a row were taken by others", "run the command again"
        )

    def _choose_port(self) -> None:
        self.port = free(self.request["port"])

    def _write_config(self, root: str) -> None:
        """Write JupyterLab's configuration with the token, mode 0600 by umask: no command line has the token."""
        config = {
            "ServerApp": {
                "ip": "127.0.0.1", "port": self.port, "port_retries": 0, "open_browser": False, "root_dir": root,
            },
            "IdentityProvider": {"token": self.token},
            "LabApp": {"check_for_updates_class": "jupyterlab.NeverCheckForUpdate", "news_url": None},
        }  # fmt: skip
        with open(self._config(), "w", encoding="utf-8") as file:
            json.dump(config, file)

    def _config(self) -> str:
        return os.path.join(self.folder, "jupyter_config.json")

    def _begin(self, variables: Dict[str, str], root: str) -> None:
        python = self.request["python"]
        argv = [python, "-m", "jupyterlab", f"--config={self._config()}"]
        try:
            with open(self.log, "wb") as log:
                self.process = processes.start(argv, stdout=log, stderr=log, env=variables, cwd=root)
        except OSError as error:
            raise Trouble(
                "dev-no-python",
                f"{python} does not run on this host: {error.strerror}",
                "choose a Python that every compute host has: software.python, or --python",
            ) from error

    def _wait_until_ready(self) -> bool:
        """Return True when the server accepts the token, False if its port was taken.

        Raises:
            Trouble: the server ended for another reason, or does not respond in START_LIMIT_S.
        """
        end = time.monotonic() + START_LIMIT_S
        while time.monotonic() < end:
            if self.process.poll() is not None:
                if any(message in self._read_log() for message in _PORT_IN_USE):
                    return False
                raise self._why_not()
            with contextlib.suppress(OSError, ValueError):
                self.query_api("status")
                return True
            time.sleep(POLL_INTERVAL_S)
        raise Trouble(
            "dev-did-not-start",
            f"JupyterLab did not respond in {START_LIMIT_S} s: {self._end()}",
            f"see {self.log}",
        )

    def _why_not(self) -> Trouble:
        python = self.request["python"]
        if "No module named jupyterlab" in self._read_log():
            return Trouble(
                "dev-no-jupyter",
                f"{python} has no JupyterLab",
                f"run {python} -m pip install 'jupyterlab>=4'",
            )
        return Trouble("dev-did-not-start", f"JupyterLab ended at once: {self._end()}", f"see {self.log}")

    def _read_log(self) -> str:
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def _end(self) -> str:
        return " | ".join(self._read_log().strip().splitlines()[-3:])

    def query_api(self, endpoint: str) -> Any:
        """Query the server's REST API and return the JSON response.

        Raises:
            OSError: it does not respond, or another user listens on the port, who does not get the token.
        """
        if not is_ours(self.port):
            raise ConnectionRefusedError("no server of this user listens on the port")
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/{endpoint}", headers={"Authorization": f"token {self.token}"}
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # bypass a site's proxy
        with opener.open(request, timeout=10) as answer:
            return json.load(answer)

    def facts(self) -> Dict[str, Any]:
        """Return the server's port and token, with which the user connects."""
        return {"port": self.port, "token": self.token}

    def active(self, now: float) -> float:
        """Return when a kernel was last active, epoch seconds: `now` while one is busy, 0 for never or no response."""
        try:
            kernels = self.query_api("kernels")
        except (OSError, ValueError):
            return 0.0
        if any(kernel.get("execution_state") == "busy" for kernel in kernels):
            return now
        return max((_seconds(kernel["last_activity"]) for kernel in kernels), default=0.0)

    def alive(self) -> bool:
        """Return False after the server has ended, for example by `Shut Down` in JupyterLab's menu."""
        return self.process.poll() is None

    def stop(self) -> None:
        """End the server and its kernels, and delete the token."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except processes.TimeoutExpired:
                self.process.kill()
        with contextlib.suppress(OSError):
            os.unlink(self._config())


def _seconds(text: str) -> float:
    """Return `2026-11-22T19:00:00.123456Z` as epoch seconds."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()  # noqa: FURB162 (3.8 reads no Z)

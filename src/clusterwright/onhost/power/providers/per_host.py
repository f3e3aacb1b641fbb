"""Providers with one BMC per host: many concurrent requests, but a new password is tried on single hosts first."""

from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, Callable, Dict, List

from clusterwright.onhost.power.providers import PasswordRefusal, Provider, Refusal, one_line
from clusterwright.onhost.power.secret import NoPasswordError, password

AT_ONCE = 32
REJECTIONS = 2  # BMCs that make a password wrong: a single one may be an attacker's


class PerHostProvider(Provider):
    """The base of providers with one BMC per host; a rejected password is not tried again until its file has changed.

    `password` is set before `call_host` is called.
    """

    is_per_host = True

    def __init__(self, settings: Any) -> None:
        self.settings, self.provider = settings, settings.provider
        self.path = self.provider["password_file"]
        self.password = ""  # nosec B105 # none until it is read
        self.password_lock = Lock()  # held until a BMC has accepted the password
        self.accepted = self.refused = -1.0  # modification times of the accepted and of the rejected file
        self.refusal_message = PasswordRefusal()
        self.rejecting_hosts: Dict[str, float] = {}  # hosts that rejected the password, and its time

    def on(self, hosts: List[str]) -> Dict[str, str]:
        """Request power of each host; return an error text per host, "" for success."""
        return self._map(hosts, lambda host: self.call_host(host, "on"))

    def off(self, hosts: List[str], hard: bool) -> Dict[str, str]:
        """Request a shutdown of each host, or (`hard`) cut its power; return an error text per host, "" for success."""
        return self._map(hosts, lambda host: self.call_host(host, "kill" if hard else "off"))

    def state(self, hosts: List[str]) -> Dict[str, str]:
        """Return `on` or `off` for each host, or a message that starts with `?`."""
        answers = self._map(hosts, lambda host: self.call_host(host, "state"))
        return {
            host: answer if answer in ("on", "off") else type(answer)(f"? {answer}")
            for host, answer in answers.items()
        }

    def call_host(self, host: str, verb: str) -> str:
        """Run `on`, `off`, `kill` or `state` on the host's BMC.

        Returns an empty string for success, `on` or `off` for `state`, otherwise an error message. An unreachable BMC
        raises OSError, no other exception is raised.
        """
        raise NotImplementedError

    def address(self, host: str) -> str:
        """Return the address of the host's BMC; "" if the settings have none."""
        return str(self.settings.hosts[host].get("bmc", ""))

    def _map(self, hosts: List[str], query: Callable[[str], str]) -> Dict[str, str]:
        try:
            self.password, changed = password(self.path)
        except NoPasswordError as error:
            return dict.fromkeys(hosts, Refusal(f"refused: {error}"))
        if self.refused == changed:
            return dict.fromkeys(hosts, self.refusal_message)
        answers: Dict[str, str] = {
            host: self.refusal(host) for host in hosts if self.rejecting_hosts.get(host) == changed
        }
        pending = [host for host in hosts if host not in answers]
        with self.password_lock:
            while pending and changed not in (self.accepted, self.refused):
                answers[pending[0]] = self._judged(pending[0], query, changed)
                pending = pending[1:]
        if self.refused == changed:
            return dict.fromkeys(hosts, self.refusal_message)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            replies = list(pool.map(lambda host: self._judged(host, query, changed), pending))
        answers.update(zip(pending, replies))
        return {host: answers[host] for host in hosts}

    def _judged(self, host: str, query: Callable[[str], str], changed: float) -> str:
        """Call `query` and return its result as one line; record whether the BMC accepted the password.

        `changed` is the modification time of the password file.
        """
        try:
            answer = query(host)
        except OSError as error:
            answer = f"{self.address(host)} does not respond: {error}"
        answer = type(answer)(one_line(answer))
        if isinstance(answer, PasswordRefusal):
            self.rejecting_hosts[host] = changed
            rejections = sum(time == changed for time in self.rejecting_hosts.values())
            if self.accepted != changed and rejections >= REJECTIONS:
                self.refused, self.refusal_message = changed, answer
        elif answer in ("", "on", "off"):
            self.accepted = changed
        return answer

    def refusal(self, host: str) -> PasswordRefusal:
        """Return the error that the host's BMC rejects the password, for `call_host` to return."""
        message = f"{self.address(host)} rejects the password in {self.path}"
        return PasswordRefusal(f"refused: {message}; no retry until the file changes")

"""Providers that are asked host by host: many at a time, but a new password at one host only until that takes it."""

from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, Callable, Dict, List

from clusterwright.onhost.power.providers import PasswordRefusal, Provider, Refusal
from clusterwright.onhost.power.secret import NoPasswordError, password

AT_ONCE = 32


class Each(Provider):
    """`password` is there while `one` is called; a refused one is not tried again until its file has changed."""

    apart = True

    def __init__(self, settings: Any) -> None:
        self.settings, self.provider = settings, settings.provider
        self.path = self.provider["password_file"]
        self.password = ""
        self.alone = Lock()  # held while nobody has taken the password yet
        self.taken = self.refused = -1.0  # the time of the file that somebody took, that somebody refused
        self.refused_words = PasswordRefusal()
        self.deaf: Dict[str, float] = {}  # hosts that refused what others took

    def on(self, hosts: List[str]) -> Dict[str, str]:
        """Asked one by one."""
        return self._map(hosts, lambda host: self.one(host, "on"))

    def off(self, hosts: List[str], hard: bool) -> Dict[str, str]:
        """Asked one by one."""
        return self._map(hosts, lambda host: self.one(host, "kill" if hard else "off"))

    def state(self, hosts: List[str]) -> Dict[str, str]:
        """Asked one by one."""
        said = self._map(hosts, lambda host: self.one(host, "state"))
        return {
            host: word if word in ("on", "off") else type(word)(f"? {word}") for host, word in said.items()
        }

    def one(self, host: str, verb: str) -> str:
        """Words; "" or a state where it went well. Raises nothing but OSError."""
        raise NotImplementedError

    def address(self, host: str) -> str:
        """Of its management controller."""
        return str(self.settings.hosts[host].get("bmc", ""))

    def _map(self, hosts: List[str], ask: Callable[[str], str]) -> Dict[str, str]:
        try:
            self.password, changed = password(self.path)
        except NoPasswordError as why:
            return dict.fromkeys(hosts, Refusal(f"refused: {why}"))
        if self.refused == changed:
            return dict.fromkeys(hosts, self.refused_words)
        said: Dict[str, str] = {host: self.refusal(host) for host in hosts if self.deaf.get(host) == changed}
        rest = [host for host in hosts if host not in said]
        with self.alone:
            while rest and changed not in (self.taken, self.refused):
                said[rest[0]] = self._judged(rest[0], ask, changed)
                rest = rest[1:]
        if self.refused == changed:
            return dict.fromkeys(hosts, self.refused_words)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            words = list(pool.map(lambda host: self._judged(host, ask, changed), rest))
        said.update(zip(rest, words))
        return {host: said[host] for host in hosts}

    def _judged(self, host: str, ask: Callable[[str], str], changed: float) -> str:
        """The words, and what they say of the password."""
        try:
            words = ask(host)
        except OSError as why:
            return f"{self.address(host)} does not answer: {why}"
        if isinstance(words, PasswordRefusal):
            if self.taken == changed:
                self.deaf[host] = changed
            else:
                self.refused, self.refused_words = changed, words
        elif words in ("", "on", "off"):
            self.taken = changed
        return words

    def refusal(self, host: str) -> PasswordRefusal:
        """What is said where the password was wrong."""
        words = f"{self.address(host)} does not take the password in {self.path}"
        return PasswordRefusal(f"refused: {words}; not tried again until that changes")

"""Power providers, one module per kind: `on`, `off` and `state` of a list of hosts; none of them raises."""

from importlib import import_module
from typing import Any, Dict, List

from clusterwright.onhost.lib.clean_text import clean

LONGEST = 300  # characters of a message


class Refusal(str):
    """An error message of a provider that a retry would not change."""

    __slots__ = ()


class PasswordRefusal(Refusal):
    """A Refusal because of the password of the BMCs."""

    __slots__ = ()


class Provider:
    """The interface of all kinds; a result is "" for a request that was done or accepted, else an error message.

    A provider with `is_per_host` is called for each host in its own thread, so one without response delays no other.
    """

    is_per_host = False

    def on(self, hosts: List[str]) -> Dict[str, str]:
        """Request power for the hosts; no effect on a host that is on. Return an error per host, "" for success."""
        raise NotImplementedError

    def off(self, hosts: List[str], hard: bool) -> Dict[str, str]:
        """Request orderly shutdown of the hosts, or (`hard`) cut their power; return an error ("" if none) per host."""
        raise NotImplementedError

    def state(self, hosts: List[str]) -> Dict[str, str]:
        """Return the power state of each host: `on`, `off`, or a message that starts with `?` if it is unknown."""
        raise NotImplementedError


def one_line(text: str) -> str:
    """Return the text, which a BMC may have written, as one line of at most LONGEST characters for logs and Slurm."""
    return clean(text[: 2 * LONGEST], lines=False)[:LONGEST]


def provider_of(settings: Any) -> Provider:
    """Return the provider that the settings name: the class Switch of its kind's module."""
    kind = settings.provider["kind"]
    provider: Provider = import_module(__name__ + "." + kind).Switch(settings)
    return provider

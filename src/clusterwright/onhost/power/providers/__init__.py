"""Power providers, one module per kind: `on`, `off` and `state` of a list of hosts; none of them raises."""

from importlib import import_module
from typing import Any, Dict, List


class Refusal(str):
    """A response that a retry would not change."""

    __slots__ = ()


class PasswordRefusal(Refusal):
    """A refusal because of the password."""

    __slots__ = ()


class Provider:
    """The interface of all kinds; a result is "" for a request that was done or accepted, else an error message.

    A provider with `is_per_host` is called for each host in its own thread, so one without response delays no other.
    """

    is_per_host = False

    def on(self, hosts: List[str]) -> Dict[str, str]:
        """Request power; no effect on a host that is on."""
        raise NotImplementedError

    def off(self, hosts: List[str], hard: bool) -> Dict[str, str]:
        """Request an orderly shutdown, or (`hard`) cut the power."""
        raise NotImplementedError

    def state(self, hosts: List[str]) -> Dict[str, str]:
        """Return `on`, `off`, or a message that starts with `?` if the state is unknown."""
        raise NotImplementedError


def provider_of(settings: Any) -> Provider:
    """Return the provider that the settings name: the class Switch of its kind's module."""
    kind = settings.provider["kind"]
    provider: Provider = import_module(__name__ + "." + kind).Switch(settings)
    return provider

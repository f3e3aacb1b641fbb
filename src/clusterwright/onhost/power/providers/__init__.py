"""Who holds the switch, one file a kind: `on`, `off` and `state` of a list of hosts; none of them raises."""

from importlib import import_module
from typing import Any, Dict, List


class Refusal(str):
    """An answer that would be the same if the provider were asked again."""

    __slots__ = ()


class PasswordRefusal(Refusal):
    """The password is the reason."""

    __slots__ = ()


class Provider:
    """What every kind does; an answer is "" where it was done or taken on, and else the provider's words.

    A provider with `is_per_host` is called for each host in its own thread: one that does not answer delays no other.
    """

    is_per_host = False

    def on(self, hosts: List[str]) -> Dict[str, str]:
        """Ask for power; nothing happens to a host that has it."""
        raise NotImplementedError

    def off(self, hosts: List[str], hard: bool) -> Dict[str, str]:
        """Ask for an end: in order, or (`hard`) at once."""
        raise NotImplementedError

    def state(self, hosts: List[str]) -> Dict[str, str]:
        """`on`, `off`, or words that begin with `?` where it cannot be told."""
        raise NotImplementedError


def provider_of(settings: Any) -> Provider:
    """The provider that the settings name; the module of its kind has it under the same name."""
    kind = settings.provider["kind"]
    provider: Provider = import_module(__name__ + "." + kind).Switch(settings)
    return provider

"""Whether the hosts of a job reach the store of a generation, in the network of its ranks.

Agents hear the supervisor in another network, so that one where nothing passes shows in ranks that wait, and in
nothing else. Each agent connects to the store once and says whether that went; spares do too, as witnesses.
"""

from __future__ import annotations

import socket
import threading
from typing import Callable, Iterable, Set

from clusterwright.train.agent.wire import Message

LIMIT_S = 8.0  # the kernel tries again after 1, 3 and 7 s (tcp(7), tcp_syn_retries)


def try_it(message: Message, own: str, answer: Callable[[Message], None]) -> None:
    """Connect from this host's own address, beside everything else, and say how that went."""
    place = (str(message["address"]), int(message["port"]))
    threading.Thread(target=_try, args=(message["meet"], place, own, answer), daemon=True).start()


def _try(
    number: int,
    place: "tuple[str, int]",
    own: str,
    answer: Callable[[Message], None],
    limit_s: float = LIMIT_S,
) -> None:
    well = True
    try:
        socket.create_connection(place, timeout=limit_s, source_address=(own, 0)).close()
    except ConnectionError:
        pass  # refused or reset: the store is gone already, and its host has answered
    except OSError:
        well = False
    answer({"met": number, "well": well})


class Meeting:
    """What the hosts of one generation have said."""

    def __init__(self) -> None:
        self.begin(0, "", ())

    def begin(self, number: int, first: str, asked: Iterable[str]) -> None:
        """The store is on `first`; all others that are there are asked."""
        self.first, self._number, self._asked = first, number, frozenset(asked) - {first}
        self._well: Set[str] = set()
        self._apart: Set[str] = set()

    def heard(self, host: str, message: Message) -> str:
        """The host to blame, if this answer decides it.

        Who alone does not reach the store is to blame; where several do not and nobody does, it is the store's host.
        """
        if message["met"] != self._number or host not in self._asked:
            return ""
        (self._well if message["well"] else self._apart).add(host)
        if message["well"] or (len(self._well) + len(self._apart) < len(self._asked) and not self._well):
            return ""
        return host if self._well or len(self._apart) == 1 else self.first

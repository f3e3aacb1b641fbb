"""A site's Zabbix as a receiver: an alert is told once, and it is known which problems are open there."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable, Mapping

from clusterwright.onhost.notify.settings import Settings
from clusterwright.onhost.notify.zabbix import values, wire
from clusterwright.onhost.notify.zabbix.told import Told

WAIT_S = 2.0  # for whoever speaks to the server; who waits longer is asked to come again


class RefusedError(Exception):
    """The server did not take it, with the reason."""


class Site:
    """One receiver."""

    def __init__(self, settings: Settings, name: str) -> None:
        reached = settings.zabbix[name]
        self.name, self.server, self.host = name, reached["server"], reached["host"]
        self.known = frozenset(settings.alerts)
        self.told = Told(f"{settings.state}/{name}.json")
        self._tls, self._gone_s = reached.get("tls"), settings.gone_s
        self._gone_since: dict[str, float] = {}

    def tell(self, alerts: Iterable[values.Alert]) -> None:
        """Alertmanager's alerts, those that fire and those that are over.

        Raises:
            RefusedError: the server did not take all; what it took is known, and not told again.
        """
        if not self.told.lock.acquire(timeout=WAIT_S):
            raise RefusedError(f"{self.name}: another message is on its way to {self.server}")
        try:
            for key, batch in self._batches(alerts).items():
                self._send_batch(key, batch)
        finally:
            self.told.lock.release()

    def close_gone(self, present: Iterable[str]) -> None:
        """What ended while it was muted, which Alertmanager tells nobody; given the fingerprints that it knows.

        Not at once: after a restart it learns from Prometheus what fires.

        Raises:
            RefusedError: as `tell`.
        """
        now, known = time.monotonic(), set(present)
        gone = [print_ for print_ in list(self.told.open) if print_ not in known]
        self._gone_since = {print_: self._gone_since.get(print_, now) for print_ in gone}
        late = [print_ for print_, since in self._gone_since.items() if now - since >= self._gone_s]
        self.tell(
            {"status": "resolved", "fingerprint": print_, "key": self.told.open[print_]} for print_ in late
        )

    def send(self, rows: list[tuple[str, str]]) -> tuple[int, int]:
        """How many of these keys and values were taken, and how many not.

        Raises:
            RefusedError: the server cannot be reached, or is none.
        """
        try:
            stamped = [wire.stamped(self.host, key, value) for key, value in rows]
            return wire.send(self.server, stamped, self._context())
        except (OSError, ValueError) as why:
            said = getattr(why, "strerror", None) or str(why) or type(why).__name__
            raise RefusedError(f"{self.name}: {self.server}: {said}") from None

    def _batches(self, alerts: Iterable[values.Alert]) -> dict[str, dict[str, str]]:
        """By item, by fingerprint: values that the server has not had."""
        found: dict[str, dict[str, str]] = {}
        for one in alerts:
            print_ = values.fingerprint(one)
            key = one.get("key") or self.told.open.get(print_) or values.key(one, self.known)
            if one.get("status") == "resolved" or print_ not in self.told.open:
                found.setdefault(key, {})[print_] = values.value(one)
        return found

    def _send_batch(self, key: str, batch: Mapping[str, str]) -> None:
        """Values of one item are taken or refused together."""
        taken, refused = self.send([(key, value) for value in batch.values()])
        if refused or taken != len(batch):
            raise RefusedError(
                f"{self.name}: {self.server} took {taken} of {len(batch)} values of `{key}`: make a host `{self.host}`"
                " in Zabbix with the template `Clusterwright`, and name this machine's address in its macro"
                " {$CLUSTERWRIGHT.SENDERS}; a new host is known after a minute"
            )
        for print_, value in batch.items():
            if value.startswith("OK"):
                self.told.open.pop(print_, None)
            else:
                self.told.open[print_] = key
        self.told.keep()

    def _context(self) -> ssl.SSLContext | None:
        """Read each time, for certificates are renewed."""
        if not self._tls:
            return None
        try:
            context = ssl.create_default_context(cafile=self._tls["ca"])
            context.load_cert_chain(self._tls["certificate"], self._tls["key"])
        except OSError as why:
            raise ValueError(
                f"{', '.join(self._tls.values())} cannot be used: {why.strerror or why}"
            ) from why
        return context


def sites(settings: Settings) -> dict[str, Site]:
    """Every Zabbix that is told, by name."""
    return {name: Site(settings, name) for name in settings.zabbix}

"""A site's Zabbix as a receiver: each alert is sent once, and the open problems are recorded."""

from __future__ import annotations

import hashlib
import json
import ssl
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from clusterwright.onhost.lib.files import write_atomic
from clusterwright.onhost.notify.messages import note, sanitize, truncate
from clusterwright.onhost.notify.settings import NotifySettings
from clusterwright.onhost.notify.zabbix import wire

WAIT_S = 2.0  # wait for a concurrent message; after it Alertmanager must retry

Alert = Mapping[str, Any]
_MOST_LINE = 2000  # bytes; Zabbix stores 65536 of a text, and shows 2048 of a problem's name
_MOST_NAME = 250  # of a tag
_WORDS = ("summary", "description", "fix", "runbook_url")


class RefusedError(Exception):
    """The server did not accept the values; the message is the reason."""


class ZabbixSite:
    """One Zabbix server as a receiver of alerts and metrics."""

    def __init__(self, settings: NotifySettings, name: str) -> None:
        reached = settings.zabbix[name]
        self.name, self.server, self.host = name, reached["server"], reached["host"]
        self.template_alerts = frozenset(settings.alerts)
        self.open_problems = OpenProblems(f"{settings.state}/{name}.json")
        self._tls, self._resolve_timeout_s = reached.get("tls"), settings.resolve_timeout_s
        self._missing_since: dict[str, float] = {}

    def notify(self, alerts: Iterable[Alert]) -> None:
        """Send the alerts of a message of Alertmanager, firing and resolved, to Zabbix.

        Raises:
            RefusedError: the server did not accept all; accepted ones are recorded and not sent again.
        """
        if not self.open_problems.lock.acquire(timeout=WAIT_S):
            raise RefusedError(f"{self.name}: another message to {self.server} is in progress")
        try:
            for key, batch in self._batches(alerts).items():
                self._send_batch(key, batch)
        finally:
            self.open_problems.lock.release()

    def close_missing(self, present: Iterable[str]) -> None:
        """Resolve alerts that ended while muted, which Alertmanager does not report; `present` are its fingerprints.

        Only after a delay: after its restart Alertmanager first learns from Prometheus what fires.

        Raises:
            RefusedError: as `notify`.
        """
        now, fingerprints = time.monotonic(), set(present)
        missing = [print_ for print_ in list(self.open_problems.open) if print_ not in fingerprints]
        self._missing_since = {print_: self._missing_since.get(print_, now) for print_ in missing}
        late = [
            print_
            for print_, missing_at in self._missing_since.items()
            if now - missing_at >= self._resolve_timeout_s
        ]
        self.notify(
            {"status": "resolved", "fingerprint": print_, "key": self.open_problems.open[print_]}
            for print_ in late
        )

    def send(self, rows: list[tuple[str, str]]) -> tuple[int, int]:
        """Send (item key, value) rows to Zabbix; return the numbers of accepted and rejected ones.

        Raises:
            RefusedError: the server is unreachable or does not respond as Zabbix.
        """
        try:
            stamped = [wire.stamped(self.host, key, value) for key, value in rows]
            return wire.send(self.server, stamped, self._context())
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise RefusedError(f"{self.name}: {self.server}: {reason}") from None

    def _batches(self, alerts: Iterable[Alert]) -> dict[str, dict[str, str]]:
        """Return the values to send, by item and fingerprint: resolved alerts, and firing ones not recorded as open."""
        batches: dict[str, dict[str, str]] = {}
        for alert in alerts:
            print_ = fingerprint(alert)
            key = (
                alert.get("key")
                or self.open_problems.open.get(print_)
                or item_key(alert, self.template_alerts)
            )
            if alert.get("status") == "resolved" or print_ not in self.open_problems.open:
                batches.setdefault(key, {})[print_] = item_value(alert)
        return batches

    def _send_batch(self, key: str, batch: Mapping[str, str]) -> None:
        """Send the values of one Zabbix item in one request, and note which problems are open now.

        Raises:
            RefusedError: the server rejected a value; none counts as sent.
        """
        accepted, refused = self.send([(key, value) for value in batch.values()])
        if refused or accepted != len(batch):
            raise RefusedError(
                f"{self.name}: {self.server} accepted {accepted} of {len(batch)} "
                f"values of `{key}`: create host `{self.host}`"
                " in Zabbix with the template `Clusterwright`, and set this host's address in its macro"
                " {$CLUSTERWRIGHT.SENDERS}; Zabbix accepts values of a new host after a minute"
            )
        for print_, value in batch.items():
            if value.startswith("OK"):
                self.open_problems.open.pop(print_, None)
            else:
                self.open_problems.open[print_] = key
        self.open_problems.save()

    def _context(self) -> ssl.SSLContext | None:
        """Return the TLS context, None without TLS; files are read each time, because certificates are renewed."""
        if not self._tls:
            return None
        try:
            context = ssl.create_default_context(cafile=self._tls["ca"])
            context.load_cert_chain(self._tls["certificate"], self._tls["key"])
        except OSError as error:
            raise ValueError(
                f"{', '.join(self._tls.values())} cannot be used: {error.strerror or error}"
            ) from error
        return context


def sites(settings: NotifySettings) -> dict[str, ZabbixSite]:
    """Return every Zabbix receiver in the settings by its name."""
    return {name: ZabbixSite(settings, name) for name in settings.zabbix}


class OpenProblems:
    """The fingerprints of alerts that Zabbix has accepted as firing, with their items; stored in a file."""

    def __init__(self, path: str) -> None:
        self.path, self.lock = path, threading.Lock()  # held while messages are sent
        self.open = _read(path)

    def save(self) -> None:
        """Write the open problems to their file; a failure is printed, and they last until the program ends."""
        try:
            write_atomic(self.path, json.dumps(self.open))
        except OSError as error:
            print(f"{self.path}: {error.strerror}; after a restart, problems may be sent twice", flush=True)


def _read(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        print(f"{path} cannot be read ({type(error).__name__}); open problems may be sent twice", flush=True)
        return {}
    if not isinstance(document, dict):
        return {}
    return {print_: key for print_, key in document.items() if isinstance(key, str)}


def item_key(alert: Alert, template_alerts: Collection[str]) -> str:
    """Return the key of the Zabbix item for an alert; alerts that the template lacks share one per severity.

    A severity other than critical and info counts as warning.
    """
    labels = alert.get("labels") or {}
    name, level = labels.get("alertname", ""), labels.get("severity", "")
    if name in template_alerts:
        return f"clusterwright.alert[{name}]"
    return f"clusterwright.other[{level if level in ('critical', 'info') else 'warning'}]"


def fingerprint(alert: Alert) -> str:
    """Return an alert's fingerprint by Alertmanager, constant for the same labels; else our own hash of the labels."""
    if alert.get("fingerprint"):
        return str(alert["fingerprint"])[:_MOST_NAME]
    labels = sorted((alert.get("labels") or {}).items())
    return hashlib.sha256(repr(labels).encode()).hexdigest()[:16]


def item_value(alert: Alert) -> str:
    """Return the value of an alert's item: PROBLEM or OK, fingerprint, host, incident and texts, one per line."""
    state = "OK" if alert.get("status") == "resolved" else "PROBLEM"
    labels = alert.get("labels") or {}
    lines = [truncate(note(alert, name), _MOST_LINE) for name in _WORDS]
    lines[0] = lines[0] or sanitize(labels.get("alertname", ""))
    subject = [truncate(sanitize(labels.get(name, "")), _MOST_NAME) for name in ("node", "incident")]
    return "\n".join([state, fingerprint(alert), *subject, *lines])

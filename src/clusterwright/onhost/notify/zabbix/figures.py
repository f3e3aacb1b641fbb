"""Sends Zabbix every minute: the liveness of monitoring, discovered hosts and GPUs, and their metrics."""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

from clusterwright.onhost.notify.settings import NotifySettings
from clusterwright.onhost.notify.zabbix.site import RefusedError, ZabbixSite

ROWS_REPEAT_S = 600.0  # unchanged discovery rows are repeated; Zabbix drops them after a week
AT_ONCE = 250  # values per request, as zabbix_sender
TIMEOUT_S = 8.0
_MOST_BYTES = 16_000_000
Rows = dict[tuple[str, ...], str]  # value by label values


class Figures:
    """Sends metrics of Prometheus to one Zabbix; `alive` returns whether monitoring works."""

    def __init__(self, settings: NotifySettings, site: ZabbixSite, alive: Callable[[], bool]) -> None:
        self.settings, self.site, self.alive = settings, site, alive
        self._rows: dict[str, tuple[str, float]] = {}
        self._last_error = ""

    def forever(self) -> None:
        """Call `push` periodically; an error is printed once until it changes. Never returns."""
        while True:
            started = time.monotonic()
            try:
                self.push()
                self._last_error = ""
            except Exception as error:  # noqa: BLE001 (a thread that must never end)
                if str(error) != self._last_error:
                    print(f"figures: {error}", flush=True)
                    self._last_error = str(error)
            time.sleep(max(self.settings.figures_every_s - (time.monotonic() - started), 1.0))

    def push(self) -> None:
        """Send Zabbix the liveness of monitoring, resolved alerts, discovered hosts and GPUs, and metrics.

        Raises:
            RefusedError: the server rejects the values.
            OSError: Prometheus or Alertmanager does not respond.
            ValueError: their response is invalid.
        """
        self._all_of([("clusterwright.alive", "1" if self.alive() else "0")])
        self.site.close_missing(
            alert["fingerprint"] for alert in _get(f"{self.settings.alertmanager}/api/v2/alerts")
        )
        rows_by_key = {figure["key"]: self._query(figure) for figure in self.settings.figures}
        self._send_discovery(rows_by_key)
        values = [
            (f"{key}[{','.join(_quoted(label) for label in which)}]", value)
            for key, rows in rows_by_key.items()
            for which, value in rows.items()
        ]
        for start in range(0, len(values), AT_ONCE):
            self.site.send(values[start : start + AT_ONCE])  # Zabbix rejects new rows for a minute

    def _query(self, figure: dict[str, Any]) -> Rows:
        query = urllib.parse.urlencode({"query": figure["expression"]})
        response = _get(f"{self.settings.prometheus}/api/v1/query?{query}")
        rows = {
            tuple(sample["metric"].get(label, "") for label in figure["labels"]): sample["value"][1]
            for sample in response["data"]["result"]
        }
        return {which: value for which, value in rows.items() if all(which) and value not in _NO_NUMBERS}

    def _send_discovery(self, rows_by_key: dict[str, Rows]) -> None:
        """Send Zabbix the discovered hosts and GPUs when they have changed, and periodically."""
        now = time.monotonic()
        for rule, labels in {figure["rows"]: figure["labels"] for figure in self.settings.figures}.items():
            keys = [figure["key"] for figure in self.settings.figures if figure["rows"] == rule]
            which = sorted({row for key in keys for row in rows_by_key[key]})
            names = [f"{{#{label.upper()}}}" for label in labels]
            text = json.dumps([dict(zip(names, row)) for row in which])
            previous, sent_at = self._rows.get(rule, ("", 0.0))
            if which and (text != previous or now - sent_at >= ROWS_REPEAT_S):
                self._all_of([(rule, text)])
                self._rows[rule] = (text, now)

    def _all_of(self, rows: list[tuple[str, str]]) -> None:
        _accepted, refused = self.site.send(rows)
        if refused:
            raise RefusedError(
                f"{self.site.name}: {self.site.server} rejected `{rows[0][0]}` of host `{self.site.host}`: check that"
                " the host has the template, and this host's address in its macro {$CLUSTERWRIGHT.SENDERS}"
            )


_NO_NUMBERS = ("NaN", "+Inf", "-Inf")


def _quoted(name: str) -> str:
    """Return a label as a parameter of an item key, quoted as Zabbix quotes discovered ones."""
    is_bare = not (set(name) & set(',]"') or name.startswith((" ", "[")))
    return name if is_bare else '"' + name.replace('"', '\\"') + '"'


def _get(url: str) -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=TIMEOUT_S) as answer:
        return json.loads(answer.read(_MOST_BYTES))

"""Which problems Zabbix has open by our doing: a file, so that no repeat and no restart opens one twice."""

from __future__ import annotations

import json
import threading

from clusterwright.onhost.lib.files import write_atomic


class Told:
    """Fingerprints of alerts that the server has taken as firing, and their items."""

    def __init__(self, path: str) -> None:
        self.path, self.lock = path, threading.Lock()  # the lock is held by who speaks to the server
        self.open = _read(path)

    def keep(self) -> None:
        """Onto the disk; where that is full, it is known until the program ends."""
        try:
            write_atomic(self.path, json.dumps(self.open))
        except OSError as why:
            print(f"{self.path}: {why.strerror}; after a restart, problems may be told twice", flush=True)


def _read(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            said = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as why:
        print(f"{path} cannot be read ({type(why).__name__}); what is open may be told twice", flush=True)
        return {}
    if not isinstance(said, dict):
        return {}
    return {print_: key for print_, key in said.items() if isinstance(key, str)}

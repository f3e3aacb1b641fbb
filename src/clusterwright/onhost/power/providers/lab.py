"""The lab's power control: a process of the machine that runs the lab, behind a socket on the controller only."""

import json
import socket
from typing import Any, Dict, List

from clusterwright.onhost.power.providers import Provider

SOCKET = "/run/clusterwright-lab/power/socket"
LIMIT_S = 60


class Switch(Provider):
    """Power control of lab hosts: each request is one line of JSON to the lab's socket, and one back."""

    def __init__(self, settings: Any) -> None:
        self.path = settings.provider.get("socket", SOCKET)

    def on(self, hosts: List[str]) -> Dict[str, str]:
        """Boot the hosts; return the error of each, "" for success."""
        return self._request("on", hosts)

    def off(self, hosts: List[str], hard: bool) -> Dict[str, str]:
        """Shut the hosts down, or with `hard` kill them; return the error of each, "" for success."""
        return self._request("kill" if hard else "off", hosts)

    def state(self, hosts: List[str]) -> Dict[str, str]:
        """Return the power state of each host as the lab reports it; `? ...` if it cannot be queried."""
        return {host: power_state or "?" for host, power_state in self._request("state", hosts, "? ").items()}

    def _request(self, verb: str, hosts: List[str], prefix: str = "") -> Dict[str, str]:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
                line.settimeout(LIMIT_S)
                line.connect(self.path)
                line.sendall(json.dumps({"verb": verb, "hosts": hosts}).encode() + b"\n")
                with line.makefile("rb") as answer:
                    reply = json.loads(answer.readline().decode())
            return {host: str(reply.get(host, prefix + "the lab does not report it")) for host in hosts}
        except (OSError, ValueError) as error:
            return dict.fromkeys(hosts, f"{prefix}the lab's power control: {error}")

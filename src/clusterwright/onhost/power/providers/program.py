"""The site's own programs, each called once with the names of all hosts."""

from typing import Any, Dict, List, Tuple

from clusterwright.onhost.lib import processes
from clusterwright.onhost.power.providers import Provider, Refusal, one_line

LIMIT_S = 120  # a cloud's command line program takes seconds for hundreds of hosts
REFUSED = "refused: "  # prefix of a program's last line for an error that a retry would not change


class Switch(Provider):
    """Power control by programs of the site; exit code 0 is success for all hosts.

    Otherwise the last line of output is the error of all hosts.
    """

    def __init__(self, settings: Any) -> None:
        self.programs = settings.provider
        self.last: Dict[str, str] = {}

    def on(self, hosts: List[str]) -> Dict[str, str]:
        """Run the site's program `on` for the hosts; return the error of each, "" for success."""
        return self._all("on", hosts)

    def off(self, hosts: List[str], hard: bool) -> Dict[str, str]:  # noqa: ARG002 (every provider's signature)
        """Run the site's program `off` for the hosts; return the error of each, "" for success.

        `hard` has no effect: the site decides whether it is an orderly shutdown.
        """
        return self._all("off", hosts)

    def state(self, hosts: List[str]) -> Dict[str, str]:
        """Run the site's program `state`; return `on`, `off` or `? ...` per host.

        Without such a program, by the last successful request.
        """
        if not self.programs.get("state"):
            return {host: self.last.get(host, "? no program for the state") for host in hosts}
        code, out = _run([self.programs["state"], *hosts])
        rows = [line.split() for line in out.splitlines()]
        states = {row[0]: row[1] for row in rows if len(row) == 2 and row[1] in ("on", "off")}
        reason = "? not in the program's output" if code == 0 else "? " + _last(out)
        return {host: states.get(host, reason) for host in hosts}

    def _all(self, verb: str, hosts: List[str]) -> Dict[str, str]:
        code, out = _run([self.programs[verb], *hosts])
        if code == 0:
            self.last.update(dict.fromkeys(hosts, verb))
        message = _last(out)
        answer = Refusal(message) if message.startswith(REFUSED) else message or f"exit code {code}"
        return dict.fromkeys(hosts, "" if code == 0 else answer)


def _run(argv: List[str]) -> Tuple[int, str]:
    result = processes.run(argv, LIMIT_S, merge=True)
    if result.code == processes.TIMED_OUT:
        return result.code, f"{argv[0]} did not end within {LIMIT_S} s"
    return result.code, f"{argv[0]}: {result.stopped}" if result.stopped else result.out


def _last(out: str) -> str:
    lines = out.strip().splitlines()
    return one_line(lines[-1]) if lines else ""

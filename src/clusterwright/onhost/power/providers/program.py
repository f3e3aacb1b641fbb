"""The site's own programs, each called once with all the hosts' names."""

from typing import Any, Dict, List, Tuple

from clusterwright.onhost.lib import processes
from clusterwright.onhost.power.providers import Provider, Refusal

LIMIT_S = 120  # a cloud's own command line takes seconds for hundreds of hosts
REFUSED = "refused: "  # how the last line of a program begins that would refuse again
LONGEST = 300  # letters of its words


class Switch(Provider):
    """Exit code 0 is a yes for all of them; else its last line is the answer for all of them."""

    def __init__(self, settings: Any) -> None:
        self.programs = settings.provider
        self.last: Dict[str, str] = {}

    def on(self, hosts: List[str]) -> Dict[str, str]:
        """The program `on`."""
        return self._all("on", hosts)

    def off(self, hosts: List[str], hard: bool) -> Dict[str, str]:  # noqa: ARG002 (every provider's signature)
        """The program `off`; in order or at once is the site's to know."""
        return self._all("off", hosts)

    def state(self, hosts: List[str]) -> Dict[str, str]:
        """What the program `state` prints; without one, what the others were told last."""
        if not self.programs.get("state"):
            return {host: self.last.get(host, "? no program tells") for host in hosts}
        code, out = _run([self.programs["state"], *hosts])
        rows = [line.split() for line in out.splitlines()]
        states = {row[0]: row[1] for row in rows if len(row) == 2 and row[1] in ("on", "off")}
        reason = "? it says nothing of it" if code == 0 else "? " + _last(out)
        return {host: states.get(host, reason) for host in hosts}

    def _all(self, verb: str, hosts: List[str]) -> Dict[str, str]:
        code, out = _run([self.programs[verb], *hosts])
        if code == 0:
            self.last.update(dict.fromkeys(hosts, verb))
        message = _last(out)
        answer = Refusal(message) if message.startswith(REFUSED) else message or f"it ended with code {code}"
        return dict.fromkeys(hosts, "" if code == 0 else answer)


def _run(argv: List[str]) -> Tuple[int, str]:
    result = processes.run(argv, LIMIT_S, merge=True)
    if result.code == processes.TIMED_OUT:
        return result.code, f"{argv[0]} did not end within {LIMIT_S} s"
    return result.code, f"{argv[0]}: {result.stopped}" if result.stopped else result.out


def _last(out: str) -> str:
    lines = out.strip().splitlines()
    return lines[-1][:LONGEST] if lines else ""

"""IPMI 2.0 over the network by ipmitool; the password is passed in a file, never on a command line."""

from clusterwright.onhost.lib import processes
from clusterwright.onhost.power.providers.per_host import PerHostProvider

LIMIT_S = 30
POWER_COMMANDS = {"on": "on", "off": "soft", "kill": "off", "state": "status"}
# ipmitool's messages for an unknown user or a wrong password (its lanplus interface).
WRONG = ("unauthorized name", "HMAC is invalid", "password verification", "Invalid user name")


class Switch(PerHostProvider):
    """Power control by `ipmitool chassis power` of each host's BMC."""

    def call_host(self, host: str, verb: str) -> str:
        """Run ipmitool's `chassis power` on the BMC, as PerHostProvider; no effect on a host that has the state.

        Return the error, or for `state` the power state, else an empty text.
        """
        argv = [
            "ipmitool", "-I", "lanplus", "-N", "3", "-R", "2", "-H", self.address(host),
            "-U", self.provider["user"], "-f", self.path, "chassis", "power", POWER_COMMANDS[verb],
        ]  # fmt: skip
        result = processes.run(argv, LIMIT_S, merge=True)
        if result.code == processes.TIMED_OUT:
            return f"{self.address(host)} does not respond within {LIMIT_S} s"
        out = result.stopped or result.out.strip()
        if any(phrase in out for phrase in WRONG):
            return self.refusal(host)
        if not result.ok:
            return "{}: {}".format(self.address(host), out.splitlines()[-1] if out else "no output")
        if verb == "state":
            return out.split()[-1].lower() if out.lower().endswith((" on", " off")) else out
        return ""

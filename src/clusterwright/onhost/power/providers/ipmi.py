"""IPMI 2.0 over the network, by ipmitool; the password goes by a file, never on a command line."""

from clusterwright.onhost.lib import processes
from clusterwright.onhost.power.providers.each import Each

LIMIT_S = 30
WORDS = {"on": "on", "off": "soft", "kill": "off", "state": "status"}
# ipmitool's words where the user or the password is not known (lib of its lanplus interface).
WRONG = ("unauthorized name", "HMAC is invalid", "password verification", "Invalid user name")


class Switch(Each):
    """`chassis power` of each host's management controller."""

    def one(self, host: str, verb: str) -> str:
        """The tool asks for itself whether the host is there already."""
        argv = [
            "ipmitool", "-I", "lanplus", "-N", "3", "-R", "2", "-H", self.address(host),
            "-U", self.provider["user"], "-f", self.path, "chassis", "power", WORDS[verb],
        ]  # fmt: skip
        done = processes.run(argv, LIMIT_S, merge=True)
        if done.code == processes.TIMED_OUT:
            return f"{self.address(host)} does not answer within {LIMIT_S} s"
        out = done.stopped or done.out.strip()
        if any(word in out for word in WRONG):
            return self.refusal(host)
        if not done.ok:
            return "{}: {}".format(self.address(host), out.splitlines()[-1] if out else "no answer")
        if verb == "state":
            return out.split()[-1].lower() if out.lower().endswith((" on", " off")) else out
        return ""

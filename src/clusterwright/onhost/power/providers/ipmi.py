"""IPMI 2.0 over the network, by ipmitool; the password goes by a file, never on a command line."""

import subprocess

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
        try:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                timeout=LIMIT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"{self.address(host)} does not answer within {LIMIT_S} s"
        out = done.stdout.decode(errors="replace").strip()
        if any(word in out for word in WRONG):
            return self.refusal(host)
        if done.returncode:
            return "{}: {}".format(self.address(host), out.splitlines()[-1] if out else "no answer")
        if verb == "state":
            return out.split()[-1].lower() if out.lower().endswith((" on", " off")) else out
        return ""

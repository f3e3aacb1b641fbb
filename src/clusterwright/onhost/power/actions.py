"""Carries out power steps: requests to the provider, their results in the records, and updates of Slurm's nodes."""

import time
from typing import Any, Callable, List

from clusterwright.onhost.power import decide
from clusterwright.onhost.power.providers import Provider, Refusal
from clusterwright.onhost.power.records import PowerRecord, Records
from clusterwright.onhost.power.settings import PowerSettings
from clusterwright.slurm.drain_reasons import POWER

RETRY_INTERVAL_S, SLOWEST_S = 5.0, 60.0  # between repeated requests: the first and the longest interval
OFF_S = 20.0  # limit for a host to be off after its power was cut
POLL_INTERVAL_S = 1.0


class PowerActions:
    """The steps of `decide`, one method each, for hosts that need the same step."""

    def __init__(
        self,
        settings: PowerSettings,
        provider: Provider,
        records: Records,
        log: Callable[[str], None],
        slurm: Any,
    ) -> None:
        self.settings, self.provider, self.records, self.log, self.slurm = (
            settings,
            provider,
            records,
            log,
            slurm,
        )

    def do(self, verb: str, hosts: List[str], now: float) -> None:
        """Run one step for these hosts: the method of this class that `verb` names, such as `off`."""
        getattr(self, verb)(hosts, now)

    def boot(self, hosts: List[str], now: float) -> None:
        """Power on hosts; those already on are powered off first, because slurmd would not register again."""
        for host in hosts:
            self.records.by_host[host].request_state("on", now)
        states = self.provider.state(hosts)
        running = [host for host in hosts if states[host] == "on"]
        if running:
            self.log(
                "{}: is on although Slurm has just powered it up: power off first".format(",".join(running))
            )
            self.provider.off(running, hard=True)
            self._until_off(running)
        self._on(hosts, now)

    def retry_boot(self, hosts: List[str], now: float) -> None:
        """Request power again for hosts that are not on: a provider may accept a request and do nothing."""
        states = self.provider.state(hosts)
        for host in hosts:
            self.records.by_host[host].observed = states[host]
            if states[host] == "on":
                self._later(host, now)
        self._on([host for host in hosts if states[host] != "on"], now)

    def force_power_down(self, hosts: List[str], now: float) -> None:
        """Power down, in Slurm, nodes whose boot cannot succeed, so that their jobs go elsewhere at once.

        State DOWN would leave the node powering up.
        """
        for host in hosts:
            self.slurm.update([host], "State=POWER_DOWN_FORCE")
            self.records.by_host[host].next = now + RETRY_INTERVAL_S

    def off(self, hosts: List[str], now: float) -> None:
        """Request an orderly shutdown of the hosts from the provider."""
        for host in hosts:
            self.records.by_host[host].request_state("off", now)
        self._off(hosts, now, hard=False)

    def kill(self, hosts: List[str], now: float) -> None:
        """Cut the power of the hosts, wait until they are off, and record whether they are."""
        self._off(hosts, now, hard=True)
        self._until_off(hosts)
        self.check_off(hosts, now)

    def check_off(self, hosts: List[str], now: float) -> None:
        """Record whether the hosts are off; one that somebody has switched on meanwhile is powered off by a later poll.

        A refusal of the provider counts as hopeless.
        """
        states = self.provider.state(hosts)
        for host in hosts:
            record, was_sure = self.records.by_host[host], self.records.by_host[host].sure
            record.sure = states[host] == "off"
            refused = isinstance(states[host], Refusal)
            record.hopeless = refused or (record.hopeless and record.drained)
            record.next = now + (decide.OFF_POLL_INTERVAL_S if record.sure or refused else POLL_INTERVAL_S)
            if was_sure and states[host] == "on":
                self.log(f"{host}: is on although Slurm has it powered down")
                record.request_state("", now)  # the next poll requests power off

    def fail(self, hosts: List[str], now: float) -> None:
        """After a failed boot: set the node DOWN and power the host off, so that the next boot starts from off."""
        for host in hosts:
            record = self.records.by_host[host]
            record.failed_boots += 1
            message = _why(record)
            record.request_state("failed", now)
            self.log(f"{host}: boot {record.failed_boots} of {self.settings.max_attempts} failed: {message}")
            reason = f"boot {record.failed_boots} of {self.settings.max_attempts} failed: {message}"
            self.slurm.update([host], "State=DOWN", "Reason=" + POWER + reason)
        self._off(hosts, now, hard=True)
        self._until_off(hosts)
        states = self.provider.state(hosts)
        for host in hosts:
            record = self.records.by_host[host]
            record.sure = states[host] == "off" or states[host].startswith("?")
            last = record.hopeless or record.failed_boots >= self.settings.max_attempts
            record.next = now if last else now + decide.pause(record.failed_boots, self.settings)

    def resume(self, hosts: List[str], now: float) -> None:
        """After a failed boot and its pause: set the nodes to RESUME, so that Slurm may power them up again."""
        error = self.slurm.update(hosts, "State=RESUME")
        for host in hosts:
            record = self.records.by_host[host]
            record.next = now + RETRY_INTERVAL_S
            if not error:
                record.request_state("off", now)
                record.sure = True
        if error:
            self.log("{}: Slurm did not resume it: {}".format(",".join(hosts), error))

    def drain(self, hosts: List[str], now: float) -> None:
        """Drain nodes that need an administrator, with the reason: no job waits for them, and they are not DOWN."""
        for host in hosts:
            record = self.records.by_host[host]
            count = "" if record.hopeless else f"failed boots: {record.failed_boots}: "
            reason = f"Reason={POWER}{count}{_why(record)}"
            error = self.slurm.update([host], "State=DRAIN", reason)
            record.drained, record.next = not error, now + SLOWEST_S
            self.log(f"{host}: drained: {error or reason}")

    def forgive(self, hosts: List[str], now: float) -> None:
        """Reset the count of failed boots after an administrator has resumed the node."""
        for host in hosts:
            record = self.records.by_host[host]
            record.failed_boots, record.drained, record.hopeless, record.message = 0, False, False, ""
            record.request_state("off", now)

    def note(self, hosts: List[str], now: float) -> None:
        """Record that the hosts are up: slurmd has registered."""
        for host in hosts:
            record = self.records.by_host[host]
            record.request_state("", now)
            record.failed_boots, record.message, record.drained, record.hopeless = 0, "", False, False

    def _on(self, hosts: List[str], now: float) -> None:
        for host, message in (self.provider.on(hosts) if hosts else {}).items():
            self.records.by_host[host].message, self.records.by_host[host].hopeless = (
                "",
                False,
            )  # of earlier requests
            self._record_message(host, message)
            if not self.records.by_host[host].hopeless:
                self._later(host, now)

    def _off(self, hosts: List[str], now: float, hard: bool) -> None:
        answers = self.provider.off(hosts, hard)
        for host in hosts:
            self._record_message(host, answers[host])
            self.records.by_host[host].next = now + POLL_INTERVAL_S

    def _record_message(self, host: str, message: str) -> None:
        """Store the provider's message in the host's record, and log it if it is new."""
        record = self.records.by_host[host]
        if message and message != record.message:
            self.log(f"{host}: {message}")
        record.message = message or record.message
        record.hopeless = record.hopeless or isinstance(message, Refusal)

    def _later(self, host: str, now: float) -> None:
        record = self.records.by_host[host]
        record.next = now + min(SLOWEST_S, RETRY_INTERVAL_S * 2**record.calls)
        record.calls += 1

    def _until_off(self, hosts: List[str]) -> None:
        """Wait up to OFF_S for the hosts to be off; the next poll handles those that are not."""
        end = time.monotonic() + OFF_S
        while time.monotonic() < end:
            states = self.provider.state(hosts)
            if not any(states[host] == "on" for host in hosts):
                return
            time.sleep(POLL_INTERVAL_S)


def _why(record: PowerRecord) -> str:
    """Return the reason of a failed boot, by the provider's message or the observed power state."""
    if record.message:
        return record.message
    explanations = {
        "on": "it is on, but slurmd does not register",
        "off": "the provider accepted the request, but the host is off",
    }
    return explanations.get(record.observed, "slurmd does not register")

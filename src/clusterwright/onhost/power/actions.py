"""Steps done: the provider is asked, its answer kept, and Slurm told what follows from it."""

import time
from typing import Any, Callable, List

from clusterwright.onhost.power import decide
from clusterwright.onhost.power.providers import Provider, Refusal
from clusterwright.onhost.power.records import Record, Records
from clusterwright.onhost.power.settings import Settings
from clusterwright.slurm.drain_reasons import POWER

RETRY_INTERVAL_S, SLOWEST_S = 5.0, 60.0  # between two requests for the same thing, at first and at most
OFF_S = 20.0  # how long a host may take to be gone when its power is cut, before it is booted
POLL_INTERVAL_S = 1.0


class PowerActions:
    """What may be done with hosts; each method is one of the steps, for hosts that need the same."""

    def __init__(
        self, settings: Settings, provider: Provider, records: Records, log: Callable[[str], None], slurm: Any
    ) -> None:
        self.settings, self.provider, self.records, self.log, self.slurm = (
            settings,
            provider,
            records,
            log,
            slurm,
        )

    def do(self, verb: str, hosts: List[str], now: float) -> None:
        """One step for several hosts."""
        getattr(self, verb)(hosts, now)

    def boot(self, hosts: List[str], now: float) -> None:
        """Those that have power lose it first: what is on already will never say that it has booted."""
        for host in hosts:
            self.records.by_host[host].request_state("on", now)
        states = self.provider.state(hosts)
        running = [host for host in hosts if states[host] == "on"]
        if running:
            self.log("{}: has power, though Slurm has just asked for it: off first".format(",".join(running)))
            self.provider.off(running, hard=True)
            self._until_off(running)
        self._on(hosts, now)

    def retry_boot(self, hosts: List[str], now: float) -> None:
        """A provider may say yes and do nothing, so it is asked again where the host is not on."""
        states = self.provider.state(hosts)
        for host in hosts:
            self.records.by_host[host].seen = states[host]
            if states[host] == "on":
                self._later(host, now)
        self._on([host for host in hosts if states[host] != "on"], now)

    def force_power_down(self, hosts: List[str], now: float) -> None:
        """Slurm waits in vain: it takes the host back now, and jobs go elsewhere (DOWN would leave it on its way)."""
        for host in hosts:
            self.slurm.update([host], "State=POWER_DOWN_FORCE")
            self.records.by_host[host].next = now + RETRY_INTERVAL_S

    def off(self, hosts: List[str], now: float) -> None:
        """In order."""
        for host in hosts:
            self.records.by_host[host].request_state("off", now)
        self._off(hosts, now, hard=False)

    def kill(self, hosts: List[str], now: float) -> None:
        """At once, and seen to be off."""
        self._off(hosts, now, hard=True)
        self._until_off(hosts)
        self.check_off(hosts, now)

    def check_off(self, hosts: List[str], now: float) -> None:
        """Is it off? One that somebody has switched on meanwhile is switched off again."""
        states = self.provider.state(hosts)
        for host in hosts:
            record, was_sure = self.records.by_host[host], self.records.by_host[host].sure
            record.sure = states[host] == "off"
            refused = isinstance(states[host], Refusal)
            record.hopeless = refused or (record.hopeless and record.drained)
            record.next = now + (decide.OFF_POLL_INTERVAL_S if record.sure or refused else POLL_INTERVAL_S)
            if was_sure and states[host] == "on":
                self.log(f"{host}: has power, though Slurm has it off")
                record.request_state("", now)  # asked to go off at the next look

    def fail(self, hosts: List[str], now: float) -> None:
        """A boot that came to nothing: off, so that the next one begins from off, and held until then."""
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
        """Slurm may ask for it again."""
        error = self.slurm.update(hosts, "State=RESUME")
        for host in hosts:
            record = self.records.by_host[host]
            record.next = now + RETRY_INTERVAL_S
            if not error:
                record.request_state("off", now)
                record.sure = True
        if error:
            self.log("{}: Slurm does not take it back: {}".format(",".join(hosts), error))

    def drain(self, hosts: List[str], now: float) -> None:
        """For a person to look at: no longer down, and no job asks for it."""
        for host in hosts:
            record = self.records.by_host[host]
            count = "" if record.hopeless else f"{record.failed_boots} boots failed: "
            reason = f"Reason={POWER}{count}{_why(record)}"
            error = self.slurm.update([host], "State=DRAIN", reason)
            record.drained, record.next = not error, now + SLOWEST_S
            self.log(f"{host}: drained: {error or reason}")

    def forgive(self, hosts: List[str], now: float) -> None:
        """Somebody has fixed it: counted from nothing again."""
        for host in hosts:
            record = self.records.by_host[host]
            record.failed_boots, record.drained, record.hopeless, record.words = 0, False, False, ""
            record.request_state("off", now)

    def note(self, hosts: List[str], now: float) -> None:
        """It is up."""
        for host in hosts:
            record = self.records.by_host[host]
            record.request_state("", now)
            record.failed_boots, record.words, record.drained, record.hopeless = 0, "", False, False

    def _on(self, hosts: List[str], now: float) -> None:
        for host, message in (self.provider.on(hosts) if hosts else {}).items():
            self.records.by_host[host].words, self.records.by_host[host].hopeless = (
                "",
                False,
            )  # answers of before
            self._record_message(host, message)
            if not self.records.by_host[host].hopeless:
                self._later(host, now)

    def _off(self, hosts: List[str], now: float, hard: bool) -> None:
        answers = self.provider.off(hosts, hard)
        for host in hosts:
            self._record_message(host, answers[host])
            self.records.by_host[host].next = now + POLL_INTERVAL_S

    def _record_message(self, host: str, message: str) -> None:
        """The provider's words, said once."""
        record = self.records.by_host[host]
        if message and message != record.words:
            self.log(f"{host}: {message}")
        record.words = message or record.words
        record.hopeless = record.hopeless or isinstance(message, Refusal)

    def _later(self, host: str, now: float) -> None:
        record = self.records.by_host[host]
        record.next = now + min(SLOWEST_S, RETRY_INTERVAL_S * 2**record.calls)
        record.calls += 1

    def _until_off(self, hosts: List[str]) -> None:
        """As long as that may take; who is not off by then is asked again at the next look."""
        end = time.monotonic() + OFF_S
        while time.monotonic() < end:
            states = self.provider.state(hosts)
            if not any(states[host] == "on" for host in hosts):
                return
            time.sleep(POLL_INTERVAL_S)


def _why(record: Record) -> str:
    """What is known of a boot that failed."""
    if record.words:
        return record.words
    explanations = {
        "on": "it has power, and slurmd keeps silent",
        "off": "the provider says yes, and it has no power",
    }
    return explanations.get(record.seen, "slurmd keeps silent")

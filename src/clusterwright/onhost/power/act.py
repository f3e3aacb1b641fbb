"""Steps done: the provider is asked, its answer kept, and Slurm told what follows from it."""

import time
from typing import Any, Callable, List

from clusterwright.onhost.power import decide
from clusterwright.onhost.power.providers import Provider, Refusal
from clusterwright.onhost.power.records import Record, Records
from clusterwright.onhost.power.settings import Settings
from clusterwright.slurm.drain_reasons import POWER

AGAIN_S, SLOWEST_S = 5.0, 60.0  # between two requests for the same thing, at first and at most
OFF_S = 20.0  # how long a host may take to be gone when its power is cut, before it is booted
LOOK_S = 1.0


class Act:
    """What may be done with hosts; each method is one of the steps, for hosts that need the same."""

    def __init__(
        self, of: Settings, provider: Provider, records: Records, log: Callable[[str], None], slurm: Any
    ) -> None:
        self.of, self.provider, self.records, self.log, self.slurm = of, provider, records, log, slurm

    def do(self, verb: str, hosts: List[str], now: float) -> None:
        """One step for several hosts."""
        getattr(self, verb)(hosts, now)

    def boot(self, hosts: List[str], now: float) -> None:
        """Those that have power lose it first: what is on already will never say that it has booted."""
        for host in hosts:
            self.records.of[host].ask("on", now)
        states = self.provider.state(hosts)
        running = [host for host in hosts if states[host] == "on"]
        if running:
            self.log("{}: has power, though Slurm has just asked for it: off first".format(",".join(running)))
            self.provider.off(running, hard=True)
            self._until_off(running)
        self._on(hosts, now)

    def again(self, hosts: List[str], now: float) -> None:
        """A provider may say yes and do nothing, so it is asked again where the host is not on."""
        states = self.provider.state(hosts)
        for host in hosts:
            self.records.of[host].seen = states[host]
            if states[host] == "on":
                self._later(host, now)
        self._on([host for host in hosts if states[host] != "on"], now)

    def hold(self, hosts: List[str], now: float) -> None:
        """Slurm waits in vain: it takes the host back now, and jobs go elsewhere (DOWN would leave it on its way)."""
        for host in hosts:
            self.slurm.update([host], "State=POWER_DOWN_FORCE")
            self.records.of[host].next = now + AGAIN_S

    def off(self, hosts: List[str], now: float) -> None:
        """In order."""
        for host in hosts:
            self.records.of[host].ask("off", now)
        self._off(hosts, now, hard=False)

    def kill(self, hosts: List[str], now: float) -> None:
        """At once, and seen to be off."""
        self._off(hosts, now, hard=True)
        self._until_off(hosts)
        self.look(hosts, now)

    def look(self, hosts: List[str], now: float) -> None:
        """Is it off? One that somebody has switched on meanwhile is switched off again."""
        states = self.provider.state(hosts)
        for host in hosts:
            record, was_sure = self.records.of[host], self.records.of[host].sure
            record.sure = states[host] == "off"
            refused = isinstance(states[host], Refusal)
            record.hopeless = refused or (record.hopeless and record.drained)
            record.next = now + (decide.LOOKS_S if record.sure or refused else LOOK_S)
            if was_sure and states[host] == "on":
                self.log(f"{host}: has power, though Slurm has it off")
                record.ask("", now)  # asked to go off at the next look

    def fail(self, hosts: List[str], now: float) -> None:
        """A boot that came to nothing: off, so that the next one begins from off, and held until then."""
        for host in hosts:
            record = self.records.of[host]
            record.tries += 1
            words = _why(record)
            record.ask("failed", now)
            self.log(f"{host}: boot {record.tries} of {self.of.tries} failed: {words}")
            reason = f"boot {record.tries} of {self.of.tries} failed: {words}"
            self.slurm.update([host], "State=DOWN", "Reason=" + POWER + reason)
        self._off(hosts, now, hard=True)
        self._until_off(hosts)
        states = self.provider.state(hosts)
        for host in hosts:
            record = self.records.of[host]
            record.sure = states[host] == "off" or states[host].startswith("?")
            last = record.hopeless or record.tries >= self.of.tries
            record.next = now if last else now + decide.pause(record.tries, self.of)

    def give(self, hosts: List[str], now: float) -> None:
        """Slurm may ask for it again."""
        said = self.slurm.update(hosts, "State=RESUME")
        for host in hosts:
            record = self.records.of[host]
            record.next = now + AGAIN_S
            if not said:
                record.ask("off", now)
                record.sure = True
        if said:
            self.log("{}: Slurm does not take it back: {}".format(",".join(hosts), said))

    def drain(self, hosts: List[str], now: float) -> None:
        """For a person to look at: no longer down, and no job asks for it."""
        for host in hosts:
            record = self.records.of[host]
            count = "" if record.hopeless else f"{record.tries} boots failed: "
            reason = f"Reason={POWER}{count}{_why(record)}"
            said = self.slurm.update([host], "State=DRAIN", reason)
            record.drained, record.next = not said, now + SLOWEST_S
            self.log(f"{host}: drained: {said or reason}")

    def forgive(self, hosts: List[str], now: float) -> None:
        """Somebody has mended it: counted from nothing again."""
        for host in hosts:
            record = self.records.of[host]
            record.tries, record.drained, record.hopeless, record.words = 0, False, False, ""
            record.ask("off", now)

    def note(self, hosts: List[str], now: float) -> None:
        """It is up."""
        for host in hosts:
            record = self.records.of[host]
            record.ask("", now)
            record.tries, record.words, record.drained, record.hopeless = 0, "", False, False

    def _on(self, hosts: List[str], now: float) -> None:
        for host, words in (self.provider.on(hosts) if hosts else {}).items():
            self.records.of[host].words, self.records.of[host].hopeless = "", False  # answers of before
            self._keep(host, words)
            if not self.records.of[host].hopeless:
                self._later(host, now)

    def _off(self, hosts: List[str], now: float, hard: bool) -> None:
        said = self.provider.off(hosts, hard)
        for host in hosts:
            self._keep(host, said[host])
            self.records.of[host].next = now + LOOK_S

    def _keep(self, host: str, words: str) -> None:
        """The provider's words, said once."""
        record = self.records.of[host]
        if words and words != record.words:
            self.log(f"{host}: {words}")
        record.words = words or record.words
        record.hopeless = record.hopeless or isinstance(words, Refusal)

    def _later(self, host: str, now: float) -> None:
        record = self.records.of[host]
        record.next = now + min(SLOWEST_S, AGAIN_S * 2**record.calls)
        record.calls += 1

    def _until_off(self, hosts: List[str]) -> None:
        """As long as that may take; who is not off by then is asked again at the next look."""
        end = time.monotonic() + OFF_S
        while time.monotonic() < end:
            states = self.provider.state(hosts)
            if not any(states[host] == "on" for host in hosts):
                return
            time.sleep(LOOK_S)


def _why(record: Record) -> str:
    """What is known of a boot that failed."""
    if record.words:
        return record.words
    told = {
        "on": "it has power, and slurmd keeps silent",
        "off": "the provider says yes, and it has no power",
    }
    return told.get(record.seen, "slurmd keeps silent")

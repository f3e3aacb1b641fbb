"""What hosts did under load for a long time: was every result right, and did any of them become slower; pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusterwright.check.bench.fleet import FAR, FEWEST, TINY, factors
from clusterwright.check.verdict import Status, Verdict

BENCH = "burn_in"
ENOUGH = 0.9  # ours: a GPU that is held back for heat loses more, and a fan that slows down less
LEAST_QUARTER = 3  # slices; of fewer, one that was disturbed decides


@dataclass(slots=True)
class Burned:
    """One host: how much it did in each slice by kind of load, what was wrong, what could not be run."""

    host: str
    rates: dict[str, list[float]] = field(default_factory=dict)
    wrong: dict[str, list[str]] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    sums: dict[str, set[int]] = field(default_factory=dict)
    heat: dict[str, list[float]] = field(default_factory=dict)
    pairs: int = 0
    pairs_failed: list[str] = field(default_factory=list)

    def add(self, found: Mapping[str, Any]) -> None:
        """One more order that it carried out."""
        for name, rates in found["rates"].items():
            self.rates.setdefault(name, []).extend(rates)
        for name, words in found["wrong"].items():
            self.wrong.setdefault(name, []).extend(words)
        self.broken |= found["broken"]
        for device, total in found["sums"].items():
            self.sums.setdefault(device, set()).add(total)
        for name, values in found["heat"].items():
            self.heat.setdefault(name, []).extend(values)
        if found["pair"] is not None:
            self.pairs += 1
            self.pairs_failed += [found["pair"]["failed"]] if "failed" in found["pair"] else []


@dataclass(frozen=True, slots=True)
class Drift:
    """The last quarter's rate over the first's; `apart` when no slice of the last is as fast as any of the first."""

    share: float
    apart: bool


def drift(rates: Sequence[float]) -> Drift | None:
    """Of one load of one host; None where there are too few slices to say."""
    quarter = len(rates) // 4
    if quarter < LEAST_QUARTER:
        return None
    first, last = rates[:quarter], rates[-quarter:]
    before = statistics.median(first)
    return Drift(statistics.median(last) / before, max(last) < min(first)) if before else None


def verdicts(burned: Sequence[Burned]) -> Iterator[Verdict]:
    """On every host's results, on loads that could not be run, and on every load that became slower."""
    for each in burned:
        yield _of_results(each)
        for name, why in each.broken.items():
            yield Verdict(each.host, BENCH, Status.UNKNOWN, why, f"{name} all the time", part=name)
    names = dict.fromkeys(name for each in burned for name in each.rates)
    for name in names:
        found = {each.host: drift(each.rates.get(name, ())) for each in burned}
        yield from _of_drift(name, {host: one for host, one in found.items() if one})


def _of_results(each: Burned) -> Verdict:
    """One wrong result is too many; so is another one for the same product on another minute."""
    said = [f"{name}: {words[0]}, {len(words)} times" for name, words in each.wrong.items()]
    said += [
        f"{device}: {len(sums)} results of one product" for device, sums in each.sums.items() if len(sums) > 1
    ]
    want = "every result the same to the last bit, everything read back as it was written"
    if not each.rates:
        return Verdict(each.host, BENCH, Status.UNKNOWN, "nothing was measured", want, part="results")
    mend = (
        "take it out of use: a processor, a GPU, memory or a disk changes data; see its ECC counts"
        if said
        else ""
    )
    saw = "; ".join(said) or f"all right: {', '.join(each.rates)}"
    return Verdict(each.host, BENCH, Status.FAIL if said else Status.OK, saw, want, mend, "results")


def _of_drift(name: str, found: Mapping[str, Drift]) -> Iterator[Verdict]:
    """A host fails that became slower, slice by slice, and further than the others; all together are a warning."""
    if not found:
        return
    shares = {host: max(each.share, TINY) for host, each in found.items()}
    usual, spread = statistics.median(shares.values()), factors(shares.values())
    want = f"the last quarter at least {ENOUGH:.0%} of the first one"
    for host, each in found.items():
        low = each.share < ENOUGH and each.apart
        far = len(found) >= FEWEST and math.log(shares[host] / usual) / spread < -FAR
        status = Status.FAIL if low and far else Status.WARN if low else Status.OK
        saw = (
            f"last quarter {each.share:.0%} of the first one; {usual:.0%} in the median of {len(found)} hosts"
        )
        mend = "compare heat, clocks and reasons for them with the other hosts: fans, inlet, power supply"
        yield Verdict(host, BENCH, status, saw, want, mend if low else "", f"{name} drift")

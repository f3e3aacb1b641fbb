"""Find slow hosts among many: halve a slow group, and measure a single host together with a healthy one.

Pure. `slow` measures disjoint groups at the same time and returns whether each was slow: one round.
One slow host of N is found in log2(N) + 2 rounds at most; several need little more, because all halves are
measured together. Where both halves are fast and the group is not, the fault lies between them, which
`culprits.py` finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from clusterwright.check.bench.rounds import round_robin

Group = tuple[str, ...]
Slow = Callable[[tuple[Group, ...]], tuple[bool, ...]]

FEW = 3  # with so few hosts all pairs take no more rounds than halving, and leave no case open


@dataclass(frozen=True, slots=True)
class Bisection:
    """Slow hosts; pairs of groups fast alone and slow together; groups (`open`) whose slow host stays unknown."""

    hosts: Group = ()
    slow_pairs: tuple[tuple[Group, Group], ...] = ()
    open: tuple[Group, ...] = ()
    rounds: int = 0


def bisect(
    hosts: Sequence[str], slow: Slow, *, is_slow: bool = False, healthy_hosts: Sequence[str] = ()
) -> Bisection:
    """Find what makes the group of all these hosts slow; empty if the group is not slow.

    `is_slow`: already measured slow. `healthy_hosts`: other hosts, known to be fast, as partners for single hosts.
    """
    search, all_hosts = _Search(slow, healthy_hosts=dict.fromkeys(healthy_hosts)), tuple(hosts)
    if len(hosts) <= FEW and not healthy_hosts:
        return search.by_pairs(all_hosts)
    if not is_slow:
        search.measure([all_hosts])
    suspects = [all_hosts] if search.answers.get(all_hosts, is_slow) else []
    while suspects or search.waiting:
        suspects = search.halve(suspects)
        if not suspects and search.waiting and not search.healthy_hosts and not search.find_good():
            break
    return search.result()


@dataclass(slots=True)
class _Search:
    slow: Slow
    answers: dict[Group, bool] = field(default_factory=dict)
    healthy_hosts: dict[str, None] = field(default_factory=dict)  # in the order in which they were found
    waiting: list[str] = field(default_factory=list)  # single hosts not yet measured with a healthy one
    halved: list[tuple[Group, Group]] = field(default_factory=list)
    rounds: int = 0

    def measure(self, groups: Iterable[Group]) -> None:
        """Measure the groups in one round and store which are slow; the hosts of a fast group then count as healthy."""
        batch = tuple(groups)
        if not batch:
            return
        self.rounds += 1
        for group, bad in zip(batch, self.slow(batch), strict=True):
            self.answers[group] = bad
            if not bad:
                self.healthy_hosts |= dict.fromkeys(group)
                self.answers |= {(host,): False for host in group}

    def halve(self, suspects: list[Group]) -> list[Group]:
        """Measure the halves of all suspects in one round; return the slow halves of more than one host.

        A half of one host is measured with a healthy partner; if none is free, it waits for a later round.
        """
        pairs = [_halves(group) for group in suspects]
        self.halved += pairs
        parts = [part for halves in pairs for part in halves]
        self.waiting += [part[0] for part in parts if len(part) == 1]
        larger = [part for part in parts if len(part) > 1]
        self.waiting = [host for host in self.waiting if host not in self.healthy_hosts]
        partners = dict(zip(self.waiting, self.healthy_hosts, strict=False))
        self.measure([*larger, *partners.items()])
        for host, partner in partners.items():
            self.answers[host,] = self.answers[host, partner]
        self.waiting = [host for host in self.waiting if host not in partners]
        return [part for part in larger if self.answers[part]]

    def find_good(self) -> bool:
        """Measure pairs of single hosts that were not paired yet, until one pair is fast; return whether one was."""
        for pairs in round_robin(self.waiting):
            self.measure(pair for pair in pairs if pair not in self.answers)
            if self.healthy_hosts:
                return True
        return False

    def by_pairs(self, hosts: Group) -> Bisection:
        """Bisect a few hosts, of which none is known as healthy, by measuring all their pairs.

        Hosts that are in every one of several slow pairs are at fault; without such hosts, the slow pairs are. If all
        pairs are slow, or too few were measured, the hosts stay open.
        """
        for pairs in round_robin(hosts):
            self.measure(pairs)
        bad = [pair for pair, slow in self.answers.items() if slow]
        if len(self.answers) < len(hosts) or len(bad) == len(hosts):
            return Bisection(open=(hosts,) if bad else (), rounds=self.rounds)
        shared = tuple(host for host in hosts if len(bad) > 1 and all(host in pair for pair in bad))
        slow_pairs = () if shared else tuple(((member,), (peer,)) for member, peer in bad)
        return Bisection(shared, slow_pairs, rounds=self.rounds)

    def result(self) -> Bisection:
        """Return what the measurements so far prove: slow hosts, slow pairs, and hosts that remain unresolved."""
        singles = {group[0]: bad for group, bad in self.answers.items() if len(group) == 1}
        slow_pairs = [pair for pair in self.halved if all(self.answers.get(half) is False for half in pair)]
        open_hosts = tuple(host for host in self.waiting if host not in singles)
        hosts = tuple(host for host, bad in singles.items() if bad)
        return Bisection(hosts, tuple(slow_pairs), (open_hosts,) if open_hosts else (), self.rounds)


def _halves(group: Group) -> tuple[Group, Group]:
    middle = (len(group) + 1) // 2
    return group[:middle], group[middle:]

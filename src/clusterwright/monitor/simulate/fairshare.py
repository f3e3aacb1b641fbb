"""Fair share as Slurm reckons it since 19.05: the fair tree, over use that decays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clusterwright.monitor.simulate.settings import Account

Who = tuple[str, str]  # team, user


class FairTree:
    """Use of each user in each team, and the factor that follows from it, 1 for who is owed most.

    Among the children of an account, who has used least of what was promised comes first, with everybody beneath;
    a user's factor is its place in that order, over how many there are (slurm.schedmd.com/fair_tree.html).
    """

    def __init__(self, accounts: Mapping[str, Account], half_life_s: float) -> None:
        self._accounts, self._half_life_s = dict(accounts), half_life_s
        self._used: dict[Who, float] = {}
        self._at = 0.0

    def know(self, team: str, user: str) -> None:
        """A user sends jobs; a team that nobody named has one share."""
        self._accounts.setdefault(team, Account(team))
        self._used.setdefault((team, user), 0.0)

    def decay(self, now: float) -> None:
        """Time has gone by."""
        passed = now - self._at
        if passed > 0:
            factor = 0.5 ** (passed / self._half_life_s)
            self._used = {who: used * factor for who, used in self._used.items()}
            self._at = now

    def charge(self, team: str, user: str, amount: float) -> None:
        """So much was used."""
        self._used[(team, user)] += amount

    def factors(self) -> dict[Who, float]:
        """For each user in each team."""
        ranked = list(self._below("", ()))
        found: dict[Who, float] = {}
        before: tuple[tuple[float, ...], float] | None = None
        for place, (who, levels) in enumerate(ranked):
            tied = before is not None and levels == before[0]
            factor = before[1] if tied and before else (len(ranked) - place) / len(ranked)
            found[who], before = factor, (levels, factor)
        return found

    def _below(self, name: str, above: tuple[float, ...]) -> Iterable[tuple[Who, tuple[float, ...]]]:
        """Users beneath an account in the order in which they are owed, with the levels that tell ties."""
        accounts = [each for each in self._accounts.values() if each.parent == name]
        users = [who for who in self._used if who[0] == name]
        shares = sum(each.shares for each in accounts) + len(users)
        used = self._use(name)
        rows: list[tuple[float, str, Account | Who]] = [
            (_level(each.shares, shares, self._use(each.name), used), each.name, each) for each in accounts
        ]
        rows += [(_level(1, shares, self._used[who], used), who[1], who) for who in users]
        for level, _, each in sorted(rows, key=lambda row: (-row[0], row[1])):
            if isinstance(each, Account):
                yield from self._below(each.name, (*above, level))
            else:
                yield each, (*above, level)

    def _use(self, name: str) -> float:
        """Of an account and all beneath it."""
        own = sum(used for who, used in self._used.items() if who[0] == name)
        return own + sum(self._use(each.name) for each in self._accounts.values() if each.parent == name)


def _level(shares: int, all_shares: int, used: float, all_used: float) -> float:
    """What was promised over what was used; above all others where nothing was."""
    if not shares:
        return 0.0
    return float("inf") if not used or not all_used else (shares / all_shares) / (used / all_used)

"""Fair share as Slurm reckons it since 19.05: the fair tree, over use that decays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clusterwright.monitor.simulate.settings import Account

UserKey = tuple[str, str]  # team, user


class FairTree:
    """Use of each user in each team, and the factor that follows from it, 1 for who is owed most.

    Among the children of an account, who has used least of what was promised comes first, with everybody beneath;
    a user's factor is its place in that order, over how many there are (slurm.schedmd.com/fair_tree.html).
    """

    def __init__(self, accounts: Mapping[str, Account], half_life_s: float) -> None:
        self._accounts, self._half_life_s = dict(accounts), half_life_s
        self._used: dict[UserKey, float] = {}
        self._decayed_at = 0.0

    def add_user(self, team: str, user: str) -> None:
        """A user sends jobs; a team that nobody named has one share."""
        self._accounts.setdefault(team, Account(team))
        self._used.setdefault((team, user), 0.0)

    def decay(self, now: float) -> None:
        """Time has gone by."""
        passed = now - self._decayed_at
        if passed > 0:
            factor = 0.5 ** (passed / self._half_life_s)
            self._used = {user_key: used * factor for user_key, used in self._used.items()}
            self._decayed_at = now

    def charge(self, team: str, user: str, amount: float) -> None:
        """So much was used."""
        self._used[(team, user)] += amount

    def factors(self) -> dict[UserKey, float]:
        """For each user in each team."""
        ranked = list(self._below("", ()))
        factors: dict[UserKey, float] = {}
        previous: tuple[tuple[float, ...], float] | None = None
        for rank, (user_key, levels) in enumerate(ranked):
            tied = previous is not None and levels == previous[0]
            factor = previous[1] if tied and previous else (len(ranked) - rank) / len(ranked)
            factors[user_key], previous = factor, (levels, factor)
        return factors

    def _below(self, name: str, above: tuple[float, ...]) -> Iterable[tuple[UserKey, tuple[float, ...]]]:
        """Users beneath an account in the order in which they are owed, with the levels that tell ties."""
        accounts = [account for account in self._accounts.values() if account.parent == name]
        users = [user_key for user_key in self._used if user_key[0] == name]
        shares = sum(account.shares for account in accounts) + len(users)
        used = self._use(name)
        rows: list[tuple[float, str, Account | UserKey]] = [
            (_level(account.shares, shares, self._use(account.name), used), account.name, account)
            for account in accounts
        ]
        rows += [(_level(1, shares, self._used[user_key], used), user_key[1], user_key) for user_key in users]
        for level, _, child in sorted(rows, key=lambda row: (-row[0], row[1])):
            if isinstance(child, Account):
                yield from self._below(child.name, (*above, level))
            else:
                yield child, (*above, level)

    def _use(self, name: str) -> float:
        """Of an account and all beneath it."""
        direct_use = sum(used for user_key, used in self._used.items() if user_key[0] == name)
        return direct_use + sum(
            self._use(account.name) for account in self._accounts.values() if account.parent == name
        )


def _level(shares: int, all_shares: int, used: float, all_used: float) -> float:
    """What was promised over what was used; above all others where nothing was."""
    if not shares:
        return 0.0
    return float("inf") if not used or not all_used else (shares / all_shares) / (used / all_used)

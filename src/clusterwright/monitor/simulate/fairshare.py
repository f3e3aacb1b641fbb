"""Slurm's Fair Tree factor (the default since 19.05), over decayed use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clusterwright.monitor.simulate.settings import Account

UserKey = tuple[str, str]  # team, user


class FairTree:
    """Decayed use of each user in each team, and the fair-share factor, 1 for the most underserved user.

    The children of an account are sorted by shares over use; the factor of a user is its rank in the resulting order
    of all users, divided by their number (slurm.schedmd.com/fair_tree.html).
    """

    def __init__(self, accounts: Mapping[str, Account], half_life_s: float) -> None:
        self._accounts, self._half_life_s = dict(accounts), half_life_s
        self._used: dict[UserKey, float] = {}
        self._decayed_at = 0.0

    def add_user(self, team: str, user: str) -> None:
        """Add a user; a team without settings gets one share."""
        self._accounts.setdefault(team, Account(team))
        self._used.setdefault((team, user), 0.0)

    def decay(self, now: float) -> None:
        """Apply the half-life to all use for the time since the last call, up to `now`; none if `now` is not later."""
        passed = now - self._decayed_at
        if passed > 0:
            factor = 0.5 ** (passed / self._half_life_s)
            self._used = {user_key: used * factor for user_key, used in self._used.items()}
            self._decayed_at = now

    def charge(self, team: str, user: str, amount: float) -> None:
        """Add `amount` to the use of a user in a team; `add_user` must have added the user to it."""
        self._used[(team, user)] += amount

    def factors(self) -> dict[UserKey, float]:
        """Return the fair-share factor of each user in each team: the rank over the number, 1 for the most underserved.

        Ties share a factor.
        """
        ranked = list(self._below("", ()))
        factors: dict[UserKey, float] = {}
        previous: tuple[tuple[float, ...], float] | None = None
        for rank, (user_key, levels) in enumerate(ranked):
            tied = previous is not None and levels == previous[0]
            factor = previous[1] if tied and previous else (len(ranked) - rank) / len(ranked)
            factors[user_key], previous = factor, (levels, factor)
        return factors

    def _below(self, name: str, above: tuple[float, ...]) -> Iterable[tuple[UserKey, tuple[float, ...]]]:
        """Yield the users below an account, the most underserved first, each with the levels of all accounts above.

        Users with equal levels are ties.
        """
        accounts = [account for account in self._accounts.values() if account.parent == name]
        users = [user_key for user_key in self._used if user_key[0] == name]
        shares = sum(account.shares for account in accounts) + len(users)
        used = self._use(name)
        rows: list[tuple[float, str, Account | UserKey]] = [
            (_level(account.shares, shares, self._use(account.name), used), account.name, account)
            for account in accounts
        ]
        rows += [(_level(1, shares, self._used[user_key], used), user_key[1], user_key) for user_key in users]
        for level, _name, child in sorted(rows, key=lambda row: (-row[0], row[1])):
            if isinstance(child, Account):
                yield from self._below(child.name, (*above, level))
            else:
                yield child, (*above, level)

    def _use(self, name: str) -> float:
        """Return the decayed use of all users of an account and of the accounts below it."""
        direct_use = sum(used for user_key, used in self._used.items() if user_key[0] == name)
        return direct_use + sum(
            self._use(account.name) for account in self._accounts.values() if account.parent == name
        )


def _level(shares: int, all_shares: int, used: float, all_used: float) -> float:
    """Return an account's normalized shares over its normalized use; infinite without use, 0 without shares."""
    if not shares:
        return 0.0
    return float("inf") if not used or not all_used else (shares / all_shares) / (used / all_used)

"""Owners of files that have equal shares (standard library, Python 3.6)."""

import pwd
import sys
import time
from bisect import bisect_right
from typing import Dict, Hashable, List, Tuple, TypeVar

from clusterwright.onhost.lib.numbers import ascii_int

NO_ACCOUNT = -1
SUBUID = "/etc/subuid"
MOST_MISSING, MISSING_S = 1000, 3.0
_Entry = TypeVar("_Entry")
_Owner = TypeVar("_Owner", bound=Hashable)


class AccountLookup:
    """Returns the owner whom a uid counts as; looks each uid up once.

    A user has tens of thousands of uids in user namespaces. They have no account, and all of them are one owner,
    NO_ACCOUNT, so that nobody has more than two shares. A directory service may take long to not find a uid: after
    MOST_MISSING uids without an account, or MISSING_S seconds for them, no further uid is looked up. Those in ranges of
    /etc/subuid have such a budget of their own, so that they leave that of others.
    """

    def __init__(self, subuid: str = SUBUID) -> None:
        self._owners: Dict[int, int] = {}
        self._subordinates = _subordinate_ranges(subuid)
        self._missing = {False: 0, True: 0}  # by whether the uid is a subordinate one
        self._missing_s = {False: 0.0, True: 0.0}

    def __call__(self, uid: int) -> int:
        """Return the uid itself if it has an account, else NO_ACCOUNT; each uid is looked up once.

        Beyond MOST_MISSING uids without an account, or MISSING_S seconds for them, NO_ACCOUNT without a look-up.
        """
        if uid not in self._owners:
            self._owners[uid] = self._owner(uid)
        return self._owners[uid]

    def _owner(self, uid: int) -> int:
        index = bisect_right(self._subordinates, (uid, sys.maxsize)) - 1
        is_subordinate = index >= 0 and uid < self._subordinates[index][1]
        if self._missing[is_subordinate] >= MOST_MISSING or self._missing_s[is_subordinate] >= MISSING_S:
            return NO_ACCOUNT
        begun = time.monotonic()
        try:
            pwd.getpwuid(uid)
        except (KeyError, OverflowError):  # no account, or a number that is no uid here
            self._missing[is_subordinate] += 1
            self._missing_s[is_subordinate] += time.monotonic() - begun
            return NO_ACCOUNT
        return uid


def _subordinate_ranges(path: str) -> List[Tuple[int, int]]:
    """Return first uid and end of the ranges in a file as /etc/subuid, sorted; subuid(5): `LOGIN:FIRST:COUNT`.

    Lines of another form are left out; a file that cannot be read has no ranges.
    """
    ranges = []
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                numbers = [ascii_int(cell.strip()) for cell in line.split(":")[1:]]
                if len(numbers) == 2 and numbers[0] is not None and numbers[1] is not None:
                    ranges.append((numbers[0], numbers[0] + numbers[1]))
    except OSError:
        pass
    return sorted(ranges)


def equal_shares(rows: Dict[_Owner, List[_Entry]], limit: int) -> Dict[_Owner, List[_Entry]]:
    """Return the first entries of each owner's rows, at most `limit` in all.

    Owners with few entries retain all, the others an equal number each.
    """
    shares, remaining = {}, limit  # type: Dict[_Owner, List[_Entry]], int
    for number, owner in enumerate(sorted(rows, key=lambda owner: len(rows[owner]))):
        shares[owner] = rows[owner][: remaining // (len(rows) - number)]
        remaining -= len(shares[owner])
    return shares

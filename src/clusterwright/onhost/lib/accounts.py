"""Owners of files that have equal shares (standard library, Python 3.6)."""

import functools
import pwd
from typing import Callable, Dict, Hashable, List, TypeVar

NO_ACCOUNT = -1
_Entry = TypeVar("_Entry")
_Owner = TypeVar("_Owner", bound=Hashable)


def account_lookup() -> Callable[[int], int]:
    """Return a function that returns the owner whom a uid counts as, and looks each uid up once.

    A user has tens of thousands of uids in user namespaces. They have no account, and all of them are one owner,
    NO_ACCOUNT, so that nobody has more than two shares.
    """
    return functools.lru_cache(maxsize=None)(_account)


def equal_shares(rows: Dict[_Owner, List[_Entry]], limit: int) -> Dict[_Owner, List[_Entry]]:
    """Return the first entries of each owner's rows, at most `limit` in all.

    Owners with few entries retain all, the others an equal number each.
    """
    shares, remaining = {}, limit  # type: Dict[_Owner, List[_Entry]], int
    for number, owner in enumerate(sorted(rows, key=lambda owner: len(rows[owner]))):
        shares[owner] = rows[owner][: remaining // (len(rows) - number)]
        remaining -= len(shares[owner])
    return shares


def _account(uid: int) -> int:
    try:
        pwd.getpwuid(uid)
    except (KeyError, OverflowError):  # no account, or a number that is no uid here
        return NO_ACCOUNT
    return uid

"""Owners of files that have equal shares (standard library, Python 3.6)."""

import functools
import pwd
from typing import Callable

NO_ACCOUNT = -1


def account_lookup() -> Callable[[int], int]:
    """Return a function that returns the owner whom a uid counts as, and looks each uid up once.

    A user has tens of thousands of uids in user namespaces. They have no account, and all of them are one owner,
    NO_ACCOUNT, so that nobody has more than two shares.
    """
    return functools.lru_cache(maxsize=None)(_account)


def _account(uid: int) -> int:
    try:
        pwd.getpwuid(uid)
    except (KeyError, OverflowError):  # no account, or a number that is no uid here
        return NO_ACCOUNT
    return uid

"""List a folder in which every user may create entries; standard library only, Python 3.6 or later."""

import os
import time
from typing import Dict, List, Tuple

from clusterwright.onhost.lib.accounts import AccountLookup, equal_shares
from clusterwright.onhost.lib.safe_reader import ENTRIES, Path, list_folder, pin

LIST_S = 10.0  # to list more than ENTRIES: four million entries on a local disk


def list_shared_folder(folder: Path, limit: int = ENTRIES, seconds: float = LIST_S) -> List[str]:
    """Return the sorted names in a folder of many users; if it has more than `limit`, the newest ones of each owner.

    Each owner has an equal share, so nobody's entries hide those of others. After `seconds`, the rest is not listed.
    """
    names = list_folder(folder, limit + 1)
    if len(names) <= limit:
        return names
    rows, end = {}, time.monotonic() + seconds  # type: Dict[int, List[Tuple[float, str]]], float
    count, account = 0, AccountLookup()
    with pin(folder, os.O_DIRECTORY) as handle, os.scandir("/proc/self/fd/%d" % handle) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # removed meanwhile
            rows.setdefault(account(status.st_uid), []).append((-status.st_ctime, entry.name))
            count += 1
            if count >= 2 * limit:
                count = _shorten(rows, limit)
            if time.monotonic() > end:
                break
    _shorten(rows, limit)
    return sorted(name for row in rows.values() for _, name in row)


def _shorten(rows: Dict[int, List[Tuple[float, str]]], limit: int) -> int:
    """Shorten the rows in place to equal shares of the owners, `limit` in all, and return the number left."""
    rows.update(equal_shares({owner: sorted(row) for owner, row in rows.items()}, limit))
    return sum(map(len, rows.values()))

"""Read the folders of many users with an equal share of time and output for each (standard library, Python 3.6)."""

import os
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from clusterwright.onhost.lib.accounts import AccountLookup
from clusterwright.onhost.lib.owner_access import owner_access
from clusterwright.onhost.lib.safe_reader import (
    DATA_ERRORS,
    OUTPUT_BYTES,
    Budget,
    reading_budget,
)


def by_owner(folders: Iterable[str], seconds: float, size: int) -> Iterator[Tuple[str, Budget]]:
    """Yield each folder with its owner's budget: an equal share of what remains of time and output, and `size` bytes.

    So that folders of one user do not use up what others need; owners of few folders come first and leave the rest.
    """
    owners: Dict[int, List[str]] = {}
    account = AccountLookup()
    for folder in folders:
        try:
            owners.setdefault(account(os.lstat(folder).st_uid), []).append(folder)
        except OSError:
            continue  # removed meanwhile
    end, output = time.monotonic() + seconds, OUTPUT_BYTES
    for number, group in enumerate(sorted(owners.values(), key=len)):
        remaining_owners = len(owners) - number
        share = output // remaining_owners
        budget = Budget(max(0.0, end - time.monotonic()) / remaining_owners, size, share)
        for folder in group:
            yield folder, budget
        output -= share - budget.output


def read_by_owner(
    folders: Iterable[str], seconds: float, size: int, read: Callable[[str], Any]
) -> Iterator[Tuple[str, Any, Optional[BaseException]]]:
    """Call `read` for each folder within its owner's budget; yield folder, result and None, or folder, None and error.

    A folder that cannot be read does not affect the others.
    """
    for folder, budget in by_owner(folders, seconds, size):
        try:
            with reading_budget(budget), owner_access(folder):
                result, failure = read(folder), None  # type: Any, Optional[BaseException]
                budget.charge_output(result)
        except DATA_ERRORS as error:
            result, failure = None, error
        yield folder, result, failure

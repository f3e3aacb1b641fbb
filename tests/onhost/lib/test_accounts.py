"""The owners whom uids count as, where a directory service is slow."""

import pwd
import time

import pytest

from clusterwright.onhost.lib.accounts import MISSING_S, MOST_MISSING, NO_ACCOUNT, AccountLookup

ALICE, SUBORDINATES = 4711, 65_536


@pytest.fixture
def directory(monkeypatch):
    """A directory service that has one account and takes its time; `calls` are the uids that were looked up."""
    calls, seconds = [], [0.0]

    def getpwuid(uid):
        calls.append(uid)
        time.sleep(seconds[0])
        if uid != ALICE:
            raise KeyError(uid)
        return ("alice", "x", uid, uid, "", "/", "/bin/sh")

    monkeypatch.setattr(pwd, "getpwuid", getpwuid)
    return calls, seconds


@pytest.mark.parametrize("subuid", ["mallory:100000:65536\n", "", "mallory:x\n\nmallory:9:8:7\n"])
def test_the_uids_of_a_user_namespace_cost_a_limited_number_of_lookups(directory, tmp_path, subuid):
    """Each costs one in LDAP; all of them are one owner."""
    calls, _ = directory
    (tmp_path / "subuid").write_text(subuid)
    account = AccountLookup(str(tmp_path / "subuid"))

    assert {account(100_000 + number) for number in range(SUBORDINATES)} == {NO_ACCOUNT}
    assert sum(uid >= 100_000 for uid in calls) == MOST_MISSING


def test_lookups_without_an_account_end_in_time(directory, tmp_path):
    """Of a directory service that needs half a second for each."""
    directory[1][0] = 0.5
    account, begun = AccountLookup(str(tmp_path / "missing")), time.monotonic()
    for number in range(SUBORDINATES):
        account(100_000 + number)

    assert time.monotonic() - begun < MISSING_S + 2


def test_subordinate_uids_leave_the_lookups_of_others(directory, tmp_path):
    """An account that is looked up after them is found, once; also one in a range."""
    calls, _ = directory
    (tmp_path / "subuid").write_text("mallory:100000:65536\nother:4000:1000\n")
    account = AccountLookup(str(tmp_path / "subuid"))
    assert (account(ALICE), account(ALICE)) == (ALICE, ALICE)
    for number in range(SUBORDINATES):
        account(100_000 + number)

    assert AccountLookup(str(tmp_path / "missing"))(ALICE) == ALICE
    assert account(ALICE) == ALICE
    account(70_000)
    assert 70_000 in calls

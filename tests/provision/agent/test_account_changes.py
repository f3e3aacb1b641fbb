"""The calls that make rows as wanted."""

from clusterwright.onhost.provision import account_changes
from clusterwright.onhost.provision.account_changes import make, modify, new_qos, remove, sections

TEAM = {"kind": "account", "name": "vision", "Parent": "root", "Fairshare": "60", "GrpTRES gres/gpu": "8",
        "GrpJobs": "", "QOS": "normal,urgent", "DefaultQOS": "normal"}  # fmt: skip
PART = TEAM | {"name": "speech", "Parent": "vision"}
BOB = {"kind": "user", "name": "bob", "account": "speech", "Fairshare": "1", "GrpTRES gres/gpu": ""}
PERSON = {"kind": "person", "name": "bob", "DefaultAccount": "speech", "AdminLevel": "Administrator"}
ROWS = [TEAM, PART, BOB, PERSON]


def test_new_teams_and_members_are_lines_of_one_load():
    """A parent's section comes first; a new user brings default account and level along."""
    assert sections([TEAM, PART, BOB], ROWS, {}) == [
        (
            "root",
            ["Account - 'vision':Fairshare=60:GrpTRES=gres/gpu=8:DefaultQOS=normal:QOS='normal,urgent'"],
        ),
        (
            "vision",
            ["Account - 'speech':Fairshare=60:GrpTRES=gres/gpu=8:DefaultQOS=normal:QOS='normal,urgent'"],
        ),
        ("speech", ["User - 'bob':DefaultAccount='speech':AdminLevel='Administrator':Fairshare=1"]),
    ]


def test_a_user_who_is_known_keeps_the_default_account():
    """Only the membership is new."""
    ((_team, (line,)),) = sections([BOB], ROWS, {("person", "bob"): {"DefaultAccount": "vision"}})

    assert line == "User - 'bob':Fairshare=1"


def test_a_new_quality_of_service_has_all_settings_in_one_call():
    """Those without a value are left out."""
    row = {"kind": "qos", "name": "urgent", "Priority": "100", "MaxWall": "", "Flags": "DenyOnLimit"}

    assert new_qos(row) == ["add", "qos", "urgent", "Priority=100", "Flags=DenyOnLimit"]


def test_a_change_names_cluster_team_and_member():
    """One call for all settings of a row."""
    assert modify("lab", BOB, [("Fairshare", "1", "2"), ("GrpTRES gres/gpu", "4", "")]) == [
        "modify", "user", "where", "name=bob", "account=speech", "cluster=lab",
        "set", "Fairshare=2", "GrpTRES=gres/gpu=-1",
    ]  # fmt: skip


def test_who_is_in_no_other_team_goes_as_a_user():
    """Else only the membership goes."""
    have = {("user", "bob", "speech"): {}}

    assert remove("lab", ("user", "bob", "speech"), have) == ["delete", "user", "where", "name=bob"]
    assert remove("lab", ("user", "bob", "speech"), have | {("user", "bob", "vision"): {}})[-2:] == [
        "account=speech",
        "cluster=lab",
    ]


def test_names_are_known_before_they_are_used(monkeypatch):
    """Qualities of service, then new teams, then changes, then what goes."""
    made = []
    # sacctmgr is real in the lab's tests; here only the order of its calls is looked at
    monkeypatch.setattr(account_changes, "change_all", lambda calls: made.extend(call[:3] for call in calls))
    monkeypatch.setattr(account_changes, "load", lambda _cluster, found: made.extend(["load"] * bool(found)))
    have = {("account", "vision"): {"Fairshare": "1"}, ("account", "old"): {}, ("person", "bob"): {}}
    make("lab", [{"kind": "qos", "name": "urgent"}, *ROWS], have, [("account", "old")])

    assert made == [
        ["add", "qos", "urgent"],
        "load",
        ["modify", "account", "where"],
        ["modify", "user", "where"],
        ["delete", "account", "where"],
    ]

"""Accounts, QOS, users and reservations of a site: in the file if it has fields, else listed; unchanged by apply."""

from pathlib import Path

import pytest

from clusterwright.adopt.account_tables import parse_accounts
from clusterwright.adopt.facts import facts_of
from clusterwright.adopt.recorded import RecordedHost, RecordedSite
from clusterwright.adopt.site import describe
from clusterwright.onhost.provision import accounts, records, reservations
from clusterwright.provision.package_bundle.requirements import context_without_secrets
from clusterwright.provision.render.accounts import account_rows
from clusterwright.provision.render.reservations import reservation_rows
from clusterwright.provision.resources import File, Group, User
from clusterwright.provision.roles import desired_resources

# Recorded on 2026-11-27 from slurmdbd and slurmctld 22.05.8 of a lab whose accounts were typed by hand.
RECORDED = Path(__file__).parent / "recorded" / "slurmdbd"
ADMIN = {name: (RECORDED / name).read_text() for name in ("qos", "associations", "users", "reservations")}
DUMPED = {"qos": ADMIN["qos"], "dump": (RECORDED / "dump").read_text()}
# `sacctmgr -P show assoc` has no parent; of a user under PrivateData only the own rows.
PLAIN = ADMIN | {"associations": (RECORDED / "plain_associations").read_text()}
HEADINGS, *ROWS = PLAIN["associations"].splitlines(keepends=True)
USER = {
    "qos": ADMIN["qos"],
    "associations": HEADINGS + "".join(row for row in ROWS if "|carl|" in row),
    "users": "User|Def Acct|Admin\ncarl|hep|None\n",
}
CONF = """ClusterName=Adopt-A
SlurmctldHost=head(10.236.0.10)
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=head
NodeName=m[1-2] NodeAddr=10.236.0.[11-12] CPUs=2
PartitionName=debug Nodes=m[1-2] Default=YES QOS=part
"""
PASSWD = (
    "root:x:0:0::/root:/bin/sh\ncarl:x:7101:5003::/home/carl:/bin/sh\nerik:x:7102:100::/home/erik:/bin/sh\n"
)
GROUP = "root:x:0:\nusers:x:100:\nhep:x:5003:carl\n"


def described(tables, host=None):
    """The site with these tables."""
    hosts = {"head": host} if host else {}
    site = RecordedSite({"/e/slurm.conf": CONF}, "/e", "24.05.3", "", hosts, tables)
    return describe(site.sources(), site.version, "x", facts_of(site))


def answers(tables):
    """Slurmdbd's rows, as the agent's queries have them: all settings by sacctmgr's name."""
    recorded = parse_accounts(tables, "adopt-a")
    empty = dict.fromkeys(("User", "Partition", "ParentName", "Account"), "")
    associations = [
        empty | {"Account": name} | dict(record.values) for name, record in recorded.accounts.items()
    ]
    associations += [
        empty | dict(record.values) | {"User": user, "Account": account}
        for (user, account), record in recorded.members.items()
    ]
    return {
        "qos": [dict(record.values) for record in recorded.qos.values()],
        "assoc": associations,
        "user": [dict(record.values) | {"User": name} for name, record in recorded.users.items()],
    }


def changes(cluster, tables):
    """What an apply of the role `teams` would change with sacctmgr."""
    return [
        text
        for _verb, text in records.differing(list(account_rows(cluster)), accounts.rows_of(answers(tables)))
    ]


def listed(site):
    """Texts of the lines that the file does not hold, which are in its comments with their places."""
    lines = [line for line in site.adopted.left_out if line.file != "slurm.conf"]
    assert all(f"#   {line.file}:{line.line}: " in site.text for line in lines)
    return [line.text for line in lines]


def test_accounts_of_an_administrator_are_sections_that_change_nothing():
    """Hierarchy, shares, limits, QOS and default accounts; an apply of the role would call sacctmgr for nothing."""
    site = described(ADMIN)

    cluster, teams = site.cluster, site.cluster.teams
    assert site.differences == ()
    assert changes(cluster, ADMIN) == []
    assert list(teams) == ["astro", "language", "science", "hep", "vision"]
    assert (teams["hep"].parent, teams["hep"].max_gpus, teams["hep"].max_jobs) == ("science", 8, 50)
    assert teams["hep"].max_gpus_per_user == 2
    assert (teams["science"].shares, teams["hep"].options["Fairshare"]) == (70, "parent")
    assert teams["science"].options == {"QOS": "high,low,normal", "DefaultQOS": "normal", "MaxJobs": "20"}
    assert teams["hep"].options == {"Fairshare": "parent", "GrpTRES": "cpu=100", "MaxWall": "2-00:00:00"}
    assert {name: (user.team, user.additional_teams) for name, user in cluster.users.items()} == {
        "erik": ("astro", ("hep",)), "bob": ("language", ("vision",)), "carl": ("hep", ()), "alice": ("vision", ()),
    }  # fmt: skip


def test_a_changed_limit_is_a_change_of_apply():
    """The rows have what the file has: each other value in slurmdbd would be set back."""
    cluster = described(ADMIN).cluster
    changed = ADMIN | {
        "qos": ADMIN["qos"].replace("|4|20|", "|5|30|").replace("cpu=512", "cpu=256"),
        "associations": ADMIN["associations"].replace("cpu=100", "cpu=99").replace("|70|", "|71|"),
    }

    assert sorted(changes(cluster, changed)) == [
        "qos high: MaxJobsPerUser 5 -> 4, GrpTRES cpu 256 -> 512, MaxSubmitJobsPerUser 30 -> 20",
        "team hep: GrpTRES cpu 99 -> 100",
        "team science: Fairshare 71 -> 70",
    ]


def test_qos_are_fields_and_options():
    """Priority, preemption, limits of GPUs and time are fields; flags, factors and other limits options."""
    qos = described(ADMIN).cluster.qos

    assert list(qos) == ["low", "part", "high"]
    high = qos["high"]
    assert (high.priority, high.grace, high.max_time, high.max_jobs_per_user) == (100, 120, 86400, 4)
    assert (high.preempts, high.preempt_mode) == (("low", "normal"), "requeue")
    assert (high.max_gpus, high.max_gpus_per_job, high.max_gpus_per_user) == (16, 8, 4)
    assert high.options == {
        "Flags": "DenyOnLimit,OverPartQOS",
        "UsageFactor": "2.000000",
        "GrpTRES": "cpu=512",
        "MaxSubmitJobsPerUser": "20",
        "MinTRESPerJob": "cpu=2",
    }
    assert qos["low"].preempt_mode == "cancel"
    assert qos["low"].options == {"PreemptExemptTime": "00:10:00", "UsageFactor": "0.500000"}
    assert (qos["part"].max_gpus, qos["part"].options) == (
        12,
        {"Flags": "OverPartQOS", "GrpWall": "7-00:00:00"},
    )


def test_what_no_field_holds_is_listed_by_name():
    """Names of the system and their members, settings of one member, admin levels, partitions, reservations."""
    times = "StartTime=2031-01-{day}T08:00:00 Duration={days}-00:00:00"

    assert listed(described(ADMIN | {"qos": ADMIN["qos"] + "Big Jobs|5\n"})) == [
        "user erik of hep: Partition=debug",
        "qos Big Jobs",
        "account staff",
        "user carl: AdminLevel=Administrator",
        "user dora: Account=staff",
        "user erik of hep: Fairshare=5",
        "user erik of hep: DefaultQOS=low",
        f"reservation flex: Nodes=m2 {times.format(day=17, days=1)} Users=bob Flags=FLEX,SPEC_NODES",
        f"reservation cores: Nodes=m1 {times.format(day=21, days=1)} Users=bob",
        f"reservation negated: Nodes=m1 {times.format(day=23, days=2)} Accounts=-astro Flags=SPEC_NODES",
    ]


def test_a_dump_gives_the_same_teams_and_users():
    """`sacctmgr dump` has the own settings of each account only, and no QOS."""
    dumped, shown = described(DUMPED).cluster, described(ADMIN).cluster

    wall = {"hep": {"MaxWall": "2880"}}
    assert {name: team.model_dump() for name, team in dumped.teams.items()} == {
        name: team.model_dump() | {"options": team.options | wall.get(name, {})}
        for name, team in shown.teams.items()
    }
    assert dumped.users == shown.users
    assert listed(described(DUMPED))[0] == "user erik of hep: Partition=debug"
    assert changes(dumped, ADMIN) == []


def test_a_user_without_rights_sees_the_own_account():
    """Of accounts that the user may not see nothing is in the file, and an apply leaves them alone."""
    site = described(USER)

    assert (site.cluster.teams, site.cluster.users) == ({}, {})
    assert listed(site) == ["user carl: Account=hep"]
    assert changes(site.cluster, ADMIN) == []


def test_a_table_without_parents_has_teams_without_parents():
    """An apply does not move an account whose parent the file does not name."""
    cluster = described(PLAIN).cluster

    assert {team.parent for team in cluster.teams.values()} == {None}
    assert changes(cluster, ADMIN) == []


def test_ids_are_those_of_hosts_where_the_group_is_the_account():
    """A user whose primary group is another one has no uid: apply never creates or changes such an account."""
    cluster = described(ADMIN, RecordedHost(passwd=PASSWD, group=GROUP)).cluster

    assert cluster.unix_users() == {"carl": 7101}
    assert cluster.unix_groups() == {"hep": 5003}


def test_roles_create_only_accounts_that_the_file_has_with_ids():
    """Of an account that LDAP or the site creates, a managed role has no user, no group, and no key."""
    cluster = described(ADMIN, RecordedHost(passwd=PASSWD, group=GROUP)).cluster
    managed = cluster.model_copy(update={"manage": ("accounts", "ssh")})

    resources = desired_resources(managed, managed.control, context_without_secrets())

    assert [resource.name for resource in resources if isinstance(resource, User)] == ["carl"]
    assert [resource.name for resource in resources if isinstance(resource, Group)] == ["hep"]
    paths = [resource.path for resource in resources if isinstance(resource, File)]
    assert any(path.endswith("/carl") for path in paths)
    assert not any(path.endswith(("/erik", "/bob", "/alice")) for path in paths)


def test_reservations_are_sections_that_change_nothing():
    """Maintenance, also of all nodes, a weekly course, a day of one user: apply would call scontrol for nothing."""
    cluster = described(ADMIN).cluster
    fields = [
        dict(part.split("=", 1) for part in line.split() if "=" in part)
        for line in ADMIN["reservations"].splitlines()
    ]
    have = {row["ReservationName"]: row for row in fields}

    rows = reservation_rows(cluster)
    assert [row["name"] for row in rows] == ["maint", "course", "guests", "powercut"]
    assert cluster.reservations["course"].repeat == "weekly"
    assert cluster.reservations["maint"].maintenance
    assert [reservations.differences(row, have[row["name"]]) for row in rows] == [[], [], [], []]


def test_without_accounting_no_teams_are_in_the_file():
    """A cluster without slurmdbd enforces no account, whatever a table says."""
    site = RecordedSite(
        {"/e/slurm.conf": CONF.replace("slurmdbd", "none")},
        "/e",
        "24.05.3",
        "",
        {},
        ADMIN,
    )

    cluster = describe(site.sources(), site.version, "x", facts_of(site)).cluster

    assert (cluster.teams, cluster.qos, cluster.users) == ({}, {}, {})


@pytest.mark.parametrize("name", ["qos", "associations", "users", "dump", "reservations"])
@pytest.mark.parametrize(
    "text",
    [
        "x",
        "a|b\n",
        "|\n|||\n",
        "\x1b[2J|\n",
        "sacctmgr: error: slurm_persist_conn_open",
        "Name|Priority\nx\n",
    ],
)
def test_damaged_tables_are_no_error(name, text):
    """A table can be cut, or be an error of sacctmgr: what it does not have is not in the file."""
    site = described(ADMIN | {name: text})

    assert site.differences == ()
    assert "\x1b" not in site.text
    listed(site)


def test_accounts_of_hosts_are_listed_unless_they_are_users_of_the_file():
    """A person without an account in Slurm is one line of /etc/passwd; system accounts are none."""
    passwd = PASSWD + "mallory:x:7103:100::/home/mallory:/bin/sh\ndaemon:x:1:1::/:/bin/false\n"

    assert [text for text in listed(described(ADMIN, RecordedHost(passwd=passwd))) if "uid=" in text] == [
        "mallory uid=7103"
    ]

"""Explain features, accounts and QOS that do not exist, or that the job's user may not use."""

from __future__ import annotations

from clusterwright.diagnose.pending.changes import admin, quoted, update
from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.reasons.resources import unsatisfiable
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, StartCommand, Waiting
from clusterwright.i18n import _


@reason("BadConstraints")
def features(facts: Facts) -> Waiting:
    """Explain that no node has the requested features; Slurm then holds the job (priority 0).

    For a job without `--constraint` it explains what no node satisfies instead.
    """
    constraint = facts.job["Features"]
    available = sorted(
        {feature for node in facts.nodes.values() for feature in node.split("AvailableFeatures")}
    )
    if not constraint and (impossible := unsatisfiable(facts)):
        return impossible
    cause = _(
        "No node satisfies `--constraint={constraint}`; features of the nodes: {features}.",
        constraint=constraint,
        features=", ".join(available) or _("none"),
    )
    return Waiting("bad-constraints", cause, _(NOT_BY_ITSELF), _update_and_release(facts, "Features="))


@reason("InvalidAccount|AccountNotAllowed")
def account(facts: Facts) -> Waiting:
    """Explain that the account does not exist, or that its user has no association with it."""
    account_name = facts.job["Account"]
    alternatives = [name for name in facts.accounts if name != account_name]
    return Waiting(
        "invalid-account",
        _(
            "{user} may not charge account {account}; accounts of {user}: {accounts}.",
            user=facts.user,
            account=account_name,
            accounts=", ".join(facts.accounts) or _("none"),
        ),
        _(NOT_BY_ITSELF),
        update(facts, f"Account={quoted(alternatives[0])}", _("charge another account"))
        if alternatives
        else admin(
            f"sacctmgr -i add user {quoted(facts.user)} account={quoted(account_name)}",
            _("add the user to the account"),
        ),
    )


@reason("InvalidQOS|QOSNotAllowed")
def qos(facts: Facts) -> Waiting:
    """Explain that the QOS does not exist, or that the user or the partition does not allow it."""
    qos_name = facts.job["QOS"]
    alternatives = [name for name in facts.allowed_qos if name != qos_name]
    return Waiting(
        "invalid-qos",
        _(
            "The job may not use QOS {qos}; {user} may use: {allowed}.",
            qos=qos_name,
            user=facts.user,
            allowed=", ".join(facts.allowed_qos) or _("none"),
        ),
        _(NOT_BY_ITSELF),
        update(facts, f"QOS={quoted(alternatives[0])}", _("use another QOS"))
        if alternatives
        else admin(
            f"sacctmgr -i modify user {quoted(facts.user)} set qos+={quoted(qos_name)}",
            _("allow the user this QOS"),
        ),
    )


def _update_and_release(facts: Facts, setting: str) -> StartCommand:
    """Return the command that changes the job, with the release that only an admin may do if its priority is 0."""
    if facts.job["Priority"] != "0":
        return update(facts, setting, _("remove the constraint"))
    command = f"scontrol update jobid={facts.id} {setting} && scontrol release {facts.id}"
    return StartCommand(command, "admin", _("remove the constraint and release the job"))

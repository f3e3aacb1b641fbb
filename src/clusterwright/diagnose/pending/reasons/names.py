"""Features, accounts and qualities of service that are no longer there, or not for it."""

from __future__ import annotations

from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.reasons.resources import unsatisfiable
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import admin, quoted, update
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, Change, Message, Waiting


@reason("BadConstraints")
def features(facts: Facts) -> Waiting:
    """No node can give what it asks; Slurm then holds it (priority 0)."""
    constraint = facts.job["Features"]
    available = sorted(
        {feature for node in facts.nodes.values() for feature in node.split("AvailableFeatures")}
    )
    if not constraint and (impossible := unsatisfiable(facts)):
        return impossible
    return Waiting(
        "bad-constraints",
        Message(
            f"No node has what it asks (`--constraint={constraint}`); there are: {', '.join(available) or 'none'}.",
            f"没有节点满足它的要求 (`--constraint={constraint}`); 现有的特性: {', '.join(available) or '无'}。",
        ),
        NOT_BY_ITSELF,
        _update_and_release(facts, "Features="),
    )


@reason("InvalidAccount|AccountNotAllowed")
def account(facts: Facts) -> Waiting:
    """Its account is gone, or its user no longer in it."""
    alternatives, account_name = (
        [name for name in facts.accounts if name != facts.job["Account"]],
        facts.job["Account"],
    )
    return Waiting(
        "invalid-account",
        Message(
            f"{facts.user} may not charge account {account_name}; may: {', '.join(facts.accounts) or 'none'}.",
            f"{facts.user} 不能使用账户 {account_name}; 可用的账户: {', '.join(facts.accounts) or '无'}。",
        ),
        NOT_BY_ITSELF,
        update(
            facts, f"Account={quoted(alternatives[0])}", Message("charge another account", "改用另一个账户")
        )
        if alternatives
        else admin(
            f"sacctmgr -i add user {quoted(facts.user)} account={quoted(account_name)}",
            Message("let the user in", "把用户加入该账户"),
        ),
    )


@reason("InvalidQOS|QOSNotAllowed")
def qos(facts: Facts) -> Waiting:
    """The quality of service is gone, or not for this user or partition."""
    alternatives, qos_name = (
        [name for name in facts.allowed_qos if name != facts.job["QOS"]],
        facts.job["QOS"],
    )
    return Waiting(
        "invalid-qos",
        Message(
            f"The job may not have QOS {qos_name} here; {facts.user} may "
            f"name: {', '.join(facts.allowed_qos) or 'none'}.",
            f"该作业不能使用 QOS {qos_name}; {facts.user} 可用的有: {', '.join(facts.allowed_qos) or '无'}。",
        ),
        NOT_BY_ITSELF,
        update(facts, f"QOS={quoted(alternatives[0])}", Message("name another", "改用另一个"))
        if alternatives
        else admin(
            f"sacctmgr -i modify user {quoted(facts.user)} set qos+={quoted(qos_name)}",
            Message("allow it", "允许使用"),
        ),
    )


def _update_and_release(facts: Facts, setting: str) -> Change:
    """The change, and its release where Slurm holds it."""
    description = Message("ask for nothing special, and release it", "取消该要求, 并解除挂起")
    if facts.job["Priority"] != "0":
        return update(facts, setting, description)
    return Change(
        f"scontrol update jobid={facts.id} {setting} && scontrol release {facts.id}", "admin", description
    )

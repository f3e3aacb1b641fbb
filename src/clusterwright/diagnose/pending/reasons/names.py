"""Features, accounts and qualities of service that are no longer there, or not for it."""

from __future__ import annotations

from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.reasons.resources import never
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import admin, quoted, update
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, Change, Waiting, Words


@reason("BadConstraints")
def features(facts: Facts) -> Waiting:
    """No node can give what it asks; Slurm then holds it (priority 0)."""
    asked = facts.job["Features"]
    known = sorted({word for node in facts.nodes.values() for word in node.split("AvailableFeatures")})
    if not asked and (impossible := never(facts)):
        return impossible
    return Waiting(
        "bad-constraints",
        Words(
            f"No node has what it asks (`--constraint={asked}`); there are: {', '.join(known) or 'none'}.",
            f"没有节点满足它的要求 (`--constraint={asked}`); 现有的特性: {', '.join(known) or '无'}。",
        ),
        NOT_BY_ITSELF,
        _again(facts, "Features="),
    )


@reason("InvalidAccount|AccountNotAllowed")
def account(facts: Facts) -> Waiting:
    """Its account is gone, or its user no longer in it."""
    mine, gone = [name for name in facts.accounts if name != facts.job["Account"]], facts.job["Account"]
    return Waiting(
        "invalid-account",
        Words(
            f"{facts.user} may not charge account {gone}; may: {', '.join(facts.accounts) or 'none'}.",
            f"{facts.user} 不能使用账户 {gone}; 可用的账户: {', '.join(facts.accounts) or '无'}。",
        ),
        NOT_BY_ITSELF,
        update(facts, f"Account={quoted(mine[0])}", Words("charge another account", "改用另一个账户"))
        if mine
        else admin(
            f"sacctmgr -i add user {quoted(facts.user)} account={quoted(gone)}",
            Words("let the user in", "把用户加入该账户"),
        ),
    )


@reason("InvalidQOS|QOSNotAllowed")
def qos(facts: Facts) -> Waiting:
    """The quality of service is gone, or not for this user or partition."""
    mine, gone = [name for name in facts.allowed_qos if name != facts.job["QOS"]], facts.job["QOS"]
    return Waiting(
        "invalid-qos",
        Words(
            f"The job may not have QOS {gone} here; {facts.user} may name: {', '.join(facts.allowed_qos) or 'none'}.",
            f"该作业不能使用 QOS {gone}; {facts.user} 可用的有: {', '.join(facts.allowed_qos) or '无'}。",
        ),
        NOT_BY_ITSELF,
        update(facts, f"QOS={quoted(mine[0])}", Words("name another", "改用另一个"))
        if mine
        else admin(
            f"sacctmgr -i modify user {quoted(facts.user)} set qos+={quoted(gone)}",
            Words("allow it", "允许使用"),
        ),
    )


def _again(facts: Facts, what: str) -> Change:
    """The change, and its release where Slurm holds it."""
    says = Words("ask for nothing special, and release it", "取消该要求, 并解除挂起")
    if facts.job["Priority"] != "0":
        return update(facts, what, says)
    return Change(f"scontrol update jobid={facts.id} {what} && scontrol release {facts.id}", "admin", says)

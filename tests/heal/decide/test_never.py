"""Every `never` of the policy, tried on worlds in which anything happens in any order."""

from hypothesis import given, settings
from hypothesis import strategies as st

HOSTS = 6
CHECKS = (
    "services",
    "munge_on_host",
    "gpus_answer",
    "kernel_faults",
    "mounted",
    "interfaces",
    "gpu_ecc",
    "ssh",
)
HAPPENS = st.one_of(
    st.tuples(st.just("break"), st.integers(1, HOSTS), st.sampled_from(CHECKS)),
    st.tuples(st.just("fix"), st.integers(1, HOSTS), st.just("")),
    st.tuples(
        st.just("hold"), st.integers(1, HOSTS), st.sampled_from(["person", "command", "health", "slurm"])
    ),
    st.tuples(st.just("free"), st.integers(1, HOSTS), st.just("")),
    st.tuples(st.just("job"), st.integers(1, HOSTS), st.sampled_from(["again", ""])),
    st.tuples(st.just("end"), st.integers(1, HOSTS), st.just("")),
    st.tuples(st.just("down"), st.integers(1, HOSTS), st.just("")),
    st.tuples(st.just("slurm"), st.integers(1, 2), st.just("")),
    st.tuples(st.just("control"), st.integers(1, 2), st.just("")),
    st.tuples(st.just("boot"), st.integers(1, 3), st.just("")),
    st.tuples(st.just("tick"), st.integers(1, 4), st.just("")),
)


def happen(w, what, number, word):
    """One thing in the world."""
    host = f"n{number}"
    if what == "break":
        w.faults.setdefault(host, set()).add(word)
    elif what == "fix":
        w.faults.pop(host, None)
    elif what == "hold":
        w.hold(host, word, "Kill task failed" if word == "slurm" else "because")
    elif what == "free":
        w.free(host)
    elif what == "job" and host not in w.jobs:
        w.job(host, host, again=bool(word))
    elif what == "end":
        w.end(host)
    elif what == "down":
        w.down(host)
    else:
        around(w, what, number)


def around(w, what, number):
    """One thing that is no compute host's."""
    if what == "slurm":
        w.slurm = number == 1
    elif what == "control":
        w.faults["control"] = {"services"} if number == 1 else set()
    elif what == "boot":
        w.boot, w.s = f"boot{number}-{w.s}", 50.0


def check(w):
    """What must hold of the last look's intents, against the world before they were done."""
    for intent in w.last:
        node = w.before[intent.host]
        assert w.slurm
        assert intent.host in w.policy.hosts
        assert node.holder not in ("person", "command", "spare")
        if intent.action in ("reboot", "reset-gpu", "reapply", "replace"):
            assert node.out
            assert not node.jobs
        if intent.action == "return":
            assert node.holder == "heal"
            assert not w.faults.get(intent.host)
        if intent.action == "requeue":
            assert w.jobs_before[intent.job].can_requeue
    new = [intent.host for intent in w.last if intent.action == "drain" and not w.before[intent.host].out]
    taking = [node for node in w.nodes.values() if node.holder != "spare"]
    if new:
        out = [node for node in taking if node.out]
        assert len(out) <= max(1, len(taking) * w.policy.max_unavailable_percent // 100)
    busy = [intent.host for intent in w.last]
    assert len(busy) == len(set(busy))
    once = [
        tell for tell in w.told if tell.incident.rule
    ]  # the journal keeps one of each: none was made twice
    assert len(once) == len([telling for telling in w.journal.notifications() if telling.rule])


@settings(max_examples=150)
@given(st.lists(HAPPENS, max_size=60), st.integers(1, 100), st.integers(1, 3), st.booleans())
def test_whatever_happens_no_harm_is_done(world, acting, course, percent, tries, helps):
    """The share, persons' drains, jobs, the control host, rings, hand-overs: none is ever broken."""
    w = world(
        hosts=HOSTS,
        policy=acting(max_unavailable_percent=percent, max_attempts=tries, pause_s=120, spares=("n6",)),
    )
    w.helps = helps
    w.hold("n6", "spare", "wright: spare")
    stamps = []
    for what, number, word in [*course, ("tick", 4, "")]:
        happen(w, what, number, word)
        for _ in range(number if what == "tick" else 1):
            w.jobs_before = dict(w.jobs)
            at = w.now
            w.last = w.tick()
            stamps += [(at, intent) for intent in w.last]
            check(w)

    assert_no_ring(stamps, tries, w.policy)


def assert_no_ring(stamps, tries, policy):
    """On one clock: never more than the tries within the window, and each pause at least twice the one before it."""
    by_key = {}
    for at, intent in stamps:
        if not intent.job:
            by_key.setdefault((at.boot, intent.host, intent.action, intent.unit), []).append(at.s)
    for (_, _, action, _), times in by_key.items():
        assert len(times) <= tries + (action == "drain"), (action, times)
        for index in range(1, len(times)):
            assert times[index] - times[index - 1] >= policy.pause_s * 2 ** (index - 1)


@given(st.lists(st.sampled_from(CHECKS), min_size=1, max_size=12), st.integers(1, 3))
@settings(max_examples=60)
def test_a_diagnosis_that_changes_each_time_is_bounded(world, acting, names, tries):
    """Whatever a host is said to have, look after look: each action at most so many times, then a person."""
    w = world(hosts=4, policy=acting(max_attempts=tries, pause_s=60))
    w.helps = False
    for turn in range(80):
        w.faults["n1"] = {names[turn // 3 % len(names)]}
        w.tick()

    units = {(intent.action, intent.unit) for intent in w.done}
    for action, unit in units:
        made = [intent for intent in w.done if (intent.action, intent.unit) == (action, unit)]
        assert len(made) <= tries + (action == "drain")


@given(st.integers(1, 100), st.lists(st.integers(1, HOSTS), min_size=1, max_size=HOSTS, unique=True))
def test_the_share_is_never_exceeded(world, acting, percent, faulty):
    """All at once or not, with a person's drains among them: what heal adds stays within the share."""
    w = world(hosts=HOSTS, policy=acting(max_unavailable_percent=percent))
    w.helps = False
    w.hold("n1", "person")
    for number in faulty:
        w.faults[f"n{number}"] = {"gpus_answer"}
    for _ in range(10):
        w.tick()

    ours = [name for name, node in w.nodes.items() if node.holder == "heal"]
    assert len(ours) + 1 <= max(1, HOSTS * percent // 100) or not ours

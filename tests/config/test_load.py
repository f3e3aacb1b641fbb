"""From a file to a cluster or a job, or to every finding at once."""

import copy
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.config.load import (
    check_job_against,
    checked,
    cluster_of,
    job_of,
    kind_of,
    load_both,
    load_cluster,
    load_job,
)
from clusterwright.config.reader import read
from clusterwright.errors import SpecError

EXAMPLES = Path(__file__).parents[2] / "examples"
LAB, GPT = EXAMPLES / "lab" / "cluster.yaml", EXAMPLES / "lab" / "gpt.yaml"
PAIRS = [  # those of `jobs` are for any cluster, such as the lab
    (job, (EXAMPLES / "lab" if job.parent.name == "jobs" else job.parent) / "cluster.yaml")
    for job in sorted(EXAMPLES.glob("*/*.yaml"))
    if job.name != "cluster.yaml"
]
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=2),
    st.sampled_from(["$(reboot)", "n[1-65536]", "255.255.255.254", "0s", "train", "control", "a100", "/etc"]),
)


def said(text, of=cluster_of):
    """The codes of what is wrong with a text, each with a place and a fix."""
    try:
        of(read(text, "f.yaml"))
    except SpecError as error:
        return [
            finding.code if finding.places and finding.fix else "incomplete" for finding in error.findings
        ]
    return []


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*/cluster.yaml")), ids=lambda file: file.parent.name)
def test_every_example_cluster_is_good(file):
    """The examples are what we hold others to."""
    cluster = load_cluster(file)

    assert cluster.control.name in {host.name for host in cluster.hosts("control")}
    assert all(host.management for host in cluster.hosts())


@pytest.mark.parametrize(("job", "cluster"), PAIRS, ids=lambda file: file.stem)
def test_every_example_job_fits_its_cluster(job, cluster):
    """Each job file is held against the cluster beside it."""
    made, _ = load_both(job, cluster)

    assert made == load_job(job)


def test_the_lab_has_its_hosts_and_addresses():
    """The first host of a group has the address given, the next ones the next."""
    cluster = load_cluster(LAB)

    assert [host.name for host in cluster.hosts("compute")] == [f"gpu-node{n}" for n in (1, 2, 3, 4)]
    assert str(cluster.host("gpu-node4").addresses["compute"]) == "10.77.1.14"
    assert cluster.shared_folder == "/shared"
    assert cluster.ssh_config == "/var/lib/clusterwright/labs/lab/ssh_config"


def test_everything_wrong_is_said_at_once():
    """YAML's own slips and the model's findings come in one report, in the order of the file."""
    text = LAB.read_text().replace("os: debian-12", "os: debian-3").replace("admin: true", "admin: yes")
    text = text.replace("memory: 4GiB", "memory: 4").replace("shares: 40", "share: 40")

    assert said(text) == ["not-a-choice", "bad-quantity", "unknown-key", "ambiguous-yaml"]


def test_a_refused_value_is_not_reported_twice():
    """`no` for a boolean is told once, by the reader."""
    assert said(LAB.read_text() + "security: {firewall: no}\n") == ["ambiguous-yaml"]


def test_all_rules_run_over_a_finished_file():
    """Clashes of different rules come in one report."""
    text = LAB.read_text().replace("10.77.2.0/24", "10.77.0.0/16").replace("uid: 6002", "uid: 6001")

    assert said(text) == ["networks-overlap", "networks-overlap", "id-taken"]


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("subnet: 10.77.0.0/24", "subnet: 10.77.0.0", ["bad-address"]),
        ("subnet: 10.77.0.0/24", "subnet: 8.8.8.0/24", ["bad-address"]),
        ("subnet: 10.77.0.0/24", "subnet: 127.0.0.0/24", ["bad-address"]),
        ("subnet: 10.77.0.0/24", "subnet: 10.77.0.0/31", ["bad-address"]),
        ("{management: 10.77.0.10,", "{management: 10,", ["bad-address"]),
        ("storage: 10.77.2.10}", "storag: 10.77.2.10}", ["not-a-choice"]),
        ("kind: local, path", "path", ["missing-key"]),
        ("kind: local", "kind: locl", ["not-a-choice"]),
        ("kind: local, path: /shared", "kind: nfs, path: /shared", ["missing-key"]),
        ("max_time: 1d", "max_time: 5s", ["out-of-range"]),
        ("uid: 6001", "uid: 0", ["out-of-range"]),
        ("gid: 5000", "gid: 18446744073709551616", ["out-of-range"]),
        ("name: lab", "name: ''", ["bad-name"]),
        ("  train: {", "  default: {", ["reserved-name"]),
        ("  alice: {", "  root: {", ["reserved-name"]),
    ],
)
def test_what_a_cluster_file_may_not_say(old, new, codes):
    """Addresses are private, variants are told by their kind, names and ids are free."""
    text = LAB.read_text()

    assert old in text
    assert said(text.replace(old, new, 1)) == codes


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (LAB.read_text(), "cluster"),
        (GPT.read_text(), "job"),
        ("nodes: 2\ntime: 1h\n", "job"),
        ("name: x\ntime: {zone: UTC}\n", "cluster"),
        ("command: [a]\n", "job"),
        ("nodes: {}\n", "cluster"),
        ("name: x\n", "cluster"),
    ],
)
def test_a_job_and_a_cluster_are_told_apart_by_their_keys(text, kind):
    """The name of the file plays no part."""
    assert kind_of(read(text, "f.yaml")) == kind


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("time: 12:30:00", "bad-quantity"),
        ("time: 90", "bad-quantity"),
        ("time: '90'", "bad-quantity"),
        ("time: 5s", "out-of-range"),
    ],
)
def test_times_need_their_unit(line, code):
    """A clock form, a bare number and a slip of a unit."""
    assert said(GPT.read_text().replace("time: 30m", line), job_of) == [code]


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("nodes: 2", "nodes: true", ["wrong-type"]),
        ("nodes: 2", "nodes: 2.0", ["wrong-type"]),
        ("nodes: 2", "nodes: 0", ["out-of-range"]),
        ("recipe: gpt", "recipe: vgg", ["not-a-choice"]),
        ("save_total_limit: 3", "save_total_limit: 1", ["out-of-range"]),
        ("every: 25 steps", "every: 0 steps", ["bad-quantity"]),
        ("every: 25 steps", "every: 25", ["bad-quantity"]),
        ("{steps: 300}", "{steps: [300]}", ["wrong-type"]),
        ("name: gpt-small", "name: '$(reboot)'", ["bad-name"]),
        ("user: alice", "environment: {variables: {A: 8}}", ["wrong-type"]),
        ("user: alice", "environment: {variables: {A: true}}", ["wrong-type"]),
        ("user: alice", "data: [{path: /x, stage: remote}]", ["not-a-choice"]),
        ("user: alice", "share: group", ["not-a-choice"]),
        ("user: alice", "command: []", ["out-of-range", "command-or-recipe"]),
        ("user: alice", "container: docker://x", ["wrong-type"]),
        ("user: alice", "environment: {variables: {A: [1]}}", ["wrong-type"]),
        ("user: alice", "data: [/shared/data]", ["wrong-type"]),
        ("user: alice", "elastic: {min_nodes: 1, max_nodes: 1}", ["elastic-mismatch", "elastic-range"]),
        ("spare_nodes: 1", "spare_nodes: 0", ["spare-mismatch"]),
        ("every: 25 steps", "every: 12:30:00", ["bad-quantity"]),
        ("every: 25 steps", "every: 0h", ["bad-quantity"]),
        ("time: 30m", "time: 0s", ["bad-quantity"]),
    ],
)
def test_what_a_job_file_may_not_say(old, new, codes):
    """Types are strict, numbers have bounds, choices are few."""
    assert said(GPT.read_text().replace(old, new), job_of) == codes


def test_a_command_keeps_its_quotes_and_line_breaks():
    """What is in the file is what the program is given, character for character."""
    command = ["train.py", "--name", 'it\'s "here"', "two\nlines", "$(reboot)"]
    text = GPT.read_text().replace("recipe: gpt\narguments: {steps: 300}", f"command: {json.dumps(command)}")

    assert job_of(read(text, "job.yaml")).command == tuple(command)


def test_a_job_is_held_against_its_cluster_when_one_is_given():
    """load_job refuses what the cluster cannot do; without a cluster it cannot know."""
    job = read(GPT.read_text().replace("gpus_per_node: 2", "gpus_per_node: 8"), "job.yaml")

    assert job_of(job).gpus_per_node == 8
    with pytest.raises(SpecError, match="too-many-gpus"):
        job_of(job, load_cluster(LAB))


def test_without_sources_a_clash_still_names_both_fields():
    """The launcher has a job and a cluster, not their texts."""
    job = job_of(read(GPT.read_text().replace("nodes: 2", "nodes: 4"), "job.yaml"))
    (finding,) = check_job_against(job, load_cluster(LAB))

    assert [str(place) for place in finding.places] == [
        "job file  nodes", "job file  recovery.spare_nodes", "cluster file  partitions.train.nodes",
    ]  # fmt: skip


def test_a_file_that_is_not_there(tmp_path):
    """A missing file and a folder are told with the system's own reason."""
    with pytest.raises(SpecError, match="No such file"):
        load_cluster(tmp_path / "none.yaml")
    with pytest.raises(SpecError, match="Is a directory"):
        load_job(tmp_path)


def test_good_news_says_what_was_read():
    """The one line on success names the kind of file, so that a mix-up shows."""
    assert "is a valid cluster file: `lab`, 5 hosts, 2 node groups" in checked(LAB)[0]
    assert "is a valid job file: `gpt-small`" in checked(GPT, LAB)[0]


def test_a_job_with_invalid_values_is_still_checked_for_contradictions_and_against_its_cluster():
    """One run has all mistakes; none is a consequence of another."""
    text = """name: x
command: [train.py, --lr, 1e-3]
program: [./a]
nodes: 200
gpus_per_node: 80
time: 90
team: visoin
parallel: {tensor: 3}
recovery: {on_host_loss: spare}
"""
    cluster = load_cluster(LAB)

    assert said(text, lambda source: job_of(source, cluster)) == [
        "command-or-recipe", "wrong-type", "too-many-nodes", "too-many-gpus", "bad-quantity", "unknown-name",
        "parallel-mismatch", "spare-mismatch",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("gpus_per_node: 2", "gpus_per_nod: 2", ["unknown-key"]),
        ("nodes: 2", "nodes: two", ["wrong-type"]),
        ("spare_nodes: 1", "spare_node: 1", ["unknown-key"]),
        ("recipe: gpt", "recip: gpt", ["unknown-key"]),
    ],
)
def test_a_mistake_of_a_job_has_no_consequences(old, new, codes):
    """A misspelled key and an invalid value have one error each."""
    text = GPT.read_text()

    assert old in text
    assert said(text.replace(old, new, 1), job_of) == codes


def test_a_misspelled_team_of_the_only_member_leaves_no_empty_team():
    """That the team then has no members is a consequence."""
    text = re.sub(r"team: vision", "team: visoin", LAB.read_text())

    assert "team-empty" not in said(text)
    assert "unknown-name" in said(text)


@pytest.mark.parametrize(
    ("old", "new", "fix"),
    [
        ("os: debian-12", "os: debian12", "did you mean `debian-12`?"),
        ("os: debian-12", "os: ubuntu22", "did you mean `ubuntu-22.04`?"),
        ("os: debian-12", "os: ubuntu24", "did you mean `ubuntu-24.04`?"),
        ("os: debian-12", "os: debian-12\ntime: {zone: Berlin}", "did you mean `Europe/Berlin`?"),
        ("os: debian-12", "os: debian-12\ntime: {zone: Asia/Shangai}", "did you mean `Asia/Shanghai`?"),
        ("gpu-node[1-4]", "gpu-node[4-1]", "write gpu-node[1-4]"),
    ],
)
def test_the_fix_proposes_the_value_that_is_meant(old, new, fix):
    """Releases by their version, time zones by their city, ranges turned around."""
    text = LAB.read_text()

    assert old in text
    with pytest.raises(SpecError) as caught:
        cluster_of(read(text.replace(old, new, 1), "f.yaml"))
    assert any(fix in finding.fix for finding in caught.value.findings), caught.value


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_file_is_loaded_or_refused(data):
    """Whatever piece of a good file is cut out or doubled, nothing but a SpecError comes of it."""
    file, of = data.draw(st.sampled_from([(LAB, cluster_of), (GPT, job_of)]))
    text = file.read_text()
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 80))
    again = data.draw(st.integers(0, 2))

    piece = text[start : start + length]

    assert "incomplete" not in said(text[:start] + piece * again + text[start + length :], of)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_junk_in_place_of_any_value_is_loaded_or_refused(data):
    """Whatever stands in place of a value of a good file, nothing but a SpecError comes of it."""
    file, of = data.draw(st.sampled_from([(LAB, cluster_of), (GPT, job_of)]))
    values = copy.deepcopy(read(file.read_bytes(), "f").values)
    section = values
    while True:
        key = data.draw(st.sampled_from(sorted(section)))
        if not isinstance(section[key], dict) or not section[key] or data.draw(st.booleans()):
            break
        section = section[key]
    section[key] = data.draw(JUNK)

    assert "incomplete" not in said(json.dumps(values), of)


@pytest.mark.parametrize(
    ("field", "line", "fix"),
    [
        ("command", "python3 train.py --lr 1e-3", '[train.py, --lr, "1e-3"]'),
        ("command", "train.py", "[train.py]"),
        ("program", "python train.py", "[python, train.py]"),
    ],
)
def test_the_list_of_a_command_line_is_one_that_runs(field, line, fix):
    """One item for each word; `command` is a Python script, so its list has no `python`."""
    with pytest.raises(SpecError) as caught:
        job_of(read(f"name: t\n{field}: {line}\nnodes: 1\ntime: 10m\n", "job.yaml"))

    assert caught.value.findings[0].fix == f"write the value as a list: {field}: {fix}"
    job_of(read(f"name: t\n{field}: {fix}\nnodes: 1\ntime: 10m\n", "job.yaml"))

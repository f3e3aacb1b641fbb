"""Cluster files of 120 kB whose cross-checks are many: each ends with findings, in seconds."""

import itertools
import os
import resource
import time

import pytest

from clusterwright.config.clash import loops, nested_pairs
from clusterwright.config.load import load_cluster
from clusterwright.errors import SpecError

SIZE, LIMIT_S, LIMIT_KIB = 120_000, 10, 300 << 10
HEAD = "name: x\nos: debian-12\nnetworks: {management: {subnet: 10.0.0.0/8, rate: 10Gbit/s}}\nnodes:\n"
COMMON = "addresses: {management: 10.11.1.1}, cpus: {sockets: 2, cores_per_socket: 56}, memory: 2TiB"
CONTROL = (
    "  c: {role: control, hosts: c, addresses: {management: 10.10.0.10}, "
    "cpus: {sockets: 1, cores_per_socket: 2}, memory: 8GiB}\n"
)
PARTITIONS = "partitions:\n  train: {nodes: [g0], max_time: 1d, default: true}\n"


def group(number, hosts="gpu[1-8]", more=""):
    """A node group."""
    return f"  g{number}: {{role: compute, hosts: '{hosts}', {COMMON}{more}}}\n"


def document(rest="", groups="", partitions=PARTITIONS):
    """A cluster file."""
    return HEAD + CONTROL + (groups or group(0)) + partitions + rest


def repeat(line, size=SIZE):
    """Lines with rising numbers, of this size together."""
    lines = []
    while size > 0:
        lines.append(line(len(lines)))
        size -= len(lines[-1])
    return "".join(lines)


def people(count, partition=""):
    """Teams with one user in all of them."""
    teams = "".join(f"  t{number}: {{gid: {5000 + number}}}\n" for number in range(count))
    names = ", ".join(f"t{number}" for number in range(1, count))
    return f"teams:\n{teams}users:\n  u: {{uid: 7000, team: t0, additional_teams: [{names}]}}\n{partition}"


def sub_cubes(count, letters="abcdefghijklmnop"):
    """A hostlist of hosts with 16 numbers in their names, of which each part has ten ranges."""
    return ",".join(
        "".join(f"{x}[1-2]" if (n + number) % 16 < 10 else f"{x}{n % 2}" for n, x in enumerate(letters))
        for number in range(count)
    )


FILES = {
    "anchors": repeat(lambda n: f"k{n}: &a{n} 1\n"),
    "unknown keys": document() + repeat(lambda n: f"k{n}: 1\n"),
    "one line": document("security: {ssh_from: [" + "x, " * (SIZE // 3) + "]}\n"),
    "one line of users": document("users: {" + repeat(lambda n: f"u{n}: {{uid: 1}}, ") + "}\n"),
    "repeated items": document("system: {hold_packages: [" + repeat(lambda n: f"pa{n % 9000}, ") + "]}\n"),
    "equal hosts": document(groups=repeat(lambda n: group(n, "gpu[1-45]"))),
    "equal addresses": document(groups=repeat(lambda n: group(n, f"a{n}n[1-40]"))),
    "absent hosts": document(groups=group(0, "a[1-60000]", ", absent: 'b[1-60000]'")),
    "disks": document(
        groups=group(0, more=", disks: [" + repeat(lambda n: f"{{size: 1TB, mount: /s{n % 50}}}, ") + "]")
    ),
    "folders": document(
        "storage:\n" + repeat(lambda n: f"  s{n}: {{kind: nfs, path: /a/{'a/' * (n % 99)}a, server: f}}\n")
    ),
    "unknown teams": document(
        "teams:\n"
        + repeat(lambda n: f"  aaaaaaaaaaaaab{n}: {{gid: {5000 + n}}}\n", SIZE // 2)
        + "users:\n"
        + repeat(lambda n: f"  u{n}: {{uid: {7000 + n}, team: aaaaaaaaaaaaac{n}}}\n", SIZE // 2)
    ),
    "chain of teams": document(
        "teams:\n" + repeat(lambda n: f"  t{n}: {{gid: {5000 + n}, parent: t{n + 1}}}\n")
    ),
    "cycle of teams": document(
        "teams:\n" + "".join(f"  t{n}: {{gid: {5000 + n}, parent: t{(n + 1) % 3000}}}\n" for n in range(3000))
    ),
    "teams of a partition": document(
        people(1100, "qos:\n" + "".join(f"  q{n}: {{teams: [t1099]}}\n" for n in range(1100))),
        partitions="partitions:\n  train: {nodes: [g0], max_time: 1d, teams: ["
        + ", ".join(f"t{n}" for n in range(1100))
        + "], qos: ["
        + ", ".join(f"q{n}" for n in range(1100))
        + "]}\n",
    ),
    "one quality of service again and again": document(
        people(2500, "qos: {q: {}}\n"),
        partitions="partitions:\n  p: {nodes: [g0], max_time: 1d, qos: [" + "q, " * 20_000 + "]}\n",
    ),
    "qualities of service of partitions": document(
        people(2500, "qos:\n" + "".join(f"  q{n}: {{}}\n" for n in range(2500))),
        partitions="partitions:\n  p: {nodes: [g0], max_time: 1d, qos: ["
        + ", ".join(f"q{n}" for n in range(2500))
        + "]}\n",
    ),
    "reservations": document(
        "reservations:\n"
        + repeat(
            lambda n: (
                f"  r{n}: {{hosts: 'x[{n * 20 + 1}-{n * 20 + 20}]', start: '2027-01-09T08:00', duration: 8h}}\n"
            )
        ),
        groups=group(0, "g[1-40000]"),
    ),
    "hosts with 16 numbers": document(
        f"reservations: {{r: {{hosts: '{''.join(x + '[1-2]' for x in 'abcdefghijklmnop')}', "
        "start: '2027-01-09T08:00', duration: 8h}}\n"
    ),
    "parts with 16 numbers": document(groups=group(0, sub_cubes(40))),
}


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_ends_with_findings_in_time(tmp_path, name):
    """The limits are of processor time, and of memory beyond the most that a test before has used."""
    path = tmp_path / "cluster.yaml"
    path.write_text(FILES[name])
    begun, most = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(SpecError) as caught:
        load_cluster(path)

    assert len(str(caught.value)) < 1_000_000
    assert time.process_time() - begun < LIMIT_S
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < LIMIT_KIB


def test_nested_paths_are_found_as_by_comparing_each_two():
    """Equal ones too, the first index first."""
    paths = ["/a", "/a/b", "/", "/ab", "/a/b/c", "/a", "/x/y", "/x"]

    def is_nested(one, other):
        return one == other or one.startswith(other.rstrip("/") + "/")

    for only in (None, 0, 2, 5):
        expected = {
            (first, second)
            for first, second in itertools.combinations(range(len(paths)), 2)
            if (only is None or first < only)
            and (is_nested(paths[first], paths[second]) or is_nested(paths[second], paths[first]))
        }
        pairs = list(nested_pairs(paths, only))
        assert (set(pairs), len(pairs)) == (expected, len(expected))


@pytest.mark.parametrize(
    ("follows", "cycles"),
    [
        ({"a": ("b",), "b": ("a",)}, [("a", "b")]),
        ({"a": ("a",)}, [("a",)]),
        ({"a": ("b",), "b": ("c",), "c": ("b",)}, [("b", "c")]),
        ({"a": ("b", "c"), "b": ("a",), "c": ("a",)}, [("a", "b"), ("c", "a")]),
        ({"a": ("b",), "b": ("c",)}, []),
        ({"a": ("b", "b"), "b": ("x",)}, []),
        ({}, []),
    ],
)
def test_cycles_of_a_graph(follows, cycles):
    """The shortest through each name that is in no earlier one."""
    assert list(loops(follows)) == cycles


def test_a_pipe_in_place_of_a_file_is_refused(tmp_path):
    """The command would wait for a writer without end; a pipe of the caller is read."""
    os.mkfifo(tmp_path / "cluster.yaml")
    with pytest.raises(SpecError, match="a pipe"):
        load_cluster(tmp_path / "cluster.yaml")
    reading, writing = os.pipe()
    os.write(writing, document().encode())
    os.close(writing)
    assert load_cluster(f"/dev/fd/{reading}").name == "x"
    os.close(reading)


def test_only_the_first_unknown_keys_have_suggestions(tmp_path):
    """Of 100 keys similar to a valid one, each is an error, and 20 are compared with the valid keys."""
    file = tmp_path / "cluster.yaml"
    file.write_text(document() + "".join(f"partition{n}: 1\n" for n in range(100)))
    with pytest.raises(SpecError) as raised:
        load_cluster(file)
    unknown = [finding for finding in raised.value.findings if finding.code == "unknown-key"]

    assert (len(unknown), sum("did you mean" in finding.fix for finding in unknown)) == (100, 20)

"""What is sent to a host: the loader, the agent's modules, and what is wanted there."""

import base64
import json
import subprocess
import sys
import zlib

from clusterwright.onhost.provision.host import Host
from clusterwright.provision.bundle import LOADER, Order, bundle, command
from clusterwright.provision.resources import File, Package

WORDS = "a library's text\n" * 200


def sent(*resources, agent=(), shared=()):
    """The bytes."""
    return bundle(Order("check", "c", "1"), resources, list(agent), shared)


def order_of(data):
    """What the agent reads after the loader has taken the modules."""
    length, _, rest = data.partition(b"\n")
    return json.loads(zlib.decompress(rest[int(length) :]))


def load(text, data):
    """The loader, by a Python of its own."""
    return subprocess.run(
        [sys.executable, "-c", text], input=data, capture_output=True, check=False, timeout=60
    )


def test_contents_that_all_hosts_share_arrive_as_if_they_were_sent_with_each():
    """They are packed once; the file of one host alone is in its own part."""
    files = [File(path=f"/opt/{index}", content=WORDS) for index in range(3)]
    own = File(path="/etc/own", content="mine\n")
    order = order_of(sent(*files, own, shared=(WORDS,)))
    host = Host(order)

    assert len(order["contents"]) == 1
    assert [base64.b64decode(one["content"]).decode() for one in host.resources] == [WORDS] * 3 + ["mine\n"]
    assert all("content_of" not in one for one in host.resources)


def test_two_hosts_bundles_do_not_mix():
    """The packer that has taken in what they share is copied for each."""
    shared = (WORDS,)
    first, second = (
        order_of(sent(File(path="/a", content=WORDS), Package(name=name), shared=shared))
        for name in ("x", "y")
    )

    assert [one["resources"][1]["name"] for one in (first, second)] == ["x", "y"]


def test_a_module_is_run_when_it_is_first_used():
    """What only changing needs costs looking nothing; what is used works, also when it imports another."""
    modules = [
        ("a", "'package'"),
        ("a.unused", "raise SystemExit('run')"),
        ("a.one", "VALUE = 41"),
        (
            "a.main",
            "from a import one, unused\nfrom a.one import VALUE\ndef main(): print(VALUE + 1, one.VALUE)",
        ),
    ]
    done = load(LOADER, sent(agent=modules))

    assert (done.stdout, done.returncode) == (b"42 41\n", 0)


def test_an_old_python_is_told_of_in_one_line():
    """And not by a traceback of a syntax that it does not know."""
    done = load(f"import sys; sys.version_info = (3, 5, 2)\n{LOADER}", sent())

    assert done.stderr.startswith(b"python3 is older than 3.6 here")
    assert b"Traceback" not in done.stderr
    assert done.returncode == 1


def test_the_command_is_one_word_for_a_shell():
    """The loader stands in single quotes, so it may hold none."""
    assert "'" not in LOADER
    assert command(sudo=True).startswith("sudo -n ")

"""What provisioning sends to a host as its order."""

import json
import zlib

from clusterwright.onhost.provision.files import content_of
from clusterwright.onhost.provision.host import LocalHost
from clusterwright.provision.bundle import Order, bundle
from clusterwright.provision.resources import File, Package

WORDS = "a library's text\n" * 200


def sent(*resources, shared=()):
    """The bytes."""
    return bundle(Order("check", "c", "1"), resources, shared)


def order_of(data):
    """What the agent reads after the loader has taken the modules."""
    return json.loads(zlib.decompress(data))


def test_contents_that_all_hosts_share_arrive_as_if_they_were_sent_with_each():
    """They are packed once; the file of one host alone is in its own part."""
    files = [File(path=f"/opt/{index}", content=WORDS) for index in range(3)]
    own = File(path="/etc/own", content="mine\n")
    order = order_of(sent(*files, own, shared=(WORDS,)))
    host = LocalHost(order)

    assert len(order["contents"]) == 1
    assert [one["content"] for one in host.resources] == [WORDS] * 3 + ["mine\n"]
    assert all("content_of" not in one for one in host.resources)


def test_bytes_that_are_no_text_arrive_as_they_are():
    """A file may hold anything."""
    data = bytes(range(256)) + "é\r\n".encode()
    host = LocalHost(order_of(sent(File(path="/a", content=data))))

    assert content_of(host.resources[0]) == data


def test_two_hosts_bundles_do_not_mix():
    """The packer that has taken in what they share is copied for each."""
    shared = (WORDS,)
    first, second = (
        order_of(sent(File(path="/a", content=WORDS), Package(name=name), shared=shared))
        for name in ("x", "y")
    )

    assert [one["resources"][1]["name"] for one in (first, second)] == ["x", "y"]

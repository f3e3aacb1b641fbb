"""Files of many hosts, folded."""

from pathlib import Path

import hypothesis.strategies as st
from hypothesis import given as drawn

from clusterwright.config.load import load_cluster
from clusterwright.provision.export.fold import fold_files, places

HGX = load_cluster(Path(__file__).parents[3] / "examples" / "hgx" / "cluster.yaml")
HOSTS = HGX.hosts()
FILES = st.fixed_dictionaries(
    {
        host.name: st.dictionaries(st.sampled_from(["/a", "/b", "/c"]), st.sampled_from(["x", "y"]))
        for host in HOSTS
    }
)


@drawn(FILES)
def test_what_is_folded_can_be_unfolded(files):
    """Each host finds each of its files in exactly one of its four places, and finds nothing else there."""
    folded = fold_files(files, HOSTS)

    for host in HOSTS:
        there = [(path, text) for place in places(host) for path, text in folded.get(place, {}).items()]
        assert sorted(there) == sorted(files[host.name].items())


def test_a_file_lies_in_the_widest_place_that_shares_it():
    """One for all hosts, one for a role, one for a group, one for a host; an absent one is no reason to split."""
    files = {
        host.name: {
            "/all": "same",
            "/role": host.group.role,
            "/own": host.name if host.group.role == "compute" else "same",
        }
        for host in HOSTS
    }
    files["control1"]["/first"] = "only here"

    folded = fold_files(files, HOSTS)

    assert folded["all"] == {"/all": "same"}
    assert folded["roles/compute"] == {"/role": "compute"}
    assert folded["roles/login"] == {"/role": "login", "/own": "same"}
    assert folded["hosts/hgx07"] == {"/own": "hgx07"}
    assert folded["hosts/control1"] == {"/first": "only here"}

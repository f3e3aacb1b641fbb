"""One small cluster with everything switched on, and the examples, for each release: golden, and known to it."""

import re
from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.config.slurm_keys import LIST_VALUED_KEYS, OURS, RELEASES, key_spans
from clusterwright.config.slurm_keys.lint import lint
from clusterwright.provision.render.cgroup_conf import cgroup_conf
from clusterwright.provision.render.gres_conf import gres_conf
from clusterwright.provision.render.slurm_conf import slurm_conf
from clusterwright.provision.render.slurmdbd_conf import slurmdbd_conf
from clusterwright.provision.render.topology_conf import topology
from clusterwright.provision.resources import RoleContext

ROOT = Path(__file__).parents[3]
VERSIONS = ROOT / "tests" / "golden" / "render" / "versions"
EXAMPLES = sorted((ROOT / "examples").glob("*/cluster.yaml"))
RENDERED_FOR = RELEASES[3:]
HEADER = RoleContext.header()
# Keys that we write and that a site may set in their place.
FREE = {
    "batchstarttimeout", "completewait", "enforcepartlimits", "epilogtimeout", "healthcheckinterval",
    "healthchecknodestate", "healthchecktimeout", "jobacctgatherfrequency", "jobcomploc", "jobcomptype",
    "jobrequeue", "mailprog", "messagetimeout", "minjobage", "mpidefault", "prioritymaxage", "priorityweightage",
    "priorityweightfairshare", "priorityweightjobsize", "priorityweightqos", "prologepilogtimeout",
    "prologtimeout", "rebootprogram", "reconfigflags", "returntoservice", "selecttypeparameters", "suspendexcstates",
    "suspendtimeout", "taskplugin", "treewidth", "unkillablesteptimeout",
}  # fmt: skip


def of(cluster, version, **slurm):
    """The same cluster with another Slurm; where its packages come from is no matter here."""
    software = cluster.software.model_copy(update={"slurm": version})
    settings = cluster.slurm.model_copy(update=slurm)
    return cluster.model_copy(update={"software": software, "slurm": settings})


def files(cluster):
    """Name and text of each of Slurm's files."""
    told = topology(cluster, HEADER)
    return {
        "slurm.conf": slurm_conf(cluster, HEADER),
        "cgroup.conf": cgroup_conf(cluster, HEADER),
        "gres.conf": gres_conf(cluster, HEADER),
        **({told[0]: told[1]} if told else {}),
    }


@pytest.fixture(scope="module")
def every():
    """The cluster with everything switched on."""
    return load_cluster(VERSIONS / "cluster.yaml")


@pytest.mark.parametrize("version", RENDERED_FOR)
def test_each_release_has_its_golden_files(every, version, golden):
    """`pytest --golden` rewrites them, and the diff is reviewed."""
    rendered = files(of(every, version))
    if version >= "23.11":  # what the block topology is, beside the tree
        block = topology(of(every, version, topology="block", block_size=2), HEADER)
        rendered[f"block/{block[0]}"] = block[1]
    if version >= "22.05":
        rendered["v2/cgroup.conf"] = cgroup_conf(of(every, version, cgroup="v2"), HEADER)
    folder = VERSIONS / version
    if golden:
        for name, text in rendered.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    kept = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}

    assert rendered == kept


@pytest.mark.parametrize("version", RENDERED_FOR)
@pytest.mark.parametrize("file", [*EXAMPLES, VERSIONS / "cluster.yaml"], ids=lambda path: path.parent.name)
def test_every_file_is_known_to_the_release(file, version):
    """No key that its daemons would die of, none that they complain of."""
    cluster = load_cluster(file)
    asked = of(cluster, version)
    for name, text in {**files(asked), "slurmdbd.conf": slurmdbd_conf(asked, HEADER)}.items():
        assert lint(text, name, version) == (), name


@pytest.mark.parametrize("version", RENDERED_FOR)
@pytest.mark.parametrize("how", ["block", "v2", "configless"])
def test_other_choices_are_known_to_it_too(every, version, how):
    """Block topology from 23.11 on, control groups v2 from 22.05 on, configless."""
    since = {"block": "23.11", "v2": "22.05", "configless": "20.02"}[how]
    if version < since:
        pytest.skip(f"came with {since}; the spec refuses it before")
    asked = {
        "block": {"topology": "block", "block_size": 2},
        "v2": {"cgroup": "v2"},
        "configless": {"configless": True},
    }
    cluster = of(every, version, **asked[how])

    assert {
        name: found for name, text in files(cluster).items() if (found := lint(text, name, version))
    } == {}


def test_what_we_write_is_either_ours_or_free_to_set(every):
    """A key of slurm.conf that is in neither list would be written twice where a site sets it."""
    written = set()
    for version in RENDERED_FOR:
        text = slurm_conf(of(every, version, options={}, configless=True), HEADER)
        written |= {line.partition("=")[0].lower() for line in text.splitlines() if re.match(r"\w+=", line)}

    assert written - set(OURS) - LIST_VALUED_KEYS - FREE == set()
    assert (set(OURS) | LIST_VALUED_KEYS | FREE) - set(key_spans("slurm.conf")) <= {"include"}


def test_a_key_stands_once(every):
    """Slurm takes the last of two and complains of both."""
    for version in RENDERED_FOR:
        text = slurm_conf(of(every, version, configless=True), HEADER)
        keys = [line.partition("=")[0] for line in text.splitlines() if re.match(r"\w+=", line)]
        once = [key for key in keys if key not in {"NodeName", "PartitionName"}]
        assert len(once) == len(set(once)), version

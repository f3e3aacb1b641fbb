"""`wright rollback` as a user meets it where no host answers: a lab that is not up."""

from pathlib import Path

import pytest

from clusterwright.cli._disruption import DisruptionOptions
from clusterwright.cli.rollback import rollback
from clusterwright.errors import WrightError


@pytest.fixture
def file(tmp_path):
    """The file of a lab that nobody has made."""
    example = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
    path = tmp_path / "cluster.yaml"
    path.write_text(
        example.read_text().replace("name: lab\n", "name: nobodys-lab\n").replace("10.77.", "10.176.")
    )
    return path


def test_hosts_that_do_not_say_what_can_be_undone_are_named(file, capsys):
    """The list is empty, and that is not called a success."""
    code = rollback(cluster=file, list_=True)

    said = capsys.readouterr()
    assert code == 1
    assert said.err.count("unreachable: gpu-node") == 4


def test_without_an_apply_to_undo_nothing_is_begun(file):
    """Hosts that do not respond may have one: the error names the reason."""
    with pytest.raises(WrightError, match="no host responds: ") as error:
        rollback(cluster=file, yes=True)

    assert (error.value.findings[0].code, error.value.exit_code) == ("unreachable", 1)


def test_a_time_without_a_unit_is_refused_before_a_host_is_asked(file):
    """As with apply."""
    with pytest.raises(WrightError, match="--wait"):
        rollback(cluster=file, yes=True, disruption=DisruptionOptions(drain=True, wait="10"))

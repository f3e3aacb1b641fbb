"""Failures of launch lines and of scripts as they are printed: the line and the plug-ins are named."""

import pytest

from clusterwright.diagnose.reading import of_text
from clusterwright.diagnose.subjects import judge_sources

REFUSED = (
    "srun: error: Couldn't find the specified plugin name for mpi/pmix_v3 looking at all files\n"
    "srun: error: cannot find mpi plugin for mpi/pmix_v3\n"
    "srun: error: cannot create mpi context for mpi/pmix_v3\n"
    "srun: error: invalid MPI type 'pmix_v3', --mpi=list for acceptable types\n"
)
LISTED = "MPI plugin types are...\n\tpmix\nspecific pmix plugin versions available: pmix_v4\n"


def why(*logs):
    """The likeliest cause in these logs."""
    return judge_sources([of_text(f"log{number}", text) for number, text in enumerate(logs)])[0]


@pytest.mark.parametrize("prefix", ["", "[rank0]: "])
def test_a_name_that_is_not_defined_has_the_line_of_the_script(prefix):
    """The innermost frame before the error is quoted."""
    lines = ["Traceback (most recent call last):", '  File "train.py", line 42, in <module>', "    main()",
             '  File "train.py", line 12, in main', "    os.x", "NameError: name 'os' is not defined"]  # fmt: skip
    diagnosis = why("\n".join(prefix + line for line in lines))

    assert diagnosis.mode == "user-code/name-not-defined"
    assert "`os`" in diagnosis.cause
    assert any('File "train.py", line 12, in main' in evidence.text for evidence in diagnosis.evidence)


def test_an_mpi_type_that_slurm_has_not_names_those_that_it_has():
    """Where the list is among the sources, as for a job; Open MPI is not blamed."""
    diagnosis = why(REFUSED, LISTED)

    assert diagnosis.mode == why(REFUSED).mode == "slurm-config/mpi-plugin"
    assert "--mpi=pmix_v3" in diagnosis.cause
    assert any("pmix_v4" in evidence.text for evidence in diagnosis.evidence)


def test_a_script_that_does_not_parse_its_local_rank_is_told_so():
    """Not only that an argument is unknown."""
    diagnosis = why("usage: train.py [-h]\ntrain.py: error: unrecognized arguments: --local-rank=0\n")

    assert diagnosis.mode == "user-code/local-rank"
    assert "--use-env" in diagnosis.fix

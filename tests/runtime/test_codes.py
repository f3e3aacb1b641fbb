"""The cause for which a rank leaves, and who must know it."""

import pytest

pytest.importorskip("torch")

from clusterwright.onhost.supervisor import decide
from clusterwright.onhost.supervisor.root_cause import host_fault
from clusterwright.runtime import codes

pytestmark = pytest.mark.train


def test_agent_and_runtime_agree_on_the_causes():
    """Neither imports the other."""
    assert {codes.NOT_FINITE, codes.CHECKPOINT_FORMAT, codes.CHECKPOINTS_UNUSABLE} == decide.NOT_RETRYABLE
    assert codes.CORRUPT_HOST == host_fault.CORRUPT_HOST


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        (codes.NOT_FINITE, 65),
        (codes.CHECKPOINT_FORMAT, 65),
        (codes.CHECKPOINTS_UNUSABLE, 65),
        (codes.CORRUPT, 71),
        (codes.CORRUPT_HOST, 71),
    ],
)
def test_leaving_has_a_code_for_the_shell_a_cause_for_the_agent_and_words(cause, code):
    """Whoever does not know the cause still sees the code."""
    with pytest.raises(SystemExit) as caught:
        raise codes.Leaving(cause, "reason")

    assert (caught.value.code, caught.value.cause, caught.value.message) == (code, cause, "reason")

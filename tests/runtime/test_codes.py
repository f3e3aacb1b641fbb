"""Words with which a rank leaves, and who must know them."""

import pytest

pytest.importorskip("torch")

from clusterwright.onhost.supervisor import decide
from clusterwright.onhost.supervisor.blame import host_fault
from clusterwright.runtime import codes

pytestmark = pytest.mark.train


def test_agent_and_runtime_agree_on_the_words():
    """Neither imports the other."""
    assert codes.VAIN == decide.VAIN
    assert host_fault.is_host_fault(f"weights of rank 2 on gpu-3 are wrong in step 40: {codes.HOST}")


def test_leaving_has_a_code_for_the_shell_and_words_for_the_agent():
    """Whoever does not know the words still sees the code."""
    with pytest.raises(SystemExit) as caught:
        raise codes.Leaving(codes.NOT_FINITE, "why")

    assert (caught.value.code, caught.value.words) == (65, "why")

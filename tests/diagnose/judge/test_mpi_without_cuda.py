"""Crashes of an MPI that was given GPU memory, and what else crashes with the same signal."""

import pytest

from clusterwright.diagnose.reading import of_text
from clusterwright.diagnose.subjects import judge_sources

OPEN_MPI = """
[n1:322643] *** Process received signal ***
[n1:322643] Signal: Segmentation fault (11)
[n1:322643] Signal code: Invalid permissions (2)
[n1:322643] Failing at address: 0x7f04a995d450
[n1:322643] [ 2] /opt/openmpi/lib/libopen-pal.so.40(opal_convertor_pack+0x165)[0x7f]
[n1:322643] [ 3] /opt/openmpi/lib/openmpi/mca_pml_ob1.so(mca_pml_ob1_send_request_start_rndv+0x8a)[0x7f]
[n1:322643] *** End of error message ***
mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 11 (Segmentation fault).
"""
UCX = """
[n1:647019:0:647019] Caught signal 11 (Segmentation fault: invalid permissions for mapped object at address 0x2aab1c80)
==== backtrace ====
 0 0x0000000000153d69 __memcpy_ssse3_back()  :0
 1 0x00000000000220be uct_self_ep_am_short()  ???:0
 2 0x0000000000029ab5 ucp_tag_send_nb()  ???:0
"""
COPY = """
[n1:09699] Read -1, expected 65536, errno = 14
mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 11 (Segmentation fault).
"""
NULL = """
[n1:08445] *** Process received signal ***
[n1:08445] Signal: Segmentation fault (11)
[n1:08445] Signal code: Address not mapped (1)
[n1:08445] Failing at address: (nil)
"""


def why(log):
    """The likeliest cause."""
    return judge_sources([of_text("log", log)])[0]


@pytest.mark.parametrize("log", [OPEN_MPI, UCX, COPY])
def test_an_mpi_without_cuda_is_named(log):
    """By its own handler of the signal, by UCX's, and by the copy between processes (EFAULT)."""
    diagnosis = why(log)

    assert diagnosis.mode == "version-mismatch/mpi-without-cuda"
    assert "mpi_built_with_cuda_support" in diagnosis.fix


def test_a_null_pointer_is_not_blamed_on_mpi():
    """An address that is not mapped is no GPU memory."""
    assert why(NULL).mode != "version-mismatch/mpi-without-cuda"


def test_an_old_fairscale_names_its_release_and_fsdp2():
    """The module that torch 2.0 removed, with FairScale in the traceback."""
    log = (
        'File "/env/lib/python3.10/site-packages/fairscale/optim/oss.py", line 1, in <module>\n'
        "    from torch._six import inf\nModuleNotFoundError: No module named 'torch._six'\n"
    )
    diagnosis = why(log)

    assert diagnosis.mode == "version-mismatch/fairscale-torch"
    assert "FSDP2" in diagnosis.fix

import pytest

from clusterwright.onhost.supervisor.root_cause.host_fault import is_host_fault


@pytest.mark.parametrize(
    "words",
    [
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "RuntimeError: No CUDA GPUs are available",
        "OSError: [Errno 5] Input/output error: '/scratch/shard-3'",
        "OSError: [Errno 116] Stale file handle",
        "RuntimeError: CUDA driver initialization failed, CUDA_ERROR_NO_DEVICE",
    ],
)
def test_words_about_the_host_are_its_own(words):
    """The same program would not say so on another host."""
    assert is_host_fault(words)


@pytest.mark.parametrize(
    "words",
    [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "ValueError: bad row 17",
        "RuntimeError: CUDA error: device-side assert triggered",
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "OSError: [Errno 28] No space left on device",
        "",
    ],
)
def test_what_the_program_does_is_not_the_hosts(words):
    """It would happen anywhere, or comes from another rank."""
    assert not is_host_fault(words)


def test_the_runtimes_code_names_the_host_whatever_is_left_of_its_words():
    """Words are cut at 500 characters; the code is not."""
    assert is_host_fault("weights of rank 2 on gpu-3 are wro", cause="corrupt-host")
    assert not is_host_fault("weights of rank 2 on gpu-3 are wrong", cause="corrupt")


def test_a_page_that_cannot_be_read_is_the_hosts():
    """SIGBUS; while SIGKILL and SIGSEGV may be anybody's."""
    assert [is_host_fault("", number) for number in (7, 9, 11)] == [True, False, False]

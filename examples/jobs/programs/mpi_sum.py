"""An MPI program: sums the rank numbers by Open MPI's libmpi."""

import ctypes

mpi = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
world = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))


def asked(call):
    """Return the number that an MPI function reports for this process."""
    number = ctypes.c_int()
    assert call(world, ctypes.byref(number)) == 0
    return number.value


assert mpi.MPI_Init(None, None) == 0
rank, size = asked(mpi.MPI_Comm_rank), asked(mpi.MPI_Comm_size)
mine, total = ctypes.c_int(rank), ctypes.c_int()
integer, add = (ctypes.byref(ctypes.c_char.in_dll(mpi, name)) for name in ("ompi_mpi_int", "ompi_mpi_op_sum"))
mpi.MPI_Allreduce(ctypes.byref(mine), ctypes.byref(total), 1, integer, add, world)
print(f"rank {rank} of {size} sum {total.value}", flush=True)
mpi.MPI_Finalize()

"""Copy runs of an array, such as the tokens or the bytes of some texts, in compiled code."""

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.corpus.array_files import Number, new_array, read_only


def gather(
    array: npt.NDArray[Number], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> npt.NDArray[Number]:
    """Return the runs of `array` that begin at `starts`, one after another."""
    result = new_array(int(lengths.sum()), array.dtype.type)
    _copy_runs(read_only(array), starts, lengths, np.asarray(result))
    return result


@njit(cache=True, nogil=True)
def _copy_runs(array, starts, lengths, result):  # type: ignore[no-untyped-def]
    position = 0
    for run in range(len(starts)):
        start = starts[run]
        for index in range(lengths[run]):
            result[position + index] = array[start + index]
        position += lengths[run]

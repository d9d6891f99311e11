"""Positions as numbers of 64 bits: the place in a row of tokens, and the text in the upper 32 bits."""

from libc.stdint cimport int64_t


cdef inline int64_t low_half(int64_t position) noexcept nogil:
    return position & <int64_t> 0xFFFFFFFF


cdef inline int64_t text_of(int64_t position) noexcept nogil:
    return position >> 32

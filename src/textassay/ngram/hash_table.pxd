"""A hash table with open addressing, of keys of 64 bits; its size is a power of two."""

from libc.stdint cimport int64_t, uint64_t

cdef enum:
    FREE = -1  # a slot of a table without a key


cdef inline uint64_t hashed(int64_t key) noexcept nogil:
    """Return 64 bits of `key`."""
    return <uint64_t> key * <uint64_t> 0x9E3779B97F4A7C15U  # 2^64 over the golden ratio: spreads consecutive keys


cdef inline uint64_t slot_of(const int64_t* keys, uint64_t mask, int64_t key) noexcept nogil:
    """Return the slot of `key` in the table of `mask` + 1 slots, a power of two, or the empty slot for it."""
    cdef uint64_t mixed = hashed(key)
    cdef uint64_t slot = (mixed ^ (mixed >> 32)) & mask
    while keys[slot] != key and keys[slot] != FREE:
        slot = (slot + 1) & mask
    return slot


cdef inline int64_t pair(int64_t prefix, int64_t token) noexcept nogil:
    return (prefix << 32) | token

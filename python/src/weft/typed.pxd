# weft/typed.pxd - channels of numbers and pointers for Cython: a value in place of an address, and a check of its size.
#
#     from weft cimport typed
#     weft.check(typed.channel(<double>0, 16, &ch))      # a channel of doubles
#     weft.check(typed.send(ch, 1.5, weft.WEFT_FOREVER))
#     weft.check(typed.receive(ch, &value, weft.WEFT_FOREVER))
#
# For structs, take weft_send(ch, &value, timeout) and sizeof(value).
from weft.c cimport WEFT_EINVAL, weft_channel, weft_channel_create, weft_channel_element_bytes, weft_fail, weft_receive, weft_send
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

ctypedef void *address

ctypedef fused value:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    float
    double
    address

# The element type is that of `like`, whose value does not matter.
cdef inline int channel(value like, size_t capacity, weft_channel **out) noexcept nogil:
    return weft_channel_create(sizeof(like), capacity, NULL, NULL, out)

# WEFT_EINVAL: the elements of the channel have another size.
cdef inline int send(weft_channel *ch, value v, int64_t timeout_ns) noexcept nogil:
    if weft_channel_element_bytes(ch) != sizeof(v):
        weft_fail("weft.typed.send: the value has not the size of the channel's elements")
        return WEFT_EINVAL
    return weft_send(ch, &v, timeout_ns)

cdef inline int receive(weft_channel *ch, value *v, int64_t timeout_ns) noexcept nogil:
    if weft_channel_element_bytes(ch) != sizeof(v[0]):
        weft_fail("weft.typed.receive: the variable has not the size of the channel's elements")
        return WEFT_EINVAL
    return weft_receive(ch, v, timeout_ns)

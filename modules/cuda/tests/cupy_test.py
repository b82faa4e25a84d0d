#!/usr/bin/env python3
"""Tests that cuPy reads columns from cleave_cuda.so, and cleave_cuda.so takes columns from cuPy, without copying.

  cupy_test.py /PATH/cleave_cuda.so

Needs a GPU. Prints "skipped: ..." and exits with status 0 if cuPy cannot be imported.
"""
import ctypes
import gc
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tests", "tools"))
from verdicts import Failure, Tally, check  # noqa: E402

try:
    import cupy
    import numpy
except ImportError as missing:
    print("skipped: cuPy cannot be imported: %s" % missing)
    sys.exit(0)

CUDA = 2                  # ARROW_DEVICE_CUDA
ROWS = 100_000


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


ReleaseSchema = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
ReleaseArray = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
                   ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p),
                   ("dictionary", ctypes.c_void_p), ("release", ReleaseSchema), ("private_data", ctypes.c_void_p)]
Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                  ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                  ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.c_void_p),
                  ("dictionary", ctypes.c_void_p), ("release", ReleaseArray), ("private_data", ctypes.c_void_p)]


class DeviceArray(ctypes.Structure):
    _fields_ = [("array", Array), ("device_id", ctypes.c_int64), ("device_type", ctypes.c_int32),
                ("sync_event", ctypes.POINTER(ctypes.c_void_p)), ("reserved", ctypes.c_int64 * 3)]


def layout(values):
    """The buffers of a column as numpy arrays: bitmap, offsets and bytes. None is a null."""
    offsets = numpy.zeros(len(values) + 1, numpy.int32)
    offsets[1:] = numpy.cumsum([len(value or b"") for value in values])
    data = numpy.frombuffer(b"".join(value or b"" for value in values), numpy.uint8)
    bits = numpy.packbits([value is not None for value in values], bitorder="little")
    return numpy.pad(bits, (0, -len(bits) % 8)), offsets, data


def values_of(bitmap, offsets, data, count):
    bits = numpy.unpackbits(bitmap, bitorder="little")[:count] if bitmap is not None else [1] * count
    data = data.tobytes()
    return [data[offsets[i]:offsets[i + 1]] if bits[i] else None for i in range(count)]


class Gpu:
    """A cleave_gpu."""

    def __init__(self, path, manager):
        self.library = ctypes.CDLL(path)
        self.library.cleave_gpu_error.restype = ctypes.c_char_p
        self.handle = ctypes.c_void_p()
        error = self.library.cleave_gpu_open(0, manager, ctypes.byref(self.handle))
        if error:
            raise RuntimeError("%d: %s" % (error, self.library.cleave_gpu_error(self.handle)))

    def call(self, name, *arguments):
        error = getattr(self.library, "cleave_gpu_" + name)(self.handle, *arguments)
        if error:
            raise RuntimeError("%s: %d: %s" % (name, error, self.library.cleave_gpu_error(self.handle).decode()))

    def make(self, name, *arguments):
        column = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(column))
        return column

    def from_host(self, values):
        bitmap, offsets, data = (ctypes.c_char_p(part.tobytes()) for part in layout(values))
        return self.make("column_from_host", offsets, data, bitmap, ctypes.c_int64(len(values)))

    def export(self, column):
        """Exports the column and frees it."""
        schema, array = Schema(), DeviceArray()
        self.call("column_export", column, b"u", ctypes.byref(schema), ctypes.byref(array))
        self.library.cleave_gpu_column_free(column)
        return schema, array

    def free(self, column):
        self.library.cleave_gpu_column_free(column)

    def close(self):
        self.library.cleave_gpu_close(self.handle)


class Received:
    """An array from another program, whose memory cuPy reads in place."""

    def __init__(self, schema, array):
        self.schema, self.array = schema, array

    def view(self, number, size, dtype):
        """A buffer as a cuPy array in the same memory, which keeps this object alive."""
        memory = cupy.cuda.UnownedMemory(self.array.array.buffers[number], size, self)
        return cupy.ndarray(size // numpy.dtype(dtype).itemsize, dtype, cupy.cuda.MemoryPointer(memory, 0))

    def columns(self, stream):
        if self.array.sync_event:
            cupy.cuda.runtime.streamWaitEvent(stream.ptr, self.array.sync_event[0])
        count = self.array.array.length
        offsets = self.view(1, 4 * (count + 1), numpy.int32)
        with stream:
            size = int(offsets[-1])
        data = self.view(2, size, numpy.uint8)
        has_bitmap = bool(self.array.array.buffers[0])
        return self.view(0, (count + 7) // 8, numpy.uint8) if has_bitmap else None, offsets, data

    def values(self, stream):
        parts = self.columns(stream)
        with stream:
            bitmap, offsets, data = (part if part is None else part.get() for part in parts)
        return values_of(bitmap, offsets, data, self.array.array.length)

    def release(self):
        self.array.array.release(ctypes.byref(self.array.array))
        self.schema.release(ctypes.byref(self.schema))


class Given:
    """A column in cuPy arrays, to hand over. Its event belongs to the stream on which the arrays are created."""

    def __init__(self, values, stream, skipped=0):
        self.released = 0
        with stream:
            # Copied by a kernel that has not run yet when the column is handed over.
            self.parts = [cupy.asarray(part) + part.dtype.type(0) for part in layout(values)]
        self.event = cupy.cuda.Event(disable_timing=True)
        self.event.record(stream)
        self.buffers = (ctypes.c_void_p * 3)(*(part.data.ptr for part in self.parts))
        self.event_pointer = ctypes.c_void_p(self.event.ptr)
        self.on_release, self.on_schema = ReleaseArray(self.count), ReleaseSchema(lambda schema: None)
        self.schema = Schema(format=b"u", release=self.on_schema)
        array = Array(length=len(values) - skipped, null_count=-1, offset=skipped, n_buffers=3,
                      buffers=ctypes.cast(self.buffers, ctypes.POINTER(ctypes.c_void_p)), release=self.on_release)
        self.array = DeviceArray(array=array, device_id=0, device_type=CUDA,
                                 sync_event=ctypes.pointer(self.event_pointer))

    def count(self, array):
        self.released += 1
        array.contents.release = ReleaseArray()

    def is_moved(self):
        return not self.array.array.release


def people():
    return [[b"John Doe", b"Ada \xc3\x89lan", b"Prince", None, b"", b" x", b"Bo van Berg"][i * 5 % 7]
            for i in range(ROWS)]


def cupy_reads(gpu, stream):
    """cuPy reads a column of ours in place"""
    names = people()
    schema, array = gpu.export(gpu.from_host(names))
    received = Received(schema, array)
    bitmap, offsets, data = received.columns(stream)
    check(array.device_type == CUDA and schema.format == b"u", "the export says what it is")
    check((offsets.data.ptr, data.data.ptr, bitmap.data.ptr) ==
          (array.array.buffers[1], array.array.buffers[2], array.array.buffers[0]), "cuPy reads our memory in place")
    with stream:
        lengths = int(cupy.diff(offsets).sum())
    check(lengths == sum(len(name or b"") for name in names), "a kernel of cuPy adds up the lengths of our values")
    check(received.values(stream) == names, "cuPy has the values of our column")
    received.release()
    check(not array.array.release and not schema.release, "the array is marked as released")


def we_take(gpu, stream):
    """We take columns of cuPy, and release them once"""
    for skipped in (0, 13):
        one = Given([b"skip"] * skipped + people(), stream, skipped)
        column = gpu.make("column_import", ctypes.byref(one.schema), ctypes.byref(one.array))
        check(one.is_moved(), "an array of cuPy is taken, offset %d" % skipped)
        check(one.released == 0, "it is kept while we have it")
        gpu.free(column)
        check(one.released == 1, "its owner is called once")
        gc.collect()
        check(one.released == 1, "and not again")


def we_refuse(gpu, stream):
    """A column of another device is refused"""
    one = Given([b"a"], stream)
    one.array.device_id = 7
    try:
        gpu.make("column_import", ctypes.byref(one.schema), ctypes.byref(one.array))
    except RuntimeError as error:
        check("on device 7, not 0" in str(error) and not one.is_moved() and one.released == 0,
              "another device is refused: %s" % error)
    else:
        raise Failure("another device is taken")


def what_was_exported_lives_longer(gpu, stream):
    """What was exported lives longer than what made it"""
    schema, array = gpu.export(gpu.from_host([b"x", None]))
    gpu.close()
    received = Received(schema, array)
    check(received.values(stream) == [b"x", None], "its values are there")
    received.release()


def main():
    tally = Tally()
    for manager in ("cuda", "cuda-async", "cuda-pool"):
        gpu, stream = Gpu(sys.argv[1], manager.encode()), cupy.cuda.Stream(non_blocking=True)
        for test in (cupy_reads, we_take, we_refuse, what_was_exported_lives_longer):
            tally.run("%s: %s" % (manager, test.__doc__), lambda: test(gpu, stream))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())

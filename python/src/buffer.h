// Owns a buffer of a Python object.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>

namespace cleave::python {

// Contiguous bytes, which the object keeps in place for as long as this buffer exists. Any thread may destroy it.
class Buffer {
public:
    // Requires the GIL. Throws python_error for an object without such a buffer.
    explicit Buffer(nanobind::handle object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nanobind::python_error();
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
        if (!nanobind::is_alive()) return;
        const nanobind::gil_scoped_acquire locked;
        PyBuffer_Release(&view_);
    }

    std::span<const std::uint8_t> bytes() const {
        return {static_cast<const std::uint8_t*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

private:
    Py_buffer view_{};
};

}  // namespace cleave::python

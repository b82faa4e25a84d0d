// The functions of gpu_columns.h.
#include "cuda/gpu_columns.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "cleave/error.h"
#include "cleave/memory.h"
#include "cuda/arrow_device.h"
#include "cuda/card_manager.h"
#include "cuda/current_card.h"
#include "cuda/device.h"
#include "cuda/error.h"
#include "cuda/offsets.h"
#include "cuda/streams.h"
#include "cuda/strings.h"

namespace cleave::cuda {
namespace {

class NoCard : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

void check_card(int card) {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) throw NoCard(std::string("no card: ") + cudaGetErrorString(error));
    if (card < 0 || card >= count) {
        throw NoCard("there is no card " + std::to_string(card) + " among " + std::to_string(count));
    }
}

cudaStream_t take_stream(Streams& streams) {
    cudaStream_t stream = nullptr;
    check(streams.take(stream), "cudaStreamCreateWithFlags");
    return stream;
}

// What columns need for as long as they exist. The manager keeps `streams` alive until all of its memory has been
// returned.
class Work {
public:
    // Precondition: the card is current.
    Work(int card, const std::string& manager)
        : streams_(std::make_shared<Streams>(card)),
          stream_(take_stream(*streams_)),
          device_(MemoryManager::adopt(make_card_manager(manager, streams_)), stream_) {}
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    ~Work() { cudaStreamSynchronize(stream_); }

    int card() const noexcept { return streams_->card(); }
    Device& device() noexcept { return device_; }

private:
    const std::shared_ptr<Streams> streams_;
    cudaStream_t stream_;
    Device device_;
};

void destroy(std::shared_ptr<Work>& work) {
    if (!work) return;
    const CurrentCard current(work->card());
    work.reset();
}

// Copies host memory to device memory and waits for the copy.
Memory copy_in(Device& device, const void* from, std::size_t size) {
    Memory memory = device.allocate(size);
    if (size == 0) return memory;
    check(cudaMemcpyAsync(memory.data(), from, size, cudaMemcpyHostToDevice, device.stream()), "cudaMemcpyAsync");
    device.wait();
    return memory;
}

template <class Offset>
DeviceStrings copy_column(Device& device, const Offset* offsets, const std::uint8_t* bytes,
                          const std::uint8_t* validity, std::int64_t rows) {
    if (rows < 0 || offsets == nullptr || offsets[0] != 0) {
        throw ArgumentError("the offsets do not begin with 0, or there are none");
    }
    if (rows > kMaxRows) throw ColumnTooLarge("a column of too many rows");
    if (!std::is_sorted(offsets, offsets + rows + 1)) throw ArgumentError("the offsets do not ascend");
    if (offsets[rows] > 0 && bytes == nullptr) throw ArgumentError("there are values, and no bytes");
    const auto count = static_cast<std::size_t>(rows);
    DeviceStrings column;
    column.rows = static_cast<std::int32_t>(rows);
    column.size = offsets[rows];
    column.is_large = sizeof(Offset) > sizeof(std::int32_t);
    column.offsets = copy_in(device, offsets, (count + 1) * sizeof(Offset));
    column.bytes = copy_in(device, bytes, static_cast<std::size_t>(column.size));
    if (validity != nullptr && rows > 0) {
        // Kernels read whole words; the bits after the last row are 0.
        std::string words((count + 31) / 32 * sizeof(std::uint32_t), '\0');
        std::memcpy(words.data(), validity, (count + 7) / 8);
        column.validity = copy_in(device, words.data(), words.size());
    }
    return column;
}

}  // namespace
}  // namespace cleave::cuda

// NOLINTBEGIN(readability-identifier-naming): names of C
struct cleave_gpu {
    std::shared_ptr<cleave::cuda::Work> work;  // null if it could not be opened
    std::string error;
};

struct cleave_gpu_column {
    std::shared_ptr<cleave::cuda::Work> work;
    // std::monostate: the column was exported.
    std::variant<std::monostate, cleave::cuda::DeviceStrings, cleave::cuda::ImportedStrings> values;
};
// NOLINTEND(readability-identifier-naming)

namespace cleave::cuda {
namespace {

int fail(cleave_gpu& gpu, int error, const char* why) noexcept {
    try {
        gpu.error = why;
    } catch (const std::bad_alloc&) {
        gpu.error.clear();
    }
    return error;
}

// Calls `function` and turns what it throws into an error number and a message.
template <class F>
int guarded(cleave_gpu& gpu, F function) noexcept {
    try {
        gpu.error.clear();
        function();
        return 0;
    } catch (const std::bad_alloc& error) {  // includes MemoryError
        return fail(gpu, ENOMEM, error.what());
    } catch (const NoCard& error) {
        return fail(gpu, ENODEV, error.what());
    } catch (const CudaError& error) {
        return fail(gpu, EIO, error.what());
    } catch (const ColumnTooLarge& error) {
        return fail(gpu, EOVERFLOW, error.what());
    } catch (const std::exception& error) {  // for a bad argument or manager name
        return fail(gpu, EINVAL, error.what());
    }
}

// The same, with the card current. The device is passed to `function`.
template <class F>
int with_device(cleave_gpu& gpu, F function) noexcept {
    return guarded(gpu, [&] {
        if (!gpu.work) throw NoCard("the card was not opened");
        const CurrentCard current(gpu.work->card());
        function(gpu.work->device());
    });
}

template <class Values>
cleave_gpu_column* make_column(const cleave_gpu& gpu, Values values) {
    return std::make_unique<cleave_gpu_column>(cleave_gpu_column{gpu.work, std::move(values)}).release();
}

StringsType type_of(const std::string& format) {
    if (format == "z" || format == "Z") return StringsType::kBinary;
    if (format == "u" || format == "U") return StringsType::kUtf8;
    throw ArgumentError("the format is '" + format + "', not z, u, Z or U");
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): names of C
extern "C" {

__attribute__((visibility("default"))) int cleave_gpu_open(int32_t card, const char* manager, cleave_gpu** gpu) {
    *gpu = new (std::nothrow) cleave_gpu;
    if (*gpu == nullptr) return ENOMEM;
    return guarded(**gpu, [&] {
        check_card(card);
        const CurrentCard current(card);
        (*gpu)->work = std::make_shared<Work>(card, manager);
    });
}

__attribute__((visibility("default"))) void cleave_gpu_close(cleave_gpu* gpu) {
    const std::unique_ptr<cleave_gpu> last(gpu);
    if (gpu != nullptr) destroy(gpu->work);
}

__attribute__((visibility("default"))) const char* cleave_gpu_error(const cleave_gpu* gpu) {
    return gpu->error.c_str();
}

__attribute__((visibility("default"))) int cleave_gpu_column_from_host(cleave_gpu* gpu, const int32_t* offsets,
                                                                       const uint8_t* bytes, const uint8_t* validity,
                                                                       int64_t rows, cleave_gpu_column** column) {
    return with_device(*gpu, [&](Device& device) {
        *column = make_column(*gpu, copy_column(device, offsets, bytes, validity, rows));
    });
}

__attribute__((visibility("default"))) int cleave_gpu_large_column_from_host(cleave_gpu* gpu, const int64_t* offsets,
                                                                             const uint8_t* bytes,
                                                                             const uint8_t* validity, int64_t rows,
                                                                             cleave_gpu_column** column) {
    return with_device(*gpu, [&](Device& device) {
        *column = make_column(*gpu, copy_column(device, offsets, bytes, validity, rows));
    });
}

// Allocates the column first: once the array is taken, nothing may fail.
__attribute__((visibility("default"))) int cleave_gpu_column_import(cleave_gpu* gpu, const ArrowSchema* schema,
                                                                    ArrowDeviceArray* array,
                                                                    cleave_gpu_column** column) {
    return with_device(*gpu, [&](Device& device) {
        auto made = std::make_unique<cleave_gpu_column>(cleave_gpu_column{gpu->work, {}});
        made->values = import_strings(device, *schema, *array);
        *column = made.release();
    });
}

__attribute__((visibility("default"))) int cleave_gpu_column_export(cleave_gpu* gpu, cleave_gpu_column* column,
                                                                    const char* format, ArrowSchema* schema,
                                                                    ArrowDeviceArray* array) {
    return with_device(*gpu, [&](Device& device) {
        const StringsType type = type_of(format);
        if (column->work != gpu->work) throw ArgumentError("the column is of another cleave_gpu");
        if (std::holds_alternative<std::monostate>(column->values)) {
            throw ArgumentError("the column was exported");
        }
        auto* const values = std::get_if<DeviceStrings>(&column->values);
        if (values == nullptr) throw ArgumentError("the column was imported: it belongs to another");
        set_large(device, *values, *format == 'Z' || *format == 'U');
        export_strings(device, std::move(*values), type, schema, array);
        column->values = std::monostate{};
    });
}

__attribute__((visibility("default"))) void cleave_gpu_column_free(cleave_gpu_column* column) {
    const std::unique_ptr<cleave_gpu_column> last(column);
    if (column == nullptr) return;
    const CurrentCard current(column->work->card());
    column->values = std::monostate{};
    destroy(column->work);
}
}
// NOLINTEND(readability-identifier-naming)

}  // namespace cleave::cuda

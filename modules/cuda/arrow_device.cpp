// The private_data of an exported array points to an object that owns everything the struct refers to: the column, the
// event and the list of buffers. The schema owns nothing, because all of it is constant.
#include "cuda/arrow_device.h"

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "cleave/error.h"
#include "cuda/current_card.h"
#include "cuda/device.h"
#include "cuda/error.h"

namespace cleave::cuda {
namespace {

constexpr std::int64_t kBuffers = 3;  // of a string array: bitmap, offsets, bytes

int current_card() {
    int card = 0;
    check(cudaGetDevice(&card), "cudaGetDevice");
    return card;
}

struct ExportedStrings {
    ExportedStrings(DeviceStrings exported, int of_card) : column(std::move(exported)), card(of_card) {}
    ExportedStrings(const ExportedStrings&) = delete;
    ExportedStrings& operator=(const ExportedStrings&) = delete;
    // The stream of the column may no longer exist, so the destructor waits for the event, and releases the memory on
    // the legacy default stream.
    ~ExportedStrings() {
        const CurrentCard current(card);
        if (event != nullptr) {
            cudaEventSynchronize(event);
            cudaEventDestroy(event);
        }
        column.offsets.release();
        column.bytes.release();
        column.validity.release();
    }

    DeviceStrings column;
    const int card;
    cudaEvent_t event = nullptr;
    std::array<const void*, kBuffers> buffers{};
};

void release_array(ArrowArray* array) {
    const std::unique_ptr<ExportedStrings> last(static_cast<ExportedStrings*>(array->private_data));
    array->release = nullptr;
    array->private_data = nullptr;
}

void release_schema(ArrowSchema* schema) { schema->release = nullptr; }

[[noreturn]] void refuse(const std::string& why) { throw ArgumentError("arrow: " + why); }

// Returns whether the column is large.
bool check_schema(const ArrowSchema& schema) {
    if (schema.release == nullptr) refuse("the schema was released");
    if (schema.format == nullptr) refuse("the schema has no format");
    const std::string format = schema.format;
    if (format.size() != 1 || std::strchr("zuZU", format[0]) == nullptr) {
        refuse("the format is '" + format + "', not z, u, Z or U");
    }
    if (schema.n_children != 0) refuse("the schema of a column of values has children");
    if (schema.dictionary != nullptr) refuse("the column has a dictionary");
    return format == "Z" || format == "U";
}

// Checks everything that can be checked without the device.
void check_array(const ArrowDeviceArray& given, int card, std::size_t offset_size) {
    const ArrowArray& array = given.array;
    if (array.release == nullptr) refuse("the array was released");
    if (given.device_type != ARROW_DEVICE_CUDA) {
        refuse("the type of the device is " + std::to_string(given.device_type) + ", not 2, which is memory of CUDA");
    }
    if (given.device_id != card) {
        refuse("the array is on device " + std::to_string(given.device_id) + ", not " + std::to_string(card));
    }
    if (array.n_children != 0) refuse("a column of values has children");
    if (array.dictionary != nullptr) refuse("the column has a dictionary");
    if (array.n_buffers != kBuffers || array.buffers == nullptr) {
        refuse("the column has " + std::to_string(array.n_buffers) + " buffers, not 3");
    }
    if (array.length < 0) refuse("the length is negative");
    if (array.offset < 0) refuse("the offset is negative");
    if (array.null_count < -1 || array.null_count > array.length) refuse("the number of nulls cannot be");
    if (array.length > kMaxRows || array.offset > kMaxRows - array.length) {
        throw ColumnTooLarge("arrow: a column of too many rows");
    }
    if (array.null_count > 0 && array.buffers[0] == nullptr) refuse("there are nulls, and no bitmap");
    if (array.length > 0 && array.buffers[1] == nullptr) refuse("there are no offsets");
    if (reinterpret_cast<std::uintptr_t>(array.buffers[1]) % offset_size != 0) {
        refuse("the offsets are not at a multiple of " + std::to_string(offset_size) + " bytes");
    }
}

// A bitmap may begin at any byte. Bits are counted from the word that contains that byte.
void set_validity(StringsView& view, const ArrowArray& array) {
    if (array.buffers[0] == nullptr || array.null_count == 0) return;
    const auto address = reinterpret_cast<std::uintptr_t>(array.buffers[0]);
    const std::uintptr_t lead = address % sizeof(std::uint32_t);
    const auto* const bitmap = static_cast<const std::uint8_t*>(array.buffers[0]) - lead;
    view.validity = reinterpret_cast<const std::uint32_t*>(bitmap);
    view.validity_begin = static_cast<std::int32_t>(array.offset) + static_cast<std::int32_t>(8 * lead);
}

// Waits for the stream.
template <class Offset>
std::int64_t last_offset(Device& device, const Offset* offsets, std::int32_t rows) {
    std::array<Offset, 2> ends{};
    const auto copy = [&](std::size_t to, std::int32_t from) {
        check(cudaMemcpyAsync(&ends[to], offsets + from, sizeof(Offset), cudaMemcpyDeviceToHost, device.stream()),
              "cudaMemcpyAsync");
    };
    copy(0, 0);
    copy(1, rows);
    device.wait();
    if (ends[0] < 0 || ends[1] < ends[0]) refuse("the offsets do not ascend from 0 or more");
    if (static_cast<std::uint64_t>(ends[1]) > kMaxLargeSize) throw ColumnTooLarge("arrow: a column of too many bytes");
    return ends[1];
}

}  // namespace

void export_strings(Device& device, DeviceStrings column, StringsType type, ArrowSchema* schema,
                    ArrowDeviceArray* array) {
    auto data = std::make_unique<ExportedStrings>(std::move(column), current_card());
    DeviceStrings& exported = data->column;
    check(cudaEventCreateWithFlags(&data->event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    check(cudaEventRecord(data->event, device.stream()), "cudaEventRecord");
    for (Memory* const memory : {&exported.offsets, &exported.bytes, &exported.validity}) memory->set_stream(nullptr);
    const StringsView view = exported.view();
    data->buffers = {view.validity, exported.offsets.data(), view.bytes};

    *schema = {};
    if (exported.is_large) {
        schema->format = type == StringsType::kUtf8 ? "U" : "Z";
    } else {
        schema->format = type == StringsType::kUtf8 ? "u" : "z";
    }
    schema->name = "";
    schema->flags = ARROW_FLAG_NULLABLE;
    schema->release = release_schema;

    *array = {};
    array->array.length = view.rows;
    array->array.null_count = view.validity == nullptr ? 0 : -1;
    array->array.n_buffers = kBuffers;
    array->array.buffers = data->buffers.data();
    array->array.release = release_array;
    array->device_id = data->card;
    array->device_type = ARROW_DEVICE_CUDA;
    array->sync_event = static_cast<void*>(&data->event);
    array->array.private_data = data.release();
}

ImportedStrings::ImportedStrings(ImportedStrings&& other) noexcept
    : array_(std::exchange(other.array_, {})),
      view_(std::exchange(other.view_, {})),
      no_offsets_(std::move(other.no_offsets_)),
      stream_(other.stream_),
      card_(other.card_) {}

ImportedStrings& ImportedStrings::operator=(ImportedStrings&& other) noexcept {
    if (this == &other) return *this;
    release();
    array_ = std::exchange(other.array_, {});
    view_ = std::exchange(other.view_, {});
    no_offsets_ = std::move(other.no_offsets_);
    stream_ = other.stream_;
    card_ = other.card_;
    return *this;
}

ImportedStrings::~ImportedStrings() { release(); }

// The producer may reuse the memory immediately, so all of our work that reads it must be done.
void ImportedStrings::release() noexcept {
    if (array_.release == nullptr) return;
    {
        const CurrentCard current(card_);
        cudaStreamSynchronize(stream_);
        no_offsets_.release();
    }
    array_.release(&array_);
    array_ = {};
    view_ = {};
}

ImportedStrings import_strings(Device& device, const ArrowSchema& schema, ArrowDeviceArray& array) {
    ImportedStrings made;
    made.card_ = current_card();
    made.stream_ = device.stream();
    const bool is_large = check_schema(schema);
    check_array(array, made.card_, is_large ? sizeof(std::int64_t) : sizeof(std::int32_t));
    const ArrowArray& given = array.array;
    StringsView& view = made.view_;
    view.rows = static_cast<std::int32_t>(given.length);
    view.bytes = static_cast<const std::uint8_t*>(given.buffers[2]);
    set_validity(view, given);
    if (array.sync_event != nullptr) {
        check(cudaStreamWaitEvent(device.stream(), *static_cast<const cudaEvent_t*>(array.sync_event), 0),
              "cudaStreamWaitEvent");
    }
    if (view.rows > 0) {
        if (is_large) {
            view.large_offsets = static_cast<const std::int64_t*>(given.buffers[1]) + given.offset;
            view.size = last_offset(device, view.large_offsets, view.rows);
        } else {
            view.offsets = static_cast<const std::int32_t*>(given.buffers[1]) + given.offset;
            view.size = last_offset(device, view.offsets, view.rows);
        }
        if (view.size > 0 && view.bytes == nullptr) refuse("there are values, and no bytes");
    } else {
        // Such an array may have no offsets at all, and is not large.
        made.no_offsets_ = device.allocate(sizeof(std::int32_t), CLEAVE_MEMORY_ZEROED);
        view.offsets = reinterpret_cast<const std::int32_t*>(made.no_offsets_.data());
    }
    made.array_ = std::exchange(array.array, {});
    return made;
}

}  // namespace cleave::cuda

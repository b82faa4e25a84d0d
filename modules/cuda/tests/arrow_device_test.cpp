// Tests handing over and taking columns through the Arrow C device data interface: arrow_device.h, and gpu_columns.h on
// top of it.
#include "cuda/arrow_device.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cuda/bench/redact.h"
#include "cuda/device.h"
#include "cuda/error.h"
#include "cuda/managers.h"
#include "cuda/tests/emulation.h"
#include "cuda/tests/values.h"

namespace cleave::cuda {
namespace {

using Values = std::vector<HostValue>;
const HostValue kNull;

// Device memory that belongs to another program, with a copy of `bytes`.
void* put(const void* bytes, std::size_t size) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, size > 0 ? size : 1), "cudaMalloc");
    if (size > 0) check(cudaMemcpyAsync(memory, bytes, size, cudaMemcpyHostToDevice, nullptr), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    return memory;
}

// A column from another program: "", "ab", null, "c d", "é", with two values before it if there is an offset.
class Producer {
public:
    explicit Producer(std::int64_t offset = 0, std::size_t bitmap_lead = 0, bool is_large = false) {
        const std::string bytes = "xyzabc dé";
        const std::array<std::int32_t, 8> all{0, 1, 3, 3, 5, 5, 8, 10};
        const std::size_t skipped = offset == 0 ? 2 : 0;
        // The bits of rows 0, 1, 3 and 4 after the offset; the rows before it are null.
        std::array<std::uint8_t, 16> bitmap{};
        bitmap[bitmap_lead] = static_cast<std::uint8_t>(0b11011U << offset);
        bytes_ = put(bytes.data(), bytes.size());
        if (is_large) {
            const std::vector<std::int64_t> large(all.begin(), all.end());
            offsets_ = put(large.data() + skipped, (all.size() - skipped) * sizeof(std::int64_t));
        } else {
            offsets_ = put(all.data() + skipped, (all.size() - skipped) * sizeof(std::int32_t));
        }
        bitmap_ = put(bitmap.data(), bitmap.size());
        check(cudaEventCreate(&event_), "cudaEventCreate");
        check(cudaEventRecord(event_, nullptr), "cudaEventRecord");
        buffers_ = {static_cast<std::uint8_t*>(bitmap_) + bitmap_lead, offsets_, bytes_};

        schema.format = is_large ? "U" : "u";
        schema.release = [](ArrowSchema* gone) { gone->release = nullptr; };
        array.array.length = 5;
        array.array.null_count = -1;
        array.array.offset = offset;
        array.array.n_buffers = 3;
        array.array.buffers = buffers_.data();
        array.array.release = [](ArrowArray* gone) {
            ++*static_cast<int*>(gone->private_data);
            gone->release = nullptr;
        };
        array.array.private_data = &released;
        array.device_type = ARROW_DEVICE_CUDA;
        array.sync_event = static_cast<void*>(&event_);
    }
    Producer(const Producer&) = delete;
    Producer& operator=(const Producer&) = delete;
    ~Producer() {
        cudaFree(bytes_);
        cudaFree(offsets_);
        cudaFree(bitmap_);
        cudaEventDestroy(event_);
    }

    void set_buffer(std::size_t i, const void* buffer) { buffers_.at(i) = buffer; }

    const void* buffer(std::size_t i) const { return buffers_.at(i); }

    ArrowSchema schema{};
    ArrowDeviceArray array{};
    int released = 0;

private:
    void* bytes_ = nullptr;
    void* offsets_ = nullptr;
    void* bitmap_ = nullptr;
    cudaEvent_t event_ = nullptr;
    std::array<const void*, 3> buffers_{};
};

const Values kProduced{"", "ab", kNull, "c d", "é"};

void release(ArrowSchema& schema, ArrowDeviceArray& array) {
    schema.release(&schema);
    array.array.release(&array.array);
    EXPECT_EQ(schema.release, nullptr);
    EXPECT_EQ(array.array.release, nullptr);
}

class ArrowDevice : public testing::Test {
protected:
    void SetUp() override { device_.emplace(open_manager("cuda")); }
    void TearDown() override {
        device_.reset();
        EXPECT_EQ(live_allocations(), 0U);
        EXPECT_EQ(live_events(), 0U);
    }

    std::optional<Device> device_;
};

TEST_F(ArrowDevice, GoesOutAndInWithoutACopy) {
    const Values values{"John Doe", kNull, "", "é"};
    for (const bool has_nulls : {false, true}) {
        DeviceStrings column = to_device(*device_, has_nulls ? values : Values{"a", "bc"});
        const StringsView before = column.view();
        ArrowSchema schema;
        ArrowDeviceArray array;
        export_strings(*device_, std::move(column), StringsType::kUtf8, &schema, &array);
        EXPECT_STREQ(schema.format, "u");
        EXPECT_EQ(schema.flags, ARROW_FLAG_NULLABLE);
        EXPECT_EQ(array.device_type, ARROW_DEVICE_CUDA);
        EXPECT_EQ(array.device_id, 0);
        EXPECT_EQ(array.array.length, before.rows);
        EXPECT_EQ(array.array.null_count, has_nulls ? -1 : 0);
        EXPECT_EQ(array.array.n_buffers, 3);
        EXPECT_EQ(array.array.buffers[0], before.validity);
        EXPECT_EQ(array.array.buffers[1], before.offsets);
        EXPECT_EQ(array.array.buffers[2], before.bytes);
        ASSERT_NE(array.sync_event, nullptr);
        EXPECT_EQ(cudaEventSynchronize(*static_cast<cudaEvent_t*>(array.sync_event)), cudaSuccess);
        for (const std::int64_t word : array.reserved) EXPECT_EQ(word, 0);

        ImportedStrings imported = import_strings(*device_, schema, array);
        EXPECT_EQ(array.array.release, nullptr);  // moved
        EXPECT_EQ(imported.view().offsets, before.offsets);
        EXPECT_EQ(imported.view().bytes, before.bytes);
        EXPECT_EQ(imported.view().validity, before.validity);
        EXPECT_EQ(to_host(*device_, imported.view()), has_nulls ? values : (Values{"a", "bc"}));
        schema.release(&schema);
    }
}

TEST_F(ArrowDevice, WhatWasExportedLivesLongerThanTheDeviceAndItsStream) {
    for (const char* const manager : {"cuda", "cuda-async", "cuda-pool"}) {
        ArrowSchema schema;
        ArrowDeviceArray array;
        cudaStream_t stream = nullptr;
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
        {
            Device device(open_manager(manager), stream);
            export_strings(device, to_device(device, Values{"some", "values"}), StringsType::kBinary, &schema, &array);
        }
        check(cudaStreamDestroy(stream), "cudaStreamDestroy");
        EXPECT_STREQ(schema.format, "z");
        {
            const ImportedStrings imported = import_strings(*device_, schema, array);
            EXPECT_EQ(to_host(*device_, imported.view()), (Values{"some", "values"}));
        }
        schema.release(&schema);
    }
}

TEST_F(ArrowDevice, ColumnsWithoutRowsGoOut) {
    ArrowSchema schema;
    ArrowDeviceArray array;
    export_strings(*device_, to_device(*device_, Values{}), StringsType::kUtf8, &schema, &array);
    EXPECT_EQ(array.array.length, 0);
    EXPECT_NE(array.array.buffers[1], nullptr);
    release(schema, array);
}

TEST_F(ArrowDevice, TakesOffsetsBitmapsAndCountsOfNulls) {
    for (const std::int64_t offset : {0, 2}) {
        for (std::size_t lead = 0; lead < 5; ++lead) {
            for (const std::int64_t null_count : {-1, 1}) {
                Producer producer(offset, lead, (lead % 2 == 1) == (null_count == 1));
                producer.array.array.null_count = null_count;
                const std::size_t waits = stream_waits();
                {
                    const ImportedStrings imported = import_strings(*device_, producer.schema, producer.array);
                    EXPECT_EQ(to_host(*device_, imported.view()), kProduced) << offset << ' ' << lead;
                    EXPECT_EQ(producer.array.array.release, nullptr);
                    EXPECT_EQ(producer.released, 0);
                    EXPECT_EQ(stream_waits(), waits + (kIsEmulated ? 1 : 0));
                }
                EXPECT_EQ(producer.released, 1);
            }
        }
    }
}

TEST_F(ArrowDevice, AColumnWithAnOffsetGoesThroughAKernel) {
    for (const bool is_large : {false, true}) {
        Producer producer(2, 1, is_large);
        const ImportedStrings names = import_strings(*device_, producer.schema, producer.array);
        EXPECT_EQ(names.view().large_offsets != nullptr, is_large);
        const Values shown{"public", "private", "public", "public", "public"};
        const DeviceStrings visibilities = to_device(*device_, shown);
        const DeviceStrings made = redact_in_two_passes(*device_, names.view(), visibilities.view());
        EXPECT_EQ(to_host(*device_, made.view()), (Values{"X X", "X X", kNull, "d c", "X X"}));
        EXPECT_FALSE(made.is_large);  // it fits
    }
}

TEST_F(ArrowDevice, NoBitmapAndNoEventAreFine) {
    const Values all{"", "ab", "", "c d", "é"};
    for (const std::int64_t null_count : {-1, 0}) {
        Producer producer;
        producer.set_buffer(0, nullptr);
        producer.array.array.null_count = null_count;
        producer.array.sync_event = nullptr;
        const std::size_t waits = stream_waits();
        const ImportedStrings imported = import_strings(*device_, producer.schema, producer.array);
        EXPECT_EQ(imported.view().validity, nullptr);
        EXPECT_EQ(to_host(*device_, imported.view()), all);
        EXPECT_EQ(stream_waits(), waits);
    }
    Producer producer;
    producer.array.array.null_count = 0;  // then the bitmap is ignored
    const ImportedStrings imported = import_strings(*device_, producer.schema, producer.array);
    EXPECT_EQ(to_host(*device_, imported.view()), all);
}

TEST_F(ArrowDevice, AnArrayWithoutRowsNeedsNoBuffers) {
    Producer producer;
    producer.array.array.length = 0;
    for (std::size_t i = 0; i < 3; ++i) producer.set_buffer(i, nullptr);
    const ImportedStrings imported = import_strings(*device_, producer.schema, producer.array);
    EXPECT_EQ(to_host(*device_, imported.view()), Values{});
}

TEST_F(ArrowDevice, ReleasedOnceHoweverItIsMoved) {
    Producer one;
    Producer two;
    ImportedStrings first = import_strings(*device_, one.schema, one.array);
    ImportedStrings second = import_strings(*device_, two.schema, two.array);
    ImportedStrings third(std::move(first));
    EXPECT_EQ(one.released, 0);
    EXPECT_EQ(to_host(*device_, third.view()), kProduced);
    third = std::move(second);
    EXPECT_EQ(one.released, 1);
    EXPECT_EQ(two.released, 0);
    third.release();
    third.release();
    EXPECT_EQ(two.released, 1);
    EXPECT_EQ(third.view().rows, 0);
}

struct Fault {
    const char* text;  // in the message
    std::function<void(Producer&)> make;
};

// The caller keeps a refused array.
TEST_F(ArrowDevice, Refuses) {
    static ArrowSchema other_schema{};
    static ArrowArray other_array{};
    const std::vector<Fault> faults{
        {"schema was released", [](Producer& p) { p.schema.release = nullptr; }},
        {"no format", [](Producer& p) { p.schema.format = nullptr; }},
        {"'', not z, u, Z or U", [](Producer& p) { p.schema.format = ""; }},
        {"'vu', not z, u, Z or U", [](Producer& p) { p.schema.format = "vu"; }},
        {"'i', not z, u, Z or U", [](Producer& p) { p.schema.format = "i"; }},
        {"multiple of 8",
         [](Producer& p) {
             p.schema.format = "U";
             p.set_buffer(1, static_cast<const std::uint8_t*>(p.buffer(1)) + 4);
         }},
        {"schema of a column of values has children", [](Producer& p) { p.schema.n_children = 1; }},
        {"dictionary", [](Producer& p) { p.schema.dictionary = &other_schema; }},
        {"dictionary", [](Producer& p) { p.array.array.dictionary = &other_array; }},
        {"device is 1, not 2", [](Producer& p) { p.array.device_type = 1; }},
        {"device is 3, not 2", [](Producer& p) { p.array.device_type = 3; }},
        {"device is 13, not 2", [](Producer& p) { p.array.device_type = 13; }},
        {"on device 1, not 0", [](Producer& p) { p.array.device_id = 1; }},
        {"on device -1, not 0", [](Producer& p) { p.array.device_id = -1; }},
        {"column of values has children", [](Producer& p) { p.array.array.n_children = 1; }},
        {"2 buffers", [](Producer& p) { p.array.array.n_buffers = 2; }},
        {"buffers", [](Producer& p) { p.array.array.buffers = nullptr; }},
        {"length is negative", [](Producer& p) { p.array.array.length = -1; }},
        {"offset is negative", [](Producer& p) { p.array.array.offset = -1; }},
        {"number of nulls", [](Producer& p) { p.array.array.null_count = -2; }},
        {"number of nulls", [](Producer& p) { p.array.array.null_count = 6; }},
        {"too many rows", [](Producer& p) { p.array.array.length = std::int64_t{1} << 31; }},
        {"too many rows", [](Producer& p) { p.array.array.offset = INT64_MAX; }},
        {"no bitmap",
         [](Producer& p) {
             p.array.array.null_count = 1;
             p.set_buffer(0, nullptr);
         }},
        {"no offsets", [](Producer& p) { p.set_buffer(1, nullptr); }},
        {"multiple of 4", [](Producer& p) { p.set_buffer(1, static_cast<const std::uint8_t*>(p.buffer(1)) + 1); }},
        {"no bytes", [](Producer& p) { p.set_buffer(2, nullptr); }},
    };
    for (const Fault& fault : faults) {
        SCOPED_TRACE(fault.text);
        Producer producer;
        fault.make(producer);
        std::string text;
        try {
            import_strings(*device_, producer.schema, producer.array);
        } catch (const std::logic_error& error) {  // std::invalid_argument and ColumnTooLarge
            text = error.what();
        }
        EXPECT_NE(text.find(fault.text), std::string::npos) << text;
        EXPECT_NE(producer.array.array.release, nullptr);
        EXPECT_EQ(producer.released, 0);
    }
    Producer producer;
    producer.array.array.release = nullptr;
    EXPECT_THROW(import_strings(*device_, producer.schema, producer.array), std::invalid_argument);
}

TEST_F(ArrowDevice, RefusesOffsetsThatDoNotAscend) {
    for (const std::array<std::int32_t, 2> ends : {std::array{-1, 4}, std::array{4, 3}}) {
        Producer producer;
        void* const offsets = put(ends.data(), sizeof ends);
        producer.set_buffer(1, offsets);
        producer.array.array.length = 1;
        EXPECT_THROW(import_strings(*device_, producer.schema, producer.array), std::invalid_argument);
        EXPECT_EQ(producer.released, 0);
        cudaFree(offsets);
    }
}

TEST_F(ArrowDevice, RefusesTooManyBytes) {
    const std::array<std::int64_t, 2> ends{0, (std::int64_t{1} << 44) + 1};
    void* const offsets = put(ends.data(), sizeof ends);
    Producer producer(0, 0, true);
    producer.schema.format = "Z";
    producer.set_buffer(1, offsets);
    producer.array.array.length = 1;
    producer.array.array.null_count = 0;
    EXPECT_THROW(import_strings(*device_, producer.schema, producer.array), ColumnTooLarge);
    EXPECT_EQ(producer.released, 0);
    cudaFree(offsets);
}

// Whichever CUDA call fails, nothing leaks, and the caller keeps an array that was not taken. Releasing works even
// then.
TEST_F(ArrowDevice, NothingIsLostByACallThatFails) {
    for (int n = 0, failures = 1; failures > 0; ++n) {
        SCOPED_TRACE(n);
        failures = 0;
        Producer producer;
        DeviceStrings column = to_device(*device_, Values{"a", kNull});
        const std::size_t events = live_events();
        fail_call(n);
        try {
            const ImportedStrings imported = import_strings(*device_, producer.schema, producer.array);
        } catch (const CudaError&) {
            ++failures;
            EXPECT_NE(producer.array.array.release, nullptr);
        }
        EXPECT_EQ(producer.released, failures == 0 ? 1 : 0);
        ArrowSchema schema{};
        ArrowDeviceArray array{};
        fail_call(n);
        try {
            export_strings(*device_, std::move(column), StringsType::kUtf8, &schema, &array);
            release(schema, array);
        } catch (const CudaError&) {
            ++failures;
            EXPECT_EQ(array.array.release, nullptr);
        }
        fail_call(-1);
        EXPECT_EQ(live_events(), events);
    }
}

// Tests the C functions.
class GpuColumns : public testing::Test {
protected:
    void SetUp() override { EXPECT_EQ(cleave_gpu_open(0, "cuda-async", &gpu_), 0); }
    void TearDown() override {
        cleave_gpu_close(gpu_);
        EXPECT_EQ(live_allocations(), 0U);
        EXPECT_EQ(live_events(), 0U);
        EXPECT_EQ(live_streams(), 0U);
    }

    cleave_gpu_column* column(const std::vector<std::int32_t>& offsets, const std::string& bytes,
                              const std::uint8_t* validity = nullptr) {
        cleave_gpu_column* made = nullptr;
        EXPECT_EQ(cleave_gpu_column_from_host(gpu_, offsets.data(), reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                              validity, static_cast<std::int64_t>(offsets.size()) - 1, &made),
                  0)
            << cleave_gpu_error(gpu_);
        return made;
    }

    cleave_gpu* gpu_ = nullptr;
};

TEST_F(GpuColumns, InAndOut) {
    Producer producer(2, 1);
    cleave_gpu_column* names = nullptr;
    ASSERT_EQ(cleave_gpu_column_import(gpu_, &producer.schema, &producer.array, &names), 0) << cleave_gpu_error(gpu_);
    EXPECT_EQ(producer.released, 0);
    ArrowSchema schema;
    ArrowDeviceArray array;
    EXPECT_EQ(cleave_gpu_column_export(gpu_, names, "u", &schema, &array), EINVAL);
    EXPECT_NE(std::string(cleave_gpu_error(gpu_)).find("belongs to another"), std::string::npos);
    cleave_gpu_column_free(names);
    EXPECT_EQ(producer.released, 1);

    const std::uint8_t validity = 0b01011;
    cleave_gpu_column* const made = column({0, 1, 1, 1, 4, 4}, "abcd", &validity);
    EXPECT_EQ(cleave_gpu_column_export(gpu_, made, "Uz", &schema, &array), EINVAL);
    ASSERT_EQ(cleave_gpu_column_export(gpu_, made, "u", &schema, &array), 0) << cleave_gpu_error(gpu_);
    EXPECT_STREQ(cleave_gpu_error(gpu_), "");
    EXPECT_EQ(cleave_gpu_column_export(gpu_, made, "u", &schema, &array), EINVAL);
    EXPECT_NE(std::string(cleave_gpu_error(gpu_)).find("was exported"), std::string::npos);
    cleave_gpu_column_free(made);
    cleave_gpu_close(std::exchange(gpu_, nullptr));

    {
        Device device(open_manager("cuda"));
        const ImportedStrings taken = import_strings(device, schema, array);
        EXPECT_EQ(to_host(device, taken.view()), (Values{"a", "", kNull, "bcd", kNull}));
    }
    schema.release(&schema);
}

TEST_F(GpuColumns, OffsetsHaveTheWidthThatIsAskedFor) {
    const Values values{"a", "", "bcd"};
    const std::vector<std::int64_t> offsets{0, 1, 1, 4};
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>("abcd");
    for (const bool is_large : {false, true}) {
        for (const char* const format : {"z", "u", "Z", "U"}) {
            cleave_gpu_column* made = nullptr;
            if (is_large) {
                ASSERT_EQ(cleave_gpu_large_column_from_host(gpu_, offsets.data(), bytes, nullptr, 3, &made), 0);
            } else {
                made = column({0, 1, 1, 4}, "abcd");
            }
            ArrowSchema schema;
            ArrowDeviceArray array;
            ASSERT_EQ(cleave_gpu_column_export(gpu_, made, format, &schema, &array), 0) << cleave_gpu_error(gpu_);
            cleave_gpu_column_free(made);
            EXPECT_STREQ(schema.format, format);
            Device device(open_manager("cuda"));
            const ImportedStrings taken = import_strings(device, schema, array);
            EXPECT_EQ(taken.view().large_offsets != nullptr, *format < 'a');
            EXPECT_EQ(to_host(device, taken.view()), values);
            schema.release(&schema);
        }
    }
}

TEST_F(GpuColumns, SayWhatIsWrong) {
    cleave_gpu* other = nullptr;
    EXPECT_EQ(cleave_gpu_open(99, "cuda", &other), ENODEV);
    EXPECT_NE(std::string(cleave_gpu_error(other)).find("no card 99"), std::string::npos);
    cleave_gpu_column* made = nullptr;
    const std::vector<std::int32_t> offsets{0, 1};
    EXPECT_EQ(cleave_gpu_column_from_host(other, offsets.data(), nullptr, nullptr, 1, &made), ENODEV);
    cleave_gpu_close(other);
    EXPECT_EQ(cleave_gpu_open(0, "no-such", &other), EINVAL);
    cleave_gpu_close(other);

    EXPECT_EQ(cleave_gpu_column_from_host(gpu_, offsets.data(), nullptr, nullptr, 1, &made), EINVAL);
    EXPECT_EQ(cleave_gpu_column_from_host(gpu_, offsets.data(), nullptr, nullptr, -1, &made), EINVAL);
    EXPECT_EQ(cleave_gpu_column_from_host(gpu_, offsets.data(), nullptr, nullptr, INT64_MAX, &made), EOVERFLOW);
    const std::vector<std::int32_t> falling{0, 2, 1};
    EXPECT_EQ(cleave_gpu_column_from_host(gpu_, falling.data(), nullptr, nullptr, 2, &made), EINVAL);
    EXPECT_EQ(made, nullptr);

    cleave_gpu_column* const one = column({0, 1}, "a");
    ArrowSchema schema;
    ArrowDeviceArray array;
    EXPECT_EQ(cleave_gpu_open(0, "cuda", &other), 0);
    EXPECT_EQ(cleave_gpu_column_export(other, one, "u", &schema, &array), EINVAL);
    EXPECT_NE(std::string(cleave_gpu_error(other)).find("another cleave_gpu"), std::string::npos);
    cleave_gpu_close(other);
    cleave_gpu_column_free(one);
    cleave_gpu_column_free(nullptr);
}

}  // namespace
}  // namespace cleave::cuda

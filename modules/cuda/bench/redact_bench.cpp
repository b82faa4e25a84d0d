// Runs all variants of the published example with all memory managers.
//
//   redact_bench [ROWS...]       times all variants, with 600000 and 64000000 rows by default. Names are large from 190
//                                million rows on, visibilities from 335 million, results from 380 million
//   redact_bench --csv ROWS      writes the input as CSV to standard output, for other programs
//   redact_bench --once FORM ROWS  makes the result once, with cuda-pool, for a profiler
//   redact_bench --timeline FORM ROWS  prints its ranges and kernels, see timeline.h, with cuda-pool
//
// Prints one line for each variant, manager and number of rows. GB/s is the total size of the bytes and offsets of
// input and output divided by the median time. If a result differs from the table in people.h, its line ends with WRONG
// and the exit status is 1.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <span>
#include <vector>

#include "cuda/bench/people.h"
#include "cuda/bench/redact.h"
#include "cuda/bench/timeline.h"
#include "cuda/bench/timing.h"
#include "cuda/device.h"
#include "cuda/managers.h"

namespace cleave::cuda {
namespace {

struct Form {
    const char* name;
    DeviceStrings (*make)(Device& device, const StringsView& names, const StringsView& visibilities);
    std::int64_t most_rows;
};

constexpr std::array kForms{Form{"composed", &redact_composed, INT32_MAX},
                            Form{"malloc", &redact_with_malloc, 1'000'000},  // slow, and its heap is limited
                            Form{"working-memory", &redact_with_working_memory, INT32_MAX},
                            Form{"two-passes", &redact_in_two_passes, INT32_MAX},
                            Form{"one-pass", &redact_in_one_pass, INT32_MAX}};

// The pool's regions are large enough for any of the columns; otherwise the times would include cudaMalloc().
constexpr std::array kManagers{"cuda", "cuda-async", "cuda-pool:4294967296"};
constexpr std::array kLargeManagers{"cuda", "cuda-pool:17179869184"};
constexpr std::int64_t kLargeRows = 180'000'000;

constexpr std::size_t kHeap = std::size_t{1} << 30;

void write_csv(std::int64_t rows) {
    for (std::int64_t i = 0; i < rows; ++i) {
        const Person& person = kPeople[static_cast<std::size_t>(i) % kPeople.size()];
        std::printf("%s,%s\n", person.name, person.visibility);
    }
}

void time_copy(Device& device) {
    constexpr std::size_t kSize = std::size_t{2} << 30;
    const Memory from = device.allocate(kSize);
    const Memory to = device.allocate(kSize);
    check(cudaMemsetAsync(from.data(), 1, kSize, device.stream()), "cudaMemsetAsync");
    const Timing timing = time_runs(device, [&] {
        check(cudaMemcpyAsync(to.data(), from.data(), kSize, cudaMemcpyDeviceToDevice, device.stream()),
              "cudaMemcpyAsync");
        return 0;
    });
    std::printf("copy on the device: %.0f GB/s read and written\n", 2 * kSize / timing.median_us / 1e3);
}

void make_once(const char* name, std::int64_t rows, bool has_timeline) {
    const HostColumn names = repeat(&Person::name, rows);
    const HostColumn visibilities = repeat(&Person::visibility, rows);
    Device device(open_manager(kManagers.back()));
    const DeviceStrings name_column = to_device(device, names);
    const DeviceStrings visibility_column = to_device(device, visibilities);
    for (const Form& form : kForms) {
        if (std::strcmp(form.name, name) != 0) continue;
        const auto make = [&] { return form.make(device, name_column.view(), visibility_column.view()); };
        if (has_timeline) {
            for (int warming = 0; warming < 3; ++warming) make();
            device.wait();
            Timeline timeline(device);
            make();
            timeline.print();
        } else {
            make();
        }
    }
    device.wait();
}

bool time_forms(std::int64_t rows) {
    const HostColumn names = repeat(&Person::name, rows);
    const HostColumn visibilities = repeat(&Person::visibility, rows);
    const HostColumn expected = repeat(&Person::redacted, rows);
    Device owner(open_manager("cuda"));
    const DeviceStrings name_column = to_device(owner, names);
    const DeviceStrings visibility_column = to_device(owner, visibilities);
    double bytes = 0;
    for (const HostColumn* column : {&names, &visibilities, &expected}) {
        const double each_offset = column->bytes.size() > kMaxColumnSize ? 8 : 4;
        bytes += static_cast<double>(column->bytes.size()) + each_offset * static_cast<double>(rows + 1);
    }
    bool are_all_right = true;
    const auto managers = rows < kLargeRows ? std::span<const char* const>(kManagers) : std::span(kLargeManagers);
    for (const char* manager : managers) {
        Device device(open_manager(manager));
        for (const Form& form : kForms) {
            if (rows > form.most_rows) continue;
            const auto make = [&] { return form.make(device, name_column.view(), visibility_column.view()); };
            const Timing timing = time_runs(device, make);
            soil(device, name_column.view());
            DeviceStrings made = make();
            const bool right = is_right(device, made, expected);
            are_all_right = are_all_right && right;
            std::printf("redact %-14s %-20s rows %8lld best_us %10.1f median_us %10.1f in+out_MB %7.1f GB/s %7.1f %s\n",
                        form.name, manager, static_cast<long long>(rows), timing.best_us, timing.median_us, bytes / 1e6,
                        bytes / timing.median_us / 1e3, right ? "right" : "WRONG");
            std::fflush(stdout);
        }
    }
    return are_all_right;
}

int run(int count, char** words) {
    if (count == 3 && std::strcmp(words[1], "--csv") == 0) {
        write_csv(std::atoll(words[2]));
        return 0;
    }
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::fprintf(stderr, "redact_bench: there is no GPU, or no driver for it\n");
        return 1;
    }
    reserve_heap(kHeap);
    const bool has_timeline = count == 4 && std::strcmp(words[1], "--timeline") == 0;
    if (has_timeline || (count == 4 && std::strcmp(words[1], "--once") == 0)) {
        make_once(words[2], std::atoll(words[3]), has_timeline);
        return 0;
    }
    std::vector<std::int64_t> sizes;
    for (int i = 1; i < count; ++i) sizes.push_back(std::atoll(words[i]));
    if (sizes.empty()) sizes = {600'000, 64'000'000};
    {
        Device device(open_manager("cuda"));
        time_copy(device);
    }
    bool are_all_right = true;
    for (const std::int64_t rows : sizes) are_all_right = time_forms(rows) && are_all_right;
    return are_all_right ? 0 : 1;
}

}  // namespace
}  // namespace cleave::cuda

int main(int count, char** words) {
    try {
        return cleave::cuda::run(count, words);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "redact_bench: %s\n", error.what());
        return 1;
    }
}

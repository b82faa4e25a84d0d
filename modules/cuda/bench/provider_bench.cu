// Times one of libcudf's newer examples, whose function libcudf compiles when it runs, as a functor of our own: from an
// e-mail address the first part of its domain, or `(unknown)` if there is none.
//
//   provider_bench ROWS        times it in one pass and in two, with the memory managers of redact_bench
//   provider_bench --csv ROWS  writes the input as CSV with a header, as the example reads it
//
// A result that differs from the table below is WRONG, and the exit status is 1.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "cuda/bench/people.h"
#include "cuda/bench/timing.h"
#include "cuda/device.h"
#include "cuda/managers.h"
#include "cuda/rows.h"

namespace cleave::cuda {
namespace {

struct Address {
    const char* address;
    const char* provider;
};

constexpr std::array<Address, 10> kAddresses{{{"maren.holt@gmail.com", "gmail"},
                                              {"isidro.vance@mail.example.org", "mail"},
                                              {"tova.lindqvist@example.net", "example"},
                                              {"emeka.obi.example.com", "(unknown)"},
                                              {"priya@localhost", "(unknown)"},
                                              {"c.dell@yahoo.com", "yahoo"},
                                              {"yuki.mori@university-of-somewhere.ac.jp", "university-of-somewhere"},
                                              {"odile+list@outlook.com", "outlook"},
                                              {"b@k.nl", "k"},
                                              {"leocadia.ruiz@hotmail.es", "hotmail"}}};

__device__ __forceinline__ SharedText from(const SharedText& text, std::uint32_t begin) {
    return {text.words, text.at + begin, text.size - begin};
}
__device__ __forceinline__ PlainText from(const PlainText& text, std::uint32_t begin) {
    return {text.bytes + begin, text.size - begin};
}

struct Provider {
    static constexpr int kColumns = 1;
    static constexpr bool kMakesNulls = true;
    static constexpr bool kMakesNewNulls = false;
    static constexpr unsigned kUsualShare = 60;

    struct Measured {
        std::uint32_t size;
        std::uint32_t from;  // 0: unknown
    };

    template <class Text>
    __device__ __forceinline__ Measured measure(const Row<1, Text>& row) const {
        if (!row.has(0)) return {kNullRow, 0};
        const Text& address = row.column[0];
        const std::uint32_t at = address.find('@');
        if (at >= address.size) return {9, 0};
        const Text domain = cuda::from(address, at + 1);
        const std::uint32_t size = domain.find('.');
        return size < domain.size ? Measured{size, at + 1} : Measured{9, 0};
    }

    template <class Text, class Output>
    __device__ __forceinline__ void write(const Row<1, Text>& row, Measured measured, Output out) const {
        if (measured.from != 0) return out.copy(row.column[0], measured.from, measured.size);
        out.put(0x6B6E7528, 4);  // (unknown)
        out.put(0x6E776F6E, 4);
        out.put(0x29, 1);
    }

    static std::uint64_t bound(const std::uint64_t* sizes, std::uint64_t rows) { return sizes[0] + 9 * rows; }
};

HostColumn repeat(const char* Address::*member, std::int64_t rows) {
    HostColumn column;
    for (std::int64_t i = 0; i < rows; ++i) {
        column.bytes += kAddresses[static_cast<std::size_t>(i) % kAddresses.size()].*member;
        column.offsets.push_back(static_cast<std::int64_t>(column.bytes.size()));
    }
    return column;
}

bool time_rows(std::int64_t rows) {
    const HostColumn addresses = repeat(&Address::address, rows);
    const HostColumn expected = repeat(&Address::provider, rows);
    const double bytes = static_cast<double>(addresses.bytes.size() + expected.bytes.size()) + 8.0 * (rows + 1);
    Device owner(open_manager("cuda"));
    const DeviceStrings column = to_device(owner, addresses);
    bool are_all_right = true;
    for (const char* manager : {"cuda", "cuda-async", "cuda-pool:4294967296"}) {
        Device device(open_manager(manager));
        for (const bool is_one_pass : {true, false}) {
            const auto make = [&] {
                return is_one_pass ? make_in_one_pass(device, {column.view()}, column.rows, Provider{})
                                   : make_and_trim(device, {column.view()}, column.rows, Provider{});
            };
            const Timing timing = time_runs(device, make);
            soil(device, column.view());
            DeviceStrings made = make();
            const bool right = is_right(device, made, expected);
            are_all_right = are_all_right && right;
            std::printf(
                "provider %-10s %-20s rows %8lld best_us %10.1f median_us %10.1f in+out_MB %7.1f GB/s %7.1f %s\n",
                is_one_pass ? "one-pass" : "two-passes", manager, static_cast<long long>(rows), timing.best_us,
                timing.median_us, bytes / 1e6, bytes / timing.median_us / 1e3, right ? "right" : "WRONG");
        }
    }
    return are_all_right;
}

int run(int count, char** words) {
    const bool is_csv = count == 3 && std::strcmp(words[1], "--csv") == 0;
    if (count != 2 && !is_csv) {
        std::fprintf(stderr, "usage: provider_bench [--csv] ROWS\n");
        return 2;
    }
    const std::int64_t rows = std::atoll(words[count - 1]);
    if (!is_csv) return time_rows(rows) ? 0 : 1;
    std::printf("Name,Email\n");
    for (std::int64_t i = 0; i < rows; ++i) {
        std::printf("n,%s\n", kAddresses[static_cast<std::size_t>(i) % kAddresses.size()].address);
    }
    return 0;
}

}  // namespace
}  // namespace cleave::cuda

int main(int count, char** words) {
    try {
        return cleave::cuda::run(count, words);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "provider_bench: %s\n", error.what());
        return 1;
    }
}

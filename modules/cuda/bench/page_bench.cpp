// Measures how fast the fields of a CSV page in device memory are found, and how fast rules are applied to it.
//
//   page_bench [BYTES]       512 MiB by default
//
// GB/s is the size of the page divided by the median time. Transfers are not counted. Every result is compared with the
// CPU's for the first MiB of the page; if they differ, the line ends with WRONG and the exit status is 1.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "cleave/keys.h"
#include "cleave/stage.h"
#include "cuda/bench/timing.h"
#include "cuda/device.h"
#include "cuda/managers.h"
#include "cuda/parse.h"
#include "cuda/stage.h"
#include "features/redact/stage/flatten.h"

namespace cleave::cuda {
namespace {

constexpr std::size_t kColumnCount = 8;
constexpr std::size_t kCheckedSize = std::size_t{1} << 20;

struct Rules {
    const char* name;
    std::vector<const char*> rules;
};

const std::vector<Rules>& all_rules() {
    static const std::vector<Rules> rules{
        {"keep", {"*: keep"}},
        {"fixed of 1", {"#2: fixed(\"X X\")", "*: keep"}},
        {"fixed of 4", {"#2-#5: fixed(\"X X\")", "*: keep"}},
        {"mask of 1", {"#2: mask", "*: keep"}},
        {"mask of 4", {"#2-#5: mask", "*: keep"}},
        {"hmac of 1", {"#2: hmac(k)", "*: keep"}},
        {"hmac of 4", {"#2-#5: hmac(k)", "*: keep"}},
        {"short-name, email, date, bucket",
         {"#2: short-name", "#3: email(local=mask)", "#4: date(month)", "#6: bucket(10)", "*: keep"}},
    };
    return rules;
}

// Generates orders: a number, a name, an address, a date, a place in quotes, an amount, a state, a note.
std::string make_page(std::size_t size) {
    static constexpr const char* kNames[] = {"Ann Lee", "John Doe", "Maria del Carmen", "Wu Xiu", "Olga Petrova"};
    static constexpr const char* kPlaces[] = {"\"Lyon, Rhone\"", "Oslo", "\"Paris, TX\"", "Kyoto", "Rio de Janeiro"};
    static constexpr const char* kNotes[] = {"", "leave at the door", "\"said \"\"no\"\"\"", "gift", ""};
    std::string page;
    page.reserve(size + 256);
    for (std::uint64_t i = 0; page.size() < size; ++i) {
        const std::uint64_t mixed = i * 0x9E3779B97F4A7C15ULL >> 20;
        char line[256];
        std::snprintf(line, sizeof line, "%llu,%s,user%llu@example.org,20%02u-%02u-%02u,%s,%u.%02u,%s,%s\n",
                      static_cast<unsigned long long>(i), kNames[mixed % 5],
                      static_cast<unsigned long long>(mixed % 90000), static_cast<unsigned>(mixed % 25),
                      static_cast<unsigned>(mixed % 12 + 1), static_cast<unsigned>(mixed % 28 + 1),
                      kPlaces[mixed / 7 % 5], static_cast<unsigned>(mixed % 5000), static_cast<unsigned>(mixed % 100),
                      mixed % 3 == 0 ? "paid" : "open", kNotes[mixed / 11 % 5]);
        page += line;
    }
    return page;
}

// The CPU's result for the records that begin in the first `size` bytes.
std::string by_worker(const Stage& stage, const std::string& page, std::size_t size) {
    const std::string begin = page.substr(0, page.find('\n', size) + 1);
    StageWorker worker(stage, default_kernel());
    worker.clear();
    worker.write(worker.read({reinterpret_cast<const std::uint8_t*>(begin.data()), begin.size()}, {}, true));
    return {reinterpret_cast<const char*>(worker.written().data()), worker.written().size()};
}

bool begins_with(const RewrittenPage& made, const std::string& wanted) {
    std::string found(wanted.size(), '\0');
    if (static_cast<std::size_t>(made.records.size) < wanted.size()) return false;
    check(cudaMemcpy(found.data(), made.records.bytes.data(), found.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return found == wanted;
}

int run(int count, char** words) {
    ::setenv("CLEAVE_BENCH_KEY", "a key that is only used for benchmarks, of no secret", 1);
    const KeyRing keys(std::vector<std::string>{"k=env:CLEAVE_BENCH_KEY"});
    const std::size_t size = count > 1 ? std::strtoull(words[1], nullptr, 10) : std::size_t{512} << 20;
    const std::string text = make_page(size);
    Device device(open_manager("cuda-pool:4294967296"));
    Memory page = device.allocate((text.size() + 63) / 64 * 64);
    check(cudaMemcpy(page.data(), text.data(), text.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
    const double bytes = static_cast<double>(text.size());

    const ParseMarkup markup = *parse_markup(Dialect());
    ParseGuess guess;
    const Timing parsing = time_runs(device, [&] { return parse(device, markup, page.data(), text.size(), guess); });
    std::printf("parse %-34s MB %7.1f best_us %10.1f median_us %10.1f GB/s %7.1f\n", "", bytes / 1e6, parsing.best_us,
                parsing.median_us, bytes / parsing.median_us / 1e3);
    bool are_all_right = true;
    for (const Rules& one : all_rules()) {
        StageOptions options;
        options.is_delimiter_given = options.is_header_given = true;
        for (const char* rule : one.rules) options.rules.push_back({rule, "--redact"});
        const std::string names(kColumnCount - 1, ',');
        const Stage stage(options, Dialect(), {reinterpret_cast<const std::uint8_t*>(names.data()), names.size()},
                          false, &keys);
        DeviceStage runner(device, markup, flat_for_device(stage)->bytes());
        const Timing timing = time_runs(device, [&] { return runner.run(page.data(), text.size()); });
        const auto made = runner.run(page.data(), text.size());
        const bool right = made && begins_with(*made, by_worker(stage, text, kCheckedSize));
        are_all_right = are_all_right && right;
        std::printf("stage %-34s MB %7.1f best_us %10.1f median_us %10.1f GB/s %7.1f %s\n", one.name, bytes / 1e6,
                    timing.best_us, timing.median_us, bytes / timing.median_us / 1e3, right ? "right" : "WRONG");
        std::fflush(stdout);
    }
    return are_all_right ? 0 : 1;
}

}  // namespace
}  // namespace cleave::cuda

int main(int count, char** words) {
    try {
        return cleave::cuda::run(count, words);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "page_bench: %s\n", error.what());
        return 1;
    }
}

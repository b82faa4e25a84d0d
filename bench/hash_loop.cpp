// hash_loop FILE COLUMN KEYFILE THREADS: only computes the HMAC-SHA-256 of every value in a column, with Nettle. Prints
// the number of values, the exclusive or of the first 8 bytes of all MACs, and the seconds that the loop took. The
// values are in memory before the clock starts.
#include <nettle/hmac.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "cleave/dialect.h"
#include "cleave/fields.h"
#include "cleave/input.h"
#include "cleave/kernel.h"
#include "cleave/mapping_guard.h"
#include "rows/fields/field_decoder.h"

namespace cleave {
namespace {

constexpr std::size_t kValuesAtATime = 4096;  // per thread
constexpr std::size_t kRunSize = std::size_t{1} << 20;

struct Column {
    std::vector<std::uint8_t> bytes;
    std::vector<std::size_t> ends;  // where each value ends

    std::size_t size() const { return ends.size(); }
    std::span<const std::uint8_t> value(std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : ends[i - 1];
        return std::span(bytes).subspan(begin, ends[i] - begin);
    }
};

// Reads the values of a column from records that all have `fields` fields and no quotes.
Column read_column(std::span<const std::uint8_t> records, std::size_t fields, std::size_t number) {
    const Dialect dialect;
    const FieldDecoder decoder(dialect);
    FieldReader reader(dialect, default_kernel(), Reading::kUnambiguous, fields);
    Column column;
    std::size_t position = 0;
    std::size_t run = kRunSize;
    while (position < records.size()) {
        const auto bytes = records.subspan(position, std::min(run, records.size() - position));
        const RecordBlock block = reader.read(bytes, {}, position + bytes.size() == records.size());
        if (block.record_count() == 0) run *= 2;
        for (std::size_t r = 0; r < block.record_count(); ++r) {
            const std::size_t field = block.rows[r].first + number;
            const std::size_t begin = number == 0 ? block.rows[r].begin : block.ends[field - 1] + 1;
            const std::uint8_t* const first = bytes.data() + begin;
            const std::uint8_t* const last = bytes.data() + block.ends[field];
            const std::size_t old_size = column.bytes.size();
            column.bytes.resize(old_size + static_cast<std::size_t>(last - first));
            column.bytes.resize(old_size + decoder.write(first, last, column.bytes.data() + old_size));
            column.ends.push_back(column.bytes.size());
        }
        position += block.rows.back().begin;
    }
    return column;
}

std::uint64_t hash(const Column& column, const std::vector<std::uint8_t>& key, unsigned threads) {
    hmac_sha256_ctx keyed;
    ::nettle_hmac_sha256_set_key(&keyed, key.size(), key.data());
    std::atomic<std::uint64_t> sum{0};
    const std::size_t count = (column.size() + kValuesAtATime - 1) / kValuesAtATime;
    parallel_for(count, threads, [&, state = keyed](std::size_t i) mutable {
        std::uint64_t own = 0;
        const std::size_t end = std::min(column.size(), (i + 1) * kValuesAtATime);
        for (std::size_t v = i * kValuesAtATime; v < end; ++v) {
            const auto value = column.value(v);
            std::array<std::uint8_t, SHA256_DIGEST_SIZE> mac;
            ::nettle_hmac_sha256_update(&state, value.size(), value.data());
            ::nettle_hmac_sha256_digest(&state, mac.size(), mac.data());
            std::uint64_t start = 0;
            std::memcpy(&start, mac.data(), sizeof start);
            own ^= start;
        }
        sum ^= own;
    });
    return sum.load();
}

void run(const std::string& path, const std::string& name, const std::string& key_path, unsigned threads) {
    const MappingGuard guard;
    const Input input = Input::open(path, nullptr, Access::kMapped);
    const auto bytes = input.bytes();
    const auto header_end = std::ranges::find(bytes, '\n');
    if (header_end == bytes.end()) throw std::runtime_error("there is no header");
    const auto header_size = static_cast<std::size_t>(header_end - bytes.begin()) + 1;
    const auto names = field_values(bytes.first(header_size), Dialect());
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) throw std::runtime_error("no such column: " + name);
    const Column column =
        read_column(bytes.subspan(header_size), names.size(), static_cast<std::size_t>(found - names.begin()));

    std::ifstream file(key_path, std::ios::binary);
    const std::vector<std::uint8_t> key{std::istreambuf_iterator<char>(file), {}};
    if (key.empty()) throw std::runtime_error("no key in " + key_path);

    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t sum = hash(column, key, threads);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::cout << column.size() << " " << std::hex << sum << " " << seconds.count() << "\n";
}

}  // namespace
}  // namespace cleave

int main(int argc, char** argv) try {
    if (argc != 5) {
        std::cerr << "usage: hash_loop FILE COLUMN KEYFILE THREADS\n";
        return 2;
    }
    cleave::run(argv[1], argv[2], argv[3], static_cast<unsigned>(std::stoul(argv[4])));
    return 0;
} catch (const std::exception& error) {
    std::cerr << "hash_loop: " << error.what() << "\n";
    return 1;
}

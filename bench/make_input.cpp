// make_input KIND SIZE OUT: writes a CSV file of that kind, with a header and whole records, at most one record shorter
// than SIZE. The records repeat every 16 MiB. KIND is the name of a sample, or `giant`: a single quoted record with
// newlines takes up more than half of the file.
#include <algorithm>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include "samples.h"

namespace cleave {
namespace {

constexpr std::size_t kPoolSize = std::size_t{16} << 20;

std::uint64_t parse_size(const std::string& text) {
    std::size_t digits = 0;
    const std::uint64_t number = std::stoull(text, &digits);
    const std::string suffix = text.substr(digits);
    if (suffix.empty()) return number;
    const auto power = std::string("KMGT").find(suffix);
    if (suffix.size() != 1 || power == std::string::npos) throw std::invalid_argument("not a size: " + text);
    return number << 10 * (power + 1);
}

class Output {
public:
    explicit Output(const std::string& path) {
        file_.exceptions(std::ios::badbit | std::ios::failbit);
        file_.open(path, std::ios::binary | std::ios::trunc);
    }

    std::uint64_t size() const { return size_; }

    void write(std::span<const std::uint8_t> bytes) {
        file_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        size_ += bytes.size();
    }
    void write(std::string_view text) {
        write(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
    }
    // Appends whole records, repeatedly, as many as fit in a file of `size` bytes.
    void fill(const Records& records, std::uint64_t size) {
        while (size_ < size) {
            const auto after = std::ranges::upper_bound(records.ends, size - size_);
            if (after == records.ends.begin()) return;
            write(std::span(records.bytes).first(*(after - 1)));
        }
    }
    void close() { file_.close(); }

private:
    std::ofstream file_;
    std::uint64_t size_ = 0;
};

// Generates the text of the giant record: lines of words, some in doubled quotes.
Records make_text() {
    constexpr Sample kText = {"text", "", {"* * *, *\n", "* \"\"*\"\" *\n", "*\n", "* * *; * * *\n"}};
    return make_records(kText, kPoolSize);
}

void write_giant(Output& out, std::uint64_t size) {
    const Sample& sample = sample_by_name("quoted");
    const Records records = make_records(sample, kPoolSize);
    out.write(sample.header);
    out.fill(records, size / 5);
    out.write("1,\"");
    out.fill(make_text(), size / 5 * 4);
    out.write("\",giant,0.0,\n");
    out.fill(records, size);
}

void make_input(const std::string& kind, std::uint64_t size, const std::string& path) {
    Output out(path);
    if (kind == "giant") {
        write_giant(out, size);
    } else {
        const Sample& sample = sample_by_name(kind);
        out.write(sample.header);
        out.fill(make_records(sample, std::min<std::uint64_t>(size, kPoolSize)), size);
    }
    out.close();
}

}  // namespace
}  // namespace cleave

int main(int argc, char** argv) try {
    if (argc != 4) {
        std::cerr << "usage: make_input KIND SIZE OUT\n";
        return 2;
    }
    cleave::make_input(argv[1], cleave::parse_size(argv[2]), argv[3]);
    return 0;
} catch (const std::exception& error) {
    std::cerr << "make_input: " << error.what() << "\n";
    return 1;
}

// Measures how the cost of folding many ranges grows: records the summaries of a real file, and folds them as if the
// file were repeated.
//   fold_simulation FILE RANGE COUNT PIECES
// Ranges of RANGE bytes are summarised in the first two copies of FILE, which must end with a line feed; the summaries
// of the second copy, with their offsets shifted, stand for all later ones. COUNT summaries are folded, with and
// without JSON in between, and a plan of PIECES pieces is computed. The plan is right if each piece starts at the first
// record start at or after its share of the bytes. A byte-by-byte scan finds where records start in one copy.
#include <cleave/cleave.h>
#include <cleave/experimental/range_plan.h>
#include <cleave/experimental/range_summary.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <exception>
#include <iostream>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using cleave::RangeSummary;

std::uint64_t moved(std::uint64_t offset, std::uint64_t by) {
    return offset == cleave::kNoOffset || offset == cleave::kBeforeRange ? offset : offset + by;
}

RangeSummary moved(RangeSummary summary, std::uint64_t by) {
    summary.begin += by;
    summary.end += by;
    for (cleave::RangeRow& row : summary.states) {
        for (std::uint64_t* const offset : {&row.first, &row.last, &row.header, &row.open})
            *offset = moved(*offset, by);
    }
    for (cleave::RulesRow& row : summary.rules) row.parted = moved(row.parted, by);
    return summary;
}

// The file, repeated.
class Repeated {
public:
    Repeated(std::span<const std::uint8_t> bytes, std::uint64_t range) : bytes_(bytes) {
        if (bytes.empty() || bytes.back() != '\n') throw std::invalid_argument("the file must end with a line feed");
        dialect_.terminator = cleave::Terminator::kLf;
        bool is_quoted = false;
        for (std::uint64_t at = 0; at < bytes.size(); ++at) {  // quotes open only at field starts (`cleave check`)
            if (bytes[at] == '"') is_quoted = !is_quoted;
            if (bytes[at] == '\n' && !is_quoted) ends_.push_back(at + 1);
        }
        for (std::uint64_t copy = 0; copy < 2; ++copy) {
            for (std::uint64_t at = 0; at < bytes.size(); at += range) {
                const auto part = bytes.subspan(at, std::min<std::uint64_t>(range, bytes.size() - at));
                summaries_[copy].push_back(summarise_range(part, copy * bytes.size() + at, dialect_, {}));
            }
        }
    }

    std::uint64_t ranges() const { return summaries_[0].size(); }
    std::uint64_t size_of(std::uint64_t count) const { return count / ranges() * bytes_.size(); }
    std::uint64_t header() const { return ends_.front(); }
    std::uint64_t records_of(std::uint64_t count) const { return count / ranges() * ends_.size(); }

    RangeSummary summary(std::uint64_t number) const {
        const std::uint64_t copy = number / ranges();
        if (copy == 0) return summaries_[0][number];
        return moved(summaries_[1][number % ranges()], (copy - 1) * bytes_.size());
    }

    // The first record start at or after `offset`.
    cleave::Boundary start_at(std::uint64_t offset) const {
        const std::uint64_t copy = offset / bytes_.size();
        const std::uint64_t rest = offset % bytes_.size();
        if (rest == 0) return {offset, copy * ends_.size()};
        const auto end = std::ranges::lower_bound(ends_, rest);
        return {copy * bytes_.size() + *end, copy * ends_.size() + static_cast<std::uint64_t>(end - ends_.begin()) + 1};
    }

    // Finds a cut of the whole by searching one copy of the file.
    cleave::Boundary find(cleave::RangeCut cut) const {
        if (cut.search == cleave::RangeCut::Search::kNone) return {cut.target, cut.records};
        const std::uint64_t by = cut.begin / bytes_.size() * bytes_.size();
        cut.begin -= by;
        cut.end -= by;
        cut.target -= by;
        const cleave::MemoryBlob blob(bytes_);
        const cleave::Boundary found = find_cuts(blob, dialect_, {&cut, 1}, {}).front();
        return {found.offset + by, found.record};
    }

private:
    std::span<const std::uint8_t> bytes_;
    cleave::Dialect dialect_;
    std::vector<std::uint64_t> ends_;  // of the records of one copy
    std::vector<RangeSummary> summaries_[2];
};

// CPU time rather than wall-clock time, because other programs run at the same time.
double ms_since(std::clock_t begin) { return 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC; }

void expect(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error("wrong: " + what);
}

void check(const Repeated& file, const cleave::RangePlan& plan, std::uint64_t count, std::uint64_t pieces) {
    const std::uint64_t size = file.size_of(count);
    expect(plan.findings.records == file.records_of(count), "the number of records");
    expect(plan.header_size == file.header(), "the header");
    expect(plan.cuts.size() == pieces, "the number of pieces");
    __extension__ using Wide = unsigned __int128;
    for (std::uint64_t k = 0; k < pieces; ++k) {
        const auto share = static_cast<std::uint64_t>(static_cast<Wide>(size - file.header()) * k / pieces);
        expect(file.find(plan.cuts[k]) == file.start_at(file.header() + share),
               "the start of piece " + std::to_string(k));
    }
}

void simulate(const Repeated& file, std::uint64_t wanted, std::uint64_t pieces) {
    // Only whole copies, so that the input ends where the file does.
    const std::uint64_t count = std::max<std::uint64_t>(1, wanted / file.ranges()) * file.ranges();
    const std::uint64_t size = file.size_of(count);
    cleave::Policy policy;
    policy.pieces = pieces;
    double fold_ms = 0;
    double json_ms = 0;
    std::uint64_t text_size = 0;
    std::uint64_t longest = 0;
    cleave::RangeFold fold(size);
    cleave::RangeFold fold_of_texts(size);
    constexpr std::uint64_t kGroup = 1000;  // how many summaries are prepared each time before the clock starts
    std::vector<RangeSummary> summaries;
    std::vector<std::string> texts;
    for (std::uint64_t at = 0; at < count; at += kGroup) {
        summaries.clear();
        texts.clear();
        for (std::uint64_t k = at; k < std::min(at + kGroup, count); ++k) {
            summaries.push_back(file.summary(k));
            texts.push_back(range_text(summaries.back(), {size, "simulated"}));
            text_size += texts.back().size() + 1;
            longest = std::max<std::uint64_t>(longest, texts.back().size());
        }
        auto begin = std::clock();
        for (const RangeSummary& summary : summaries) fold.add(summary);
        fold_ms += ms_since(begin);
        begin = std::clock();
        for (const std::string& text : texts) fold_of_texts.add(cleave::parse_range_text(text).summary);
        json_ms += ms_since(begin);
    }
    const auto begin = std::clock();
    const cleave::RangePlan plan = fold.plan(policy);
    const double plan_ms = ms_since(begin);
    check(file, plan, count, pieces);
    expect(plan == fold_of_texts.plan(policy), "the plan of the JSON");
    const auto known = std::ranges::count(plan.cuts, cleave::RangeCut::Search::kNone, &cleave::RangeCut::search);
    std::cout << count << " summaries of " << size << " bytes, " << pieces << " pieces\n"
              << "fold " << fold_ms << " ms, with JSON " << json_ms << " ms, plan " << plan_ms << " ms\n"
              << "JSON " << text_size << " bytes, at most " << longest << " a summary; the plan has "
              << plan_text(plan).size() << " bytes and knows " << known << " cuts\n";
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 5) {
        std::cerr << "usage: fold_simulation FILE RANGE COUNT PIECES\n";
        return 2;
    }
    const cleave::Input input = cleave::Input::open(argv[1]);
    std::vector<std::uint8_t> buffer;
    const auto bytes = input.blob().lend(0, static_cast<std::size_t>(input.blob().size()), buffer);
    simulate(Repeated(bytes, std::stoull(argv[2])), std::stoull(argv[3]), std::stoull(argv[4]));
} catch (const std::exception& error) {
    std::cerr << "fold_simulation: " << error.what() << '\n';
    return 1;
}

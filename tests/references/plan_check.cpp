#include "plan_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "cleave/mapping_guard.h"
#include "pipe_input.h"
#include "temporary_directory.h"

namespace cleave::test {
namespace {

// Keeps everything that it receives.
class RecordingSink : public PieceSink {
public:
    void header(std::span<const std::uint8_t> bytes) override {
        EXPECT_TRUE(plan_.pieces.empty() && !in_piece_) << "all of the header comes first";
        header_.append(bytes.begin(), bytes.end());
    }

    void begin(const Piece& piece) override {
        EXPECT_FALSE(in_piece_);
        in_piece_ = true;
        begun_ = piece;
        body_.clear();
    }

    void body(std::span<const std::uint8_t> bytes) override {
        EXPECT_TRUE(in_piece_);
        body_.append(bytes.begin(), bytes.end());
    }

    void end(const Piece& piece) override {
        EXPECT_TRUE(in_piece_);
        in_piece_ = false;
        EXPECT_EQ(piece.number, begun_.number);
        EXPECT_EQ(piece.start, begun_.start);
        EXPECT_EQ(piece.first_record, begun_.first_record);
        plan_.pieces.push_back(piece);
        bodies_.push_back(body_);
    }

    bool is_untouched() const { return plan_.pieces.empty() && !in_piece_; }

    // The plan, provided that the bytes match the text.
    Plan plan_for(const std::string& text) {
        EXPECT_FALSE(in_piece_);
        EXPECT_EQ(header_, text.substr(0, header_.size()));
        for (std::size_t i = 0; i < bodies_.size(); ++i) {
            const Piece& piece = plan_.pieces[i];
            EXPECT_TRUE(bodies_[i] == text.substr(piece.start, piece.length)) << "body of " << printed(piece);
        }
        plan_.header_size = header_.size();
        return plan_;
    }

private:
    Plan plan_;
    std::string header_;
    std::string body_;
    std::vector<std::string> bodies_;
    Piece begun_;
    bool in_piece_ = false;
};

}  // namespace

std::string describe(const Policy& policy) {
    std::string text = std::array{"repeat", "first", "drop", "none"}[static_cast<std::size_t>(policy.header)];
    if (policy.records) text += ", records " + std::to_string(*policy.records);
    if (policy.max_bytes) text += ", size " + std::to_string(*policy.max_bytes);
    if (policy.pieces) text += ", pieces " + std::to_string(*policy.pieces);
    if (policy.balance == Balance::kRecords) text += ", equal records";
    if (policy.together) text += ", together " + policy.together->column.text;
    if (policy.alignment != 0) text += ", aligned to " + std::to_string(policy.alignment);
    return text;
}

std::string printed(const Piece& piece) {
    return "piece " + std::to_string(piece.number) + ": start " + std::to_string(piece.start) + ", length " +
           std::to_string(piece.length) + ", first record " + std::to_string(piece.first_record) + ", records " +
           std::to_string(piece.records) + (piece.oversize ? ", oversize" : "");
}

Plan plan_of_index(const RecordIndex& index, const Policy& policy) {
    Plan plan;
    plan.header_size = plan_pieces(index, policy, [&](const Piece& piece) { plan.pieces.push_back(piece); });
    return plan;
}

Plan plan_of_bytes(const std::string& text, const Dialect& dialect, const Execution& execution, const Policy& policy) {
    return plan_of_index(RecordIndex(bytes_of(text), dialect, execution), policy);
}

StreamedPlan plan_of_stream(Input& input, const std::string& text, const Dialect& dialect, const Execution& execution,
                            const Policy& policy) {
    RecordingSink sink;
    const Findings findings = cut_stream(input, dialect, execution, policy, sink);
    EXPECT_EQ(findings.size, text.size());
    return {sink.plan_for(text), findings};
}

Plan plan_of_stream(const std::string& text, const Dialect& dialect, const Policy& policy,
                    std::vector<std::size_t> part_sizes) {
    Pipe pipe(text, std::move(part_sizes));
    Input input = Input::open(pipe.path());
    const auto [plan, findings] = plan_of_stream(input, text, dialect, Execution{}, policy);
    const Reading reading = read_by_rules(text, dialect);
    EXPECT_EQ(findings.records, reading.starts.size());
    EXPECT_EQ(findings.header_records, header_records(text, dialect));
    EXPECT_EQ(findings.open_quote, reading.open_quote());
    return plan;
}

Plan plan_in_order(const std::string& text, const Dialect& dialect, const Policy& policy) {
    const TemporaryDirectory directory;
    const MappingGuard guard;
    Input input = Input::open(directory.write("in.csv", text), nullptr, Access::kMapped);
    EXPECT_TRUE(input.is_mapped());
    return plan_of_stream(input, text, dialect, Execution{}, policy).plan;
}

void expect_single_pieces(const Plan& plan, const std::string& text, const Dialect& dialect, const Policy& policy) {
    const RecordIndex index(bytes_of(text), dialect, Execution{});
    EXPECT_EQ(header_size(index, policy), plan.header_size);
    for (const Piece& piece : plan.pieces) EXPECT_EQ(plan_piece(index, policy, piece.number), piece) << printed(piece);
}

void expect_same(const Plan& of_stream, const Plan& of_bytes) {
    EXPECT_EQ(of_stream.header_size, of_bytes.header_size);
    ASSERT_EQ(of_stream.pieces.size(), of_bytes.pieces.size());
    for (std::size_t i = 0; i < of_bytes.pieces.size(); ++i) {
        ASSERT_EQ(of_stream.pieces[i], of_bytes.pieces[i])
            << printed(of_stream.pieces[i]) << " of the stream, of the bytes " << printed(of_bytes.pieces[i]);
    }
}

std::uint64_t PlanCheck::header_in(std::uint64_t number) const {
    const bool is_left_out =
        policy_.header == HeaderMode::kDrop || (policy_.header == HeaderMode::kFirst && number > 1);
    return is_left_out ? 0 : body_.offset;
}

void PlanCheck::expect_refusal() const {
    const auto refuse_piece = [](const Piece&) { ADD_FAILURE() << "a piece was planned"; };
    const RecordIndex index(bytes_of(text_), dialect_, Execution{});
    try {
        plan_pieces(index, policy_, refuse_piece);
        ADD_FAILURE() << "there is a plan";
    } catch (const HeaderSizeError& error) {
        EXPECT_EQ(error.header_size(), body_.offset);
    }
    if (needs_whole_input(policy_)) return;
    RecordingSink sink;
    Pipe pipe(text_, {4096});
    Input input = Input::open(pipe.path());
    try {
        cut_stream(input, dialect_, Execution{}, policy_, sink);
        ADD_FAILURE() << "the stream was cut";
    } catch (const HeaderSizeError& error) {
        EXPECT_EQ(error.header_size(), body_.offset);
        EXPECT_EQ(error.findings().has_value(), body_ == reading_.end());
    }
    EXPECT_TRUE(sink.is_untouched());
}

void PlanCheck::expect_tiles(const Plan& plan) const {
    EXPECT_EQ(plan.header_size, body_.offset);
    Boundary from = body_;
    for (std::size_t i = 0; i < plan.pieces.size(); ++i) {
        const Piece& piece = plan.pieces[i];
        SCOPED_TRACE(printed(piece));
        EXPECT_EQ(piece.number, i + 1);
        ASSERT_EQ(piece.start, from.offset);
        EXPECT_EQ(piece.first_record, from.record - body_.record + 1);
        from = {piece.start + piece.length, from.record + piece.records};
        ASSERT_EQ(from, reading_.at_or_after(from.offset)) << "not a boundary";
    }
    if (!plan.pieces.empty() || body_ != reading_.end()) {
        EXPECT_EQ(from, reading_.end());
    }
}

void PlanCheck::expect_limits(const Piece& piece) const {
    SCOPED_TRACE(printed(piece));
    ASSERT_GT(piece.records, 0U);
    const auto exceeds_size = [&](std::uint64_t length) {
        return policy_.max_bytes && header_in(piece.number) + length > *policy_.max_bytes;
    };
    const auto exceeds_records = [&](std::uint64_t records) { return policy_.records && records > *policy_.records; };
    EXPECT_FALSE(exceeds_records(piece.records));
    EXPECT_TRUE(!exceeds_size(piece.length) || piece.records == 1);
    EXPECT_EQ(piece.oversize, exceeds_size(piece.length));

    const Boundary end = reading_.at_or_after(piece.start + piece.length);
    if (end == reading_.end()) return;
    const Boundary next = reading_.start_of(end.record + 1);
    EXPECT_TRUE(exceeds_records(piece.records + 1) || exceeds_size(next.offset - piece.start))
        << "has room for the next record";
}

void PlanCheck::expect_limits(const Plan& plan) const {
    expect_tiles(plan);
    if (body_ == reading_.end()) {
        // A header without records is a piece if headers are written.
        ASSERT_EQ(plan.pieces.size(), header_in(1) > 0 ? 1U : 0U);
        if (!plan.pieces.empty()) {
            EXPECT_EQ(plan.pieces[0], (Piece{1, body_.offset, 0, 1, 0, false}));
        }
        return;
    }
    for (const Piece& piece : plan.pieces) expect_limits(piece);
}

// The byte at or after which the piece must start.
std::uint64_t PlanCheck::share_target(std::uint64_t number) const {
    const auto share = [&](std::uint64_t size) {
        return size * (number - 1) / *policy_.pieces;
    };  // the texts are short, so nothing overflows
    if (policy_.header == HeaderMode::kFirst) return std::max(body_.offset, share(reading_.size));
    return body_.offset + share(reading_.size - body_.offset);
}

void PlanCheck::expect_shares(const Plan& plan) const {
    expect_tiles(plan);
    ASSERT_EQ(plan.pieces.size(), *policy_.pieces);
    for (const Piece& piece : plan.pieces) {
        SCOPED_TRACE(printed(piece));
        EXPECT_EQ(piece.start, reading_.at_or_after(share_target(piece.number)).offset);
        EXPECT_FALSE(piece.oversize);
    }
}

void PlanCheck::expect_equal_records(const Plan& plan) const {
    expect_tiles(plan);
    ASSERT_EQ(plan.pieces.size(), *policy_.pieces);
    const std::uint64_t least = plan.pieces.back().records;
    bool is_over = false;  // whether the pieces that have one more record have all been seen
    for (const Piece& piece : plan.pieces) {
        SCOPED_TRACE(printed(piece));
        EXPECT_LE(piece.records - least, is_over ? 0U : 1U);
        is_over = piece.records == least;
        EXPECT_FALSE(piece.oversize);
    }
}

// The starts that piece `number` could have in `first` .. `last` so that its blocks match the input's: each byte of the
// body is then equally far into a block in the input and in the piece, where it follows the header.
std::vector<std::uint64_t> PlanCheck::aligned_starts(std::uint64_t number, std::uint64_t first,
                                                     std::uint64_t last) const {
    std::vector<std::uint64_t> found;
    for (const std::uint64_t start : reading_.starts) {
        const bool near = start >= first && start <= last;
        if (near && start % policy_.alignment == header_in(number) % policy_.alignment) found.push_back(start);
    }
    return found;
}

// Where the limits make the piece end, found by trying one record after another until one does not fit.
std::uint64_t PlanCheck::aligned_end(const Piece& piece) const {
    const std::uint64_t header = header_in(piece.number);
    const auto fits = [&](std::uint64_t end) {
        return !policy_.max_bytes || header + (end - piece.start) <= *policy_.max_bytes;
    };
    const std::uint64_t first_record = piece.first_record - 1 + body_.record;
    std::uint64_t end = piece.start;
    for (std::uint64_t records = 0; end < reading_.size; ++records) {
        if (policy_.records && records == *policy_.records) return end;
        const std::uint64_t next = reading_.start_of(first_record + records + 1).offset;
        if (!fits(next)) {
            if (records == 0) return next;
            break;
        }
        end = next;
    }
    if (end == reading_.size) return end;
    // The size limit ends the piece. Some of the size may be given up for alignment.
    std::uint64_t best = end;
    for (const std::uint64_t start : aligned_starts(piece.number + 1, piece.start + 1, end)) {
        if (header + (start - piece.start) + *policy_.max_bytes / 100 >= *policy_.max_bytes) best = start;
    }
    return best;
}

void PlanCheck::expect_aligned(const Plan& plan) const {
    expect_tiles(plan);
    for (const Piece& piece : plan.pieces) {
        SCOPED_TRACE(printed(piece));
        if (policy_.pieces) {
            if (piece.number == 1) continue;  // the first piece starts where the body does
            const std::uint64_t target = share_target(piece.number);
            const bool is_first = policy_.header == HeaderMode::kFirst;
            const std::uint64_t window = (reading_.size - (is_first ? 0 : body_.offset)) / *policy_.pieces / 100;
            const auto aligned = aligned_starts(piece.number, target, target + window);
            EXPECT_EQ(piece.start, aligned.empty() ? reading_.at_or_after(target).offset : aligned.front());
        } else {
            EXPECT_EQ(piece.start + piece.length, aligned_end(piece));
            EXPECT_TRUE(!policy_.max_bytes || header_in(piece.number) + piece.length <= *policy_.max_bytes ||
                        piece.records <= 1);
        }
    }
    if (policy_.pieces) {
        EXPECT_EQ(plan.pieces.size(), *policy_.pieces);
    }
}

Policy random_limits(Random& random, std::size_t largest_size) {
    Policy policy;
    policy.header = kHeaderModes[random.below(4)];
    const std::size_t kind = random.below(3);
    if (kind != 0) policy.records = 1 + random.below(random.chance(50) ? 4 : 100);
    if (kind != 1) policy.max_bytes = 1 + random.below(random.chance(50) ? 100 : largest_size);
    return policy;
}

}  // namespace cleave::test

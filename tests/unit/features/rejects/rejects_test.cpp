// Which records are rejected: compared with a reader that takes one byte at a time, and knows nothing about blocks,
// batches, kernels and threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cleave/error.h"
#include "cleave/job.h"
#include "cleave/kernel.h"
#include "cleave/rejects.h"
#include "core/dialect/state_machine.h"
#include "core/offsets/input_head.h"
#include "core/reader/copy.h"
#include "features/rejects/reject_file.h"
#include "features/rejects/shifts.h"
#include "features/rejects/sieve.h"
#include "inputs.h"
#include "pipe_input.h"
#include "temporary_directory.h"

namespace cleave::test {
namespace {

// What is left of a text, and what is not.
struct Outcome {
    std::string accepted;
    struct Part {
        std::uint64_t offset;
        std::uint64_t record;
        RejectKind kind;
        std::string text;
        bool operator==(const Part&) const = default;
    };
    std::vector<Part> rejects;
    std::uint64_t records = 0;
    bool operator==(const Outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
    out << shown(outcome.accepted);
    for (const auto& part : outcome.rejects) {
        out << " | " << part.offset << " #" << part.record << " kind " << static_cast<int>(part.kind) << ' '
            << shown(part.text);
    }
    return out << " | " << outcome.records << " records";
}

// The reference.
class StrictReader {
public:
    StrictReader(std::string_view text, const Dialect& dialect, std::size_t limit)
        : text_(text), d_(dialect), limit_(limit) {}

    struct Record {
        std::size_t end = 0;  // of a record whose quotes are sound
        std::size_t fields = 1;
        std::optional<std::size_t> fault;  // where its quotes are bad
        bool is_open_at_limit = false;
    };

    Record read(std::size_t begin) const {
        Record record;
        std::size_t at = begin;
        bool begins_field = true;
        for (;;) {
            if (begins_field && at < text_.size() && is(at, d_.quote)) {
                const std::size_t opened = at;
                for (++at; at < text_.size() && (!is(at, d_.quote) || is(at + 1, d_.quote));) {
                    at += is(at, d_.escape) || is(at, d_.quote) ? std::size_t{2} : std::size_t{1};
                }
                record.is_open_at_limit |= opened < begin + limit_ && is_inside(opened, begin + limit_);
                if (at >= text_.size()) {
                    record.fault = text_.size();
                    return record;
                }
                ++at;
                const bool is_sound = at == text_.size() || text_[at] == static_cast<char>(d_.delimiter) ||
                                      line_end(at) > 0 ||
                                      (d_.terminator == Terminator::kLf && text_.substr(at, 2) == "\r\n");
                if (!is_sound) {
                    record.fault = at;
                    return record;
                }
            }
            begins_field = false;
            if (at >= text_.size()) {
                record.end = text_.size();
                return record;
            }
            if (const std::size_t size = line_end(at)) {
                record.end = at + size;
                return record;
            }
            if (text_[at] == static_cast<char>(d_.delimiter)) {
                ++record.fields;
                begins_field = true;
            } else if (is(at, d_.quote)) {
                record.fault = at;
                return record;
            } else if (is(at, d_.escape) && d_.escape_scope == EscapeScope::kEverywhere) {
                ++at;
            }
            at = std::min(at + 1, text_.size());
        }
    }

    // The line at `begin`, as if quotes were data.
    std::size_t line(std::size_t begin) const {
        for (std::size_t at = begin; at < text_.size(); ++at) {
            if (const std::size_t size = line_end(at)) return at + size;
            if (is(at, d_.escape) && d_.escape_scope == EscapeScope::kEverywhere) ++at;
        }
        return text_.size();
    }

    // The record at `begin`, as the definition of a record reads it.
    std::size_t lenient(std::size_t begin) const {
        const StateMachine machine(d_);
        State state = State::kRecordStart;
        for (std::size_t at = begin; at < text_.size(); ++at) {
            const Transition& transition = machine.step(state, static_cast<std::uint8_t>(text_[at]));
            if (transition.starts_record && at > begin) return at;
            state = transition.next;
        }
        return text_.size();
    }

private:
    bool is(std::size_t at, std::optional<std::uint8_t> byte) const {
        return byte && at < text_.size() && static_cast<std::uint8_t>(text_[at]) == *byte;
    }
    std::size_t line_end(std::size_t at) const {
        const char c = at < text_.size() ? text_[at] : 'x';
        if (c == '\n') return d_.terminator == Terminator::kCr ? 0 : 1;
        if (c != '\r' || d_.terminator == Terminator::kLf) return 0;
        return d_.terminator == Terminator::kAny && text_.substr(at + 1, 1) == "\n" ? 2 : 1;
    }
    // Whether the byte before `end` is inside the section that `opened` opens.
    bool is_inside(std::size_t opened, std::size_t end) const {
        bool inside = true;
        std::size_t at = opened + 1;
        for (; at < std::min(end, text_.size()); ++at) {
            if (!inside && !is(at, d_.quote)) return false;
            if (inside && is(at, d_.escape)) {
                ++at;
            } else if (is(at, d_.quote)) {
                inside = !inside;
            }
        }
        return inside && end <= text_.size();
    }

    std::string_view text_;
    const Dialect& d_;
    const std::size_t limit_;
};

bool is_empty(std::string_view record, const Dialect& dialect) {
    if (dialect.terminator == Terminator::kLf) return record == "\n" || record == "\r\n";
    if (dialect.terminator == Terminator::kCr) return record == "\r";
    return record == "\n" || record == "\r\n" || record == "\r";
}

Outcome expected(std::string_view text, const SieveRules& rules) {
    Outcome outcome;
    const auto limit = static_cast<std::size_t>(rules.max_record);
    const StrictReader reader(text, rules.dialect, limit);
    for (std::size_t at = 0; at < text.size(); ++outcome.records) {
        const auto record = reader.read(at);
        std::optional<RejectKind> kind;
        std::size_t end = record.end;
        const bool is_whole = !record.fault && record.end - at <= limit;
        const bool has_fault = record.fault && *record.fault < std::min(at + limit, text.size());
        const bool is_open = record.fault == text.size() && text.size() - at <= limit;
        if (is_whole) {
            const bool has_fields = record.fields == rules.fields || is_empty(text.substr(at, end - at), rules.dialect);
            if (!has_fields) kind = RejectKind::kFields;
            const bool may_join = rules.dialect.terminator == Terminator::kAny && outcome.accepted.ends_with('\r');
            if (may_join && text[at] == '\n') kind = RejectKind::kSeam;
        } else if (has_fault || is_open || record.is_open_at_limit) {
            kind = RejectKind::kQuotes;
            end = reader.line(at);
        } else {
            kind = RejectKind::kSize;
            end = reader.lenient(at);
        }
        const std::string_view part = text.substr(at, end - at);
        if (kind) {
            outcome.rejects.push_back({at, outcome.records, *kind, std::string(part)});
        } else {
            outcome.accepted += part;
        }
        at = end;
    }
    return outcome;
}

// In order, `most` bytes at a time.
Outcome sifted(std::string_view text, const SieveRules& rules, std::size_t most, std::uint64_t* bytes_read = nullptr,
               std::size_t capacity = 16) {
    Outcome outcome;
    std::size_t at = 0;
    const auto read = [&](std::span<std::uint8_t> into) {
        const std::size_t size = std::min({into.size(), most, text.size() - at});
        std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(at), size, into.begin());
        at += size;
        return size;
    };
    Sieve sieve(rules, default_kernel(), MemoryManager::or_default(nullptr), capacity);
    sieve.begin({}, read, false);
    while (sieve.next()) {
        for (const Reject& reject : sieve.rejects()) {
            std::string bytes(sieve.text(reject).begin(), sieve.text(reject).end());
            sieve.large().for_each_part([&](auto part) { bytes.append(part.begin(), part.end()); });
            EXPECT_EQ(bytes.size(), reject.size);
            outcome.rejects.push_back({reject.offset, reject.record, reject.kind, bytes});
        }
        const auto accepted = sieve.accepted();
        outcome.accepted.append(accepted.begin(), accepted.end());
    }
    EXPECT_EQ(sieve.at().offset, text.size());
    outcome.records = sieve.at().record;
    if (bytes_read != nullptr) *bytes_read = sieve.bytes_read();
    return outcome;
}

constexpr std::uint8_t kAllKinds = bits_of(RejectKind::kFields, RejectKind::kQuotes, RejectKind::kSize);

TEST(RejectsTest, EveryShortTextIsReadStrictly) {
    const std::size_t longest = is_thorough() ? 8 : kSanitized ? 3 : 4;
    for (const Dialect& dialect : every_dialect()) {
        std::string alphabet{static_cast<char>(dialect.delimiter), '\n', '\r', 'a'};
        if (dialect.quote) alphabet += static_cast<char>(*dialect.quote);
        if (dialect.escape) alphabet += static_cast<char>(*dialect.escape);
        for (const std::size_t limit : {std::size_t{64}, std::size_t{3}}) {
            const SieveRules rules{dialect, kAllKinds, false, 2, limit};
            for (std::size_t size = 0; size <= longest; ++size) {
                std::vector<std::size_t> digits(size);
                std::string text(size, alphabet[0]);
                for (bool is_done = false; !is_done;) {
                    const Outcome wanted = expected(text, rules);
                    for (const std::size_t most : {size + 1, std::size_t{1}, std::size_t{3}}) {
                        ASSERT_EQ(sifted(text, rules, most), wanted)
                            << shown(text) << ' ' << describe(dialect) << ", limit " << limit << ", " << most;
                    }
                    is_done = true;
                    for (std::size_t i = 0; i < size && is_done; ++i) {
                        is_done = ++digits[i] == alphabet.size();
                        if (is_done) digits[i] = 0;
                        text[i] = alphabet[digits[i]];
                    }
                }
            }
        }
    }
}

// The outcome according to the file that lists the rejects.
Outcome outcome_of(const std::string& accepted, const std::string& path, std::uint64_t records) {
    Outcome outcome{accepted, {}, records};
    std::istringstream lines(slurp(path));
    for (std::string line; std::getline(lines, line);) {
        const ListedReject reject = reject_of_line(line);
        const Json json = *parse_json(line);
        const std::string& reason = *json.find("reason")->string();
        const RejectKind kind = reason.find(" bytes") != std::string::npos   ? RejectKind::kSize
                                : reason.find(", not ") != std::string::npos ? RejectKind::kFields
                                : reason.find("an LF ") != std::string::npos ? RejectKind::kSeam
                                                                             : RejectKind::kQuotes;
        outcome.rejects.push_back({reject.byte, *json.find("record")->natural() - 1, kind, reject.text});
    }
    return outcome;
}

std::string all_of(Input& input) {
    std::string text;
    if (input.is_stream()) {
        for (auto bytes = input.read(); !bytes.empty(); bytes = input.read()) text.append(bytes.begin(), bytes.end());
    } else {
        text.resize(input.blob().size());
        input.blob().read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
        std::string parts;
        for_each_part(input.blob(), {0, text.size()}, nullptr,
                      [&](std::span<const std::uint8_t> bytes) { parts.append(bytes.begin(), bytes.end()); });
        EXPECT_EQ(parts, text);
    }
    return text;
}

// A text with damage: bytes that are replaced, left out or added, most of them quotes and terminators.
std::string damaged(std::string text, const Dialect& dialect, Random& random) {
    for (std::size_t n = random.below(8); n > 0 && !text.empty(); --n) {
        const std::size_t at = random.below(text.size());
        const std::size_t size = random.below(3);
        text.replace(at, std::min(size, text.size() - at), random_noise(random, alphabet_of(dialect), random.below(3)));
    }
    return text;
}

TEST(RejectsTest, ThreadsBatchesAndPipesMakeNoDifference) {
    const TemporaryDirectory directory;
    const std::string path = directory.path("rejects");
    Random random(41);
    const std::vector<Dialect> dialects = every_dialect();
    Policy policy;
    policy.header = HeaderMode::kNone;
    for (unsigned round = 0; round < rounds(4000); ++round) {
        const Dialect& dialect = dialects[random.below(dialects.size())];
        const std::string text =
            damaged(random_csv(random, dialect, random.below(3000), random.chance(50) ? 0 : 2), dialect, random);
        RejectOptions options{.path = path, .fields = 1 + random.below(4), .per_million = 1'000'000, .replaces = true};
        if (random.chance(30)) options.max_record = 20 + random.below(200);
        const SieveRules rules{dialect, kAllKinds, false, options.fields, options.max_record};
        const Outcome wanted = expected(text, rules);
        Execution execution;
        execution.block_size = 64 + random.below(400);
        execution.threads = random.chance(50) ? 1 : 4;
        for (const bool is_pipe : {false, true}) {
            const Pipe pipe(is_pipe ? text : "", {1 + random.below(4096)});
            Input input = is_pipe ? Input::open(pipe.path()) : Input::of_memory(bytes_of(text), "memory");
            Outcome outcome;
            try {
                const auto sifting = sift(input, dialect, policy, options, execution);
                const std::string accepted = all_of(input);
                const RejectCounts counts = sifting->publish();
                sifting->commit();
                outcome = outcome_of(accepted, path, counts.accepted + counts.rejected);
            } catch (const InputError& error) {  // nothing is left
                EXPECT_EQ(wanted.accepted, "") << error.what();
                continue;
            }
            ASSERT_EQ(outcome, wanted) << "round " << round << ' ' << describe(dialect) << ", limit "
                                       << options.max_record << (is_pipe ? ", pipe" : "");
        }
    }
}

TEST(RejectsTest, NoByteIsReadMoreThanThreeTimes) {
    Dialect dialect;
    constexpr std::size_t kLimit = 1U << 18;
    constexpr std::size_t kSize = 8 * kLimit;
    const SieveRules plain{dialect, kAllKinds, false, 2, kLimit};
    const auto repeated = [](const std::string& line, std::size_t size) {
        std::string text;
        while (text.size() < size) text += line;
        return text;
    };
    Dialect escaped = dialect;
    escaped.escape = '\\';
    escaped.escape_scope = EscapeScope::kEverywhere;
    const SieveRules mysql{escaped, kAllKinds, false, 2, kLimit};
    const std::string field = '"' + repeated("some text\n", kLimit / 2) + '"';
    const std::pair<const SieveRules*, std::string> texts[] = {
        {&plain, repeated("\"an opening quote on every line,b\n", kSize)},
        {&plain, repeated("a,\",\"b\n", kSize)},
        {&mysql, repeated("a backslash before every line feed,b\\\n", kSize)},
        {&plain, repeated(field + ",b,c\n", kSize)},
        {&plain, "\"one quote\n" + repeated("a,b\n", kSize)},
        {&plain, repeated("\"one quote\n" + repeated("a,b\n", kLimit + 100), kSize)},
        {&plain, repeated(std::string(kLimit, 'x') + "xx,\n", kSize)},
    };
    for (std::size_t i = 0; i < std::size(texts); i += stride(1, 4)) {
        const auto& [rules, text] = texts[i];
        for (const std::size_t most : {text.size(), std::size_t{1} << 16}) {
            std::uint64_t bytes_read = 0;
            sifted(text, *rules, most, &bytes_read, kBlockSize / 4);
            EXPECT_LE(bytes_read, 3 * text.size())
                << shown(text.substr(0, 40)) << ", " << most
                << " at once: " << static_cast<double>(bytes_read) / static_cast<double>(text.size());
        }
    }
}

TEST(RejectsTest, TheFileShowsAnyBytes) {
    const TemporaryDirectory directory;
    const std::string path = directory.path("rejects");
    const std::string texts[] = {
        "plain\n", std::string("nul \0 and \" and \\ \x01\r\n", 21), "\xC3\xA4\n", "\xFF", "\xFF\xFE", "\xC3\x28\xFF",
        ""};
    const std::string header = "\xE9,b\n";
    Input input = Input::of_memory(bytes_of(header), "memory");
    RejectFile file({.path = path}, input, {header.begin(), header.end()});
    const auto add = [&](RejectKind kind, std::uint64_t size, RejectFile::Text text) {
        file.add({7, size, 3, kind, "a reason"}, &text);
    };
    for (const std::string& text : texts) {
        add(RejectKind::kFields, text.size(), [&](auto take) { take(bytes_of(text)); });
    }
    add(RejectKind::kSize, 1'800'000, [](auto take) {
        for (int i = 0; i < 300'000; ++i) take(bytes_of("12345\xFF"));
    });
    file.publish();
    file.commit();
    const std::string content = slurp(path);
    EXPECT_EQ(file.size(), content.size());
    std::istringstream lines(content);
    std::string line;
    for (const std::string& text : texts) {
        std::getline(lines, line);
        const ListedReject reject = reject_of_line(line);
        EXPECT_EQ(reject.text, text);
        EXPECT_EQ(reject.header, &text == texts ? header : "");
    }
    std::getline(lines, line);
    EXPECT_EQ(reject_of_line(line).text.size(), 1'800'000);
    EXPECT_FALSE(std::getline(lines, line));
    for (const char* wrong : {"", "{}", "[1]", R"({"byte":1,"size":2})", R"({"byte":1,"size":2,"text":"abc"})",
                              R"({"byte":1,"size":2,"base64":"YQ="})", R"({"byte":1,"size":1,"base64":"Y===",})"}) {
        EXPECT_THROW(reject_of_line(wrong), InputError) << wrong;
    }
}

// Enough of them for memory and the file.
TEST(RejectsTest, ShiftsFindEveryByte) {
    Random random(5);
    Shifts shifts;
    std::vector<std::uint64_t> kept;    // the place of each byte that is left
    std::vector<std::uint64_t> before;  // how many records were left out before it
    std::uint64_t at = 0;
    std::uint64_t records = 0;
    for (int i = 0; i < 150'000; ++i) {
        for (std::size_t n = random.below(4); n > 0; --n) {
            kept.push_back(at++);
            before.push_back(records);
        }
        const std::size_t size = 1 + random.below(5);
        shifts.leave_out(kept.size(), size);
        at += size;
        ++records;
    }
    EXPECT_EQ(shifts.size(), at - kept.size());
    for (int i = 0; i < 2000; ++i) {
        const std::size_t from = random.below(kept.size());
        const std::size_t size = random.below(std::min<std::size_t>(kept.size() - from, 40));
        std::vector<std::uint64_t> found;
        shifts.for_each_part(from, size, [&](Place place, std::uint64_t part) {
            for (std::uint64_t k = 0; k < part; ++k) found.push_back(place.offset + k);
            return true;
        });
        EXPECT_EQ(found, std::vector<std::uint64_t>(kept.begin() + static_cast<std::ptrdiff_t>(from),
                                                    kept.begin() + static_cast<std::ptrdiff_t>(from + size)));
        EXPECT_EQ(shifts.in_input({from, 7}), (Place{kept[from], 7 + before[from]}));
    }
}

}  // namespace
}  // namespace cleave::test

// StageWorker, tested with results worked out by hand. tests/references/stages compares the command with an oracle, and
// tests/fuzz compares the worker with a reference.
#include "cleave/stage.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cleave/error.h"
#include "cleave/keys.h"
#include "cleave/memory.h"
#include "core/kernels/kernel.h"
#include "core/kernels/kernel_list.h"
#include "core/kernels/markup.h"
#include "features/redact/stage/program.h"
#include "inputs.h"

namespace cleave::test::stage_test {

std::string_view text_of(std::span<const std::uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Writes the text without a header, and expects measure() to give the sizes.
std::string changed(std::string_view text, const Dialect& dialect, const std::string& rule) {
    StageOptions options;
    options.rules.push_back({rule, "--redact"});
    const Stage stage(options, dialect, bytes_of(text), false);
    StageWorker worker(stage, default_kernel());
    const RecordBlock block = worker.read(bytes_of(text), {}, true);
    std::vector<std::uint64_t> sizes(block.record_count());
    worker.measure(block, sizes);
    worker.write(block);
    std::uint64_t sum = 0;
    for (const std::uint64_t size : sizes) sum += size;
    EXPECT_EQ(sum, worker.written().size());
    return std::string(text_of(worker.written()));
}

// Outside quotes such an escape is plain data, so it must be doubled only in quoted fields.
TEST(Stage, EscapesADigitInQuotesWhereItIsAnEscapeThereOnly) {
    Dialect dialect;
    dialect.escape = '0';
    dialect.escape_scope = EscapeScope::kQuoted;
    EXPECT_EQ(changed("\"20024-005-17\",2024-05-17\n", dialect, "*: date(month)"), "\"20024-005\",2024-05\n");
    EXPECT_EQ(changed("\"100\",10\n", dialect, "*: bucket(10)"), "\"100\",10\n");
    EXPECT_EQ(changed("\"a\",a\n", dialect, "*: fixed(10)"), "\"100\",10\n");
}

// What a worker has written, and the key of each record as "[field][field]".
struct Keyed {
    std::string written;
    std::vector<std::string> keys;
};

Keyed keyed(std::string_view text, const std::string& rule, const std::vector<std::size_t>& columns,
            bool are_left_out) {
    StageOptions options;
    options.is_delimiter_given = options.is_header_given = true;
    options.rules.push_back({rule, "--redact"});
    const std::string_view first = text.substr(0, text.find('\n') + 1);
    const Stage stage = with_keys(Stage(options, Dialect(), bytes_of(first), false), columns, are_left_out);
    StageWorker worker(stage, default_kernel());
    std::size_t records = 0;
    for (auto rest = bytes_of(text); !rest.empty();) {  // in blocks of one record
        const RecordBlock all = worker.read(rest, {}, true);
        const RecordBlock block = worker.read(all.record(0), {}, true);
        worker.write(block);
        rest = rest.subspan(block.bytes.size());
        ++records;
    }
    Keyed result{std::string(text_of(worker.written())), {}};
    std::size_t size = 0;
    for (std::size_t r = 0; r < records; ++r) {
        std::string& key = result.keys.emplace_back();
        for (std::size_t i = 0; i < columns.size(); ++i) {
            key += "[" + std::string(text_of(KeptFields::field(worker, r, i))) + "]";
            size += KeptFields::field(worker, r, i).size();
        }
    }
    EXPECT_EQ(KeptFields::size(worker), size);
    return result;
}

// A kernel that finds only some ends, if this machine has one.
const Kernel& picking_kernel() {
    for (const Kernel* kernel : available_kernels()) {
        if (deposits_fast() && kernel->pick_fields[markup_of(Dialect()).variant] != nullptr) return *kernel;
    }
    return kernel_by_name("scalar");
}

// Whether a reader finds all ends or only those that are needed makes no difference, whatever needs them.
TEST(Stage, WritesTheSameWhicheverEndsAreFound) {
    const std::string key = "0123456789abcdef0123456789abcdef";
    const std::vector<NamedKey> given{{"k", bytes_of(key)}};
    const KeyRing ring({}, given);
    std::string header = "c0";
    for (unsigned i = 1; i < 60; ++i) header += ",c" + std::to_string(i);
    header += '\n';
    const std::vector<std::vector<std::string>> rules = {
        {},
        {"c5: fixed(x)"},
        {"c0: null", "c59: mask"},
        {"c7: hmac(k) if c9 = 1", "c7: keep"},
        {"c7: fixed(y) if c9 empty and c30 not empty", "c8: noise(k, sd=2, by=c41)", "c7: null"},
        {"c20: shift-date(k, days=9, by=c3)", "c21: top(5)"},
    };
    const std::vector<std::string> selections = {"", "c5", "c59", "c59,c0", "c3,c4,c5,c20", "c40,c7,c9,c8"};
    const auto value = [](Random& random) -> std::string {
        const std::size_t kind = random.below(9);
        if (kind < 4) return std::to_string(random.below(20));
        if (kind == 4) return "2024-05-17";
        if (kind == 5) return "\"a,\"\"b\"\"\n\"";
        if (kind == 6) return std::string().assign(random.below(200), 'x');
        return "";
    };
    std::size_t picked = 0;
    const Kernel& kernel = picking_kernel();
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        Random random(seed);
        std::string text;
        while (text.size() < 5000) {
            if (random.chance(1)) text += '\n';
            for (unsigned i = 0; i < 60; ++i) {
                text += (i == 3 || i == 41 ? "7" : value(random)) + (i < 59 ? "," : "");
            }
            text += random.chance(20) ? "\r\n" : "\n";
        }
        StageOptions options;
        options.is_header_given = true;
        for (const std::string& rule : rules[random.below(rules.size())]) options.rules.push_back({rule, "--redact"});
        const std::string& selected = selections[random.below(selections.size())];
        if (!selected.empty()) options.select = {selected, "--select"};
        if (random.chance(30)) options.forbid = {ForbiddenKind::kDate};
        options.only_counts_forbidden = random.chance(80);
        Stage stage(options, Dialect(), bytes_of(header), true, &ring);
        const std::vector<std::size_t> keys{59, 0};
        if (random.chance(30)) stage = with_keys(stage, {}, false, keys);
        std::vector<std::string> written;
        for (const bool are_all : {true, false}) {
            FieldReader reader(Dialect(), kernel, Reading::kUnambiguous, 60);
            StageWorker worker(stage, kernel);
            worker.pick_ends();
            const RecordBlock block =
                are_all ? reader.read(bytes_of(text), {}, true) : worker.read(bytes_of(text), {}, true);
            if (block.is_picked) ++picked;
            std::string& all = written.emplace_back();
            try {
                worker.write(block);
            } catch (const InputError& error) {
                all =
                    error.what() + std::to_string(error.place()->offset) + ' ' + std::to_string(error.place()->record);
                continue;
            }
            all += text_of(worker.written());
            for (const std::uint64_t start : worker.starts()) all += ' ' + std::to_string(start);
            for (const RuleCounts& counts : worker.counts().rules) {
                all += ' ' + std::to_string(counts.seen) + ' ' + std::to_string(counts.changed);
            }
            for (const std::uint64_t found : worker.counts().forbidden) all += ' ' + std::to_string(found);
            all += ' ' + std::to_string(worker.counts().records) + ' ' + std::to_string(worker.counts().empty_records);
            if (stage.program().key_count == 0) continue;
            for (std::size_t r = 0; r < block.record_count(); ++r) {
                for (std::size_t i = 0; i < keys.size(); ++i) all += text_of(KeptFields::field(worker, r, i));
            }
        }
        ASSERT_EQ(written[0], written[1]) << "seed " << seed;
    }
    EXPECT_EQ(picked > 20, &kernel != &kernel_by_name("scalar"));
}

// A backslash before a quote is refused in a column that is not needed, too.
TEST(Stage, RefusesBackslashesWhicheverEndsAreFound) {
    StageOptions options;
    options.select = {"a", "--select"};
    options.is_header_given = true;
    const Stage stage(options, Dialect(), bytes_of("a,b,c,d\n"), true);
    std::string text;
    while (text.size() < 3000) text += "1,\"2\",3,4\n";
    StageWorker worker(stage, picking_kernel());
    EXPECT_FALSE(worker.read(bytes_of(text), {}, true).is_picked);
    worker.pick_ends();
    const std::string harmless = text + "1,\\,3,4\n";
    const bool is_picked = worker.read(bytes_of(text), {}, true).is_picked;
    EXPECT_EQ(is_picked, &picking_kernel() != &kernel_by_name("scalar"));
    EXPECT_EQ(worker.read(bytes_of(harmless), {}, true).is_picked, is_picked);
    const std::string refused = text + "1,2,3,\"4\\\"\n";
    try {
        worker.read(bytes_of(refused), {}, true);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_EQ(error.place()->offset, refused.size() - 3);
    }
}

// A worker that has released its memory holds as much as a new one.
TEST(Stage, ReleasesAllBuffers) {
    const std::string key = "0123456789abcdef0123456789abcdef";
    const std::vector<NamedKey> given{{"k", bytes_of(key)}};
    const KeyRing ring({}, given);
    const auto memory = MemoryManager::open("pool:64M");
    const auto used = [&] { return memory->pool_statistics()->used_size; };
    StageOptions options;
    options.rules = {{"a: noise(k, sd=1, by=b)", "--redact"}, {"c: encrypt(k)", "--redact"}};
    options.is_header_given = true;
    const Stage stage(options, Dialect(), bytes_of("a,b,c\n"), true, &ring);
    StageWorker worker(stage, default_kernel(), memory);
    const std::size_t before = used();
    const std::string large(1 << 20, 'x');
    const std::string text = "1,\"" + large + R"(""",")" + large + "\"\"\"\n";
    for (unsigned round = 0; round < 2; ++round) {
        const RecordBlock block = worker.read(bytes_of(text), {}, true);
        std::vector<std::uint64_t> sizes(block.record_count());
        worker.measure(block, sizes);
        worker.write(block);
        EXPECT_EQ(worker.written().size(), sizes.at(0));
        EXPECT_GT(used(), before + 4 * large.size());
        worker.release();
        EXPECT_LT(used(), before + large.size());
    }
}

// `top` leaves small numbers as they are, so they are searched; what it changes is not.
TEST(Stage, LooksForForbiddenNumbersBelowTheTop) {
    const auto refusal = [](const std::string& value, const std::string& rule) -> std::string {
        StageOptions options;
        options.rules = {{rule, "--redact"}};
        options.is_header_given = true;
        options.forbid = {ForbiddenKind::kCard, ForbiddenKind::kPhone};
        const Stage stage(options, Dialect(), bytes_of("a\n"), true);
        StageWorker worker(stage, default_kernel());
        try {
            const std::string text = value + "\n";
            worker.write(worker.read(bytes_of(text), {}, true));
        } catch (const InputError& error) {
            return error.what();
        }
        return "";
    };
    const std::string card = "4111111111111111";
    EXPECT_EQ(refusal(card, "a: top(4111111111111111)"), "a card number in column a, which stays");
    EXPECT_EQ(refusal("\"" + card + ".00\"", "a: top(4111111111111111)"), "a card number in column a, which stays");
    EXPECT_EQ(refusal(card, "a: top(4111111111111110)"), "");
    EXPECT_EQ(refusal("+43123456789", "a: top(999999999999)"), "a phone number in column a, which stays");
    EXPECT_EQ(refusal("x " + card, "a: top(4111111111111111)"), "") << "becomes null";
    EXPECT_EQ(refusal(card, "a: round(10)"), "");
}

TEST(Stage, HandsOverKeysAsTheyAreWritten) {
    const std::string text = "a,\"b,\"\"b\",cc,d\r\n\r\ne,f,,\"h\"";
    using Keys = std::vector<std::string>;

    Keyed of_last = keyed(text, "#3: fixed(\"x,\")", {3}, false);
    EXPECT_EQ(of_last.written, "a,\"b,\"\"b\",\"x,\",d\r\n\r\ne,f,,\"h\"");
    EXPECT_EQ(of_last.keys, (Keys{"[d]", "[]", "[\"h\"]"}));

    // In the order in which the columns are given, with changed values as they are written.
    Keyed of_two = keyed(text, "#3: fixed(\"x,\")", {2, 1}, false);
    EXPECT_EQ(of_two.written, of_last.written);
    EXPECT_EQ(of_two.keys, (Keys{"[\"x,\"][\"b,\"\"b\"]", "[][]", "[][f]"}));

    Keyed without = keyed(text, "#3: fixed(\"x,\")", {2, 1}, true);
    EXPECT_EQ(without.written, "a,d\r\n\r\ne,\"h\"");
    EXPECT_EQ(without.keys, of_two.keys);

    // A delimiter is added where the input has none; a record with one empty column is not an empty record.
    EXPECT_EQ(keyed(text, "#3: fixed(x)", {0, 3}, true).written, "\"b,\"\"b\",x\r\n\r\nf,");
    EXPECT_EQ(keyed("a,b\n,c\n", "#2: null", {1}, true).written, "a\n\"\"\n");
    EXPECT_EQ(keyed("a,b\n,c\n", "#2: null", {1}, true).keys, (Keys{"[]", "[]"}));
}

TEST(Stage, HandsOverWhatItReads) {
    const std::string_view text = "a,\"b\"\n\ncc,d\n";
    StageOptions options;
    options.is_delimiter_given = options.is_header_given = true;
    options.select = RuleText{"#2", "--select"};
    options.rules.push_back({"#2: fixed(x)", "--redact"});
    const std::vector<std::size_t> written{1};
    const std::vector<std::size_t> read{0, 1};
    const Stage stage = with_keys(Stage(options, Dialect(), bytes_of(text).first(6), false), written, false, read);
    StageWorker worker(stage, default_kernel());
    worker.write(worker.read(bytes_of(text), {100, 0}, true));
    const auto key_of = [&](std::size_t record, std::size_t key) {
        return text_of(KeptFields::field(worker, record, key));
    };
    EXPECT_EQ(key_of(0, 0), "\"x\"");
    EXPECT_EQ(key_of(0, 1), "a");
    EXPECT_EQ(key_of(0, 2), "\"b\"");
    EXPECT_EQ(key_of(2, 0), "x");
    EXPECT_EQ(key_of(2, 1), "cc");
    EXPECT_FALSE(KeptFields::is_empty_record(worker, 0));
    EXPECT_TRUE(KeptFields::is_empty_record(worker, 1));
    EXPECT_EQ(key_of(1, 0), "");
}

class Suppress : public testing::Test {
protected:
    // The stage, if the classes with these values are common.
    Stage with(const std::vector<std::vector<std::string_view>>& common) const {
        auto key = std::make_shared<const RunKey>();
        ClassDigester digester(*key, Dialect(), MemoryManager::or_default(nullptr));
        std::vector<ClassDigest> digests;
        for (const auto& values : common) {
            for (const std::string_view value : values) digester.add(bytes_of(value));
            digests.push_back(digester.finish());
        }
        return with_common(stage_, std::make_shared<const CommonClasses>(std::move(key), digests));
    }
    static std::string written(const Stage& stage, std::string_view text) {
        StageWorker worker(stage, default_kernel());
        const RecordBlock block = worker.read(bytes_of(text), {}, true);
        worker.write(block);
        std::vector<std::uint64_t> sizes(block.record_count());
        worker.measure(block, sizes);
        EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}), worker.written().size());
        return std::string(text_of(worker.written()));
    }
    static StageOptions options() {
        StageOptions options;
        options.is_delimiter_given = options.is_header_given = true;
        // Where the rule stands makes no difference.
        options.rules = {{"#2: mask if #1 = a", "--redact"},
                         {"#1, #2: suppress(k=2)", "--redact"},
                         {"#1, #3: keep", "--redact"},
                         {"#2: fixed(x)", "--redact"}};
        return options;
    }

    const Stage stage_{options(), Dialect(), bytes_of("a,b,c\n"), false};
};

TEST_F(Suppress, NeedsToKnowWhatIsCommon) {
    EXPECT_TRUE(has_suppress(options().rules));
    EXPECT_FALSE(has_suppress(std::vector<RuleText>{{"#1: keep"}, {"@default keep"}, {"suppress: ("}}));
    EXPECT_EQ(suppress_rule(stage_)->columns, (std::vector<std::size_t>{0, 1}));
    EXPECT_THROW(StageWorker(stage_, default_kernel()), ArgumentError);
    EXPECT_EQ(written(with_common(stage_, std::make_shared<const CommonClasses>()), "a,b,c\nq,r,s\n"),
              "a,*,c\nq,x,s\n");
}

TEST_F(Suppress, JudgesWhatTheOtherRulesWrite) {
    const std::string_view text = "a,b,c\n\n\"a\",cd,\"e\"\nb,\"c\",d\nb,,d";
    EXPECT_EQ(written(with({}), text), ",,c\n\n,,\"e\"\n,,d\n,,d");
    EXPECT_EQ(written(with({{"a", "*"}}), text), "a,*,c\n\n,,\"e\"\n,,d\n,,d");
    EXPECT_EQ(written(with({{"a", "**"}, {"b", "x"}}), text), ",,c\n\n\"a\",**,\"e\"\nb,\"x\",d\n,,d");
    EXPECT_EQ(written(with({{"b", ""}}), text), ",,c\n\n,,\"e\"\n,,d\nb,,d");
}

TEST_F(Suppress, WritesClassesInTheFirstPass) {
    const auto key = std::make_shared<const RunKey>();
    const auto first_pass = [&](const StageOptions& options) {
        return with_common({options, Dialect(), bytes_of("a,b,c\n"), false},
                           std::make_shared<const CommonClasses>(key));
    };
    const auto read = [&](StageWorker& worker, std::string_view text) {
        worker.clear();
        worker.write(worker.read(bytes_of(text), {}, true));
    };
    const Stage stage = first_pass(options());
    StageWorker worker(stage, default_kernel());
    read(worker, "a,b,c\n\n\"b\",cd,\"e\"\nb,,d");
    EXPECT_EQ(std::vector(worker.starts().begin(), worker.starts().end()), (std::vector<std::uint64_t>{0, 16, 16, 32}));
    ClassDigester digester(*key, Dialect(), MemoryManager::or_default(nullptr));
    std::string digests;
    for (const auto& [a, b] : {std::pair("a", "*"), std::pair("b", "x"), std::pair("b", "")}) {
        digester.add(bytes_of(a));
        digester.add(bytes_of(b));
        const ClassDigest digest = digester.finish();
        digests.append(reinterpret_cast<const char*>(digest.data()), sizeof digest);
    }
    EXPECT_EQ(text_of(worker.written()), digests);

    // The other columns have no part in it.
    StageOptions strict = options();
    strict.forbid = {ForbiddenKind::kEmail};
    const Stage watched = first_pass(strict);
    StageWorker watching(watched, default_kernel());
    read(watching, "a,b,a@example.org\n");
    EXPECT_EQ(watching.written().size(), sizeof(ClassDigest));
    EXPECT_THROW(read(watching, "a@example.org,b,c\n"), InputError);
}

TEST_F(Suppress, ForgetsTheRecordsOfEarlierBlocks) {
    const Stage stage = with({{"a", "*"}});
    StageWorker worker(stage, default_kernel());
    std::string bytes = "a,b,c\n";  // at the same address each time
    worker.write(worker.read(bytes_of(bytes), {}, true));
    bytes[0] = 'b';
    worker.write(worker.read(bytes_of(bytes), {}, true));
    bytes[0] = 'a';
    worker.release();
    worker.write(worker.read(bytes_of(bytes), {}, true));
    EXPECT_EQ(text_of(worker.written()), "a,*,c\n");
    bytes[0] = 'b';
    worker.write(worker.read(bytes_of(bytes), {}, true));
    EXPECT_EQ(text_of(worker.written()), "a,*,c\n,,c\n");
}

}  // namespace cleave::test::stage_test

// The module as the command loads it: what it finds, what it refuses, and that nothing makes it crash.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "features/redact/stage/forbidden/pattern_module.h"

namespace {

using namespace std::string_literals;
using Pattern = std::unique_ptr<void, void (*)(void*)>;

const cleave_patterns& module() {
    static const cleave_patterns* const kLoaded = [] {
        void* const library = ::dlopen(CLEAVE_RE2_MODULE, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) throw std::runtime_error(::dlerror());
        return reinterpret_cast<cleave_patterns_open_function>(::dlsym(library, CLEAVE_PATTERNS_SYMBOL))();
    }();
    return *kLoaded;
}

struct Compiled {
    explicit Compiled(const std::string& text)
        : pattern(module().compile(text.data(), text.size(), message.data(), message.size()), module().release) {}

    bool is_in(std::string_view value) const {
        const int found = module().search(pattern.get(), value.data(), value.size());
        EXPECT_TRUE(found == CLEAVE_PATTERN_ABSENT || found == CLEAVE_PATTERN_FOUND) << found;
        return found == CLEAVE_PATTERN_FOUND;
    }

    std::array<char, 100> message{};
    Pattern pattern;
};

bool finds(const std::string& pattern, std::string_view value) {
    const Compiled compiled(pattern);
    EXPECT_NE(compiled.pattern, nullptr) << pattern << ": " << compiled.message.data();
    return compiled.pattern != nullptr && compiled.is_in(value);
}

TEST(Re2Module, HasTheVersionOfTheHeader) {
    EXPECT_EQ(module().interface_version, CLEAVE_PATTERNS_VERSION);
    EXPECT_EQ(module().struct_size, sizeof(cleave_patterns));
}

TEST(Re2Module, SearchesAnywhereInTheValue) {
    EXPECT_TRUE(finds("P[0-9]{7}", "see P1234567, please"));
    EXPECT_FALSE(finds("P[0-9]{7}", "see P123456, please"));
    EXPECT_TRUE(finds("^P[0-9]{7}$", "P1234567"));
    EXPECT_FALSE(finds("^P[0-9]{7}$", "P1234567\n"));
    EXPECT_FALSE(finds("^P", "\nP"));
    EXPECT_TRUE(finds("(?m)^P", "\nP"));
    EXPECT_FALSE(finds("a.b", "a\nb"));
    EXPECT_TRUE(finds("(?s)a.b", "a\nb"));
    EXPECT_FALSE(finds("geheim", "GEHEIM"));
    EXPECT_TRUE(finds("(?i)geheim", "streng GEHEIM"));
    EXPECT_TRUE(finds("(?i)über", "ÜBER"));
    EXPECT_FALSE(module().search(Compiled("a").pattern.get(), nullptr, 0) != CLEAVE_PATTERN_ABSENT);
}

TEST(Re2Module, SearchesValuesThatAreNotUtf8) {
    EXPECT_TRUE(finds("secret", "\xFF\xC3secret\x80"));
    EXPECT_TRUE(finds("a\\Cb",
                      "a\xFF"
                      "b"));
    EXPECT_FALSE(finds("a.b",
                       "a\xFF"
                       "b"));
    EXPECT_TRUE(finds("a\\x{0}b", "xa\0b"s));
    EXPECT_TRUE(finds("b$", std::string(100000, '\0') + "b"));
}

TEST(Re2Module, SaysWhyItRefusesAPattern) {
    const auto refusal = [](const std::string& text) {
        const Compiled compiled(text);
        EXPECT_EQ(compiled.pattern, nullptr) << text;
        return std::string(compiled.message.data());
    };
    EXPECT_EQ(refusal("P("), "missing ): P(");
    EXPECT_EQ(refusal("(a)\\1"), "invalid escape sequence: \\1");
    EXPECT_EQ(refusal("a(?=b)"), "invalid perl operator: (?=");
    EXPECT_EQ(refusal("a{1001}"), "invalid repetition size: {1001}");
    EXPECT_NE(refusal("((a{100}){100}){100}"), "");
    EXPECT_EQ(refusal("\\p{L}{1,400}@"), "pattern too large: fewer repetitions and alternatives are needed");
    EXPECT_NE(refusal("\xFF"), "");
    EXPECT_EQ(refusal(std::string(1, '(').append(1000, 'a')).size(), 99);  // what there is room for
}

// What would take a backtracking search exponential time.
TEST(Re2Module, TakesLinearTime) {
    EXPECT_FALSE(finds("(a*)*b", std::string(1 << 20, 'a')));
    EXPECT_FALSE(finds("(x+x+)+y", std::string(1 << 20, 'x')));
}

// More states than its memory may remember.
TEST(Re2Module, FindsWhatNeedsMoreMemoryThanThereIs) {
    std::mt19937 random(1);
    std::string text;
    for (int i = 0; i < 1 << 15; ++i) text += random() % 2 == 0 ? 'a' : 'c';
    const Compiled compiled("a[ac]{400}b");
    ASSERT_NE(compiled.pattern, nullptr) << compiled.message.data();
    EXPECT_FALSE(compiled.is_in(text));
    EXPECT_TRUE(compiled.is_in(text.append("a").append(400, 'c').append("b")));
}

TEST(Re2Module, IsSharedByThreads) {
    const Compiled compiled("[a-z]+[0-9]{3}x$");
    ASSERT_NE(compiled.pattern, nullptr);
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (unsigned seed = 0; seed < 4; ++seed) {
        threads.emplace_back([&compiled, seed] {
            std::mt19937 random(seed);
            for (int i = 0; i < 20000; ++i) {
                const std::string digits = std::to_string(100 + random() % 900);
                const bool is_there = random() % 2 == 0;
                EXPECT_EQ(compiled.is_in(std::string("zz").append(digits).append(is_there ? "x" : "y")), is_there);
            }
        });
    }
}

// Texts that are nearly patterns. Each is compiled or refused with a reason, and each search gives an answer.
TEST(Re2Module, SurvivesOddPatterns) {
    const std::vector<std::string> parts = {
        "(",   ")",           "[",         "]",   "[^", "{",        "}",    "{3}",  "{1000}", "{2,",
        "*",   "+",           "?",         "|",   "\\", "\\C",      "\\Q",  "\\E",  "\\p{L}", "\\pN",
        "\\b", "\\x{10FFFF}", "\\z",       "^",   "$",  ".",        "(?i)", "(?s",  "(?P<n>", "-",
        "a",   "z0",          "[:alpha:]", "\0"s, "\n", "\xC3\xBC", "\xC3", "\xFF", "\\1",    "(?:"};
    std::mt19937 random(7);
    int accepted = 0;
    for (int i = 0; i < 5000; ++i) {
        std::string text;
        std::string value;
        for (auto n = random() % 12 + 1; n > 0; --n) text += parts[random() % parts.size()];
        for (auto n = random() % 12; n > 0; --n) value += parts[random() % parts.size()];
        const Compiled compiled(text);
        if (compiled.pattern == nullptr) {
            EXPECT_NE(compiled.message[0], 0) << text;
            continue;
        }
        ++accepted;
        compiled.is_in(value);
    }
    EXPECT_GT(accepted, 500);
    EXPECT_LT(accepted, 4500);
    EXPECT_EQ(Compiled(std::string(100000, '(')).pattern, nullptr);
    EXPECT_EQ(Compiled(std::string(1 << 20, '[')).pattern, nullptr);
}

}  // namespace

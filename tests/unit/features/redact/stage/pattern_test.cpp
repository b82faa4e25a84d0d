// Patterns among what is forbidden, with a module that is a stub: how it is loaded, and that every doubt counts as a
// match.
#include "features/redact/stage/forbidden/pattern.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/module.h"
#include "cleave/error.h"
#include "cleave/stage.h"

namespace cleave::pattern_test {

std::string stub(const std::string& name) { return PLUGINS "/" + name + ".so"; }

bool finds(const std::string& pattern, std::string_view value) {
    const CompiledPattern compiled({stub("stub_patterns")}, pattern);
    return compiled.is_in({reinterpret_cast<const std::uint8_t*>(value.data()), value.size()});
}

std::string refusal(const std::vector<std::string>& paths, const std::string& pattern = "a") {
    try {
        const CompiledPattern compiled(paths, pattern);
    } catch (const ArgumentError& error) {
        return error.what();
    }
    ADD_FAILURE() << "it was compiled";
    return {};
}

TEST(Pattern, IsFoundAnywhere) {
    EXPECT_TRUE(finds("ab", "xaby"));
    EXPECT_FALSE(finds("ab", "xa"));
    EXPECT_FALSE(finds("never", "never"));
}

TEST(Pattern, CountsAsFoundIfTheSearchFails) {
    EXPECT_TRUE(finds("fail", "x"));
    EXPECT_TRUE(finds("fail", std::string(1000, '\0')));
}

TEST(Pattern, IsSearchedForUntilCancelled) {
    const auto pattern = std::make_shared<const CompiledPattern>(std::vector{stub("stub_patterns")}, "ab");
    const std::string text = std::string(1 << 20, 'a') + "b";
    const auto finds_in = [&](std::size_t size, const Cancellation* cancellation) {
        return is_in(pattern, {reinterpret_cast<const std::uint8_t*>(text.data()), size}, nullptr, cancellation);
    };
    Cancellation cancellation;
    EXPECT_TRUE(finds_in(text.size(), &cancellation));
    EXPECT_FALSE(finds_in(text.size() - 1, &cancellation));
    EXPECT_TRUE(finds_in(text.size(), nullptr));
    cancellation.request();
    EXPECT_THROW(finds_in(text.size(), &cancellation), Cancelled);
    EXPECT_THROW(finds_in(0, &cancellation), Cancelled);
}

TEST(Pattern, ThatIsRefusedSaysWhy) {
    EXPECT_EQ(refusal({stub("stub_patterns")}, "refuse"), "not a pattern of RE2: it is\\x0aa stub");
    EXPECT_EQ(refusal({stub("stub_patterns")}, "silent"), "not a pattern of RE2");
    EXPECT_EQ(refusal({stub("stub_patterns")}, ""),
              "the pattern matches the empty text, so it would be in every value");
}

TEST(Pattern, NeedsAWholeModule) {
    EXPECT_EQ(refusal({"/no/such/a.so", "/no/such/b.so"}),
              "patterns need the module cleave_re2.so, which is not installed, see doc/guide/redaction.md; looked "
              "for /no/such/a.so, /no/such/b.so");
    const auto reason = [](const std::string& path) {
        const std::string start = "the module " + path + " cannot be used: ";
        const std::string what = refusal({"/no/such/a.so", path});
        EXPECT_TRUE(what.starts_with(start)) << what;
        return what.substr(std::min(start.size(), what.size()));
    };
    EXPECT_EQ(reason(stub("stub_patterns_version")), "it is for version 7 of the interface, not 1");
    EXPECT_EQ(reason(stub("stub_patterns_short")), "its cleave_patterns has 8 bytes, not 32");
    EXPECT_EQ(reason(stub("stub_patterns_member")), "it lacks a member");
    EXPECT_EQ(reason(stub("stub_patterns_symbol")), "it has no function cleave_patterns_open");
    EXPECT_TRUE(refusal({"/proc/self/maps"}).starts_with("the module /proc/self/maps "));
}

TEST(Pattern, NeedsAModuleThatOthersCannotWrite) {
    const std::string copy = stub("stub_patterns") + "." + std::to_string(::getpid());
    std::filesystem::copy_file(stub("stub_patterns"), copy);
    std::filesystem::permissions(copy, std::filesystem::perms(0666));
    EXPECT_EQ(refusal({copy}), "the module " + copy + " is not loaded: other users can write to '" + copy + "'");
    std::filesystem::remove(copy);
}

TEST(Pattern, HasANameOfItsOwn) {
    for (const char* name : {"", "A", "a b", "\xC3\xA4", "a=b", "a_b"}) {
        try {
            const ForbiddenPattern pattern(name, "a");
            ADD_FAILURE() << name;
        } catch (const ArgumentError& error) {
            EXPECT_STREQ(error.what(), "a pattern's name consists of lower-case letters, digits and hyphens");
        }
    }
    for (const char* name : {"email", "mail", "card", "secret"}) {
        try {
            const ForbiddenPattern pattern(name, "a");
            ADD_FAILURE() << name;
        } catch (const ArgumentError& error) {
            EXPECT_STREQ(error.what(), "a pattern cannot have the name of a kind");
        }
    }
}

TEST(Pattern, ItsModuleIsLookedForBesideTheProgram) {
    const std::vector<std::string> paths = module_paths("cleave_re2.so");
    ASSERT_EQ(paths.size(), 4);
    EXPECT_TRUE(paths[0].starts_with('/') && paths[0].ends_with("/../lib/cleave/cleave_re2.so")) << paths[0];
    EXPECT_TRUE(paths[1].ends_with("/../libexec/cleave/cleave_re2.so")) << paths[1];
    EXPECT_TRUE(paths[2].ends_with("/../../../../libexec/cleave/cleave_re2.so")) << paths[2];
    EXPECT_TRUE(paths[3].starts_with('/') && paths[3].ends_with("/cleave/cleave_re2.so")) << paths[3];
    EXPECT_EQ(first_existing({"/no/such/a", "/", "/proc"}), "/");
    EXPECT_EQ(first_existing({"/no/such/a"}), "");
}

}  // namespace cleave::pattern_test

// The targets use the EXPECT macros of the unit tests. Outside a test, nothing would notice a failing EXPECT.
#include <gtest/gtest.h>

#include <cstdlib>

namespace {

class AbortOnFailure : public testing::EmptyTestEventListener {
public:
    void OnTestPartResult(const testing::TestPartResult& result) override {
        if (result.failed()) std::abort();
    }
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): GoogleTest takes ownership
    testing::UnitTest::GetInstance()->listeners().Append(new AbortOnFailure);
    return 0;
}

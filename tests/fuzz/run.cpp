// The targets judge by the EXPECTs of the unit tests; outside of a test nobody would notice that one fails.
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
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): GoogleTest takes it
    testing::UnitTest::GetInstance()->listeners().Append(new AbortOnFailure);
    return 0;
}

// Pages of records: PagesAhead, GatheredPages and GuessedPages, and the pinned memory that they use.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <stdexcept>
#include <thread>

#include "changed_input.h"
#include "features/gpu/lane/page_source.h"
#include "features/gpu/lane/pages_ahead.h"
#include "features/gpu/pinned_blocks.h"
#include "inputs.h"
#include "mapped_input.h"
#include "pipe_input.h"
#include "reference.h"
#include "simulated_device.h"

namespace cleave::pages_test {

using test::bytes_of;

std::string_view text_of(std::span<const std::uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// No page is left to the CPU.
bool never(std::span<const std::uint8_t> /*bytes*/) { return false; }

std::shared_ptr<DeviceContext> context_of(const std::shared_ptr<SimulatedDevice>& device) {
    ContextOptions options;
    options.device = device;
    options.policy = DevicePolicy::kGpu;
    return std::make_shared<DeviceContext>(options);
}

// Prevents new threads during its lifetime: the system has no memory for so large a stack.
class NoThreads {
public:
    NoThreads() {
        pthread_attr_t large;
        ::pthread_attr_init(&large);
        ::pthread_getattr_default_np(&before_);
        ::pthread_attr_setstacksize(&large, std::size_t{1} << 47);  // as large as a whole address space
        EXPECT_EQ(::pthread_setattr_default_np(&large), 0);
        ::pthread_attr_destroy(&large);
    }
    NoThreads(const NoThreads&) = delete;
    NoThreads& operator=(const NoThreads&) = delete;
    ~NoThreads() {
        ::pthread_setattr_default_np(&before_);
        ::pthread_attr_destroy(&before_);
    }

private:
    pthread_attr_t before_{};
};

// Pages "0", "1", ... of a few bytes, then an exception or the end.
class NumberedPages final : public PageSource {
public:
    explicit NumberedPages(std::size_t count, bool throws = false) : count_(count), throws_(throws) {
        for (std::size_t i = 0; i < count; ++i) texts_.push_back("page " + std::to_string(i));
    }

    std::optional<RecordPage> next() override {
        if (number_ == count_) {
            ++ends_;
            if (throws_) throw std::runtime_error("the source fails");
            return std::nullopt;
        }
        RecordPage page;
        page.bytes = bytes_of(texts_[number_++]);
        return page;
    }

    const std::string& text(std::size_t i) const { return texts_.at(i); }
    std::size_t passed() const { return number_; }
    std::size_t ends() const { return ends_; }

private:
    const std::size_t count_;
    const bool throws_;
    std::vector<std::string> texts_;
    std::size_t number_ = 0;
    std::size_t ends_ = 0;
};

class PagesAheadTest : public testing::Test {
protected:
    // Expects the pages `first` up to `last`.
    static void expect_pages(PagesAhead& ahead, const NumberedPages& source, std::size_t first, std::size_t last,
                             bool are_pinned = true) {
        for (std::size_t i = first; i < last; ++i) {
            const std::optional<RecordPage> page = ahead.next();
            ASSERT_TRUE(page) << i;
            EXPECT_EQ(text_of(page->bytes), source.text(i));
            EXPECT_EQ(page->is_pinned, are_pinned);
            EXPECT_NE(page->owner, nullptr);
            EXPECT_NE(page->bytes.data(), bytes_of(source.text(i)).data());  // a copy that nothing else can write to
        }
    }

    const std::shared_ptr<SimulatedDevice> device_ = std::make_shared<SimulatedDevice>();
    const std::shared_ptr<DeviceContext> context_ = context_of(device_);
};

TEST_F(PagesAheadTest, PassesOnAllPagesInOrder) {
    for (const std::size_t count : {0U, 1U, 2U, 50U}) {
        NumberedPages source(count);
        PagesAhead ahead(source, *context_, 3, MemoryManager::open("system"), never);
        expect_pages(ahead, source, 0, count);
        EXPECT_FALSE(ahead.next());
        EXPECT_FALSE(ahead.next());
        EXPECT_EQ(source.ends(), 1U);
    }
    EXPECT_LE(device_->pinned_allocations(), 4U);  // blocks are reused
}

TEST_F(PagesAheadTest, CopiesAPageOfSeveralPartsAsAWhole) {
    std::string text(5'000'003, '?');
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
    class OnePage final : public PageSource {
    public:
        explicit OnePage(std::string_view text) : text_(text) {}
        std::optional<RecordPage> next() override {
            if (is_done_) return std::nullopt;
            is_done_ = true;
            RecordPage page;
            page.bytes = bytes_of(text_);
            return page;
        }

    private:
        std::string_view text_;
        bool is_done_ = false;
    };
    for (const unsigned threads : {1U, 2U, 9U}) {
        OnePage source(text);
        PagesAhead ahead(source, *context_, threads, MemoryManager::open("system"), never);
        const std::optional<RecordPage> page = ahead.next();
        ASSERT_TRUE(page && page->is_pinned);
        EXPECT_NE(page->bytes.data(), bytes_of(text).data());
        EXPECT_TRUE(text_of(page->bytes) == text);
    }
}

TEST_F(PagesAheadTest, AnExceptionComesAfterThePagesBeforeIt) {
    for (const std::size_t count : {0U, 1U, 2U, 7U}) {
        NumberedPages source(count, true);
        PagesAhead ahead(source, *context_, 2, MemoryManager::open("system"), never);
        expect_pages(ahead, source, 0, count);
        EXPECT_THROW(ahead.next(), std::runtime_error) << count;
        EXPECT_FALSE(ahead.next());
        EXPECT_EQ(source.ends(), 1U);
    }
}

TEST_F(PagesAheadTest, WhatWasReadIsPassedOnAfterAStop) {
    for (std::size_t taken = 0; taken < 5; ++taken) {
        NumberedPages source(100);
        PagesAhead ahead(source, *context_, 2, MemoryManager::open("system"), never);
        expect_pages(ahead, source, 0, taken);
        ahead.stop();
        const std::size_t passed = source.passed();
        EXPECT_LE(passed, taken + 2);
        expect_pages(ahead, source, taken, passed);
        EXPECT_FALSE(ahead.next());
        EXPECT_EQ(source.passed(), passed);
        ahead.stop();
    }
}

TEST_F(PagesAheadTest, AnExceptionIsNotLostByAStop) {
    NumberedPages source(0, true);
    PagesAhead ahead(source, *context_, 2, MemoryManager::open("system"), never);
    EXPECT_THROW(ahead.next(), std::runtime_error);
    ahead.stop();
    NumberedPages other(1, true);
    PagesAhead one(other, *context_, 2, MemoryManager::open("system"), never);
    expect_pages(one, other, 0, 1);
    one.stop();
    if (other.ends() == 0) {
        EXPECT_FALSE(one.next());
    } else {
        EXPECT_THROW(one.next(), std::runtime_error);
    }
}

// Destroys it while its thread waits for room, and while its thread waits for the source.
TEST_F(PagesAheadTest, EndsWhateverItsThreadDoes) {
    {
        NumberedPages source(100);
        const PagesAhead ahead(source, *context_, 2, MemoryManager::open("system"), never);
    }
    {
        NumberedPages source(100);
        PagesAhead ahead(source, *context_, 2, MemoryManager::open("system"), never);
        expect_pages(ahead, source, 0, 1);
    }
}

TEST_F(PagesAheadTest, WithoutAThreadPagesAreReadWhenTheyAreAskedFor) {
    for (const bool throws : {false, true}) {
        NumberedPages source(5, throws);
        std::optional<PagesAhead> ahead;
        {
            const NoThreads none;
            ahead.emplace(source, *context_, 4, MemoryManager::open("system"), never);
            EXPECT_EQ(source.passed(), 0U);
            expect_pages(*ahead, source, 0, 3);
        }
        EXPECT_EQ(source.passed(), 3U);
        expect_pages(*ahead, source, 3, 5);
        if (throws) {
            EXPECT_THROW(ahead->next(), std::runtime_error);
        } else {
            EXPECT_FALSE(ahead->next());
            EXPECT_FALSE(ahead->next());
            EXPECT_EQ(source.ends(), 1U);
        }
        ahead->stop();
        EXPECT_FALSE(ahead->next());
    }
    NumberedPages source(5);
    std::optional<PagesAhead> ahead;
    {
        const NoThreads none;
        ahead.emplace(source, *context_, 4, MemoryManager::open("system"), never);
    }
    ahead->stop();
    EXPECT_FALSE(ahead->next());
    EXPECT_EQ(source.passed(), 0U);
}

TEST_F(PagesAheadTest, WithoutPinnedMemoryAPageIsCopiedAllTheSame) {
    SimulatedOptions options;
    options.pinned_size = 0;
    const auto device = std::make_shared<SimulatedDevice>(options);
    const std::shared_ptr<DeviceContext> context = context_of(device);
    NumberedPages source(5);
    PagesAhead ahead(source, *context, 2, MemoryManager::open("system"), never);
    expect_pages(ahead, source, 0, 5, false);
    EXPECT_FALSE(ahead.next());
    EXPECT_EQ(device->pinned_allocations(), 0U);
}

class PinnedBlocksTest : public testing::Test {
protected:
    static std::shared_ptr<MemoryManager> manager_of(SimulatedDevice& device) {
        return MemoryManager::adopt(*device.make_memory_manager());
    }
    static std::shared_ptr<SimulatedDevice> device_of(std::uint64_t pinned_size) {
        SimulatedOptions options;
        options.pinned_size = pinned_size;
        return std::make_shared<SimulatedDevice>(options);
    }
};

TEST_F(PinnedBlocksTest, ABlockComesBackWithItsLastPointer) {
    const auto device = device_of(1 << 20);
    const auto blocks = std::make_shared<PinnedBlocks>(manager_of(*device), 0);
    std::shared_ptr<Memory> first = blocks->take(1000);
    ASSERT_TRUE(first);
    EXPECT_GE(first->size(), 1000U);
    std::shared_ptr<Memory> copy = first;
    const void* const where = first->data();
    first.reset();
    const std::shared_ptr<Memory> other = blocks->take(1000);
    EXPECT_NE(other->data(), where);
    copy.reset();
    EXPECT_EQ(blocks->take(1010)->data(), where);  // slightly more needs no new block
    EXPECT_EQ(device->pinned_allocations(), 2U);
}

TEST_F(PinnedBlocksTest, TheSmallestThatIsLargeEnoughIsTaken) {
    const auto device = device_of(1 << 20);
    const auto blocks = std::make_shared<PinnedBlocks>(manager_of(*device), 0);
    std::vector<std::shared_ptr<Memory>> all;
    for (const std::size_t size : {4000U, 1000U, 2000U}) all.push_back(blocks->take(size));
    const void* const of_1000 = all[1]->data();
    const void* const of_2000 = all[2]->data();
    all.clear();
    const std::shared_ptr<Memory> a = blocks->take(900);
    const std::shared_ptr<Memory> b = blocks->take(900);
    EXPECT_EQ(a->data(), of_1000);
    EXPECT_EQ(b->data(), of_2000);
    EXPECT_EQ(device->pinned_allocations(), 3U);
}

TEST_F(PinnedBlocksTest, KeepsOnlySome) {
    const auto device = device_of(1 << 20);
    const auto blocks = std::make_shared<PinnedBlocks>(manager_of(*device), 0);
    std::vector<std::shared_ptr<Memory>> all;
    all.reserve(40);
    for (std::size_t i = 0; i < 40; ++i) all.push_back(blocks->take(100 + i * 100));
    const void* const smallest_kept = all[24]->data();  // the largest ones are kept
    const void* const largest = all[39]->data();
    all.clear();
    EXPECT_EQ(device->allocations_alive(), 16U);
    EXPECT_EQ(blocks->take(1000)->data(), smallest_kept);
    EXPECT_EQ(blocks->take(4400)->data(), largest);
    {
        const auto small = blocks->take(100);
        EXPECT_EQ(device->allocations_alive(), 17U);  // none that is kept is so small
    }
    blocks->clear();
    EXPECT_EQ(device->allocations_alive(), 0U);
}

TEST_F(PinnedBlocksTest, IsNullWhereNoMemoryIsLeft) {
    const auto device = device_of(3000);
    const auto blocks = std::make_shared<PinnedBlocks>(manager_of(*device), 0);
    std::shared_ptr<Memory> first = blocks->take(2000);
    ASSERT_TRUE(first);
    EXPECT_FALSE(blocks->take(2000));
    const void* const where = first->data();
    first.reset();
    EXPECT_EQ(blocks->take(2000)->data(), where);
    EXPECT_FALSE(blocks->take(2500));  // the free block is too small
}

// A reader's block may be the last thing that refers to the context.
TEST_F(PinnedBlocksTest, ABlockOutlivesItsContextAndDevice) {
    std::shared_ptr<SimulatedDevice> device = device_of(1 << 20);
    std::shared_ptr<DeviceContext> context = context_of(device);
    std::shared_ptr<Memory> block = context->borrow_pinned(1000);
    ASSERT_TRUE(block);
    context.reset();
    std::fill_n(block->data(), 1000, 'x');
    EXPECT_EQ(device->allocations_alive(), 1U);
    std::weak_ptr<SimulatedDevice> weak = device;
    block.reset();
    EXPECT_EQ(device->allocations_alive(), 0U);
    context = context_of(device);
    block = context->borrow_pinned(1000);
    context.reset();
    device.reset();
    std::fill_n(block->data(), 1000, 'x');
    block.reset();
    EXPECT_TRUE(weak.expired());
}

TEST_F(PinnedBlocksTest, AnyThreadTakesAndGivesBack) {
    const auto device = device_of(1 << 20);
    const auto blocks = std::make_shared<PinnedBlocks>(manager_of(*device), 0);
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (std::size_t t = 0; t < 4; ++t) {
        threads.emplace_back([&blocks, t] {
            std::shared_ptr<Memory> kept;
            for (std::size_t i = 0; i < 500; ++i) {
                std::shared_ptr<Memory> block = blocks->take(1 + (i * 37 + t * 101) % 3000);
                if (!block) continue;
                std::fill_n(block->data(), 8, static_cast<std::uint8_t>(t));
                if (i % 50 == 0) blocks->clear();
                if (i % 3 == 0) kept = std::move(block);
            }
        });
    }
    threads.clear();
    blocks->clear();
    EXPECT_EQ(device->allocations_alive(), 0U);
}

constexpr PageShape kShape{4096, 256};

// The pages of a source as one text. Expects them to follow one another, and their runs to cover them.
std::string joined(PageSource& source, const std::vector<std::uint64_t>* starts = nullptr) {
    std::string text;
    while (const std::optional<RecordPage> page = source.next()) {
        EXPECT_FALSE(page->bytes.empty());
        EXPECT_EQ(page->place.offset, text.size());
        const std::vector<PageBatch>& runs = *page->batches;
        EXPECT_EQ(page->first, 0U);
        EXPECT_EQ(page->last + 1, runs.size());
        EXPECT_EQ(runs.front().begin, 0U);
        EXPECT_EQ(runs.back().begin, page->bytes.size());
        for (std::size_t i = 0; i < page->last; ++i) {
            EXPECT_LT(runs[i].begin, runs[i + 1].begin);
            const auto part = SplitType<RecordPage>::split(*page, i, i + 1);
            EXPECT_EQ(part.place.offset, text.size() + runs[i].begin);
            if (starts == nullptr) continue;
            const auto start = std::ranges::lower_bound(*starts, part.place.offset);
            EXPECT_TRUE(start != starts->end() && *start == part.place.offset) << part.place.offset;
            if (!page->is_guessed) {
                EXPECT_EQ(part.place.record, static_cast<std::uint64_t>(start - starts->begin()));
            }
        }
        text += text_of(page->bytes);
    }
    EXPECT_FALSE(source.next());
    return text;
}

class PageSourceTest : public test::FaultTest {
protected:
    static BatchOptions batch_options(std::uint64_t max_record = 1 << 20) { return {kShape.batch_size, max_record}; }

    static std::string usual_text(std::size_t size) {
        std::string text;
        for (std::size_t i = 0; text.size() < size; ++i) {
            text += std::to_string(i) + R"(,"Doe, ""J)" + std::string(i % 90, '.') + "\"\"\n" +
                    (i % 5 == 0 ? "\n" : "") + "\",z\n";
            if (i % 40 == 0) text += "\n\n";
        }
        return text;
    }

    const std::shared_ptr<MemoryManager> memory_ = MemoryManager::open("system");
};

TEST_F(PageSourceTest, PagesAreTheInputWhateverWayItComes) {
    for (const bool is_terminated : {true, false}) {
        std::string text = usual_text(100'000);
        if (!is_terminated) text += "a,last one";
        const std::vector<std::uint64_t> starts = test::read_by_rules(text, Dialect()).starts;
        const std::string path = write(text);
        for (const Access access : {Access::kMapped, Access::kRead}) {
            Input input = test::while_guarded([&] { return Input::open(path, nullptr, access); });
            ExactBatches runs(input.blob(), {0, text.size()}, 0, Dialect(), default_kernel(), batch_options());
            GatheredPages gathered(runs, kShape.size, memory_);
            EXPECT_EQ(joined(gathered, &starts), text);
        }
        {
            test::Pipe pipe(text, {7, 1000, 3});
            Input input = test::open_mapped(pipe.path());
            ExactBatches runs(input, {}, Dialect(), default_kernel(), batch_options());
            GatheredPages gathered(runs, kShape.size, memory_);
            EXPECT_EQ(joined(gathered, &starts), text);
        }
        Input input = test::open_mapped(path);
        GuessedPages guessed(input.blob(), {0, text.size()}, Dialect(), default_kernel(), kShape, memory_);
        EXPECT_EQ(joined(guessed, &starts), text);
    }
}

TEST_F(PageSourceTest, TheLastPageOfARangeIsMarked) {
    const std::string text = usual_text(30'000);
    Input input = test::open_mapped(write(text));
    GuessedPages guessed(input.blob(), {0, text.size()}, Dialect(), default_kernel(), kShape, memory_);
    std::size_t pages = 0;
    std::size_t last = 0;
    while (const std::optional<RecordPage> page = guessed.next()) {
        EXPECT_TRUE(page->is_guessed);
        ++pages;
        last += page->is_last ? pages : 0;
        const RecordPage front = SplitType<RecordPage>::split(*page, 0, 1);
        const RecordPage back = SplitType<RecordPage>::split(*page, page->last - 1, page->last);
        EXPECT_FALSE(front.is_last);
        EXPECT_EQ(back.is_last, page->is_last);
    }
    EXPECT_GT(pages, 5U);
    EXPECT_EQ(last, pages);
}

TEST_F(PageSourceTest, AnEmptyInputHasNoPages) {
    Input input = test::open_mapped(write(""));
    ExactBatches runs(input.blob(), {0, 0}, 0, Dialect(), default_kernel(), batch_options());
    GatheredPages gathered(runs, kShape.size, memory_);
    EXPECT_FALSE(gathered.next());
}

// One record that spans many runs, in which no record start is found.
TEST_F(PageSourceTest, ARecordLargerThanAPageStaysWhole) {
    const std::string text = "1,2\n3,\"" + std::string(50'000, 'x') + "\"\n4,5\n";
    const std::string path = write(text);
    Input input = test::open_mapped(path);
    ExactBatches runs(input.blob(), {0, text.size()}, 0, Dialect(), default_kernel(), batch_options());
    GatheredPages gathered(runs, kShape.size, memory_);
    const std::vector<std::uint64_t> starts = test::read_by_rules(text, Dialect()).starts;
    EXPECT_EQ(joined(gathered, &starts), text);
    GuessedPages guessed(input.blob(), {0, text.size()}, Dialect(), default_kernel(), kShape, memory_);
    EXPECT_EQ(joined(guessed), text);
}

// Any text: guesses may be wrong, but pages follow one another.
TEST_F(PageSourceTest, GuessedPagesCoverAnyText) {
    for (std::uint64_t seed = 0; seed < test::rounds(20); ++seed) {
        test::Random random(seed);
        for (const Dialect& dialect : test::every_dialect_and_rule()) {
            const std::string text = test::random_text(random, dialect, 1 + random.below(4000));
            if (text.empty()) continue;
            const std::string path = write(text);
            Input input = test::open_mapped(path);
            GuessedPages guessed(input.blob(), {0, text.size()}, dialect, default_kernel(), {64, 16}, memory_);
            ASSERT_EQ(joined(guessed), text) << "seed " << seed;
        }
    }
}

// Runs that come before a fault are passed on before the fault is thrown.
TEST_F(PageSourceTest, RunsBeforeAFaultComeFirst) {
    const std::string good = usual_text(10'000);
    const std::string text = good + std::string(2'000, 'x') + "\n" + usual_text(10'000);
    const std::string path = write(text);
    for (const Access access : {Access::kMapped, Access::kRead}) {
        Input input = test::while_guarded([&] { return Input::open(path, nullptr, access); });
        ExactBatches runs(input.blob(), {0, text.size()}, 0, Dialect(), default_kernel(), batch_options(1'000));
        GatheredPages gathered(runs, kShape.size, memory_);
        std::uint64_t size = 0;
        try {
            while (const std::optional<RecordPage> page = gathered.next()) size += page->bytes.size();
            ADD_FAILURE() << "no exception";
        } catch (const InputError& error) {
            EXPECT_EQ(error.place()->offset, good.size());
        }
        EXPECT_EQ(size, good.size());
        EXPECT_THROW(gathered.next(), InputError);
    }
}

// While another thread writes to the file, pages stay within the mapping. Line feeds come and go at two offsets, so
// that the guesses for one run and for the next see different bytes.
TEST_F(PageSourceTest, AnInputThatChangesGivesNoBytesOutsideOfIt) {
    const std::string text = std::string(1 << 16, 'x');
    const std::string path = write(text);
    Input input = test::open_mapped(path);
    std::jthread writer([&path](const std::stop_token& stop) {
        const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        const std::string lines[] = {std::string(1 << 16, '\n'), std::string(1 << 16, 'x')};
        for (std::size_t i = 0; !stop.stop_requested(); ++i) {
            if (::pwrite(file.get(), lines[i % 2].data(), lines[i % 2].size(), 0) < 0) return;
        }
    });
    const std::uint8_t* const end = input.bytes().data() + input.bytes().size();
    for (unsigned round = 0; round < test::rounds(400); ++round) {
        GuessedPages guessed(input.blob(), {0, text.size()}, Dialect(), default_kernel(), {1 << 16, 16}, memory_);
        const std::uint8_t* at = input.bytes().data();
        try {
            while (const std::optional<RecordPage> page = guessed.next()) {
                ASSERT_EQ(page->bytes.data(), at);
                at += page->bytes.size();
                ASSERT_LE(at, end);
            }
            ASSERT_EQ(at, end);
        } catch (const InputChangedError&) {  // acceptable
        } catch (const DoubtfulBatch&) {      // likewise
        }
    }
}

}  // namespace cleave::pages_test

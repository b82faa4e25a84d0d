// Signals that end a run, raised within the process: what a guard does with them, that they end every wait, and that a
// job leaves nothing behind.
#include "cli/signals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "changed_input.h"
#include "cleave/cancel.h"
#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/input.h"
#include "cleave/job.h"
#include "core/reader/fd.h"
#include "inputs.h"
#include "jobs.h"
#include "mapped_input.h"
#include "pipe_input.h"
#include "temporary_directory.h"

namespace cleave::test {
namespace {

using cli::die_of_caught_signal;
using cli::SignalGuard;

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

struct sigaction action_of(int signal) {
    struct sigaction action = {};
    EXPECT_EQ(::sigaction(signal, nullptr, &action), 0);
    return action;
}

bool is_handled(int signal) {
    const struct sigaction action = action_of(signal);
    return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

void raise_here(int signal) { ASSERT_EQ(::raise(signal), 0); }

// Gives the signals their default actions, and restores the previous ones at the end.
class DefaultActions {
public:
    DefaultActions() {
        for (std::size_t i = 0; i < kSignals.size(); ++i) {
            before_[i] = action_of(kSignals[i]);
            std::ignore = ::signal(kSignals[i], SIG_DFL);
        }
    }
    DefaultActions(const DefaultActions&) = delete;
    DefaultActions& operator=(const DefaultActions&) = delete;
    ~DefaultActions() {
        for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
    }

private:
    std::array<struct sigaction, kSignals.size()> before_;
};

// Each test begins with the default actions, whatever the caller has set.
class Signals : public testing::Test {
    DefaultActions actions_;
};

TEST_F(Signals, RequestTheCancellationWhileAGuardLives) {
    for (const int signal : kSignals) {
        Cancellation cancellation;
        const SignalGuard guard(cancellation);
        EXPECT_FALSE(cancellation.requested());
        raise_here(signal);
        EXPECT_TRUE(cancellation.requested()) << signal;
        EXPECT_THROW(cancellation.throw_if_requested(), Cancelled) << signal;
        raise_here(signal);  // a second one does not end the process either
    }
}

TEST_F(Signals, CountInEveryThread) {
    for (const int signal : kSignals) {
        Cancellation cancellation;
        const SignalGuard guard(cancellation);
        std::thread([&] { raise_here(signal); }).join();
        EXPECT_TRUE(cancellation.requested()) << signal;
    }
}

TEST_F(Signals, OfAWriteThatNobodyReadsCountToo) {
    Cancellation cancellation;
    const SignalGuard guard(cancellation);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ::close(ends[0]);
    EXPECT_EQ(::write(ends[1], "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
    EXPECT_TRUE(cancellation.requested());
    ::close(ends[1]);
}

TEST_F(Signals, ThatAreIgnoredStayIgnored) {
    for (const int ignored : kSignals) {
        std::ignore = ::signal(ignored, SIG_IGN);
        {
            Cancellation cancellation;
            const SignalGuard guard(cancellation);
            raise_here(ignored);
            EXPECT_FALSE(cancellation.requested()) << ignored;
            for (const int other : kSignals) EXPECT_EQ(is_handled(other), other != ignored) << ignored << ' ' << other;
        }
        EXPECT_EQ(action_of(ignored).sa_handler, SIG_IGN) << ignored;
        std::ignore = ::signal(ignored, SIG_DFL);
    }
}

// As happens when several inputs are processed one after another.
TEST_F(Signals, GoToTheGuardThatLives) {
    Cancellation first;
    { const SignalGuard guard(first); }
    for (const int signal : kSignals) EXPECT_EQ(action_of(signal).sa_handler, SIG_DFL) << signal;
    Cancellation second;
    const SignalGuard guard(second);
    raise_here(SIGTERM);
    EXPECT_FALSE(first.requested());
    EXPECT_TRUE(second.requested());
}

TEST_F(Signals, ChangeNothingOnceAllIsDone) {
    for (const int signal : kSignals) {
        auto cancellation = std::make_unique<Cancellation>();
        {
            SignalGuard guard(*cancellation);
            guard.conclude();
        }
        raise_here(signal);
        EXPECT_FALSE(cancellation->requested()) << signal;
        cancellation.reset();
        raise_here(signal);
        std::ignore = ::signal(signal, SIG_DFL);
    }
}

// Each of these starts a new process. A fork would inherit the locks of other threads, but not the threads.
class SignalsDeathTest : public Signals {
protected:
    SignalsDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

[[noreturn]] void end_well() { ::_exit(0); }

void raise_in_guard(int signal) {
    Cancellation cancellation;
    const SignalGuard guard(cancellation);
    std::ignore = ::raise(signal);
    if (!cancellation.requested()) ::_exit(1);
}

TEST_F(SignalsDeathTest, EndTheProcessAfterTheGuard) {
    for (const int signal : kSignals) {
        const auto run = [signal] {
            {
                Cancellation cancellation;
                const SignalGuard guard(cancellation);
            }
            std::ignore = ::raise(signal);
            end_well();
        };
        EXPECT_EXIT(run(), testing::KilledBySignal(signal), "");
    }
}

TEST_F(SignalsDeathTest, EndTheProcessOnRequestIfAGuardCaughtOne) {
    for (const int signal : kSignals) {
        const auto run = [signal] {
            raise_in_guard(signal);
            die_of_caught_signal();
            end_well();
        };
        EXPECT_EXIT(run(), testing::KilledBySignal(signal), "");
    }
    const auto run_quietly = [] {
        {
            Cancellation cancellation;
            const SignalGuard guard(cancellation);
        }
        die_of_caught_signal();
        end_well();
    };
    EXPECT_EXIT(run_quietly(), testing::ExitedWithCode(0), "");
}

TEST_F(SignalsDeathTest, DoNotEndAProcessThatIsDone) {
    for (const int signal : kSignals) {
        const auto run = [signal] {
            {
                Cancellation cancellation;
                SignalGuard guard(cancellation);
                guard.conclude();
            }
            std::ignore = ::raise(signal);
            die_of_caught_signal();
            end_well();
        };
        EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
    }
}

// Does `work` in this thread. Once `has_begun` returns true and this thread sleeps, either sends the signal to this
// thread or raises it in a different one. It does not matter if the thread sleeps somewhere other than expected.
void interrupt(int signal, bool is_sent_here, const std::function<bool()>& has_begun,
               const std::function<void()>& work) {
    const pthread_t self = ::pthread_self();
    const auto number = static_cast<pid_t>(::syscall(SYS_gettid));  // gettid() needs glibc 2.30
    std::atomic<bool> is_over = false;
    std::jthread sender([&] {
        while (!is_over && !(has_begun() && is_asleep(number))) ::usleep(100);
        if (is_over) return;
        if (is_sent_here) {
            EXPECT_EQ(::pthread_kill(self, signal), 0);
        } else {
            raise_here(signal);
        }
    });
    work();
    is_over = true;
}

bool at_once() { return true; }

TEST_F(Signals, EndAWaitForInput) {
    for (const int signal : kSignals) {
        for (const bool is_sent_here : {true, false}) {
            SCOPED_TRACE(testing::Message() << signal << ' ' << is_sent_here);
            const SilentPipe pipe;
            Cancellation cancellation;
            const SignalGuard guard(cancellation);
            Input input = open_mapped(pipe.path(), &cancellation);
            interrupt(signal, is_sent_here, at_once, [&] { EXPECT_THROW(input.read(), Cancelled); });
            EXPECT_THROW(input.peek(1), Cancelled);
        }
    }
}

// Standard output may be a blocking pipe, which blocks in write() itself. The signal must then reach the thread that
// waits.
TEST_F(Signals, EndAWaitForRoom) {
    struct Wait {
        int flags;
        bool is_sent_here;
    };
    for (const auto& [flags, is_sent_here] : {Wait{O_NONBLOCK, true}, Wait{O_NONBLOCK, false}, Wait{0, true}}) {
        SCOPED_TRACE(testing::Message() << flags << ' ' << is_sent_here);
        int ends[2];
        ASSERT_EQ(::pipe2(ends, O_CLOEXEC | flags), 0);
        const Fd from(ends[0]);
        const Fd to(ends[1]);
        const std::vector<std::uint8_t> bytes(static_cast<std::size_t>(::fcntl(ends[1], F_GETPIPE_SZ)));
        ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));  // it is full
        Cancellation cancellation;
        const SignalGuard guard(cancellation);
        interrupt(SIGTERM, is_sent_here, at_once,
                  [&] { EXPECT_THROW(write_all(ends[1], bytes, "pipe", &cancellation), Cancelled); });
    }
}

// When a signal comes during a job: at a call of the observer.
struct Moment {
    std::string_view member;
    std::uint64_t call;  // counted from 1
};

constexpr std::uint64_t kPieces = 16;
constexpr Moment kMoments[] = {{"found", 1},    {"cut", 1},      {"cut", kPieces},     {"finished", 1},
                               {"finished", 2}, {"finished", 9}, {"finished", kPieces}};

// Calls `blow` at the given moment.
class MomentWatcher : public Watcher {
public:
    MomentWatcher(Moment moment, std::function<void()> blow) : moment_(moment), blow_(std::move(blow)) {
        on_found = [this](const Findings&) { look("found"); };
        on_cut = [this](const Piece&) { look("cut"); };
        on_finished = [this](const Piece&, const std::string&, const PieceResult&) { look("finished"); };
        on_concluded = [this](const JobReport&) {
            is_concluded = true;
            look("concluded");
        };
    }

    bool has_blown = false;
    bool is_concluded = false;

private:
    void look(std::string_view member) {
        if (member != moment_.member || ++calls_ != moment_.call) return;
        has_blown = true;
        blow_();
    }

    Moment moment_;
    std::function<void()> blow_;
    std::uint64_t calls_ = 0;
};

enum class Way : std::uint8_t { kTwoPasses, kOnePass, kCompressed, kStream, kSpooled };
constexpr Way kWays[] = {Way::kTwoPasses, Way::kOnePass, Way::kCompressed, Way::kStream, Way::kSpooled};

std::string name_of(const testing::TestParamInfo<Way>& way) {
    constexpr std::array kNames = {"TwoPasses", "OnePass", "Compressed", "Stream", "Spooled"};
    return kNames.at(static_cast<std::size_t>(way.param));
}

// The thread that gets the signal. A callback runs in any thread of the job.
enum class Target : std::uint8_t {
    kAlone,   // the main thread, in a job without other threads
    kWorker,  // never the main thread, which waits for the job
    kMain,    // the main thread, while other threads work
};

class SignalsInJobs : public testing::TestWithParam<Way> {
protected:
    static constexpr std::size_t kFileSize = std::size_t{kSanitized ? 1 : 4} << 20;

    SignalsInJobs() : path_(in_.write("in.csv", text_)) {}

    bool is_streamed() const { return GetParam() == Way::kStream || GetParam() == Way::kSpooled; }

    // Writing a manifest involves one more check for cancellation.
    bool has_manifest() const { return GetParam() == Way::kCompressed || GetParam() == Way::kSpooled; }

    Job job(unsigned threads) const {
        const auto records = static_cast<std::uint64_t>(std::ranges::count(text_, '\n')) - 1;  // without the header
        Job job = by_records((records + kPieces - 1) / kPieces, HeaderMode::kDrop);
        if (GetParam() == Way::kSpooled || GetParam() == Way::kTwoPasses) job = by_pieces(kPieces);
        if (GetParam() == Way::kCompressed) job.output.compression = {Compression::kGzip, 1};
        job.passes = GetParam() == Way::kOnePass ? Passes::kOne : Passes::kTwo;
        job.execution.threads = threads;
        job.execution.block_size = std::size_t{64} << 10;
        job.allow_open_quote = true;
        job.output.names = out_.path("{i}");
        if (has_manifest()) job.output.manifest = out_.path("manifest");
        return job;
    }

    void run(const Cancellation& cancellation, unsigned threads, JobObserver& observer) {
        std::unique_ptr<Pipe> pipe;
        if (is_streamed()) pipe = std::make_unique<Pipe>(text_, std::vector<std::size_t>{4096});
        Input input = open_mapped(pipe ? pipe->path() : path_, &cancellation);
        run_job(input, job(threads), observer);
    }

    // Runs a job that is cancelled at the given moment.
    void expect_nothing_left(Moment moment, Target target, int signal) {
        SCOPED_TRACE(testing::Message() << moment.member << ' ' << moment.call << " signal " << signal << " target "
                                        << static_cast<int>(target));
        const pthread_t main = ::pthread_self();
        Cancellation cancellation;
        const SignalGuard guard(cancellation);
        MomentWatcher watcher(moment, [&] {
            EXPECT_FALSE(out_.files().contains("manifest"));
            if (moment.member == "finished") {
                EXPECT_FALSE(out_.files().empty());
            }
            if (target == Target::kMain) {
                EXPECT_EQ(::pthread_kill(main, signal), 0);
            } else {
                raise_here(signal);
                EXPECT_TRUE(cancellation.requested());
            }
        });
        const auto expect_cancelled = [&] {
            EXPECT_THROW(run(cancellation, target == Target::kAlone ? 1 : 4, watcher), Cancelled);
        };
        if (target == Target::kWorker) {
            std::thread(expect_cancelled).join();
        } else {
            expect_cancelled();
        }
        EXPECT_TRUE(watcher.has_blown);
        EXPECT_FALSE(watcher.is_concluded);
        EXPECT_TRUE(out_.files().empty());
    }

    DefaultActions actions_;
    const std::string text_ = rows(kFileSize);
    TemporaryDirectory in_;
    TemporaryDirectory out_;
    std::string path_;
};

INSTANTIATE_TEST_SUITE_P(, SignalsInJobs, testing::ValuesIn(kWays), name_of);

TEST_P(SignalsInJobs, LeaveNothingWhereverTheyCome) {
    // The class Pipe ignores SIGPIPE.
    const std::size_t count = kSignals.size() - (is_streamed() ? 1 : 0);
    std::size_t round = 0;
    for (const Moment& moment : kMoments) {
        for (const Target target : {Target::kAlone, Target::kWorker, Target::kMain}) {
            expect_nothing_left(moment, target, kSignals.at(round++ % count));
        }
    }
}

TEST_P(SignalsInJobs, TakeNothingBackOnceAllIsInPlace) {
    Cancellation cancellation;
    SignalGuard guard(cancellation);
    MomentWatcher watcher({"concluded", 1}, [] { raise_here(SIGINT); });
    EXPECT_NO_THROW(run(cancellation, 4, watcher));
    guard.conclude();
    EXPECT_TRUE(watcher.has_blown);
    EXPECT_TRUE(cancellation.requested());
    EXPECT_EQ(out_.files().size(), kPieces + (has_manifest() ? 1 : 0));
}

// The pipe has delivered some records, and more are to come. The job sleeps while it waits in the middle of its pieces.
TEST_F(Signals, EndAJobThatWaitsForItsInput) {
    for (const bool is_spooled : {false, true}) {
        for (const bool is_sent_here : {true, false}) {
            SCOPED_TRACE(testing::Message() << is_spooled << ' ' << is_sent_here);
            const TemporaryDirectory out;
            int ends[2];
            ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
            const Fd from(ends[0]);
            const Fd to(ends[1]);
            const std::string text = rows(2 * kSniffSize);
            ASSERT_GE(::fcntl(to.get(), F_SETPIPE_SZ, 4 * kSniffSize), 0);
            ASSERT_EQ(::write(to.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));

            Cancellation cancellation;
            const SignalGuard guard(cancellation);
            Input input = Input::open("/proc/self/fd/" + std::to_string(from.get()), &cancellation);
            Job job = is_spooled ? by_pieces(4) : by_records(100);
            job.execution.threads = 4;
            job.execution.block_size = 1 << 10;
            job.output.names = out.path("{i}");
            std::atomic<std::uint64_t> finished = 0;
            Watcher watcher([&](const Piece&, const std::string&, const PieceResult&) { ++finished; });
            interrupt(
                SIGINT, is_sent_here, [&] { return is_spooled || finished >= 3; },
                [&] { EXPECT_THROW(run_job(input, job, watcher), Cancelled); });
            EXPECT_TRUE(out.files().empty());
        }
    }
}

// The commands never end by themselves. The signal ends them, and starting them does not leave it blocked.
TEST_F(Signals, EndTheCommandsOfAJob) {
    for (const bool is_sent_here : {true, false}) {
        const TemporaryDirectory directory;
        const std::string path = directory.write("in.csv", rows(kSize));
        Cancellation cancellation;
        const SignalGuard guard(cancellation);
        Input input = open_mapped(path, &cancellation);
        Job job = by_pieces(4);
        job.execution.threads = 2;
        job.output.names = directory.path("{i}");
        job.output.filter = "cat > /dev/null; : > \"$FILE\"; exec sleep 1000";
        job.allow_open_quote = true;
        Watcher watcher;
        sigset_t before;
        ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &before), 0);
        interrupt(
            SIGTERM, is_sent_here, [&] { return directory.files().contains("1") && directory.files().contains("2"); },
            [&] { EXPECT_THROW(run_job(input, job, watcher), Cancelled); });
        sigset_t after;
        ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &after), 0);
        for (const int signal : kSignals) {
            EXPECT_EQ(::sigismember(&after, signal), ::sigismember(&before, signal));
            EXPECT_TRUE(is_handled(signal)) << signal;
        }
        EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
        EXPECT_EQ(errno, ECHILD);
    }
}

}  // namespace
}  // namespace cleave::test

#include "cli/bar.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <system_error>
#include <vector>

#include "cli/formatted.h"
#include "cli/messages.h"
#include "core/writer/destination.h"

namespace cleave::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kPeriod = 100ms;
constexpr auto kPatience = 500ms;      // a run shorter than this needs no bar
constexpr double kLeastSeconds = 0.1;  // a speed measured over less time is meaningless
constexpr std::size_t kDefaultWidth = 80;

// Whether the verb prints on standard output while it runs.
bool prints(const Arguments& arguments) {
    switch (arguments.verb) {
        case Verb::kOffsets:
        case Verb::kCat:
        case Verb::kSample: return true;
        case Verb::kSplit: return arguments.print || arguments.json || destination_of(arguments.output).prints;
        case Verb::kCount:
        case Verb::kCheck:
        case Verb::kKey:
        case Verb::kInfo:
        case Verb::kIndex:
        case Verb::kJoin:
        case Verb::kVerify:
        case Verb::kScan:
        case Verb::kPlan: break;
    }
    return false;
}

bool wants_bar(const Arguments& arguments) {
    if (arguments.progress != When::kAuto) return arguments.progress == When::kAlways;
    return is_terminal(STDERR_FILENO) && !(prints(arguments) && is_terminal(STDOUT_FILENO));
}

// Queried each time, because the window may have been resized.
std::size_t terminal_width() {
    winsize size{};
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kDefaultWidth;
}

// Drops the text if the terminal does not accept it immediately.
void put(std::string_view text) noexcept {
    pollfd terminal{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&terminal, 1, 0) != 1 || (terminal.revents & POLLOUT) == 0) return;
    [[maybe_unused]] const ssize_t size = ::write(STDERR_FILENO, text.data(), text.size());
}

std::string time_text(double seconds) {
    constexpr double kMost = 359'999;  // 99:59:59
    const auto whole = static_cast<unsigned>(std::min(seconds + 1, kMost));
    constexpr unsigned kMinute = 60;
    constexpr unsigned kHour = 3600;
    if (whole < kHour) return formatted("{}:{:02}", whole / kMinute, whole % kMinute);
    return formatted("{}:{:02}:{:02}", whole / kHour, whole % kHour / kMinute, whole % kMinute);
}

}  // namespace

std::string size_text(double bytes) {
    constexpr std::array<const char*, 6> kUnits = {"B", "KB", "MB", "GB", "TB", "PB"};
    constexpr double kThousand = 1000;
    constexpr double kTen = 10;
    constexpr double kHundred = 100;
    std::size_t unit = 0;
    // A number that rounds up to 1000 is shown as 1 of the next unit.
    for (; bytes >= kThousand - 0.5 && unit + 1 < kUnits.size(); ++unit) bytes /= kThousand;
    if (unit == 0) return formatted("{:.0f} B", bytes);
    if (bytes < kTen) return formatted("{:.2f} {}", bytes, kUnits.at(unit));
    return formatted("{:.{}f} {}", bytes, bytes < kHundred ? 1 : 0, kUnits.at(unit));
}

std::string stage_text(const Stage& stage, std::size_t width) {
    const auto bytes = static_cast<double>(stage.bytes);
    const double rate = stage.seconds >= kLeastSeconds ? bytes / stage.seconds : 0;
    std::vector<std::string> parts = {stage.name};
    double share = 0;
    constexpr double kPercent = 100;
    if (stage.size) {
        share = *stage.size == 0 ? 1 : std::min(1.0, bytes / static_cast<double>(*stage.size));
        parts.push_back(formatted("{:3.0f}%", std::floor(share * kPercent)));
        parts.push_back(formatted("{} of {}", size_text(bytes), size_text(static_cast<double>(*stage.size))));
    } else {
        parts.push_back(size_text(bytes));
    }
    if (rate > 0) parts.push_back(size_text(rate) + "/s");
    if (stage.size && rate > 0 && (share < 1 || stage.is_first_of_two)) {
        const double size = static_cast<double>(*stage.size) * (stage.is_first_of_two ? 2 : 1);
        parts.push_back(time_text(std::max(size - bytes, 0.0) / rate) + " left");
    }
    if (stage.pieces) parts.push_back(formatted("{} {}", *stage.pieces, *stage.pieces == 1 ? "piece" : "pieces"));

    std::string text;
    for (const std::string& part : parts) {
        const std::string more = text.empty() ? part : "  " + part;
        if (text.size() + more.size() > width) break;
        text += more;
    }
    constexpr std::size_t kFrame = 4;  // two blanks and the brackets
    constexpr std::size_t kLeastBar = 10;
    constexpr std::size_t kMostBar = 40;
    if (stage.size && width >= text.size() + kFrame + kLeastBar) {
        const std::size_t size = std::min(width - text.size() - kFrame, kMostBar);
        std::string bar(static_cast<std::size_t>(share * static_cast<double>(size)), '=');
        if (bar.size() < size) bar += '>';
        bar.resize(size, ' ');
        text.insert(parts.front().size(), formatted("  [{}]", bar));
    }
    return text;
}

Bar::Bar(const Arguments& arguments, const Meter& meter, std::optional<std::uint64_t> size, bool is_stream)
    : arguments_(arguments), meter_(meter), size_(size), is_stream_(is_stream) {
    if (!wants_bar(arguments)) return;
    try {
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    } catch (const std::system_error&) {  // hitting a limit on threads must not fail the run
    }
}

void Bar::resize(std::uint64_t size) {
    const MutexLock lock(mutex_);
    size_ = size;
    is_stream_ = false;
    began_ = Clock::now();
}

void Bar::end() noexcept {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
    const MutexLock lock(mutex_);
    if (is_drawn_) put("\r\x1b[K");
}

// If memory runs out, the bar is dropped; the run itself may still have enough.
// NOLINTNEXTLINE(bugprone-exception-escape): fmt throws only for a wrong format, and the compiler checks those
void Bar::run(const std::stop_token& stop) noexcept {
    try {
        draw_until(stop);
    } catch (const std::bad_alloc&) {
        return;
    }
}

void Bar::draw_until(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    const bool is_forced = arguments_.progress == When::kAlways;
    if (!is_forced) stopped_.sleep_for(lock, kPatience, stop);
    while (!stop.stop_requested()) {
        draw();
        stopped_.sleep_for(lock, kPeriod, stop);
    }
    if (is_forced) draw();
}

void Bar::draw() {
    // The last column is left free, because writing there might wrap the line.
    put(formatted("\r{}\x1b[K\r", stage_text(stage(), terminal_width() - 1)));
    is_drawn_ = true;
}

Stage Bar::stage() {
    const std::uint64_t written = meter_.written.load();
    if (!is_writing_ && !is_stream_ && written > 0) {
        is_writing_ = true;
        has_read_ = size_ && meter_.scanned.load() >= *size_;
        began_ = Clock::now();
    }
    const bool is_split = arguments_.verb == Verb::kSplit && !arguments_.output.dry_run;
    Stage stage{"reading", is_writing_ ? written : meter_.scanned.load(), size_, {}, 0};
    stage.is_first_of_two = is_split && !is_stream_ && !is_writing_;
    if (is_split && !is_stream_) stage.name = !is_writing_ ? "reading 1/2" : has_read_ ? "writing 2/2" : "writing";
    if (is_split) stage.pieces = meter_.pieces.load();
    stage.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    return stage;
}

}  // namespace cleave::cli

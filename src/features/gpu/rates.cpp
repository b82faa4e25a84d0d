#include "features/gpu/rates.h"

#include <algorithm>

namespace cleave {
namespace {

constexpr double kAlike = 2;  // sizes within this factor of each other are similar

}  // namespace

void BodyRate::add(double bytes, double seconds, std::uint64_t run) {
    if (seconds < 0) return;
    if (bytes > kAlike * largest_) {
        largest_ = bytes;
        first_run_ = run;
        first_ = Rate{0, seconds / bytes};
    }
    if (run == first_run_) return;
    largest_ = std::max(largest_, bytes);
    least_ = count_ == 0 ? bytes : std::min(least_, bytes);
    most_ = std::max(most_, bytes);
    count_ += 1;
    sum_bytes_ += bytes;
    sum_seconds_ += seconds;
    sum_bytes_squared_ += bytes * bytes;
    sum_product_ += bytes * seconds;
}

std::optional<Rate> BodyRate::rate() const {
    if (count_ == 0) return prior_ ? prior_ : first_;
    if (most_ > kAlike * least_) {
        const double spread = count_ * sum_bytes_squared_ - sum_bytes_ * sum_bytes_;
        const double per_byte = std::max(0.0, (count_ * sum_product_ - sum_bytes_ * sum_seconds_) / spread);
        const double fixed = (sum_seconds_ - per_byte * sum_bytes_) / count_;
        if (fixed >= 0) return Rate{fixed, per_byte};
        return Rate{0, sum_product_ / sum_bytes_squared_};
    }
    const double expected = prior_ ? prior_->fixed * count_ + prior_->per_byte * sum_bytes_ : 0;
    if (expected > 0) {
        const double factor = sum_seconds_ / expected;
        return Rate{prior_->fixed * factor, prior_->per_byte * factor};
    }
    if (sum_bytes_ > 0) return Rate{0, sum_seconds_ / sum_bytes_};
    return Rate{sum_seconds_ / count_, 0};
}

BodyRate& Rates::body(const offload::Function& function, Side side) {
    const auto [found, is_new] = used_.try_emplace(function.name);
    if (is_new) {
        const auto known = known_.find(function.name);
        const FunctionRates rates = known != known_.end() ? known->second : FunctionRates{};
        found->second.host.set_prior(rates.host ? rates.host : function.cost.host);
        found->second.device.set_prior(rates.device ? rates.device : function.cost.device);
    }
    return side == Side::kHost ? found->second.host : found->second.device;
}

std::optional<double> Rates::predict(const offload::Function& function, Side side, double bytes) {
    const std::optional<Rate> rate = body(function, side).rate();
    if (!rate) return std::nullopt;
    return rate->seconds(bytes);
}

void Rates::add(const offload::Function& function, Side side, double bytes, double seconds, std::uint64_t run) {
    body(function, side).add(bytes, seconds, run);
}

std::map<std::string, FunctionRates> Rates::all() const {
    std::map<std::string, FunctionRates> all = known_;
    for (const auto& [name, pair] : used_) {
        FunctionRates& rates = all[name];
        if (const auto rate = pair.host.rate()) rates.host = rate;
        if (const auto rate = pair.device.rate()) rates.device = rate;
    }
    return all;
}

}  // namespace cleave

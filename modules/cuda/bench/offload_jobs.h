// The workloads of examples/offload with their inputs, for a context or by hand.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "by_hand.h"
#include "cluster.h"
#include "inputs.h"
#include "table.h"
#include "workloads.h"

namespace offload_bench {

// How a graph is made.
struct Variant {
    bool places_allocations = true;  // if not, they are made on the CPU
    bool pins_inputs = false;
};

// A workload with its inputs and its latest result.
class Job {
public:
    Job() = default;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    virtual ~Job() = default;

    // Numbers or bytes of input for each row.
    virtual bool has_allocations() const { return false; }
    virtual bool can_run_in_pages() const { return true; }
    virtual void evaluate(cleave::Context& context, const Variant& variant) = 0;
    virtual void compute_by_hand(bool pins_inputs) = 0;
    virtual void compute_plainly() = 0;
    // Makes the latest result the expected one.
    virtual void expect() = 0;
    // Whether the latest result is the expected one, up to rounding errors.
    virtual bool is_right() const = 0;
};

inline bool are_close(const numbers::Numbers& a, const numbers::Numbers& b, double scale) {
    std::uint64_t wrong = a.size == b.size ? 0 : 1;
    for (std::uint64_t i = 0; i < a.size && wrong == 0; ++i) {
        if (!(std::abs(a.data[i] - b.data[i]) <= 1e-9 * (std::abs(b.data[i]) + scale))) ++wrong;
    }
    return wrong == 0;
}
inline bool are_close(const numbers::Total& a, const numbers::Total& b, double scale) {
    return are_close(a.sum, b.sum, scale);
}
inline bool are_close(const numbers::Labels& a, const numbers::Labels& b, double /*scale*/) {
    return a.size == b.size && std::memcmp(a.data, b.data, a.bytes()) == 0;
}

// Columns in ordinary memory, and the same in pinned memory once a run wants that.
template <class T>
class Input {
public:
    explicit Input(numbers::Column<T> column) : ordinary_(std::move(column)) {}

    const numbers::Column<T>& get(bool is_pinned) const {
        if (is_pinned && pinned_.data == nullptr) {
            auto owner = by_hand::Card::the().take<T>(ordinary_.size, true);
            pinned_ = {owner, owner.get(), ordinary_.size, numbers::Place::kPinned};
            numbers::copy_bytes(pinned_.data, ordinary_.data, ordinary_.bytes());
        }
        return is_pinned ? pinned_ : ordinary_;
    }

private:
    numbers::Column<T> ordinary_;
    mutable numbers::Column<T> pinned_;
};

template <class Result>
class JobOf : public Job {
public:
    void evaluate(cleave::Context& context, const Variant& variant) override { result_ = context.get(graph(variant)); }
    void expect() override { expected_ = result_; }
    bool is_right() const override { return are_close(result_, expected_, 1); }

protected:
    using Column = Input<double>;

    virtual cleave::Lazy<Result> graph(const Variant& variant) const = 0;
    static numbers::LazyNumbers constant(std::uint64_t size, double value, const Variant& variant) {
        if (variant.places_allocations) return annotated::full(size, value);
        return numbers::full(size, value);
    }

    Result result_;
    Result expected_;
};

class Blackscholes final : public JobOf<numbers::Numbers> {
public:
    explicit Blackscholes(std::uint64_t size)
        : size_(size),
          price_(inputs::uniform(size, 10, 100, 1)),
          strike_(inputs::uniform(size, 10, 100, 2)),
          years_(inputs::uniform(size, 0.25, 10, 3)) {}

    bool has_allocations() const override { return true; }
    cleave::Lazy<numbers::Numbers> graph(const Variant& variant) const override {
        const bool pins = variant.pins_inputs;
        return workloads::blackscholes<numbers::LazyNumbers>(price_.get(pins), strike_.get(pins), years_.get(pins),
                                                             constant(size_, kRate, variant),
                                                             constant(size_, kVolatility, variant));
    }
    void compute_by_hand(bool pins) override {
        result_ =
            workloads::blackscholes<by_hand::Numbers>(
                by_hand::Numbers(price_.get(pins)), by_hand::Numbers(strike_.get(pins)),
                by_hand::Numbers(years_.get(pins)), by_hand::full(size_, kRate), by_hand::full(size_, kVolatility))
                .to_host();
    }
    void compute_plainly() override {
        result_ = workloads::blackscholes(price_.get(false), strike_.get(false), years_.get(false),
                                          numbers::full(size_, kRate), numbers::full(size_, kVolatility));
    }

private:
    static constexpr double kRate = 0.02;
    static constexpr double kVolatility = 0.3;

    std::uint64_t size_;
    Column price_;
    Column strike_;
    Column years_;
};

class Haversine final : public JobOf<numbers::Numbers> {
public:
    explicit Haversine(std::uint64_t size)
        : size_(size), latitude_(inputs::uniform(size, -1.5, 1.5, 4)), longitude_(inputs::uniform(size, -3, 3, 5)) {}

    bool has_allocations() const override { return true; }
    cleave::Lazy<numbers::Numbers> graph(const Variant& variant) const override {
        return workloads::haversine<numbers::LazyNumbers>(
            latitude_.get(variant.pins_inputs), longitude_.get(variant.pins_inputs),
            constant(size_, kLatitude, variant), constant(size_, kLongitude, variant));
    }
    void compute_by_hand(bool pins) override {
        result_ = workloads::haversine<by_hand::Numbers>(
                      by_hand::Numbers(latitude_.get(pins)), by_hand::Numbers(longitude_.get(pins)),
                      by_hand::full(size_, kLatitude), by_hand::full(size_, kLongitude))
                      .to_host();
    }
    void compute_plainly() override {
        result_ = workloads::haversine(latitude_.get(false), longitude_.get(false), numbers::full(size_, kLatitude),
                                       numbers::full(size_, kLongitude));
    }

private:
    static constexpr double kLatitude = 0.70984286;
    static constexpr double kLongitude = 1.23892197;

    std::uint64_t size_;
    Column latitude_;
    Column longitude_;
};

class CrimeIndex final : public JobOf<numbers::Total> {
public:
    explicit CrimeIndex(std::uint64_t size)
        : states_(inputs::states(size)),
          offsets_(states_.offsets),
          bytes_(states_.bytes),
          population_(inputs::uniform(size, 1e4, 2e6, 6)),
          adults_(inputs::uniform(size, 5e3, 1e6, 7)),
          robberies_(inputs::uniform(size, 0, 1000, 8)) {}

    cleave::Lazy<numbers::Total> graph(const Variant& variant) const override {
        const bool pins = variant.pins_inputs;
        return workloads::crime_index<numbers::LazyNumbers, cleave::Lazy<numbers::Texts>>(
            states(pins), population_.get(pins), adults_.get(pins), robberies_.get(pins));
    }
    void compute_by_hand(bool pins) override {
        result_ = {workloads::crime_index(by_hand::Texts(states(pins)), by_hand::Numbers(population_.get(pins)),
                                          by_hand::Numbers(adults_.get(pins)), by_hand::Numbers(robberies_.get(pins)))
                       .to_host()};
    }
    void compute_plainly() override {
        result_ = workloads::crime_index(states_, population_.get(false), adults_.get(false), robberies_.get(false));
    }

private:
    numbers::Texts states(bool pins) const { return {offsets_.get(pins), bytes_.get(pins), 0}; }

    numbers::Texts states_;
    Input<std::uint32_t> offsets_;
    Input<char> bytes_;
    Column population_;
    Column adults_;
    Column robberies_;
};

class Dbscan final : public JobOf<numbers::Labels> {
public:
    explicit Dbscan(std::uint64_t size) : Dbscan(inputs::points(size)) {}

    bool can_run_in_pages() const override { return false; }
    cleave::Lazy<numbers::Labels> graph(const Variant& variant) const override {
        return workloads::dbscan<numbers::LazyNumbers>(x_.get(variant.pins_inputs), y_.get(variant.pins_inputs),
                                                       kRadius, kLeast);
    }
    void compute_by_hand(bool pins) override { result_ = by_hand::dbscan(x_.get(pins), y_.get(pins), kRadius, kLeast); }
    void compute_plainly() override { result_ = workloads::dbscan(x_.get(false), y_.get(false), kRadius, kLeast); }

private:
    static constexpr double kRadius = 1;
    static constexpr std::uint32_t kLeast = 10;

    explicit Dbscan(inputs::Points points) : x_(std::move(points.x)), y_(std::move(points.y)) {}

    Column x_;
    Column y_;
};

struct Workload {
    const char* name;
    std::unique_ptr<Job> (*make)(std::uint64_t size);
};

template <class OfKind>
std::unique_ptr<Job> make_job(std::uint64_t size) {
    return std::make_unique<OfKind>(size);
}

constexpr Workload kWorkloads[] = {{"blackscholes", &make_job<Blackscholes>},
                                   {"haversine", &make_job<Haversine>},
                                   {"crime_index", &make_job<CrimeIndex>},
                                   {"dbscan", &make_job<Dbscan>}};

}  // namespace offload_bench

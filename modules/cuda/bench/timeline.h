// Records when ranges and kernels of a device begin and end, with events on its stream.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "cuda/device.h"

namespace cleave::cuda {

// Observes the device for as long as it exists.
class Timeline final : public Observer {
public:
    explicit Timeline(Device& device) : device_(device) {
        origin_ = record();
        device_.set_observer(this);
    }
    Timeline(const Timeline&) = delete;
    Timeline& operator=(const Timeline&) = delete;
    ~Timeline() {
        device_.set_observer(nullptr);
        for (const cudaEvent_t event : events_) cudaEventDestroy(event);
    }

    void begin(const char* name, const void* kernel) override {
        if (kernel != nullptr) check(cudaFuncGetName(&name, kernel), "cudaFuncGetName");
        open_.push_back(spans_.size());
        spans_.push_back({name, kernel != nullptr, static_cast<int>(open_.size()), record(), nullptr});
    }
    void end() override {
        spans_[open_.back()].end = record();
        open_.pop_back();
    }

    // Waits for the device. One line each, in the order in which they begin: kind, depth, begin and end in
    // microseconds, name. The name of a kernel is mangled.
    void print() {
        device_.wait();
        for (const Span& span : spans_) {
            std::printf("%s %d %.1f %.1f %s\n", span.is_kernel ? "kernel" : "range", span.depth, us(span.begin),
                        us(span.end), span.name);
        }
    }

private:
    struct Span {
        const char* name;
        bool is_kernel;
        int depth;
        cudaEvent_t begin;
        cudaEvent_t end;
    };

    cudaEvent_t record() {
        cudaEvent_t event = nullptr;
        check(cudaEventCreate(&event), "cudaEventCreate");
        events_.push_back(event);
        check(cudaEventRecord(event, device_.stream()), "cudaEventRecord");
        return event;
    }

    double us(cudaEvent_t event) const {
        float ms = 0;
        check(cudaEventElapsedTime(&ms, origin_, event), "cudaEventElapsedTime");
        return 1e3 * ms;
    }

    Device& device_;
    cudaEvent_t origin_ = nullptr;
    std::vector<cudaEvent_t> events_;
    std::vector<Span> spans_;
    std::vector<std::size_t> open_;
};

}  // namespace cleave::cuda

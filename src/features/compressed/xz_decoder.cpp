// xz, with liblzma. Several threads decode the blocks of a stream side by side if there are several and they state
// their sizes, like those of `xz -T0`. liblzma starts these threads itself, up to the given number and a limit on
// memory, and hands the blocks over in order. It takes bytes long before it decodes them, so an error has no place:
// neither the bytes nor the errors depend on the number of threads.
#include <lzma.h>
#include <unistd.h>

#include <new>

#include "cleave/error.h"
#include "features/compressed/decoder.h"

namespace cleave {
namespace {

// For the largest dictionary, as in zstd, and what a decoder needs besides. The dictionary of xz -9 has 64 MiB.
constexpr std::uint64_t kMaxMemory = (std::uint64_t{128} << 20) + (std::uint64_t{1} << 20);

// For each thread, which holds a block in both forms: 24 MiB of plain bytes if xz -T0 made it. If blocks are larger,
// liblzma uses fewer threads.
constexpr std::uint64_t kMemoryOfThread = std::uint64_t{64} << 20;

class XzDecoder : public Decoder {
public:
    XzDecoder() = default;
    XzDecoder(const XzDecoder&) = delete;
    XzDecoder& operator=(const XzDecoder&) = delete;
    // In a forked process, the threads that lzma_end() would join do not exist.
    ~XzDecoder() override {
        if (!is_begun_elsewhere()) ::lzma_end(&stream_);
    }

    std::size_t decode(std::span<const std::uint8_t>& from, std::span<std::uint8_t> into) override {
        if (from.empty() && (process_ == 0 || is_ending_)) return 0;
        do {
            stream_.next_in = from.data();
            stream_.avail_in = from.size();
            const Step step = run(LZMA_RUN, into);
            from = from.last(stream_.avail_in);
            if (step.size > 0) return step.size;
        } while (!from.empty());
        return 0;
    }

    std::size_t finish(std::span<std::uint8_t> into) override {
        is_ending_ = true;
        stream_.avail_in = 0;
        while (process_ != 0 && !is_whole_) {
            const Step step = run(LZMA_FINISH, into);
            is_whole_ = step.result == LZMA_STREAM_END;
            if (step.size > 0) return step.size;
            if (step.result == LZMA_BUF_ERROR) break;  // the stream should go on
        }
        return 0;
    }

    bool is_whole() const override { return is_whole_; }
    void set_threads(unsigned threads) override {
        if (process_ == 0) threads_ = threads;
    }
    bool has_place() const override { return false; }

private:
    struct Step {
        lzma_ret result;
        std::size_t size;  // written
    };

    void begin() {
        constexpr std::uint32_t kFlags = LZMA_CONCATENATED | LZMA_TELL_UNSUPPORTED_CHECK;
        lzma_mt options{};
        options.flags = kFlags;
        options.threads = threads_;
        options.memlimit_threading = kMemoryOfThread * threads_;
        options.memlimit_stop = kMaxMemory;
        const lzma_ret result = threads_ == 1 ? ::lzma_stream_decoder(&stream_, kMaxMemory, kFlags)
                                              : ::lzma_stream_decoder_mt(&stream_, &options);
        if (result != LZMA_OK) throw std::bad_alloc();  // its only possible failure is a lack of memory
        process_ = ::getpid();
    }

    Step run(lzma_action action, std::span<std::uint8_t> into) {
        if (process_ == 0) begin();
        if (is_begun_elsewhere()) throw LogicError("xz: the input was read before a fork; open it again");
        stream_.next_out = into.data();
        stream_.avail_out = into.size();
        const lzma_ret result = ::lzma_code(&stream_, action);
        switch (result) {
            case LZMA_OK:
            case LZMA_STREAM_END:
            case LZMA_BUF_ERROR: return {result, into.size() - stream_.avail_out};
            case LZMA_MEM_ERROR: throw std::bad_alloc();
            case LZMA_MEMLIMIT_ERROR: throw InputError("xz data with a dictionary of more than 128 MiB");
            case LZMA_UNSUPPORTED_CHECK: throw InputError("xz data with a checksum of an unknown kind");
            case LZMA_OPTIONS_ERROR: throw InputError("xz data of an unknown kind");
            default: throw InputError("corrupt xz data");
        }
    }

    bool is_begun_elsewhere() const { return threads_ > 1 && process_ != 0 && process_ != ::getpid(); }

    lzma_stream stream_ = LZMA_STREAM_INIT;
    unsigned threads_ = 1;
    pid_t process_ = 0;  // that has begun
    bool is_ending_ = false;
    bool is_whole_ = false;
};

}  // namespace

std::unique_ptr<Decoder> make_xz_decoder() { return std::make_unique<XzDecoder>(); }

}  // namespace cleave

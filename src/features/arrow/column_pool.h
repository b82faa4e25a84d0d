// When a consumer releases columns, keeps their memory for the next batch of the same stream, because fresh memory
// costs a page fault for every 4 KiB. Knows nothing about files.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cleave/experimental/arrow.h"
#include "cleave/experimental/columns.h"

namespace cleave {

// Keeps columns by their position in the batch, because the column at a given position usually needs about as much
// memory in every batch. Thread-safe.
class ColumnPool {
public:
    // Keeps at most `most_size` bytes.
    ColumnPool(std::size_t places, std::size_t most_size) : most_size_(most_size), kept_(places) {}

    // Returns a column that was kept, or a new one from `memory`.
    StringColumn take(std::size_t place, const std::shared_ptr<MemoryManager>& memory) {
        {
            const MutexLock lock(mutex_);
            std::vector<StringColumn>& columns = kept_[place];
            if (!columns.empty()) {
                StringColumn column = std::move(columns.back());
                columns.pop_back();
                size_ -= column.held_size();
                return column;
            }
        }
        return StringColumn(memory);
    }

    // Keeps the column if there is room for it and if it used a good part of its memory.
    void put(std::size_t place, StringColumn&& column) noexcept {
        const std::size_t held = column.held_size();
        if (held == 0 || held > kFreely + 2 * used_size(column)) return;
        const MutexLock lock(mutex_);
        if (held > most_size_ - size_) return;
        try {
            kept_[place].push_back(std::move(column));
            size_ += held;
        } catch (const std::bad_alloc&) {  // the column is released instead
        }
    }

    // Releases the kept columns, and keeps no more from now on.
    void close() noexcept {
        const MutexLock lock(mutex_);
        most_size_ = size_ = 0;
        for (std::vector<StringColumn>& columns : kept_) columns = std::vector<StringColumn>();
    }

private:
    // A column that holds no more than this is kept even if it used little of it.
    static constexpr std::size_t kFreely = std::size_t{64} << 10;

    static std::size_t used_size(const StringColumn& column) {
        return column.bytes().size() + column.offsets().size_bytes();
    }

    Mutex mutex_;
    std::size_t most_size_ CLEAVE_GUARDED_BY(mutex_);
    std::size_t size_ CLEAVE_GUARDED_BY(mutex_) = 0;  // bytes that the columns in kept_ hold
    std::vector<std::vector<StringColumn>> kept_ CLEAVE_GUARDED_BY(mutex_);
};

// Like export_columns() in cleave/experimental/arrow.h, but the columns come from the pool and return to it when they
// are released.
void export_columns(const RecordBlock& block, const ColumnReader& reader, std::span<const ArrowColumn> columns,
                    const std::shared_ptr<ColumnPool>& pool, ArrowSchema* schema, ArrowArray* array);

}  // namespace cleave

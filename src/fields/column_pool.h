// Keeps the memory of columns that their consumer has released, for the next batch of the same stream. Fresh memory
// costs a page fault for every 4 KiB, which takes as long as filling it. Knows no files.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "cleave/arrow.h"
#include "cleave/columns.h"

namespace cleave {

// Columns by their place in the batch: those of one place need about as much memory in every batch. Any thread.
class ColumnPool {
public:
    // Keeps at most `most` columns of each place, and none that holds more than `most_size` bytes.
    ColumnPool(std::size_t places, std::size_t most, std::size_t most_size) : most_(most), most_size_(most_size) {
        kept_.resize(places);
        for (std::vector<StringColumn>& columns : kept_) columns.reserve(most);
    }

    // A column that was kept, or a new one of `memory`.
    StringColumn take(std::size_t place, const std::shared_ptr<MemoryManager>& memory) {
        {
            const std::scoped_lock lock(mutex_);
            std::vector<StringColumn>& columns = kept_[place];
            if (!columns.empty()) {
                StringColumn column = std::move(columns.back());
                columns.pop_back();
                return column;
            }
        }
        return StringColumn(memory);
    }
    void put(std::size_t place, StringColumn&& column) noexcept {
        if (column.held_size() == 0 || column.held_size() > most_size_) return;
        const std::scoped_lock lock(mutex_);
        if (kept_[place].size() < most_) kept_[place].push_back(std::move(column));
    }
    // Releases what is kept, and keeps nothing from now on.
    void close() noexcept {
        const std::scoped_lock lock(mutex_);
        most_ = 0;
        for (std::vector<StringColumn>& columns : kept_) columns.clear();
    }

private:
    std::size_t most_;  // guarded by mutex_, as is kept_
    const std::size_t most_size_;
    std::mutex mutex_;
    std::vector<std::vector<StringColumn>> kept_;
};

// As export_columns() of cleave/arrow.h; the columns come from the pool, and go back to it when they are released.
void export_columns(const RecordBlock& block, const ColumnReader& reader, std::span<const ArrowColumn> columns,
                    std::shared_ptr<const void> owner, std::shared_ptr<ColumnPool> pool, ArrowSchema* schema,
                    ArrowArray* array);

}  // namespace cleave

#include <exception>
#include <new>
#include <stdexcept>

#include "cleave/error.h"
#include "cleave/plan.h"
#include "cleave/scan.h"

namespace cleave {

// The first handler that fits counts, so classes come before their bases.
Failure current_failure() noexcept {
    using Kind = Failure::Kind;
    constexpr int kSystem = 1;
    constexpr int kArgument = 2;
    constexpr int kInput = 3;
    constexpr int kChanged = 4;
    try {
        throw;
    } catch (const InputError& error) {
        return {Kind::kInput, kInput, &error, error.what(), error.place()};
    } catch (const InputChangedError& error) {
        return {Kind::kChanged, kChanged, &error, error.what()};
    } catch (const IndexError& error) {
        return {Kind::kIndex, kChanged, &error, error.what()};
    } catch (const HeaderSizeError& error) {
        return {Kind::kUnfit, kArgument, &error, error.what()};
    } catch (const PieceCountError& error) {
        return {Kind::kUnfit, kArgument, &error, error.what()};
    } catch (const ValueLimitError& error) {
        return {Kind::kUnfit, kArgument, &error, error.what()};
    } catch (const SnapshotError& error) {
        return {Kind::kUnfit, kArgument, &error, error.what()};
    } catch (const std::invalid_argument& error) {
        return {Kind::kArgument, kArgument, &error, error.what()};
    } catch (const std::bad_alloc& error) {
        const bool is_ours = dynamic_cast<const Error*>(&error) != nullptr;
        return {Kind::kSystem, kSystem, &error, is_ours ? error.what() : "out of memory"};
    } catch (const std::exception& error) {
        return {Kind::kSystem, kSystem, &error, error.what()};
    } catch (...) {
        return {Kind::kSystem, kSystem, nullptr, "unknown failure"};
    }
}

}  // namespace cleave

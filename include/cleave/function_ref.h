// A reference to a function that a call passes on, such as the callback of plan_pieces().
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace cleave {

template <class Signature>
class FunctionRef;

// Refers to a function, a lambda or any other callable object, which must outlive it: as the type of a parameter it may
// refer to a temporary. Unlike std::function it copies and allocates nothing.
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
public:
    // Refers to nothing; must not be called.
    FunctionRef() noexcept = default;
    FunctionRef(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor,hicpp-explicit-conversions)

    // It stands for the function, and keeps a pointer to it. clang-format 14 cannot indent constraints.
    // NOLINTBEGIN(google-explicit-constructor,hicpp-explicit-conversions)
    // NOLINTBEGIN(cppcoreguidelines-missing-std-forward,modernize-use-constraints)
    template <class Callable, class = std::enable_if_t<!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
                                                       std::is_invocable_r_v<Result, Callable&, Arguments...>>>
    FunctionRef(Callable&& callable) noexcept
        : object_(address_of(callable)), call_([](void* object, Arguments... arguments) -> Result {
              return (*reinterpret_cast<std::add_pointer_t<Callable>>(object))(std::forward<Arguments>(arguments)...);
          }) {}
    // NOLINTEND(cppcoreguidelines-missing-std-forward,modernize-use-constraints)
    // NOLINTEND(google-explicit-constructor,hicpp-explicit-conversions)

    explicit operator bool() const noexcept { return call_ != nullptr; }

    Result operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

private:
    template <class Callable>
    static void* address_of(Callable& callable) noexcept {
        if constexpr (std::is_function_v<Callable>) {
            return reinterpret_cast<void*>(&callable);
        } else {
            return const_cast<void*>(static_cast<const void*>(std::addressof(callable)));
        }
    }

    void* object_ = nullptr;
    Result (*call_)(void* object, Arguments... arguments) = nullptr;
};

}  // namespace cleave

// SPDX-License-Identifier: Apache-2.0
// A move-only callable: std::move_only_function is C++23. 48 bytes are kept inline, larger captures
// cost one allocation.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace berth {

template <class Signature>
class Fn;

template <class R, class... Args>
class Fn<R(Args...)> {
 public:
  Fn() = default;
  Fn(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)

  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, Fn> &&
           std::is_invocable_r_v<R, std::remove_cvref_t<F>&, Args...>)
      Fn(F&& f) {  // NOLINT(google-explicit-constructor)
    using Stored = std::remove_cvref_t<F>;
    if constexpr (sizeof(Stored) <= kInline && alignof(Stored) <= alignof(std::max_align_t) &&
                  std::is_nothrow_move_constructible_v<Stored>) {
      ::new (static_cast<void*>(space_)) Stored(std::forward<F>(f));
      ops_ = &kInlineOps<Stored>;
    } else {
      ::new (static_cast<void*>(space_)) Stored*(new Stored(std::forward<F>(f)));
      ops_ = &kHeapOps<Stored>;
    }
  }

  Fn(Fn&& other) noexcept { take(other); }
  Fn& operator=(Fn&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  Fn(const Fn&) = delete;
  Fn& operator=(const Fn&) = delete;
  ~Fn() { reset(); }

  explicit operator bool() const { return ops_ != nullptr; }
  R operator()(Args... args) {
    BERTH_CHECK(ops_ != nullptr, "an empty Fn was called");
    return ops_->call(space_, std::forward<Args>(args)...);
  }

 private:
  static constexpr std::size_t kInline = 48;
  struct Ops {
    R (*call)(void*, Args&&...);
    void (*move)(void* from, void* to) noexcept;  // leaves `from` destroyed
    void (*destroy)(void*) noexcept;
  };

  template <class F>
  static R invoke(F& f, Args&&... args) {
    if constexpr (std::is_void_v<R>)
      static_cast<void>(f(std::forward<Args>(args)...));  // a Task may return what nobody asks for
    else
      return f(std::forward<Args>(args)...);
  }
  template <class F>
  static constexpr Ops kInlineOps{[](void* p, Args&&... args) -> R {
                                    return invoke(*static_cast<F*>(p), std::forward<Args>(args)...);
                                  },
                                  [](void* from, void* to) noexcept {
                                    ::new (to) F(std::move(*static_cast<F*>(from)));
                                    static_cast<F*>(from)->~F();
                                  },
                                  [](void* p) noexcept { static_cast<F*>(p)->~F(); }};
  template <class F>
  static constexpr Ops kHeapOps{
      [](void* p, Args&&... args) -> R {
        return invoke(**static_cast<F**>(p), std::forward<Args>(args)...);
      },
      [](void* from, void* to) noexcept { ::new (to) F*(*static_cast<F**>(from)); },
      [](void* p) noexcept { delete *static_cast<F**>(p); }};

  void take(Fn& other) noexcept {
    ops_ = other.ops_;
    if (ops_ != nullptr) ops_->move(other.space_, space_);
    other.ops_ = nullptr;
  }
  void reset() noexcept {
    if (const Ops* ops = std::exchange(ops_, nullptr)) ops->destroy(space_);
  }

  alignas(std::max_align_t) std::byte space_[kInline];
  const Ops* ops_ = nullptr;
};

using Task = Fn<void()>;

}  // namespace berth

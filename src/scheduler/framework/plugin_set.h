// SPDX-License-Identifier: Apache-2.0
// Plugins as small numbers and sets of them. The number is the row in the registry
// (plugins/plugins.def); at most 64 plugins are compiled in.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

namespace berth::scheduler {

enum class PluginId : std::uint8_t { kNone = 255 };

// A value.
class PluginSet {
 public:
  constexpr PluginSet() = default;
  constexpr PluginSet(std::initializer_list<PluginId> ids) {
    for (PluginId id : ids) insert(id);
  }
  constexpr void insert(PluginId id) { bits_ |= bit(id); }
  constexpr void erase(PluginId id) { bits_ &= ~bit(id); }
  constexpr bool has(PluginId id) const { return (bits_ & bit(id)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr void clear() { bits_ = 0; }
  constexpr int size() const { return std::popcount(bits_); }
  constexpr std::uint64_t bits() const { return bits_; }
  friend constexpr PluginSet operator|(PluginSet a, PluginSet b) { return from(a.bits_ | b.bits_); }
  friend constexpr bool operator==(PluginSet, PluginSet) = default;
  template <class F>
  constexpr void for_each(F&& f) const {
    for (std::uint64_t rest = bits_; rest != 0; rest &= rest - 1)
      f(static_cast<PluginId>(std::countr_zero(rest)));
  }

 private:
  static constexpr PluginSet from(std::uint64_t bits) {
    PluginSet set;
    set.bits_ = bits;
    return set;
  }
  static constexpr std::uint64_t bit(PluginId id) {
    return id == PluginId::kNone ? 0 : std::uint64_t{1} << static_cast<unsigned>(id);
  }
  std::uint64_t bits_ = 0;
};

}  // namespace berth::scheduler

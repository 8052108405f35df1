// SPDX-License-Identifier: Apache-2.0
// Writing statuses: what is not touched stays as it is, conditions keep their times until they
// change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "json/slice.h"

namespace berth::controllers {

// A status being rewritten. A value.
class StatusDraft {
 public:
  explicit StatusDraft(json::Slice before);
  // As Go's encoder does with omitempty: a zero is left out.
  StatusDraft& count(std::string_view name, std::int64_t);
  StatusDraft& number(std::string_view name, std::int64_t);    // also when it is zero
  StatusDraft& text(std::string_view name, std::string_view);  // "" removes it
  StatusDraft& raw(std::string_view name, std::string json);   // "" removes it
  json::Slice operator[](std::string_view name) const;
  std::string json() const;

 private:
  std::vector<std::pair<std::string, std::string>> members_;
};

// A condition of any kind of object; members that are empty are not written.
struct Condition {
  std::string type, status, reason, message;
  std::string last_transition = {};  // times as texts
  std::string last_update = {};      // Deployments
  std::string last_probe = {};       // Jobs
  std::optional<std::int64_t> observed_generation = {};
};

// A list of conditions, in the order of the object. A value.
class Conditions {
 public:
  explicit Conditions(json::Slice list);
  const Condition* find(std::string_view type) const;
  bool holds(std::string_view type) const;  // is it there, and True?
  void put(Condition);                      // replaces one of its type, which goes to the end
  void put_in_place(Condition);             // where one of its type stands, or at the end
  // As metav1.Condition wants it: the time is that of the last change between True and False.
  void set(std::string_view type, bool holds, std::string_view reason, std::string message,
           WallTime now, std::int64_t generation);
  bool remove(std::string_view type);
  std::string json() const;  // "" when there are none

 private:
  std::vector<Condition> all_;
};

}  // namespace berth::controllers

// SPDX-License-Identifier: Apache-2.0
// What a controller sees when it decides: caches, and what became of its own last run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "kube/object.h"
#include "runtime/plan.h"

namespace berth::runtime {

// Objects by key, namespace and index. Pointers are valid until the caches change: for the length
// of a reconcile.
class Lookup {
 public:
  virtual ~Lookup() = default;
  virtual const Object* get(KindId, const Key&) const = 0;
  virtual std::vector<const Object*> list(KindId) const = 0;  // in key order, as below
  virtual std::vector<const Object*> list(KindId, std::string_view ns) const = 0;
  virtual std::vector<const Object*> by_index(KindId, std::string_view index,
                                              std::string_view value) const = 0;
  virtual kube::Revision seen(KindId) const = 0;  // complete up to here

  // For those who follow every kind (Spec::follows_every_kind); what is served is known to those
  // who ask for scales, too.
  // Objects of whatever kind that the index files under the value; by resource name, then key.
  virtual std::vector<const Object*> everywhere(std::string_view /*index*/,
                                                std::string_view /*value*/) const {
    return {};
  }
  // The kind that an owner reference means, where the server has it in that version.
  virtual std::optional<KindId> served(std::string_view /*api_version*/,
                                       std::string_view /*kind*/) const {
    return std::nullopt;
  }
  virtual bool scales(KindId) const { return false; }  // a kind that is served, as the server says
  virtual std::optional<KindId> followed(std::string_view /*resource*/) const {  // "jobs.batch"
    return std::nullopt;
  }
  virtual std::vector<KindId> followed() const { return {}; }  // by resource name
  // The object of that uid was seen to go. False for most that went long ago: then ask.
  virtual bool gone(std::string_view /*uid*/) const { return false; }
};

// The write that ended a key's last plan.
struct FailedAction {
  Action action;
  Error error;
};

struct Answer {
  WallTime at{};
  std::optional<Error> error = {};   // then nothing below is set
  std::vector<Object> objects = {};  // of a read: one, or a page
  kube::Revision revision = 0;       // of a list
  bool more = false;                 // a list that goes on
  std::string text = {};             // of a question in words
};

// What the runtime remembers of a key from one run to the next; lost with the process.
struct Memory {
  std::optional<FailedAction> failed;                  // until a plan is performed to its end
  std::map<std::string, Answer, std::less<>> answers;  // by the question's name; for one run
  std::string remembered = {};                         // by the last plan
};

// Immutable; lives as long as one reconcile.
class View {
 public:
  explicit View(const Lookup& objects, const Memory* memory = nullptr)
      : objects_(objects), memory_(memory) {}

  const Object* get(KindId kind, const Key& key) const { return objects_.get(kind, key); }
  std::vector<const Object*> list(KindId kind) const { return objects_.list(kind); }
  std::vector<const Object*> list(KindId kind, std::string_view ns) const {
    return objects_.list(kind, ns);
  }
  std::vector<const Object*> by_index(KindId kind, std::string_view index,
                                      std::string_view value) const {
    return objects_.by_index(kind, index, value);
  }
  kube::Revision seen(KindId kind) const { return objects_.seen(kind); }
  std::vector<const Object*> everywhere(std::string_view index, std::string_view value) const {
    return objects_.everywhere(index, value);
  }
  std::optional<KindId> served(std::string_view api_version, std::string_view kind) const {
    return objects_.served(api_version, kind);
  }
  bool scales(KindId kind) const { return objects_.scales(kind); }
  std::optional<KindId> followed(std::string_view resource) const {
    return objects_.followed(resource);
  }
  std::vector<KindId> followed() const { return objects_.followed(); }
  bool gone(std::string_view uid) const { return objects_.gone(uid); }

  const FailedAction* failed() const {
    return memory_ != nullptr && memory_->failed ? &*memory_->failed : nullptr;
  }
  const Answer* answer(std::string_view question) const {
    if (memory_ == nullptr) return nullptr;
    const auto found = memory_->answers.find(question);
    return found == memory_->answers.end() ? nullptr : &found->second;
  }
  std::string_view remembered() const {
    return memory_ == nullptr ? std::string_view() : memory_->remembered;
  }

 private:
  const Lookup& objects_;
  const Memory* memory_;
};

}  // namespace berth::runtime

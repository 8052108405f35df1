// SPDX-License-Identifier: Apache-2.0
// A scheduler that knows nothing of slots beside the extender, in processes of their own and
// without sockets: whatever has room is offered to the extender, and what it names is bound or
// makes way.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "gateway/extender/extender_service.h"
#include "jobs_lab.h"

namespace berth::controllers::stories {

// Answers with the number of the extender's process.
std::size_t spawn_extender(Lab&);

// Belongs to a Lab with such a process.
class StockScheduler final : public Door {
 public:
  StockScheduler(Lab&, std::size_t extender, Fault = Fault::kNone);  // kAnySlot: never asks

 private:
  using Answered = std::function<void(const std::string* reply)>;  // null: there is none
  void forget() override;
  void place_executor(const Object& pod) override;
  void add_promised(const Object& pod, std::string_view node,
                    kube::ResourceList& used) const override;
  void flush();
  void ask(std::string target, std::string body, Answered);
  void filter(const Object& pod, std::vector<std::string> nodes);
  void preempt(const Object& pod);
  void place_unasked(const Object& pod, const std::vector<std::string>& nodes);
  void ended(const std::string& uid);
  void fail(const std::string& uid);
  bool waits(const Object& pod) const;

  std::size_t extender_;
  int life_ = 0;
  std::map<std::string, bool> asking_;            // by uid; true: something has changed meanwhile
  std::map<std::string, std::string> nominated_;  // nodes, by uid: kept in pods for real
};

}  // namespace berth::controllers::stories

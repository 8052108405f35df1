// SPDX-License-Identifier: Apache-2.0
// Somebody who has Schedulings carried out through the gateway, which is a process of the Lab that
// may die, and asks again whatever was not answered.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lab.h"
#include "net/fake_client_for_test.h"

namespace berth::controllers::stories {

// Answers with the number of the gateway's process.
enum class GatewayFault { kNone, kStoresNothing };
std::size_t spawn_gateway(Lab&, GatewayFault = GatewayFault::kNone);

class Visitor {
 public:
  Visitor(Lab&, std::size_t gateway);

  void submit(const std::string& name, std::string_view jobs);
  void erase(const std::string& name);
  // What the gateway has said of Schedulings that were submitted and not erased.
  const std::set<std::string>& open() const { return open_; }
  std::set<std::string> completed() const;
  bool idle() const { return wishes_.empty(); }  // everything is erased, as far as it was told
  std::vector<std::string> wrongs;
  std::size_t answers = 0, unanswered = 0;

 private:
  struct Wish {
    std::string body;  // of the submission
    bool stored = false, complete = false, unwanted = false;
    std::shared_ptr<net::FakeClient> client = {};  // of the request under way
    Instant since = {};
  };
  void tick();
  void ask(const std::string& name, Wish&);
  bool understood(const std::string& name, Wish&);  // false: the wish is over

  Lab& lab_;
  std::size_t gateway_;
  std::map<std::string, Wish> wishes_;
  std::set<std::string> open_;
};

}  // namespace berth::controllers::stories

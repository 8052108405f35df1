// SPDX-License-Identifier: Apache-2.0
// What the thesis' own clients say and hear, replayed from files.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "stomp_client.h"

namespace berth::gateway {
namespace {

// {…} stands for anything.
bool fits(std::string_view expected, std::string_view got) {
  constexpr std::string_view kAnything = "{…}";
  const std::size_t gap = expected.find(kAnything);
  if (gap == std::string_view::npos) return expected == got;
  if (!got.starts_with(expected.substr(0, gap))) return false;
  got.remove_prefix(gap);
  expected.remove_prefix(gap + kAnything.size());
  for (std::size_t skip = 0; skip <= got.size(); ++skip)
    if (fits(expected, got.substr(skip))) return true;
  return false;
}

std::string word(std::string_view& line) {
  const std::string one(line.substr(0, line.find(' ')));
  line.remove_prefix(std::min(one.size() + 1, line.size()));
  return one;
}

enum class Door : unsigned char { kToken, kLoopback };

class Replay {
 public:
  Replay(const std::string& name, Door door) : story_(options(door)) {
    story_.testbed("tb");
    story_.job("a");
    story_.job("b");
    if (door == Door::kLoopback) {
      rights_for_thesis();
      story_.compat = true;
      story_.token = "";
    } else {
      story_.token = story_.account("scheduler", kRules);
    }
    std::ifstream file(std::string(BERTH_SOURCE_DIR) + "/tests/gateway/transcripts/" + name);
    EXPECT_TRUE(file) << name;
    for (std::string line; std::getline(file, line);) lines_.push_back(line);
  }

  void run() {
    for (at_ = 0; at_ < lines_.size(); ++at_) {
      std::string_view line = lines_[at_];
      if (line.empty() || line.starts_with('#')) continue;
      const std::string sign = word(line);
      SCOPED_TRACE(testing::Message() << "line " << at_ + 1 << ": " << lines_[at_].substr(0, 80));
      if (sign == ">")
        request(line);
      else if (sign == "<")
        answer(line);
      else if (sign == "]>")
        say(line);
      else if (sign == "]<")
        hear(line);
      else if (sign == "!")
        happens(line);
      else
        ADD_FAILURE() << "what is " << sign;
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_TRUE(heard_.empty()) << "and then: " << heard_.front().body;
    EXPECT_GT(answers_, 4);
  }

 private:
  // What berth install gives to people who submit schedulings.
  static constexpr const char* kRules =
      R"([{"apiGroups":["batchjob.gcr.io"],"resources":["testbeds","batchjobs","schedulings"],)"
      R"("verbs":["get","list","watch"]},{"apiGroups":["batchjob.gcr.io"],"resources":)"
      R"(["schedulings"],"verbs":["create","update","delete"]},{"apiGroups":["batchjob.gcr.io"],)"
      R"("resources":["batchjobs/externalscheduler","batchjobs/reset"],"verbs":["update"]}])";

  static ServiceOptions options(Door door) {
    ServiceOptions options;
    options.gateway.origin.origins = {"http://localhost:4200"};
    if (door == Door::kLoopback) options.gateway.compat_user = "thesis";
    return options;
  }
  void rights_for_thesis() {
    story_.create(std::string(R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role",)"
                              R"("metadata":{"name":"thesis","namespace":"default"},"rules":)") +
                  kRules + "}");
    story_.create(
        R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":)"
        R"({"name":"thesis","namespace":"default"},"roleRef":{"apiGroup":)"
        R"("rbac.authorization.k8s.io","kind":"Role","name":"thesis"},"subjects":[{"kind":"User",)"
        R"("apiGroup":"rbac.authorization.k8s.io","name":"thesis"}]})");
  }

  void request(std::string_view line) {
    const std::string method = word(line), target(line);
    std::string body;
    if (method == "POST" || method == "PUT") body = lines_[++at_];
    std::vector<std::pair<std::string, std::string>> headers{{"Origin", "http://localhost:4200"}};
    if (method == "OPTIONS") headers.emplace_back("Access-Control-Request-Method", "POST");
    if (!body.empty()) headers.emplace_back("Content-Type", "application/json");
    last_ = story_.send(method, target, body, std::move(headers));
    ASSERT_TRUE(last_->sent);
    EXPECT_EQ(last_->sent->headers.get("Access-Control-Allow-Origin"), "http://localhost:4200");
  }
  void answer(std::string_view line) {
    const std::string code = word(line);
    ++answers_;
    EXPECT_EQ(std::to_string(last_->status()), code) << last_->body();
    EXPECT_TRUE(fits(line, last_->body())) << last_->body();
  }
  void say(std::string_view line) {
    if (!client_) client_.emplace(story_);
    std::string command = word(line);
    std::vector<std::pair<std::string, std::string>> headers;
    while (!line.empty()) {
      const std::string header = word(line);
      const std::size_t colon = header.find(':');
      headers.emplace_back(header.substr(0, colon), header.substr(colon + 1));
    }
    client_->say(stomp(command, headers));
    listen();
  }
  void listen() {
    for (StompFrame& frame : client_->frames()) heard_.push_back(std::move(frame));
  }
  void hear(std::string_view line) {
    story_.pass();
    listen();
    ASSERT_FALSE(heard_.empty()) << "nothing was heard";
    const StompFrame frame = std::move(heard_.front());
    heard_.erase(heard_.begin());
    EXPECT_EQ(frame.command, word(line)) << frame.text("message");
    while (!line.empty() && !line.starts_with('{')) {
      const std::string header = word(line);
      const std::size_t colon = header.find(':');
      EXPECT_EQ(frame.text(header.substr(0, colon)), header.substr(colon + 1));
    }
    EXPECT_TRUE(fits(line, frame.body)) << frame.body;
  }
  void happens(std::string_view line) {
    const auto topic = topic_named(word(line));
    const std::string name = word(line);
    story_.patch_status(*topic, name, std::string(line));
  }

  Story story_;
  std::optional<StompClient> client_;
  std::vector<StompFrame> heard_;
  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  int answers_ = 0;
  Story::Client last_;
};

TEST(Transcript, P_19_ESI_101_ESI_103_TheManualSchedulerReplaysWithAToken) {
  Replay("manual_scheduler.txt", Door::kToken).run();
}
TEST(Transcript, P_19_TheManualSchedulerReplaysWithoutATokenOnTheLoopbackListener) {
  Replay("manual_scheduler.txt", Door::kLoopback).run();
}
TEST(Transcript, P_19_ESI_105_TheExampleSchedulerReplaysWithAToken) {
  Replay("example_scheduler.txt", Door::kToken).run();
}
TEST(Transcript, P_19_TheExampleSchedulerReplaysWithoutATokenOnTheLoopbackListener) {
  Replay("example_scheduler.txt", Door::kLoopback).run();
}

}  // namespace
}  // namespace berth::gateway

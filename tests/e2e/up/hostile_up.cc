// SPDX-License-Identifier: Apache-2.0
#include "hostile_up.h"

#include <iostream>

#include <fmt/format.h>
#include <sys/resource.h>

#include "json/slice.h"

namespace berth::e2e {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::chrono::seconds kPatience{120};
// Of the server's CPU time, in builds that are slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::chrono::seconds kLongestWait{120};
#else
constexpr std::chrono::seconds kLongestWait{30};
#endif
constexpr int kSlow = 100;  // of each sort
// Connections that the server keeps for a while on behalf of well-behaved clients.
constexpr std::size_t kKept = 10;

}  // namespace

TempFolder* Hostile::folder_ = nullptr;
BerthUp* Hostile::up_ = nullptr;
Neighbour* Hostile::neighbour_ = nullptr;
TlsCaller* Hostile::admin_ = nullptr;
std::size_t Hostile::files_at_start_ = 0;
std::vector<std::unique_ptr<TlsSocket>>* Hostile::slow_ = nullptr;

void Hostile::SetUpTestSuite() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  folder_ = new TempFolder;
  auto started = BerthUp::start({.folder = folder_->path(),
                                 .data_dir = folder_->path() / "data",
                                 .flags = {"--nodes", "10"}});
  ASSERT_TRUE(started) << started.error().message;
  up_ = started->release();
  const net::KeyPair shows{up_->access().tls.certificate_pem, up_->access().tls.key_pem};
  admin_ = new TlsCaller(up_->access().origin, &shows);
  neighbour_ = new Neighbour(up_->access(), up_->child().pid());
  ASSERT_TRUE(eventually(
      kPatience, [] { return neighbour_->rounds() > 2 || !neighbour_->complaints().empty(); }));
  files_at_start_ = up_->open_files();
  slow_ = new std::vector<std::unique_ptr<TlsSocket>>;
  for (const char* beginning :
       {"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nX-Slow: ",
        "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nContent-Length: "
        "1000000\r\n\r\n{",
        "GET /api/v1/configmaps?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n"})
    for (int i = 0; i < kSlow; ++i) {
      slow_->push_back(admin_->connect());
      ASSERT_TRUE(slow_->back()->say(beginning));
    }
}

void Hostile::TearDownTestSuite() {
  if (slow_ == nullptr) return;  // it did not even start
  // The slow ones are sent away by the server, all of them; nobody had to wait for them.
  std::size_t sent_away = 0;
  EXPECT_TRUE(eventually(kPatience,
                         [&] {
                           // A byte now and then does not help.
                           for (const auto& each : *slow_) each->say("x");
                           sent_away = 0;
                           for (const auto& each : *slow_) sent_away += each->left() ? 1 : 0;
                           return sent_away == slow_->size();
                         }))
      << sent_away << " of " << slow_->size();
  EXPECT_TRUE(eventually(kPatience, [] { return up_->open_files() <= files_at_start_ + kKept; }))
      << up_->open_files();
  delete neighbour_;
  EXPECT_TRUE(up_->end()) << up_->said();
  delete slow_;
  delete admin_;
  delete up_;
  delete folder_;
}

void Hostile::SetUp() {
  ASSERT_NE(slow_, nullptr) << "it did not start";
  ASSERT_TRUE(up().child().running()) << up().said();
  up().forget_peak();
  kib_ = up().resident_kib();
  files_ = up().open_files();
  rounds_ = neighbour_->rounds();
  neighbour_->longest_wait();
}

void Hostile::TearDown() {
  ASSERT_TRUE(up().child().running()) << up().said();
  EXPECT_TRUE(eventually(kPatience, [&] {
    return neighbour_->rounds() > rounds_ + 2 || !neighbour_->complaints().empty();
  })) << "the neighbour is held up";
  EXPECT_THAT(neighbour_->complaints(), IsEmpty());
  EXPECT_TRUE(eventually(kPatience, [&] { return up().open_files() <= files_ + kKept; }))
      << "files: " << files_ << " before, " << up().open_files() << " after";
  const std::size_t peak = up().peak_kib();
  EXPECT_LT(peak, kib_ + most_kib);
  const std::chrono::milliseconds waited = neighbour_->longest_wait();
  EXPECT_LT(waited, kLongestWait) << "the neighbour noticed";
  std::cout << fmt::format(
      "{} KiB before, {} at most, {} now; the neighbour waited for {} ms of its work at most and "
      "did {} rounds\n",
      kib_, peak, up().resident_kib(), waited.count(), neighbour_->rounds() - rounds_);
}

void Hostile::perform(const std::vector<Attack>& attacks) {
  conformance::Wire wire(up().access());
  for (const Attack& attack : attacks) {
    SCOPED_TRACE(attack.name);
    const auto answer = ask(wire, attack.method, attack.target, attack.body, attack.type);
    if (!answer) {
      ADD_FAILURE() << answer.error().message;
      continue;
    }
    EXPECT_EQ(answer->status, attack.code) << answer->body.substr(0, 500);
    if (answer->status < 300) continue;
    const json::Slice status(answer->body);
    EXPECT_EQ(status["kind"].text(), "Status");
    EXPECT_THAT(status["message"].text().substr(0, 3 << 20), HasSubstr(attack.says));
  }
}

}  // namespace berth::e2e

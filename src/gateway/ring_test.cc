// SPDX-License-Identifier: Apache-2.0
#include "gateway/ring.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "gateway/sockjs.h"

namespace berth::gateway {
namespace {

using testing::ElementsAre;

kube::Object object(Topic topic, kube::Revision revision, std::size_t padding = 0) {
  return kube::Object::parse(
             kind_of(topic),
             fmt::format(
                 R"({{"metadata":{{"name":"a","namespace":"n","resourceVersion":"{}"}},"x":"{}"}})",
                 revision, std::string(padding, 'x')))
      .value();
}

void push(ChangeRing& ring, Topic topic, kube::Revision revision, std::size_t padding = 0) {
  ring.push(topic, ObjectChange::Action::kModified, object(topic, revision, padding));
}

// What somebody hears who goes on from there: "j12".
std::vector<std::string> heard(const ChangeRing& ring, const Cursor& cursor) {
  std::vector<std::string> out;
  const auto from = ring.resume(cursor);
  if (!from) return {"reset"};
  for (std::uint64_t at = *from; at < ring.end(); ++at)
    if (const ObjectChange& change = ring.at(at); change.seq > cursor.of(change.topic))
      out.push_back(fmt::format("{}{}", name_of(change.topic)[0], change.seq));
  return out;
}

TEST(Cursor, IsAVectorWithANumberAKind) {
  const Cursor cursor{{812, 805, 790}};
  EXPECT_EQ(cursor.text(), "t812.j805.s790");
  EXPECT_EQ(Cursor::parse("t812.j805.s790"), cursor);
  for (const char* bad : {"", "t1", "t1.j1", "t1.j1.s", "t1.j1.s1x", "j1.t1.s1", "t-1.j1.s1",
                          "1.2.3", "t99999999999999999999.j1.s1"})
    EXPECT_EQ(Cursor::parse(bad), std::nullopt) << bad;
}

TEST(ChangeRing, ResumesAfterWhatWasSeenOfEachKind) {
  ChangeRing ring;
  for (const Topic topic : kTopics) ring.begin(topic, 10);
  push(ring, Topic::kJobs, 12);
  push(ring, Topic::kTestbeds, 11);  // kinds have no order among each other
  push(ring, Topic::kJobs, 15);
  EXPECT_EQ(ring.now().text(), "t11.j15.s10");
  EXPECT_THAT(heard(ring, {{10, 10, 10}}), ElementsAre("j12", "t11", "j15"));
  EXPECT_THAT(heard(ring, {{10, 12, 10}}), ElementsAre("t11", "j15"));
  EXPECT_THAT(heard(ring, {{11, 12, 10}}), ElementsAre("j15"));
  EXPECT_THAT(heard(ring, ring.now()), ElementsAre());
  EXPECT_EQ(ring.at(ring.first()).cursor.text(), "t10.j12.s10");
}

TEST(ChangeRing, BeforeTheBeginningOrBeyondTheEndIsAnotherLife) {
  ChangeRing ring;
  for (const Topic topic : kTopics) ring.begin(topic, 10);
  push(ring, Topic::kJobs, 12);
  EXPECT_THAT(heard(ring, {{10, 9, 10}}), ElementsAre("reset"));
  EXPECT_THAT(heard(ring, {{10, 13, 10}}), ElementsAre("reset"));
  ring.advance(Topic::kJobs, 20);
  EXPECT_THAT(heard(ring, {{10, 13, 10}}), ElementsAre());
}

TEST(ChangeRing, ForgetsTheOldestByNumberAndBySize) {
  ChangeRing few({.changes = 3}), small({.changes = 100, .bytes = 10'000});
  for (const Topic topic : kTopics) {
    few.begin(topic, 0);
    small.begin(topic, 0);
  }
  for (kube::Revision revision = 1; revision <= 5; ++revision) {
    push(few, Topic::kJobs, revision);
    push(small, Topic::kJobs, revision, 4000);
  }
  EXPECT_EQ(few.end() - few.first(), 3U);
  EXPECT_THAT(heard(few, {{0, 1, 0}}), ElementsAre("reset"));
  EXPECT_THAT(heard(few, {{0, 2, 0}}), ElementsAre("j3", "j4", "j5"));
  EXPECT_LE(small.end() - small.first(), 2U);
  EXPECT_GE(small.end() - small.first(), 1U);
}

TEST(ChangeRing, NobodyResumesAcrossAGap) {
  ChangeRing ring;
  for (const Topic topic : kTopics) ring.begin(topic, 10);
  push(ring, Topic::kJobs, 30);
  push(ring, Topic::kJobs, 20);  // by name, after a gap
  ring.gap(Topic::kJobs, 35);
  for (const kube::Revision seen : {10U, 20U, 30U, 35U})
    EXPECT_THAT(heard(ring, {{10, seen, 10}}), ElementsAre("reset")) << seen;
  push(ring, Topic::kJobs, 40);
  EXPECT_THAT(heard(ring, {{10, 40, 10}}), ElementsAre());
}

TEST(SockJs, FramesAreItsOwn) {
  EXPECT_EQ(sockjs_messages({"a\n", "\"b\""}), R"(a["a\n","\"b\""])");
  EXPECT_EQ(sockjs_close(3000, "Go away!"), R"(c[3000,"Go away!"])");
  EXPECT_THAT(*sockjs_received(R"(["x","y\u0000"])"), ElementsAre("x", std::string("y\0", 2)));
  EXPECT_THAT(*sockjs_received(R"("x")"), ElementsAre("x"));
  EXPECT_THAT(*sockjs_received(""), ElementsAre());
  for (const char* bad : {"x", "{}", "[1]", "[\"x\"", "1"})
    EXPECT_FALSE(sockjs_received(bad)) << bad;
}

}  // namespace
}  // namespace berth::gateway

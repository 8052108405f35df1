// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/http/headers.h"
#include "apiserver/http/indenter.h"
#include "json/slice.h"

namespace berth::apiserver {
namespace {

using testing::ElementsAre;

constexpr WallTime kNow{1'767'225'600'000'000'000};

class Rendering : public testing::Test {
 protected:
  std::string list(const KindRow& row, const Wanted& wanted, const kube::ObjectList& objects) {
    Renderer renderer(registry_.now(), row, wanted);
    std::string out;
    renderer.list_begin(objects, out);
    bool first = true;
    for (const kube::Object& each : objects.items)
      renderer.item(each, std::exchange(first, false), kNow, out);
    renderer.list_end(out);
    EXPECT_TRUE(json::check(out)) << out;
    return out;
  }
  std::string one(const KindRow& row, const Wanted& wanted, const kube::Object& object) {
    Renderer renderer(registry_.now(), row, wanted);
    std::string out;
    renderer.object(object, kNow, out);
    EXPECT_TRUE(json::check(out)) << out;
    return out;
  }
  KindRegistry registry_;
  std::shared_ptr<const Kinds> kinds_ = registry_.now();
  const KindRow& config_maps_ = *kinds_->find("", "v1", "configmaps");
  kube::Object map_ = kube::Object::parse(kube::kConfigMap,
                                          R"({"metadata":{"name":"m","namespace":"a",
"resourceVersion":"7","creationTimestamp":"2025-12-31T23:00:00Z"},"data":{"x":"1"}})")
                          .value();
};

TEST_F(Rendering, AnObjectSaysItsKind) { EXPECT_EQ(one(config_maps_, {}, map_), map_.json()); }

TEST_F(Rendering, ItemsOfBuiltInListsDoNotSayTheirKind) {
  const auto with = [&](std::vector<kube::Object> items) {
    return list(config_maps_, {},
                {.revision = 12, .continue_token = "t", .remaining = 3, .items = std::move(items)});
  };
  const std::string head =
      R"({"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"12","continue":"t","remainingItemCount":3},"items":[)";
  EXPECT_EQ(with({}), head + "]}");
  const std::string item =
      "{" +
      map_.json().substr(std::string_view(R"({"kind":"ConfigMap","apiVersion":"v1",)").size());
  EXPECT_EQ(with({map_, map_}), head + item + "," + item + "]}");
}

TEST_F(Rendering, ItemsOfCustomListsSayTheirKind) {
  KindRow row = Kind("example.org/v1", "Ship", "ships");
  row.custom = true;
  registry_.serve("ships", {row});
  const KindRow& ships = *registry_.now()->find("example.org", "v1", "ships");
  const auto ship = kube::Object::parse(ships.id, R"({"metadata":{"name":"s"}})").value();
  EXPECT_EQ(
      list(ships, {}, {.revision = 1, .continue_token = "", .remaining = {}, .items = {ship}}),
      R"({"kind":"ShipList","apiVersion":"example.org/v1","metadata":{"resourceVersion":"1"},"items":[{"kind":"Ship","apiVersion":"example.org/v1","metadata":{"name":"s"}}]})");
}

TEST_F(Rendering, ATableHasARowAnObject) {
  const std::string text =
      list(config_maps_, {.form = Form::kTable},
           {.revision = 12, .continue_token = "", .remaining = {}, .items = {map_}});
  const json::Slice table(text);
  EXPECT_EQ(table["kind"].text(), "Table");
  EXPECT_EQ(table["apiVersion"].text(), "meta.k8s.io/v1");
  EXPECT_EQ(table["metadata"].raw(), R"({"resourceVersion":"12"})");
  EXPECT_EQ(table["columnDefinitions"][0].raw(),
            R"({"name":"Name","type":"string","format":"name","description":"","priority":0})");
  EXPECT_EQ(table["rows"][0]["cells"].raw(), R"(["m",1,"60m"])");
  EXPECT_EQ(table["rows"][0]["object"]["kind"].text(), "PartialObjectMetadata");
  EXPECT_EQ(table["rows"][0]["object"]["metadata"].raw(), map_.metadata().raw());
  EXPECT_FALSE(table["rows"][0]["object"]["data"]);
}

TEST_F(Rendering, RowsHoldWhatWasAskedFor) {
  const std::string none =
      one(config_maps_, {.form = Form::kTable, .include = Include::kNone}, map_);
  EXPECT_TRUE(json::Slice(none)["rows"][0]["object"].is_null());
  EXPECT_EQ(json::Slice(none)["metadata"]["resourceVersion"].text(), "7");
  const std::string whole =
      one(config_maps_, {.form = Form::kTable, .include = Include::kObject}, map_);
  EXPECT_EQ(json::Slice(whole)["rows"][0]["object"].raw(), map_.json());
  const std::string beta = one(config_maps_, {.form = Form::kTable, .version = "v1beta1"}, map_);
  EXPECT_EQ(json::Slice(beta)["apiVersion"].text(), "meta.k8s.io/v1beta1");
  EXPECT_EQ(json::Slice(beta)["rows"][0]["object"]["apiVersion"].text(), "meta.k8s.io/v1beta1");
}

TEST_F(Rendering, WhatHasNoColumnsHasNameAndTime) {
  const kube::KindId plain = kube::learn_kind(
      {.group = "example.org", .version = "v1", .kind = "Plain", .plural = "plains"});
  const auto object =
      kube::Object::parse(plain,
                          R"({"metadata":{"name":"d","creationTimestamp":"2026-01-01T00:00:00Z"}})")
          .value();
  const std::string table = one(config_maps_, {.form = Form::kTable}, object);
  EXPECT_EQ(json::Slice(table)["rows"][0]["cells"].raw(), R"(["d","2026-01-01T00:00:00Z"])");
}

TEST_F(Rendering, AScaleHasColumnsWhateverItIsOf) {
  const auto object =
      kube::Object::parse(
          kube::guess_kind("autoscaling/v1", "Scale"),
          R"({"metadata":{"name":"d"},"spec":{"replicas":3},"status":{"replicas":2}})")
          .value();
  const std::string table = one(config_maps_, {.form = Form::kTable}, object);
  EXPECT_EQ(json::Slice(table)["rows"][0]["cells"].raw(), R"(["d",3,2,"<unknown>"])");
}

TEST_F(Rendering, MetadataAloneIsAnObjectOfItsOwn) {
  const std::string metadata(map_.metadata().raw());
  const std::string partial =
      R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":)" + metadata +
      "}";
  EXPECT_EQ(one(config_maps_, {.form = Form::kMetadata}, map_), partial);
  EXPECT_EQ(
      list(config_maps_, {.form = Form::kMetadataList},
           {.revision = 1, .continue_token = "", .remaining = {}, .items = {map_}}),
      R"({"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[)" +
          partial + "]}");
}

TEST_F(Rendering, AListIsNoObjectAndAnObjectNoList) {
  const Renderer one_wanted(kinds_, config_maps_, {.form = Form::kMetadata});
  EXPECT_TRUE(one_wanted.possible(false));
  EXPECT_EQ(one_wanted.possible(true).error().message,
            "you requested PartialObjectMetadata, but the requested object is a list "
            "(*core.ConfigMapList)");
  const Renderer list_wanted(kinds_, config_maps_, {.form = Form::kMetadataList});
  EXPECT_TRUE(list_wanted.possible(true));
  EXPECT_EQ(list_wanted.possible(false).error().reason, Reason::kNotAcceptable);
}

TEST_F(Rendering, EventsAreLines) {
  Renderer renderer(kinds_, config_maps_, {});
  std::string out;
  using Event = kube::WatchEvent;
  renderer.event({.type = Event::Type::kModified, .object = map_, .error = {}}, kNow, out);
  renderer.event({.type = Event::Type::kBookmark,
                  .object = {},
                  .revision = 9,
                  .initial_events_end = true,
                  .error = {}},
                 kNow, out);
  renderer.event({.type = Event::Type::kError,
                  .object = {},
                  .error = Error{.reason = Reason::kExpired, .message = "too old"}},
                 kNow, out);
  EXPECT_EQ(
      out,
      R"({"type":"MODIFIED","object":)" + map_.json() +
          "}\n"
          R"({"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"9","creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}}}})"
          "\n"
          R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}})"
          "\n");
}

TEST_F(Rendering, OfAWatchedTableOnlyTheFirstEventSaysTheColumns) {
  Renderer renderer(kinds_, config_maps_, {.form = Form::kTable});
  std::string first, second;
  const kube::WatchEvent event{.object = map_, .error = {}};
  renderer.event(event, kNow, first);
  renderer.event(event, kNow, second);
  EXPECT_EQ(json::Slice(first)["object"]["columnDefinitions"].size(), 3u);
  EXPECT_TRUE(json::Slice(second)["object"]["columnDefinitions"].is_null());
  EXPECT_EQ(json::Slice(second)["object"]["rows"].size(), 1u);
}

TEST_F(Rendering, AnEventInSlicesIsTheSameEvent) {
  const kube::WatchEvent event{.object = map_, .error = {}};
  const Wanted forms[] = {{.form = Form::kWhole},
                          {.form = Form::kMetadata},
                          {.form = Form::kTable},
                          {.form = Form::kTable, .include = Include::kObject},
                          {.form = Form::kTable, .include = Include::kNone}};
  for (const Wanted& wanted : forms) {
    std::string whole;
    Renderer(kinds_, config_maps_, wanted).event(event, kNow, whole);
    for (const std::size_t most : {1u, 7u, 40u, 1u << 20}) {
      Renderer renderer(kinds_, config_maps_, wanted);
      std::string out;
      std::size_t told = 0, slices = 1;
      while (!renderer.event(event, kNow, most, told, out)) {
        ASSERT_EQ(out.size(), told);
        ASSERT_EQ(told, slices * most);
        ASSERT_LT(++slices, 10'000u);
      }
      EXPECT_EQ(out, whole) << most;
    }
  }
}

TEST_F(Rendering, EveryKindsColumnsCanShowAnEmptyObject) {
  const kube::WatchEvent bookmark{.type = kube::WatchEvent::Type::kBookmark,
                                  .object = {},
                                  .revision = 9,
                                  .initial_events_end = true,
                                  .error = {}};
  for (const KindRow* row : kinds_->rows()) {
    Renderer renderer(kinds_, *row, {.form = Form::kTable, .include = Include::kNone});
    std::string line;
    renderer.event(bookmark, kNow, line);
    ASSERT_TRUE(json::check(line)) << line;
    const json::Slice table = json::Slice(line)["object"];
    EXPECT_EQ(table["rows"][0]["cells"].size(), table["columnDefinitions"].size()) << line;
    // k8s 1.36: who waits for this mark finds it even where no objects were asked for.
    EXPECT_TRUE(table["rows"][0]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"]);
  }
}

TEST(Indenter, WritesAsGoIndents) {
  const std::string json = R"({"a":{},"b":[],"c":[1,{"d":"x, {\"y\": [}"}],"e":null})";
  const std::string indented =
      "{\n  \"a\": {},\n  \"b\": [],\n  \"c\": [\n    1,\n    {\n      \"d\": \"x, {\\\"y\\\": "
      "[}\"\n    }\n  ],\n  \"e\": null\n}";
  for (const std::size_t cut : {1u, 3u, 7u, 1000u}) {
    Indenter indenter;
    std::string out;
    for (std::size_t at = 0; at < json.size(); at += cut) indenter.add(json.substr(at, cut), out);
    EXPECT_EQ(out, indented) << cut;
  }
}

TEST(Warnings, AreQuotedSaidOnceAndBoundedTogether) {
  net::Headers headers;
  add_warnings({"say \"hi\"\n", "again", "again"}, headers);
  EXPECT_THAT(headers.all("Warning"), ElementsAre(R"(299 - "say \"hi\"")", R"(299 - "again")"));
  net::Headers many;
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) texts.push_back(std::to_string(i) + std::string(1000, 'x'));
  add_warnings(texts, many);
  EXPECT_EQ(many.all("Warning").size(), 16u);
}

TEST(Peers, AreNearOnThisMachine) {
  EXPECT_EQ(address_of("127.0.0.1:51234"), "127.0.0.1");
  EXPECT_EQ(address_of("[::1]:80"), "[::1]");
  EXPECT_TRUE(is_loopback("127.0.0.1") && is_loopback("[::1]"));
  EXPECT_FALSE(is_loopback("10.0.0.1"));
}

}  // namespace
}  // namespace berth::apiserver

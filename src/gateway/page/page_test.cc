// SPDX-License-Identifier: Apache-2.0
#include "gateway/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/page/embedded.h"
#include "net/gzip.h"

namespace berth::gateway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const PageFile& file) {
  if (!file.gzip) return std::string(file.bytes);
  auto plain = net::gunzip(file.bytes, 16 << 20);
  EXPECT_TRUE(plain.has_value());
  return plain ? *plain : "";
}

TEST(Page, IndexIsThereWithAndWithoutTheBuiltPage) {
  const auto index = page_file("");
  ASSERT_TRUE(index.has_value());
  EXPECT_EQ(index->content_type, "text/html; charset=utf-8");
  EXPECT_THAT(text_of(*index), HasSubstr("<title>Berth</title>"));
}

TEST(Page, FirstViewIsUnder300Kilobytes) {
  if (!left_out_because().empty()) GTEST_SKIP() << "no page in this build: " << left_out_because();
  std::size_t all = 0;
  for (const EmbeddedFile& file : embedded_files()) all += file.gzip.size();
  EXPECT_GT(all, 10'000u);
  EXPECT_LT(all, 300'000u);
}

TEST(Page, IndexRefersToWhatIsServedAndToNothingElse) {
  if (!left_out_because().empty()) GTEST_SKIP() << "no page in this build: " << left_out_because();
  const std::string html = text_of(*page_file("index.html"));
  for (const std::string_view name : {"berth.js", "berth.css"}) {
    EXPECT_THAT(html, HasSubstr(fmt::format("\"./{}\"", name)));
    EXPECT_TRUE(page_file(name).has_value());
  }
  EXPECT_THAT(html, AllOf(Not(HasSubstr("src=\"http")), Not(HasSubstr("href=\"http"))));
  EXPECT_THAT(text_of(*page_file("berth.css")),
              AllOf(Not(HasSubstr("url(http")), Not(HasSubstr("@import"))));
}

TEST(Page, TagsTellFilesApart) {
  if (!left_out_because().empty()) GTEST_SKIP() << "no page in this build: " << left_out_because();
  EXPECT_NE(page_file("berth.js")->etag, page_file("berth.css")->etag);
  EXPECT_EQ(page_file("berth.js")->etag, page_file("berth.js")->etag);
}

TEST(Page, UnknownNamesAreNothing) {
  EXPECT_FALSE(page_file("../etc/passwd").has_value());
  EXPECT_FALSE(page_file("berth.js.map").has_value());
}

}  // namespace
}  // namespace berth::gateway

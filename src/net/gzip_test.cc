// SPDX-License-Identifier: Apache-2.0
#include "net/gzip.h"

#include <gmock/gmock.h>

#include "base/random.h"

namespace berth::net {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kPlenty = 64 << 20;

std::string noise(std::size_t size) {
  Random random(7);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random.next());
  return text;
}

TEST(Gzip, GoesThereAndBack) {
  for (const std::string& text : {std::string(), std::string("hello"), std::string(3 << 20, 'x'),
                                  noise(65536), noise(65537), noise(1 << 20)})
    EXPECT_TRUE(gunzip(gzip(text), kPlenty).value() == text) << text.size();
}

TEST(Gzip, PiecesMakeTheSameAsTheWhole) {
  const std::string text = noise(200'000) + std::string(200'000, 'x');
  std::string packed;
  Compressor compressor;
  for (std::size_t at = 0; at < text.size(); at += 70'000)
    compressor.add(std::string_view(text).substr(at, 70'000), at + 70'000 >= text.size(), packed);
  EXPECT_TRUE(gunzip(packed, kPlenty).value() == text);
}

TEST(Gzip, TheResultDoesNotDependOnTheCuts) {
  const std::string text = noise(3'000) + std::string(10'000, 'x');
  const std::string packed = gzip(text) + gzip("second member");
  for (const std::size_t cut : {1u, 2u, 7u, 1000u}) {
    Decompressor decompressor(kPlenty);
    std::string out;
    for (std::size_t at = 0; at < packed.size(); at += cut)
      ASSERT_TRUE(decompressor.add(std::string_view(packed).substr(at, cut), out));
    EXPECT_TRUE(decompressor.finish());
    EXPECT_TRUE(out == text + "second member") << cut;
  }
}

TEST(Gzip, ABombIsStoppedAtTheLimit) {
  const std::string bomb = gzip(std::string(10 << 20, 'x'));
  EXPECT_LT(bomb.size(), 100'000u);
  const auto result = gunzip(bomb, 1000);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, Reason::kRequestEntityTooLarge);
  EXPECT_TRUE(gunzip(gzip(std::string(1000, 'x')), 1000)) << "exactly the limit is fine";
  Decompressor decompressor(1000);
  std::string out;
  EXPECT_FALSE(decompressor.add(bomb, out));
  EXPECT_LE(out.size(), 1000u);
}

TEST(Gzip, RefusesWhatIsNotWhole) {
  const std::string packed = gzip("hello, hello, hello");
  for (std::size_t size = 0; size < packed.size(); ++size)
    EXPECT_FALSE(gunzip(packed.substr(0, size), kPlenty)) << size;
  std::string damaged = packed;
  damaged[damaged.size() - 6] ^= 1;  // in the checksum
  EXPECT_THAT(gunzip(damaged, kPlenty).error().message, HasSubstr("damaged"));
  EXPECT_FALSE(gunzip(packed + "garbage", kPlenty));
  EXPECT_FALSE(gunzip("not gzip at all", kPlenty));
}

}  // namespace
}  // namespace berth::net

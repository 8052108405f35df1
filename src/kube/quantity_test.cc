// SPDX-License-Identifier: Apache-2.0
// The bulk of the cases is in tests/parity; here stands what a reader should know.
#include "kube/quantity.h"

#include <gtest/gtest.h>

namespace berth::kube {
namespace {

Quantity q(std::string_view text) {
  Result<Quantity> parsed = Quantity::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Quantity();
}

TEST(Quantity, PrintsWhatItMeans) {
  struct Row {
    const char *in, *text;
    std::int64_t value, milli;
  };
  const Row rows[] = {{"100m", "100m", 1, 100},
                      {"0.1", "100m", 1, 100},
                      {"128Mi", "128Mi", 134217728, 134217728000},
                      {"1024Ki", "1Mi", 1048576, 1048576000},
                      {"1.5Gi", "1536Mi", 1610612736, 1610612736000},
                      {"1e3", "1e3", 1000, 1000000},
                      {"1000", "1k", 1000, 1000000},
                      {"-1.5", "-1500m", -2, -1500},
                      {"0", "0", 0, 0},
                      {".5", "500m", 1, 500},
                      {"1n", "1n", 1, 1},
                      {"0.1n", "1n", 1, 1},
                      {"0.5Ki", "512", 512, 512000}};
  for (const Row& row : rows) {
    EXPECT_EQ(q(row.in).text(), row.text) << row.in;
    EXPECT_EQ(q(row.in).value(), row.value) << row.in;
    EXPECT_EQ(q(row.in).milli_value(), row.milli) << row.in;
  }
}

TEST(Quantity, OverflowsAsKubernetesDoes) {
  EXPECT_EQ(q("40.343615Ei").text(), "9223372036854775807");
  EXPECT_EQ(q("40.343615Ei").milli_value(), -1000);
  EXPECT_EQ(q("1e19").value(), 0);
  EXPECT_EQ(q("37040.364141394P").value(), 146875993974896768);
  EXPECT_EQ(q("1000E").text(), "1");
  EXPECT_EQ(q("1e4294967296").value(), 1);
}

TEST(Quantity, KeepsAGoodTextAsItWasWritten) {
  EXPECT_EQ(q("+5").text(), "+5");
  EXPECT_EQ(q("1.500").text(), "1.500");
  EXPECT_EQ(q("-").text(), "0");
}

TEST(Quantity, TheFirstNonZeroAmountSetsTheFormat) {
  EXPECT_EQ((q("0") + q("1Gi")).text(), "1Gi");
  EXPECT_EQ((Quantity() + q("1024Mi")).text(), "1Gi");
  EXPECT_EQ((q("1") + q("1Ki")).text(), "1025");
  EXPECT_EQ((q("1Gi") - q("1Gi")).text(), "0");
  EXPECT_EQ((q("999999999999999999") + q("999999999999999999000")).text(),
            "1000999999999999998999");
  Quantity negated = q("100m");
  negated.negate();
  EXPECT_EQ(negated.text(), "-100m");
}

TEST(Quantity, ComparesByAmount) {
  EXPECT_EQ(q("1000m"), q("1"));
  EXPECT_LT(q("1023Mi"), q("1Gi"));
  EXPECT_LT(q("-1e30"), q("-1"));
  EXPECT_GT(q("1e-3"), q("999u"));
  EXPECT_EQ(q("1e20"), q("100000000000000000000"));
}

TEST(Quantity, HostileExponentsCostNothing) {
  EXPECT_GT(q("1e999999999"), q("1e999999998"));
  EXPECT_GT(q("1e999999999"), q("9e999999998"));
  EXPECT_EQ((q("1e999999999") + q("1")).text(), "1e999999999");
  EXPECT_EQ(q("0e999999999").value(), 0);
  EXPECT_EQ(q("1e-999999999").text(), "1e-9");
  EXPECT_FALSE(Quantity::parse("1234567890123456789e999999999"));
  EXPECT_FALSE(Quantity::parse(std::string(6000, '9')));
  EXPECT_FALSE(Quantity::parse("1e-2147483648"));  // its negation wraps, so it would be huge
}

TEST(Quantity, ErrorsNameTheTextAndARemedy) {
  for (const char* bad : {"", "1.5.2Gi", "1 Gi", "Gi1", "1e", "1Kib", "e5-", "0x10", "--1"})
    EXPECT_FALSE(Quantity::parse(bad)) << bad;
  EXPECT_EQ(Quantity::parse("1.5.2Gi").error().message,
            "invalid quantity \"1.5.2Gi\": quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'; write a number and a unit, such as "
            "500m, 1.5Gi or 2e3");
}

TEST(Quantity, ReadsJsonStringsNumbersAndNull) {
  EXPECT_EQ(Quantity::from_json(json::Slice("\" 2Gi \""))->text(), "2Gi");
  EXPECT_EQ(Quantity::from_json(json::Slice("0.5"))->text(), "500m");
  EXPECT_TRUE(Quantity::from_json(json::Slice("null"))->is_zero());
  EXPECT_FALSE(Quantity::from_json(json::Slice("\"\"")));
  EXPECT_FALSE(Quantity::from_json(json::Slice("true")));
  EXPECT_FALSE(Quantity::from_json(json::Slice(R"("\u0031")")));
}

}  // namespace
}  // namespace berth::kube

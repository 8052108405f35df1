// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Reasons, NamesReadBack) {
  for (Reason reason : {Reason::kNotFound, Reason::kAlreadyExists, Reason::kExpired,
                        Reason::kServerTimeout, Reason::kUnreachable})
    EXPECT_EQ(reason_named(name_of(reason)), reason);
  EXPECT_EQ(reason_named("NoSuchReason"), Reason::kUnknown);
}

TEST(Reasons, ABareCodeMeansTheOrdinaryReason) {
  EXPECT_EQ(reason_of_http_code(409), Reason::kConflict);
  EXPECT_EQ(reason_of_http_code(500), Reason::kInternalError);
  EXPECT_EQ(reason_of_http_code(502), Reason::kInternalError);
  EXPECT_EQ(http_code_of(Reason::kExpired), 410);
}

}  // namespace
}  // namespace berth

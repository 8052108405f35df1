// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/writer.h"
#include "kube/api.h"

namespace berth::apiserver {

// An authentication.k8s.io UserInfo.
void write_user_info(json::Writer&, const kube::User&);
// A member with a list of strings; none where there is no word.
void write_words(json::Writer&, std::string_view key, const std::vector<std::string>& words);

}  // namespace berth::apiserver

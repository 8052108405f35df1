// SPDX-License-Identifier: Apache-2.0
// "Maybe you meant": the candidate closest to a word that was not found.
#pragma once

#include <span>
#include <string_view>

namespace berth {

// By edit distance; empty when nothing is close enough to be worth suggesting (more than a third of
// the word differs). Of equally close candidates the first.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
// Does an answer look as expected? Expectations are JSON in which some strings stand for shapes:
//   <any>            whatever, but there           <absent>      not there
//   <uid> <time> <microtime> <rv> <int> <text>     things that differ from run to run
//   <set NAME>       whatever; kept as $NAME       <more NAME>   a larger revision than $NAME
//   <re PATTERN>     the whole text matches
// The second line's may also stand inside of longer texts.
// Objects are compared by the members that are named, unless one of them is `<only>: true`. Arrays
// are compared whole, unless they are written as {<has>: [..]} (each is somewhere in it),
// {<none>: x} (nothing in it looks like x) or {<size>: n}.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "json/slice.h"

namespace berth::conformance {

using Variables = std::map<std::string, std::string>;

enum class Compare : unsigned char { kNamed, kWhole };  // kWhole: as if <only> were everywhere
// "" when it matches, else what differs, with its path.
std::string mismatch(json::Slice expected, json::Slice actual, Variables&,
                     Compare = Compare::kNamed, const std::string& path = "");
// The same for one text, such as a header's value.
std::string text_mismatch(std::string_view expected, std::string_view actual, Variables&);

// Replaces every $NAME (capital letters, digits and _) that is known.
std::string filled(std::string_view text, const Variables&);

}  // namespace berth::conformance

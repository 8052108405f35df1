// SPDX-License-Identifier: Apache-2.0
#include "apiserver/auth/user_info.h"

namespace berth::apiserver {

void write_words(json::Writer& w, std::string_view key, const std::vector<std::string>& words) {
  if (words.empty()) return;
  w.member(key).array();
  for (const std::string& word : words) w.string(word);
  w.end();
}

void write_user_info(json::Writer& w, const kube::User& user) {
  w.object();
  if (!user.name.empty()) w.member("username").string(user.name);
  if (!user.uid.empty()) w.member("uid").string(user.uid);
  write_words(w, "groups", user.groups);
  if (!user.extra.empty()) {
    w.member("extra").object();
    for (const auto& [key, values] : user.extra) {
      w.member(key).array();
      for (const std::string& value : values) w.string(value);
      w.end();
    }
    w.end();
  }
  w.end();
}

}  // namespace berth::apiserver

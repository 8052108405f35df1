// SPDX-License-Identifier: Apache-2.0
// Small rules that many kinds share, each with the words that Kubernetes has for it.
#pragma once

#include <initializer_list>
#include <string_view>

#include "apiserver/edit/peek.h"
#include "apiserver/kinds/findings.h"
#include "apiserver/kinds/kind_row.h"
#include "kube/names.h"
#include "kube/quantity.h"

namespace berth::apiserver {

kube::Complaints check_port_number(std::int64_t);
kube::Complaints check_port_name(std::string_view);
kube::Complaints check_env_name(std::string_view);
kube::Complaints check_config_key(std::string_view);
kube::Complaints check_header_name(std::string_view);
kube::Complaints check_user_id(std::int64_t);
kube::Complaints check_ip(std::string_view);

// A finding for each complaint.
void complain(const kube::Complaints&, const Shown& value, const Path&, Findings&);
inline void must_be(NameRule rule, std::string_view value, const Path& at, Findings& findings) {
  complain(rule(value), value, at, findings);
}
void must_not_be_negative(std::int64_t, const Path&, Findings&);
// Required when empty, otherwise one of these. True when it is.
bool must_be_one_of(std::string_view value, std::initializer_list<std::string_view>, const Path&,
                    Findings&);
// A number or a name of a port.
void must_be_port(Peek, const Path&, Findings&);
// A relative path without "..".
void must_descend(std::string_view path, const Path&, Findings&);
void must_not_step_back(std::string_view path, const Path&, Findings&);
void must_be_local_path(std::string_view path, const Path&, Findings&);
void must_be_mode(Peek mode, const Path&, Findings&);  // file permissions, where given

void check_label_selector(Peek selector, const Path&, Findings&);

kube::Quantity quantity(Peek);
inline bool one_of(std::string_view value, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    if (word == value) return true;
  return false;
}
Shown as_shown(const Peek&);   // whatever it is; null when absent
Shown shown_map(const Peek&);  // with its keys in order, as Go prints maps
Shown shown_selector(const Peek&);
// Kubernetes can make something of it; what it cannot is told by check_label_selector().
bool is_readable(Peek label_selector);
void must_be_positive(std::int64_t, const Path&, Findings&);

}  // namespace berth::apiserver

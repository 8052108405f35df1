// SPDX-License-Identifier: Apache-2.0
// The rules for names, label keys and label values. Each check answers with the messages that
// Kubernetes would give; none means the value is good.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::kube {

using Complaints = std::vector<std::string>;

Complaints check_dns_label(std::string_view);       // RFC 1123, up to 63 characters
Complaints check_dns_subdomain(std::string_view);   // RFC 1123, up to 253 characters
Complaints check_dns_1035_label(std::string_view);  // as above, beginning with a letter
Complaints check_qualified_name(
    std::string_view);  // label and taint keys: "app", "example.com/app"
Complaints check_label_value(std::string_view);

// The same as one text: "first; second".
std::string joined(const Complaints&);

}  // namespace berth::kube

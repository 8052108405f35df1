// SPDX-License-Identifier: Apache-2.0
// What stands in the cells of tables, as kubectl's users know it.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/kinds/kind_row.h"
#include "json/slice.h"

namespace berth::apiserver {

// A path from the top of an object: "spec.nodeName", "status.conditions".
json::Slice look_up(const kube::Object&, std::string_view path);

Cell text(std::string_view path, std::string_view otherwise = "");  // `otherwise` where it is empty
Cell integer(std::string_view path);                                // 0 where it is absent
Cell boolean(std::string_view path, bool otherwise = false);
Cell count(std::string_view path);  // elements or members
Cell age();                         // of the object
Cell shown(std::function<std::string(const kube::Object&)>);
Cell shown_at(std::function<std::string(const kube::Object&, WallTime now)>);
Cell names_of_containers(std::string_view pod_spec);
Cell images_of_containers(std::string_view pod_spec);
Cell selector(std::string_view path);  // a LabelSelector: "<none>" when absent or empty
Cell labels(std::string_view path);    // a map: "a=b,c=d", "<none>"

std::string human_duration(Duration);               // "5m2s", "3d4h"
std::string since(json::Slice time, WallTime now);  // "<unknown>" where there is no time
std::string label_text(json::Slice map);
std::string selector_text(json::Slice label_selector);
std::string joined(json::Slice list_of_texts, std::string_view between = ",");
std::string load_balancer_text(json::Slice load_balancer);  // its addresses, sorted
// The condition's status is True.
bool has_condition(json::Slice conditions, std::string_view type);

}  // namespace berth::apiserver

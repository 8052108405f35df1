// SPDX-License-Identifier: Apache-2.0
// An object, a list or a watch event: what is read prints as a document that reads back the same.
#include <string>

#include "base/check.h"
#include "kube/object.h"
#include "kube/status.h"
#include "kube/watch_event.h"

using namespace berth;
using kube::Object;

namespace {

void check(const Object& object) {
  const std::string text = object.json();
  BERTH_CHECK(json::check(text).has_value(), text);
  const auto again = Object::parse(object.kind(), text);
  BERTH_CHECK(again.has_value(), text);
  BERTH_CHECK(again->json() == text);
  BERTH_CHECK(again->key() == object.key() && again->uid() == object.uid());
  BERTH_CHECK(again->revision() == object.revision() && again->deleting() == object.deleting());
  BERTH_CHECK(object.metadata()["name"].text() == object.name());
  BERTH_CHECK(object.labels().raw() == again->labels().raw());
  (void)object.owners();
  (void)object.finalizers();
  const Object bare = object.without_managed_fields();
  BERTH_CHECK(bare.key() == object.key() && bare.uid() == object.uid());
  BERTH_CHECK(bare.labels().raw() == object.labels().raw());
  BERTH_CHECK(bare.annotations().raw() == object.annotations().raw());
  BERTH_CHECK(json::check(bare.json()).has_value(), bare.json());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto object = Object::parse(kube::kPod, input)) check(*object);
  for (const bool keep : {true, false})
    if (const auto list = kube::parse_list(kube::kPod, input, keep))
      for (const Object& item : list->items) check(item);
  if (const auto event = kube::parse_watch_event(kube::kPod, input); event && event->object.valid())
    check(event->object);
  (void)kube::status_json(kube::error_from_status(409, input, std::nullopt, true));
  return 0;
}

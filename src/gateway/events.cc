// SPDX-License-Identifier: Apache-2.0
#include "gateway/events.h"

#include "gateway/dto.h"
#include "json/writer.h"

namespace berth::gateway {

std::string event_json(Topic topic, ObjectChange::Action action, const kube::Object& object) {
  json::Writer out;
  out.object().member("kind").string(name_of(topic)).member("action").string(name_of(action));
  out.member("seq").integer(static_cast<std::int64_t>(object.revision()));
  return out.member("resource").raw(dto(topic, object)).end().take();
}

std::string thesis_event_json(Topic topic, ObjectChange::Action action, const kube::Object& object,
                              bool whole) {
  json::Writer out;
  out.object().member("action").string(name_of(action)).member("resource");
  if (whole)
    out.raw(dto(topic, object));
  else
    out.string(object.name());
  return out.end().take();
}

}  // namespace berth::gateway

// SPDX-License-Identifier: Apache-2.0
#include "gateway/events.h"

#include "gateway/dto.h"
#include "gateway/thesis_dto.h"
#include "json/writer.h"

namespace berth::gateway {

std::string event_json(Topic topic, ObjectChange::Action action, const kube::Object& object) {
  json::Writer out;
  out.object().member("kind").string(name_of(topic)).member("action").string(name_of(action));
  out.member("seq").integer(static_cast<std::int64_t>(object.revision()));
  return out.member("resource").raw(dto(topic, object)).end().take();
}

std::string stomp_event_json(Topic topic, ObjectChange::Action action, const kube::Object& object,
                             Told told) {
  json::Writer out;
  out.object().member("action").string(name_of(action)).member("resource");
  switch (told) {
    case Told::kName:
      out.string(object.name());
      break;
    case Told::kObject:
      out.raw(dto(topic, object));
      break;
    case Told::kThesis:
      out.raw(thesis_dto(topic, object));
  }
  return out.end().take();
}

}  // namespace berth::gateway

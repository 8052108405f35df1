// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

namespace {

// Up to three, then how many more.
class Few {
 public:
  void add(const std::string& one) {
    if (++all_ > 3) return;
    if (all_ > 1) out_ += ',';
    out_ += one;
  }
  std::string text() const {
    if (all_ > 3) return out_ + " + " + std::to_string(all_ - 3) + " more...";
    return out_.empty() ? "<unset>" : out_;
  }

 private:
  std::size_t all_ = 0;
  std::string out_;
};

std::string ports(const kube::Object& object) {
  Few few;
  for (const json::Slice port : object.member("ports").elements()) {
    if (port["port"])
      few.add(std::string(port["port"].raw()));
    else
      few.add(port["name"] ? port["name"].text() : "*");
  }
  return few.text();
}

std::string addresses(const kube::Object& object) {
  Few few;
  for (const json::Slice endpoint : object.member("endpoints").elements())
    for (const json::Slice address : endpoint["addresses"].elements()) few.add(address.text());
  return few.text();
}

}  // namespace

KindRow endpoint_slice() {
  return Kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
      .generation()
      .name_column()
      .column("AddressType", text("addressType"))
      .column("Ports", shown(&ports))
      .column("Endpoints", shown(&addresses))
      .age_column()
      // k8s 1.36: its labels count as part of what it says.
      .on_update([](Edit& edit) {
        if (same(Peek(edit.body()), edit.was_body()) &&
            !same(Peek(edit.metadata())["labels"], edit.was_metadata()["labels"]))
          edit.metadata()["generation"] = edit.from().generation() + 1;
      })
      .fill("ports[].name", R"("")")
      .fill("ports[].protocol", R"("TCP")");
}

}  // namespace berth::apiserver

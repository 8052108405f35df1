// SPDX-License-Identifier: Apache-2.0
// What the tests of admission steps are written with: requests as the server makes them, on their
// way through one step.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "apiserver/admission/admission.h"
#include "apiserver/admission/steps.h"
#include "apiserver/auth/object_lab.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/kinds/strategy.h"

namespace berth::apiserver {

// One request on its way through admission, with all that it refers to.
struct Trial {
  kube::ApiRequest request;
  json::Arena arena;
  std::unique_ptr<Edit> edit;
  std::unique_ptr<json::Value> posted;
  std::unique_ptr<AdmissionCall> call;

  std::string at(std::string_view pointer) {  // "/spec/priority", as JSON; "" when there is none
    json::Value whole = json::parse_good(edit->text(), arena);
    boost::system::error_code missing;
    const json::Value* found = whole.find_pointer(bj(pointer), missing);
    return found == nullptr ? "" : json::print(*found);
  }
};

class AdmissionLab : public ObjectLab {
 public:
  // A create as the server makes it up to admission.
  std::unique_ptr<Trial> create(std::string_view json, std::string_view ns = "default",
                                kube::User user = {.name = "test"}) {
    auto trial = std::make_unique<Trial>();
    json::Value document = json::parse_good(json, trial->arena);
    const KindRow& row = row_of(document);
    EXPECT_TRUE(decode(row, document).has_value());
    trial->edit = std::make_unique<Edit>(row.id, std::move(document), trial->arena);
    fill(row, *trial->edit);
    trial->request = {.verb = kube::Verb::kCreate, .kind = row.id, .user = std::move(user)};
    if (row.kind.namespaced) trial->request.ns = std::string(ns);
    trial->call = std::make_unique<AdmissionCall>(
        AdmissionCall{.operation = Operation::kCreate,
                      .row = row,
                      .request = trial->request,
                      .name = std::string(Peek(trial->edit->metadata())["name"].text()),
                      .edit = trial->edit.get(),
                      .now = now});
    return trial;
  }
  // What the server does between mutate() and validate().
  void settle(Trial& trial) {
    EXPECT_TRUE(
        begin_create(trial.call->row, *trial.edit,
                     {.ns = trial.request.ns, .uid = "new", .name_suffix = "abcde", .now = now})
            .has_value());
    trial.call->name = std::string(Peek(trial.edit->metadata())["name"].text());
  }
  // A PUT of this document over what there is.
  std::unique_ptr<Trial> update(const kube::Object& old, std::string_view json,
                                std::string_view subresource = "",
                                kube::User user = {.name = "test"}) {
    auto trial = std::make_unique<Trial>();
    const KindRow& row = *find_built_in(old.kind());
    json::Value document = json::parse_good(json, trial->arena);
    EXPECT_TRUE(decode(row, document).has_value());
    trial->edit = std::make_unique<Edit>(old, trial->arena);
    trial->edit->replace(std::move(document));
    fill(row, *trial->edit);
    trial->request = {.verb = kube::Verb::kUpdate,
                      .kind = row.id,
                      .ns = std::string(old.ns()),
                      .name = std::string(old.name()),
                      .subresource = std::string(subresource),
                      .user = std::move(user)};
    trial->call = std::make_unique<AdmissionCall>(AdmissionCall{.operation = Operation::kUpdate,
                                                                .row = row,
                                                                .request = trial->request,
                                                                .name = trial->request.name,
                                                                .edit = trial->edit.get(),
                                                                .old = old,
                                                                .now = now});
    return trial;
  }
  std::unique_ptr<Trial> remove(const kube::Object& old) {
    auto trial = std::make_unique<Trial>();
    trial->request = {.verb = kube::Verb::kDelete,
                      .kind = old.kind(),
                      .ns = std::string(old.ns()),
                      .name = std::string(old.name())};
    trial->call = std::make_unique<AdmissionCall>(AdmissionCall{.operation = Operation::kDelete,
                                                                .row = *find_built_in(old.kind()),
                                                                .request = trial->request,
                                                                .name = trial->request.name,
                                                                .old = old,
                                                                .now = now});
    return trial;
  }
  // Something posted to a subresource of what there is.
  std::unique_ptr<Trial> post(kube::KindId kind, kube::Key key, std::string_view subresource,
                              std::string_view json) {
    auto trial = std::make_unique<Trial>();
    trial->posted = std::make_unique<json::Value>(json::parse_good(json, trial->arena));
    trial->request = {.verb = kube::Verb::kCreate,
                      .kind = kind,
                      .ns = key.ns,
                      .name = key.name,
                      .subresource = std::string(subresource)};
    trial->call = std::make_unique<AdmissionCall>(AdmissionCall{.operation = Operation::kCreate,
                                                                .row = *find_built_in(kind),
                                                                .request = trial->request,
                                                                .name = key.name,
                                                                .posted = trial->posted.get(),
                                                                .now = now});
    return trial;
  }

 private:
  static const KindRow& row_of(const json::Value& document) {
    const auto kind =
        kube::find_kind(Peek(document)["apiVersion"].text(), Peek(document)["kind"].text());
    return *find_built_in(*kind);
  }
};

inline std::string refused(const Result<Ok>& result) {
  return result ? "" : result.error().message;
}

}  // namespace berth::apiserver

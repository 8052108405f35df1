// SPDX-License-Identifier: Apache-2.0
// All that the API server knows about one kind besides its schema: how it is named and addressed,
// how a table shows it, what is filled in, what is refused, and what a client may not set. A kind
// is one file that builds such a row and one line in kinds.def; a CRD compiles into the same.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "json/schema.h"
#include "json/value.h"
#include "json/writer.h"
#include "kube/names.h"
#include "kube/object.h"

namespace berth::apiserver {

class Edit;
class Findings;
struct Layout;  // apiserver/apply/layout.h

// Writes one value: the content of a cell.
using Cell = std::function<void(const kube::Object&, WallTime now, json::Writer&)>;

struct Column {
  std::string name;
  std::string type = "string";  // string, integer, boolean, number, date
  std::string format = "";      // "name" for the column that names the object
  int priority = 0;             // 1: only shown when wide
  Cell cell;
  std::string description = "";  // of custom kinds
};

struct Subresource {
  std::string name;                      // "status"
  std::string kind;                      // what it is read and written as: "Pod", "Scale"
  std::string group = "", version = "";  // of that kind where it differs from the resource's
  std::vector<std::string_view> verbs;
};

// Where a Scale finds what it shows, below the document's top: "spec.replicas". A selector may be
// text, a LabelSelector or plain labels.
struct ScalePaths {
  std::string replicas = "spec.replicas";
  std::string status_replicas = "status.replicas";
  std::string selector = "spec.selector";  // "": it has none
};

// A field that selectors may ask for; what stands in the object, as text.
struct FieldLabel {
  std::string label;
  std::function<std::string(const kube::Object&)> value;
};

using NameRule = kube::Complaints (*)(std::string_view);

// A kind whose objects are made when somebody asks, and never stored: usage, for example.
class Computed {
 public:
  virtual ~Computed() = default;
  // On the API server's loop. "": all namespaces. In key order.
  virtual std::vector<kube::Object> list(std::string_view ns) = 0;
  virtual std::optional<kube::Object> get(std::string_view ns, std::string_view name) = 0;
};

struct KindRow {
  kube::KindId id{};
  kube::Kind kind;
  std::string singular;
  std::string list_kind = {};  // of custom kinds; "": the kind with "List" behind it
  std::vector<std::string> short_names = {}, categories = {};
  std::vector<std::string_view> verbs;
  const json::Message* schema = nullptr;
  std::vector<Column> columns;
  std::vector<Subresource> subresources = {};
  ScalePaths scale_paths = {};  // where there is a subresource "scale"
  std::vector<FieldLabel> field_labels = {};
  // True: an unknown field label is told with the kind's name in it, as some kinds do.
  NameRule name_rule = nullptr;

  // Brings a document into the kind's form and gives the unknown fields, where the schema alone
  // does not tell how: custom kinds. The error is only the reason.
  std::function<Result<std::vector<std::string>>(json::Value&)> decode = {};
  bool custom = false;  // of a CRD: no strategic merge, items of lists say their kind
  // Which definition it comes from, and in which state: with another one its watches end.
  std::string definition = {};
  // How documents merge when they are applied, where that is not in `schema`: custom kinds.
  std::shared_ptr<const Layout> layout = {};
  std::string open_api = {};  // OpenAPI v3 schema as JSON, of custom kinds
  // Another kind over the same objects (Events of two groups, versions of a CRD). The objects are
  // stored as that kind, and these two turn one into the other; null: only the kind's name differs.
  std::optional<kube::KindId> stored_as = {};
  std::function<Result<kube::Object>(const kube::Object& stored)> from_stored = {};
  std::function<void(json::Dict& document)> to_stored = {};  // kind and apiVersion aside
  std::shared_ptr<Computed> computed = {};                   // then nothing is stored

  bool stored = true;              // false: a request whose answer is not kept (reviews, bindings)
  bool has_status = false;         // a status of its own that only its subresource writes
  bool status_on_create = false;   // and its creator may give it
  bool counts_generation = false;  // metadata.generation counts changes of all but the status
  bool unconditional_update = true;  // a PUT may come without resourceVersion
  bool create_on_update = false;     // a PUT may create
  std::string warning = {};          // what clients are told whenever they ask for it

  // In the order of a request. Each is null where there is nothing to do.
  std::vector<std::function<void(Edit&)>> fill;       // defaults, whenever a document is decoded
  std::vector<std::function<void(Edit&)>> on_create;  // what a client may not choose
  std::vector<std::function<void(Edit&)>> on_update;
  std::vector<std::function<void(Edit&)>> on_status_update;
  std::vector<std::function<void(Edit&, Findings&)>> check;         // of what is new
  std::vector<std::function<void(Edit&, Findings&)>> check_update;  // edit.from() is what was
  std::vector<std::function<void(Edit&, Findings&)>> check_status;

  const Subresource* subresource(std::string_view name) const;
  std::string kind_of_lists() const { return list_kind.empty() ? kind.kind + "List" : list_kind; }
};

// Builds a row; see scheduling/priority_class.cc for how it reads.
class Kind {
 public:
  Kind(std::string_view api_version, std::string_view kind, std::string_view plural);

  Kind& cluster_scoped();
  Kind& short_name(std::string_view);
  Kind& category(std::string_view);
  Kind& singular(std::string_view);  // where it is not the kind in lower case
  Kind& only(std::vector<std::string_view> verbs);
  Kind& without(std::string_view verb);
  Kind& request();           // answered, not stored: only create
  Kind& named_by(NameRule);  // a DNS subdomain unless told otherwise
  Kind& status();            // the usual status subresource
  Kind& scale();             // and scale
  Kind& subresource(Subresource);
  Kind& generation();
  Kind& conditional_update();  // a PUT needs its resourceVersion
  Kind& creates_on_update();
  Kind& deprecated(std::string_view since, std::string_view instead = "");  // "v1.33", a kind

  Kind& column(std::string_view name, Cell, std::string_view type = "string");
  Kind& wide(std::string_view name, Cell, std::string_view type = "string");  // priority 1
  Kind& format_last(std::string_view);       // of the column before: "name" names the object
  Kind& name_column();                       // "Name", which most tables begin with
  Kind& age_column();                        // "Age"
  Kind& selectable(std::string_view label);  // a path: "spec.nodeName"
  Kind& selectable(std::string_view label, std::function<std::string(const kube::Object&)>);

  // A value in JSON for an absent field: .fill("spec.ports[].protocol", R"("TCP")"). Nothing is
  // done where the object around the field is absent.
  Kind& fill(std::string_view path, std::string_view json);
  Kind& fill(std::function<void(Edit&)>);
  Kind& on_create(std::function<void(Edit&)>);
  Kind& on_update(std::function<void(Edit&)>);
  Kind& on_status_update(std::function<void(Edit&)>);
  Kind& check(
      std::function<void(Edit&, Findings&)>);  // on create, and on update before what follows
  Kind& check_create(std::function<void(Edit&, Findings&)>);
  Kind& check_update(std::function<void(Edit&, Findings&)>);
  Kind& check_status(std::function<void(Edit&, Findings&)>);
  // Top-level members, or paths below them, that never change.
  Kind& immutable(std::initializer_list<std::string_view> paths);

  operator KindRow() &&;  // NOLINT(google-explicit-constructor): a row is what the builder makes
  operator KindRow() & { return std::move(*this); }  // NOLINT(google-explicit-constructor)

 private:
  KindRow row_;
};

}  // namespace berth::apiserver

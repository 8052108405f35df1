// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <map>
#include <variant>

#include <fmt/format.h>

#include "json/writer.h"
#include "json/yaml.h"
#include "kube/time.h"
#include "lab/stages/template_nodes.h"

namespace berth::lab {
namespace {

struct Value;
using List = std::vector<Value>;
using Dict = std::map<std::string, Value, std::less<>>;

// What a pipeline gives: nothing, a scalar, something made here, or a part of the document.
struct Value : std::variant<std::monostate, bool, std::int64_t, double, std::string, json::Slice,
                            std::shared_ptr<List>, std::shared_ptr<Dict>> {
  using variant::variant;
  template <class T>
  const T* as() const {
    return std::get_if<T>(this);
  }
  bool nil() const { return as<std::monostate>() != nullptr; }
};

Value of_slice(json::Slice slice) {
  if (!slice || slice.is_null()) return {};
  if (slice.is_string()) return slice.text();
  if (slice.is_bool()) return slice.boolean();
  if (slice.is_number()) {
    if (const auto whole = slice.integer()) return *whole;
    return slice.number().value_or(0);
  }
  return slice;
}

void write_json(json::Writer& w, const Value& value) {
  if (value.nil()) {
    w.null();
  } else if (const auto* flag = value.as<bool>()) {
    w.boolean(*flag);
  } else if (const auto* whole = value.as<std::int64_t>()) {
    w.integer(*whole);
  } else if (const auto* number = value.as<double>()) {
    w.number(*number);
  } else if (const auto* text = value.as<std::string>()) {
    w.string(*text);
  } else if (const auto* slice = value.as<json::Slice>()) {
    w.raw(slice->raw());
  } else if (const auto* list = value.as<std::shared_ptr<List>>()) {
    w.array();
    for (const Value& each : **list) write_json(w, each);
    w.end();
  } else if (const auto* dict = value.as<std::shared_ptr<Dict>>()) {
    w.object();
    for (const auto& [key, each] : **dict) {
      w.member(key);
      write_json(w, each);
    }
    w.end();
  }
}

std::string json_of(const Value& value) {
  json::Writer w;
  write_json(w, value);
  return w.take();
}

std::string printed(const Value& value) {
  if (value.nil()) return "<no value>";
  if (const auto* text = value.as<std::string>()) return *text;
  return json_of(value);
}

std::size_t size_of(const Value& value) {
  if (const auto* text = value.as<std::string>()) return text->size();
  if (const auto* slice = value.as<json::Slice>()) return slice->size();
  if (const auto* list = value.as<std::shared_ptr<List>>()) return (*list)->size();
  if (const auto* dict = value.as<std::shared_ptr<Dict>>()) return (*dict)->size();
  return 0;
}

bool truthy(const Value& value) {
  if (const auto* flag = value.as<bool>()) return *flag;
  if (const auto* whole = value.as<std::int64_t>()) return *whole != 0;
  if (const auto* number = value.as<double>()) return *number != 0;
  return size_of(value) > 0;
}

Value member(const Value& value, std::string_view name) {
  if (const auto* slice = value.as<json::Slice>()) return of_slice((*slice)[name]);
  if (const auto* dict = value.as<std::shared_ptr<Dict>>()) {
    const auto found = (*dict)->find(name);
    if (found != (*dict)->end()) return found->second;
  }
  return {};
}

Value element(const Value& value, std::int64_t at) {
  if (at < 0) return {};
  const auto place = static_cast<std::size_t>(at);
  if (const auto* slice = value.as<json::Slice>())
    return slice->is_array() && place < slice->size() ? of_slice((*slice)[place]) : Value();
  if (const auto* list = value.as<std::shared_ptr<List>>())
    return place < (*list)->size() ? (**list)[place] : Value();
  return {};
}

bool same(const Value& a, const Value& b) {
  if (a.nil() || b.nil()) return a.nil() && b.nil();
  if (const auto* x = a.as<std::string>(), *y = b.as<std::string>(); x != nullptr && y != nullptr)
    return *x == *y;
  return json_of(a) == json_of(b);
}

int compare(const Value& a, const Value& b) {
  if (const auto* x = a.as<std::string>(), *y = b.as<std::string>(); x != nullptr && y != nullptr)
    return x->compare(*y);
  const auto number = [](const Value& v) {
    if (const auto* whole = v.as<std::int64_t>()) return static_cast<double>(*whole);
    if (const auto* real = v.as<double>()) return *real;
    return 0.0;
  };
  return number(a) < number(b) ? -1 : number(a) > number(b) ? 1 : 0;
}

constexpr std::string_view kNodeConditions =
    R"([{"type":"Ready","status":"True","reason":"KubeletReady","message":"kubelet is posting ready status"},)"
    R"({"type":"MemoryPressure","status":"False","reason":"KubeletHasSufficientMemory","message":"kubelet has sufficient memory available"},)"
    R"({"type":"DiskPressure","status":"False","reason":"KubeletHasNoDiskPressure","message":"kubelet has no disk pressure"},)"
    R"({"type":"PIDPressure","status":"False","reason":"KubeletHasSufficientPID","message":"kubelet has sufficient PID available"},)"
    R"({"type":"NetworkUnavailable","status":"False","reason":"RouteCreated","message":"RouteController created a route"}])";

Value text_or_nil(std::string text) { return text.empty() ? Value() : Value(std::move(text)); }

Value one_or_none(std::string text) {
  auto list = std::make_shared<List>();
  if (!text.empty()) list->emplace_back(std::move(text));
  return list;
}

using Args = std::vector<Value>;
using Function = Value (*)(const Args&, const TemplateFacts&);

std::string quoted(const Value& value) {
  const std::string json = json_of(value);
  if (!json.empty() && json.front() == '"') return json;
  std::string out;
  json::append_quoted(out, json);
  return out;
}

Value yaml(const Args& args, const TemplateFacts&) {
  if (args.empty()) return {};
  std::string text = json::json_to_yaml(json_of(args[0]));
  if (args.size() < 2 || args[1].as<std::int64_t>() == nullptr) return text;
  const std::string pad(
      static_cast<std::size_t>(std::max<std::int64_t>(0, *args[1].as<std::int64_t>())) * 2, ' ');
  std::string out = "\n" + pad;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += pad;
  }
  return out;
}

Value print_formatted(const Args& args, const TemplateFacts&) {
  if (args.empty()) return {};
  std::string out;
  std::size_t next = 1;
  const std::string format = printed(args[0]);
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    const char verb = format[++i];
    if (verb == '%')
      out += '%';
    else if (next >= args.size())
      out += fmt::format("%!{}(MISSING)", verb);
    else if (verb == 'q')
      out += quoted(args[next++]);
    else
      out += printed(args[next++]);
  }
  return out;
}

std::int64_t whole(const Value& value) {
  if (const auto* number = value.as<std::int64_t>()) return *number;
  if (const auto* real = value.as<double>()) return static_cast<std::int64_t>(*real);
  if (const auto* text = value.as<std::string>()) {
    const json::Slice slice(*text);
    return slice.integer().value_or(0);
  }
  return 0;
}

struct Named {
  std::string_view name;
  Function function;
};
// As KWOK and sprig name them. or, and: see Renderer::call, which stops at the first that decides.
constexpr Named kFunctions[] = {
    {"Quote",
     [](const Args& a, const TemplateFacts&) -> Value {
       return quoted(a.empty() ? Value() : a[0]);
     }},
    {"quote",
     [](const Args& a, const TemplateFacts&) -> Value {
       return quoted(a.empty() ? Value() : a[0]);
     }},
    {"Now", [](const Args&, const TemplateFacts& f) -> Value { return kube::time_text(f.now); }},
    {"StartTime",
     [](const Args&, const TemplateFacts& f) -> Value { return kube::time_text(f.start); }},
    {"YAML", &yaml},
    {"Version", [](const Args&, const TemplateFacts&) -> Value { return std::string("berth"); }},
    {"NodeConditions",
     [](const Args&, const TemplateFacts&) -> Value { return json::Slice(kNodeConditions); }},
    {"NodeName",
     [](const Args&, const TemplateFacts& f) -> Value { return text_or_nil(f.node_name); }},
    {"NodePort", [](const Args&, const TemplateFacts&) -> Value { return std::int64_t{10250}; }},
    {"NodeIP",
     [](const Args&, const TemplateFacts& f) -> Value {
       return text_or_nil(f.node_ip(f.node_name));
     }},
    {"NodeIPWith",
     [](const Args& a, const TemplateFacts& f) -> Value {
       return text_or_nil(f.node_ip(a.empty() ? f.node_name : printed(a[0])));
     }},
    {"NodeIPsWith",
     [](const Args& a, const TemplateFacts& f) -> Value {
       return one_or_none(f.node_ip(a.empty() ? f.node_name : printed(a[0])));
     }},
    {"PodIP", [](const Args&, const TemplateFacts& f) -> Value { return text_or_nil(f.pod_ip()); }},
    {"PodIPWith",
     [](const Args&, const TemplateFacts& f) -> Value { return text_or_nil(f.pod_ip()); }},
    {"PodIPsWith",
     [](const Args&, const TemplateFacts& f) -> Value { return one_or_none(f.pod_ip()); }},
    {"not",
     [](const Args& a, const TemplateFacts&) -> Value { return a.empty() || !truthy(a[0]); }},
    {"eq",
     [](const Args& a, const TemplateFacts&) -> Value {
       for (std::size_t i = 1; i < a.size(); ++i)
         if (same(a[0], a[i])) return true;
       return false;
     }},
    {"ne",
     [](const Args& a, const TemplateFacts&) -> Value {
       return a.size() > 1 && !same(a[0], a[1]);
     }},
    {"lt",
     [](const Args& a, const TemplateFacts&) -> Value {
       return a.size() > 1 && compare(a[0], a[1]) < 0;
     }},
    {"le",
     [](const Args& a, const TemplateFacts&) -> Value {
       return a.size() > 1 && compare(a[0], a[1]) <= 0;
     }},
    {"gt",
     [](const Args& a, const TemplateFacts&) -> Value {
       return a.size() > 1 && compare(a[0], a[1]) > 0;
     }},
    {"ge",
     [](const Args& a, const TemplateFacts&) -> Value {
       return a.size() > 1 && compare(a[0], a[1]) >= 0;
     }},
    {"index",
     [](const Args& a, const TemplateFacts&) -> Value {
       Value found = a.empty() ? Value() : a[0];
       for (std::size_t i = 1; i < a.size(); ++i) {
         if (const auto* key = a[i].as<std::string>())
           found = member(found, *key);
         else
           found = element(found, whole(a[i]));
       }
       return found;
     }},
    {"len",
     [](const Args& a, const TemplateFacts&) -> Value {
       return static_cast<std::int64_t>(a.empty() ? 0 : size_of(a[0]));
     }},
    {"printf", &print_formatted},
    {"print",
     [](const Args& a, const TemplateFacts&) -> Value {
       std::string out;
       for (const Value& each : a) out += printed(each);
       return out;
     }},
    {"toString",
     [](const Args& a, const TemplateFacts&) -> Value {
       return a.empty() ? std::string() : printed(a[0]);
     }},
    {"int",
     [](const Args& a, const TemplateFacts&) -> Value {
       return a.empty() ? std::int64_t{0} : whole(a[0]);
     }},
    {"add",
     [](const Args& a, const TemplateFacts&) -> Value {
       std::int64_t sum = 0;
       for (const Value& each : a) sum += whole(each);
       return sum;
     }},
    {"sub",
     [](const Args& a, const TemplateFacts&) -> Value {
       return a.size() < 2 ? std::int64_t{0} : whole(a[0]) - whole(a[1]);
     }},
    {"default",
     [](const Args& a, const TemplateFacts&) -> Value {
       return a.size() > 1 && truthy(a[1]) ? a[1] : a.empty() ? Value() : a[0];
     }},
    {"dict",
     [](const Args& a, const TemplateFacts&) -> Value {
       auto made = std::make_shared<Dict>();
       for (std::size_t i = 0; i + 1 < a.size(); i += 2) (*made)[printed(a[i])] = a[i + 1];
       return made;
     }},
    {"list",
     [](const Args& a, const TemplateFacts&) -> Value { return std::make_shared<List>(a); }},
};

const Named* find_function(std::string_view name) {
  for (const Named& each : kFunctions)
    if (each.name == name) return &each;
  return nullptr;
}

class Renderer {
 public:
  Renderer(json::Slice document, const TemplateFacts& facts) : facts_(facts) {
    variables_.push_back({"", of_slice(document)});
  }

  bool render(const std::vector<Template::Node>& nodes, const Value& dot) {
    const std::size_t outer = variables_.size();
    for (const Template::Node& node : nodes)
      if (!render(node, dot)) return false;
    variables_.resize(outer);
    return true;
  }
  const Value& root() const { return variables_.front().value; }
  std::string take() { return std::move(out_); }
  const std::string& why() const { return why_; }

 private:
  struct Variable {
    std::string name;
    Value value;
  };
  static constexpr std::size_t kMost = 1 << 20;  // bytes of output

  bool render(const Template::Node& node, const Value& dot) {
    using Type = Template::Node::Type;
    if (out_.size() > kMost) return wrong("it writes more than 1 MiB");
    switch (node.type) {
      case Type::kText:
        out_ += node.text;
        return true;
      case Type::kValue: {
        const Value value = evaluate(node.pipeline, dot);
        if (node.pipeline.variables.empty())
          out_ += printed(value);
        else if (!set(node.pipeline, 0, value))
          return false;
        return why_.empty();
      }
      case Type::kIf:
      case Type::kWith: {
        const std::size_t outer = variables_.size();
        const Value value = evaluate(node.pipeline, dot);
        if (!node.pipeline.variables.empty() && !set(node.pipeline, 0, value)) return false;
        const bool good = why_.empty() &&
                          (truthy(value) ? render(node.then, node.type == Type::kWith ? value : dot)
                                         : render(node.otherwise, dot));
        variables_.resize(outer);
        return good;
      }
      case Type::kRange:
        return range(node, dot);
    }
    return true;
  }

  bool range(const Template::Node& node, const Value& dot) {
    const Value over = evaluate(node.pipeline, dot);
    if (!why_.empty()) return false;
    const std::size_t outer = variables_.size();
    bool any = false;
    const auto once = [&](const Value& key, const Value& value) {
      any = true;
      const auto& names = node.pipeline.variables;
      if (names.size() == 2) variables_.push_back({names[0], key});
      if (!names.empty()) variables_.push_back({names.back(), value});
      const bool good = render(node.then, value);
      variables_.resize(outer);
      return good;
    };
    if (const auto* slice = over.as<json::Slice>()) {
      if (slice->is_array()) {
        std::int64_t at = 0;
        for (const json::Slice each : slice->elements())
          if (!once(at++, of_slice(each))) return false;
      } else {
        // Go walks maps in the order of their keys.
        std::map<std::string, json::Slice> sorted;
        for (const auto [key, each] : slice->members()) sorted[std::string(key)] = each;
        for (const auto& [key, each] : sorted)
          if (!once(key, of_slice(each))) return false;
      }
    } else if (const auto* list = over.as<std::shared_ptr<List>>()) {
      std::int64_t at = 0;
      for (const Value& each : **list)
        if (!once(at++, each)) return false;
    } else if (const auto* dict = over.as<std::shared_ptr<Dict>>()) {
      for (const auto& [key, each] : **dict)
        if (!once(key, each)) return false;
    } else if (!over.nil()) {
      return wrong("range goes over lists and maps");
    }
    return any || render(node.otherwise, dot);
  }

  bool set(const Pipeline& pipeline, std::size_t which, const Value& value) {
    const std::string& name = pipeline.variables[which];
    if (pipeline.declares) {
      variables_.push_back({name, value});
      return true;
    }
    for (auto it = variables_.rbegin(); it != variables_.rend(); ++it)
      if (it->name == name) {
        it->value = value;
        return true;
      }
    return wrong(fmt::format("${} was never declared", name));
  }

  Value evaluate(const Pipeline& pipeline, const Value& dot) {
    Value value;
    for (std::size_t i = 0; i < pipeline.calls.size(); ++i)
      value = call(pipeline.calls[i], dot, i == 0 ? nullptr : &value);
    return value;
  }

  Value call(const Call& call, const Value& dot, const Value* piped) {
    if (call.function.empty()) return argument(call.arguments.front(), dot);
    if (call.function == "or" || call.function == "and") {
      Value last;
      const std::size_t count = call.arguments.size() + (piped != nullptr ? 1 : 0);
      for (std::size_t i = 0; i < count; ++i) {
        last = i < call.arguments.size() ? argument(call.arguments[i], dot) : *piped;
        if (truthy(last) == (call.function == "or")) break;
      }
      return last;
    }
    Args args;
    for (const Argument& each : call.arguments) args.push_back(argument(each, dot));
    if (piped != nullptr) args.push_back(*piped);
    return find_function(call.function)->function(args, facts_);
  }

  Value argument(const Argument& of, const Value& dot) {
    Value value;
    switch (of.type) {
      case Argument::Type::kDot:
        return dot;
      case Argument::Type::kText:
        return of.text;
      case Argument::Type::kInteger:
        return of.integer;
      case Argument::Type::kBool:
        return of.integer != 0;
      case Argument::Type::kNil:
        return {};
      case Argument::Type::kFunction:
        return call(Call{.function = of.text}, dot, nullptr);
      case Argument::Type::kField:
        value = dot;
        break;
      case Argument::Type::kGroup:
        value = evaluate(*of.group, dot);
        break;
      case Argument::Type::kVariable: {
        bool found = false;
        for (auto it = variables_.rbegin(); it != variables_.rend() && !found; ++it)
          if (it->name == of.text) {
            value = it->value;
            found = true;
          }
        if (!found) wrong(fmt::format("${} was never declared", of.text));
        break;
      }
    }
    for (const std::string& field : of.fields) value = member(value, field);
    return value;
  }

  bool wrong(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return false;
  }

  const TemplateFacts& facts_;
  std::vector<Variable> variables_;
  std::string out_, why_;
};

}  // namespace

bool known_function(std::string_view name) {
  return name == "or" || name == "and" || find_function(name) != nullptr;
}

Result<std::string> Template::render(json::Slice document, const TemplateFacts& facts) const {
  Renderer renderer(document, facts);
  const Value dot = renderer.root();
  if (!renderer.render(*nodes_, dot)) return invalid(renderer.why());
  return renderer.take();
}

}  // namespace berth::lab

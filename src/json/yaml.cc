// SPDX-License-Identifier: Apache-2.0
// Reading YAML. libyaml, which go-yaml v2 is a translation of, finds the structure; what scalars,
// tags, merge keys and aliases mean is decided here, as go-yaml v2 decides it for Kubernetes.
#include "json/yaml.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <yaml.h>

#include "json/cursor.h"
#include "json/scan.h"
#include "json/writer.h"
#include "json/yaml_scalar.h"

namespace berth::json {

namespace {

struct Place {
  std::size_t line = 0;  // from 0, as libyaml counts
  std::size_t column = 0;
};

// Thrown from deep inside of a document; never leaves this file.
struct Refused {
  Place place;
  std::string problem;
};

struct Node {
  enum class Kind : unsigned char { kScalar, kList, kMap, kAlias };
  Kind kind = Kind::kScalar;
  bool open = false;  // being written: an alias to it now would never end
  Place place;
  bool implicit = false;  // a scalar without quotes and tag
  std::string tag;
  std::string text;                   // of a scalar
  std::vector<std::size_t> children;  // of a map: key, value, key, value
  std::size_t target = 0;             // of an alias
};

// One document as a tree, aliases not yet followed.
struct Tree {
  std::vector<Node> nodes;  // the root is the first
};

std::string text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
}

// Turns a stream of text into trees.
class TreeReader {
 public:
  TreeReader(std::string_view text, const YamlLimits& limits) : text_(text), limits_(limits) {
    if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  TreeReader(const TreeReader&) = delete;
  TreeReader& operator=(const TreeReader&) = delete;
  ~TreeReader() { yaml_parser_delete(&parser_); }

  // The next document; nothing at the end of the stream.
  std::optional<Tree> next() {
    tree_ = {};
    anchors_.clear();
    while (true) {
      yaml_event_t event;
      if (yaml_parser_parse(&parser_, &event) == 0) throw Refused{place_of_problem(), problem()};
      const std::unique_ptr<yaml_event_t, decltype(&yaml_event_delete)> owner(&event,
                                                                              &yaml_event_delete);
      if (event.type == YAML_STREAM_END_EVENT) return std::nullopt;
      if (event.type == YAML_DOCUMENT_END_EVENT) return std::move(tree_);
      take(event);
    }
  }

 private:
  void take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_ALIAS_EVENT: {
        Node& node = add(Node::Kind::kAlias, event, nullptr);
        const auto target = anchors_.find(text_of(event.data.alias.anchor));
        if (target == anchors_.end()) throw Refused{node.place, "the alias has no anchor"};
        node.target = target->second;
        break;
      }
      case YAML_SCALAR_EVENT: {
        const auto& scalar = event.data.scalar;
        Node& node = add(Node::Kind::kScalar, event, scalar.anchor);
        node.implicit = scalar.plain_implicit != 0;
        node.tag = text_of(scalar.tag);
        node.text.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
        break;
      }
      case YAML_SEQUENCE_START_EVENT:
        enter(Node::Kind::kList, event, event.data.sequence_start.anchor);
        break;
      case YAML_MAPPING_START_EVENT:
        enter(Node::Kind::kMap, event, event.data.mapping_start.anchor);
        break;
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        open_.pop_back();
        break;
      default:
        break;
    }
  }

  Node& add(Node::Kind kind, const yaml_event_t& event, const yaml_char_t* anchor) {
    const Place place{event.start_mark.line, event.start_mark.column};
    const std::size_t index = tree_.nodes.size();
    if (index >= limits_.max_nodes)
      throw Refused{place, fmt::format("more than {} values", limits_.max_nodes)};
    if (!open_.empty()) tree_.nodes[open_.back()].children.push_back(index);
    if (anchor != nullptr) anchors_[text_of(anchor)] = index;
    Node& node = tree_.nodes.emplace_back();
    node.kind = kind;
    node.place = place;
    return node;
  }

  void enter(Node::Kind kind, const yaml_event_t& event, const yaml_char_t* anchor) {
    const Node& node = add(kind, event, anchor);
    if (open_.size() >= limits_.max_depth) throw Refused{node.place, "nested too deeply"};
    open_.push_back(tree_.nodes.size() - 1);
  }

  std::string problem() const {
    if (parser_.problem == nullptr) return "not YAML";
    if (parser_.context == nullptr) return parser_.problem;
    return fmt::format("{} {}", parser_.problem, parser_.context);
  }

  Place place_of_problem() const {
    if (parser_.error != YAML_READER_ERROR) {
      // Where a string or key began says more than the line on which it was missed.
      const bool later = parser_.error == YAML_SCANNER_ERROR && parser_.context != nullptr &&
                         parser_.problem_mark.line > parser_.context_mark.line;
      const yaml_mark_t& mark = later ? parser_.context_mark : parser_.problem_mark;
      return {mark.line, mark.column};
    }
    // A bad character: libyaml tells only how far it came.
    const std::string_view before = text_.substr(0, parser_.problem_offset);
    const auto lines = std::count(before.begin(), before.end(), '\n');
    const std::size_t start = before.rfind('\n');
    return {static_cast<std::size_t>(lines),
            start == std::string_view::npos ? before.size() : before.size() - start - 1};
  }

  std::string_view text_;
  const YamlLimits& limits_;
  yaml_parser_t parser_;
  Tree tree_;
  std::map<std::string, std::size_t> anchors_;
  std::vector<std::size_t> open_;
};

// Writes a tree as JSON, following aliases and merge keys.
class JsonWriter {
 public:
  JsonWriter(Tree& tree, const YamlLimits& limits) : tree_(tree), limits_(limits) {}

  std::string run() {
    write(0);
    return out_.take();
  }

 private:
  struct Entry {
    std::string key;
    std::size_t value;
  };
  // The members of a map in the order of their keys' first appearance.
  struct Members {
    std::vector<Entry> entries;
    std::map<std::string, std::size_t, std::less<>> index;

    void set(std::string key, std::size_t value) {
      const auto [at, is_new] = index.try_emplace(key, entries.size());
      if (is_new) {
        entries.push_back({std::move(key), value});
      } else {
        entries[at->second].value = value;
      }
    }
  };

  // An alias costs what it stands for, so that aliases of aliases are refused while they are small.
  void count(const Node& node) {
    bytes_ += node.text.size();
    if (++count_ > limits_.max_nodes || bytes_ > 4 * limits_.max_bytes)
      throw Refused{node.place, "too much text once its aliases are expanded"};
  }

  std::size_t follow(std::size_t index) {
    while (tree_.nodes[index].kind == Node::Kind::kAlias) {
      const Node& alias = tree_.nodes[index];
      count(alias);
      if (tree_.nodes[alias.target].open) throw Refused{alias.place, "the anchor contains itself"};
      index = alias.target;
    }
    return index;
  }

  YamlScalar resolve(const Node& node) {
    if (node.tag.empty())
      return node.implicit ? resolve_plain(node.text)
                           : YamlScalar{YamlScalar::Kind::kString, node.text};
    auto scalar = resolve_tagged(node.text, node.tag);
    if (!scalar) throw Refused{node.place, fmt::format("cannot be read as {}", quoted(node.tag))};
    return std::move(*scalar);
  }

  void write(std::size_t index) {
    index = follow(index);
    Node& node = tree_.nodes[index];
    count(node);
    switch (node.kind) {
      case Node::Kind::kScalar:
        write_scalar(node);
        break;
      case Node::Kind::kList:
        enter(node);
        out_.array();
        for (const std::size_t child : node.children) write(child);
        out_.end();
        leave(node);
        break;
      case Node::Kind::kMap: {
        enter(node);
        Members members;
        collect(node, members);
        out_.object();
        for (const Entry& entry : members.entries) {
          out_.member(entry.key);
          write(entry.value);
        }
        out_.end();
        leave(node);
        break;
      }
      case Node::Kind::kAlias:
        break;
    }
  }

  void write_scalar(const Node& node) {
    const YamlScalar scalar = resolve(node);
    if (scalar.kind == YamlScalar::Kind::kString) {
      out_.string(scalar.json);
    } else if (scalar.json.empty()) {
      throw Refused{node.place, "JSON has no infinite numbers"};
    } else {
      out_.raw(scalar.json);
    }
  }

  void enter(Node& node) {
    if (++depth_ > limits_.max_depth) throw Refused{node.place, "nested too deeply"};
    node.open = true;
  }
  void leave(Node& node) {
    node.open = false;
    --depth_;
  }

  // k8s 1.36: a merge key takes effect where it stands, so it wins over keys before it.
  void collect(const Node& map, Members& members) {
    std::set<std::string, std::less<>> own;
    for (std::size_t i = 0; i + 1 < map.children.size(); i += 2) {
      const Node& key = tree_.nodes[map.children[i]];
      if (key.kind == Node::Kind::kScalar && key.text == "<<" &&
          (key.implicit || key.tag == "tag:yaml.org,2002:merge")) {
        merge(map.children[i + 1], members);
        continue;
      }
      std::string name = key_of(map.children[i]);
      if (!own.insert(name).second)
        throw Refused{key.place,
                      fmt::format("the key {} is already set in this map", quoted(name))};
      members.set(std::move(name), map.children[i + 1]);
    }
  }

  std::string key_of(std::size_t index) {
    const Place place = tree_.nodes[index].place;
    const Node& key = tree_.nodes[follow(index)];
    count(key);
    if (key.kind == Node::Kind::kList || key.kind == Node::Kind::kMap)
      throw Refused{place, "a key must be a scalar"};
    auto text = key_text(resolve(key));
    if (!text) throw Refused{place, "a key must be a string, a number or a boolean"};
    return std::move(*text);
  }

  void merge(std::size_t index, Members& members) {
    const Node& value = tree_.nodes[index];
    if (value.kind == Node::Kind::kList) {
      // Earlier maps win, so they come last.
      for (auto at = value.children.rbegin(); at != value.children.rend(); ++at)
        merge_map(*at, members);
    } else {
      merge_map(index, members);
    }
  }

  void merge_map(std::size_t index, Members& members) {
    Node& map = tree_.nodes[follow(index)];
    count(map);
    if (map.kind != Node::Kind::kMap)
      throw Refused{tree_.nodes[index].place, "\"<<\" takes a map or a list of maps"};
    enter(map);
    collect(map, members);
    leave(map);
  }

  Tree& tree_;
  const YamlLimits& limits_;
  Writer out_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  unsigned depth_ = 0;
};

tl::unexpected<Error> refuse(const Place& place, std::string_view problem) {
  return fail(Reason::kBadRequest,
              fmt::format("line {}, column {}: {}", place.line + 1, place.column + 1, problem));
}

std::string_view without_mark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

// The trees of a stream, without documents that say nothing.
Result<std::vector<Tree>> parse_trees(std::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.max_bytes)
    return fail(Reason::kRequestEntityTooLarge,
                fmt::format("the text is too large: {} bytes, at most {} are read", text.size(),
                            limits.max_bytes));
  text = without_mark(text);
  std::vector<Tree> trees;
  try {
    TreeReader reader(text, limits);
    while (auto tree = reader.next()) {
      const Node& root = tree->nodes.at(0);
      const bool empty = root.kind == Node::Kind::kScalar && root.tag.empty() && root.implicit &&
                         resolve_plain(root.text).kind == YamlScalar::Kind::kNull;
      if (!empty) trees.push_back(std::move(*tree));
    }
  } catch (const Refused& refused) {
    return refuse(refused.place, refused.problem);
  }
  return trees;
}

// One JSON value after another; nothing when the text is something else.
std::optional<std::vector<YamlDocument>> json_stream(std::string_view text,
                                                     const YamlLimits& limits) {
  std::vector<YamlDocument> documents;
  std::size_t line = 1;
  while (true) {
    while (!text.empty() && scan::is_space(text.front())) {
      line += text.front() == '\n' ? 1 : 0;
      text.remove_prefix(1);
    }
    if (text.empty()) break;
    if (text.front() != '{' && text.front() != '[') return std::nullopt;
    Cursor cursor(text, {.max_bytes = limits.max_bytes, .max_depth = limits.max_depth});
    const std::string_view value = cursor.skip();
    if (!cursor.ok()) return std::nullopt;
    documents.push_back({std::string(value), line});
    line += static_cast<std::size_t>(std::count(value.begin(), value.end(), '\n'));
    text.remove_prefix(value.size());
  }
  return documents;
}

}  // namespace

Result<std::vector<YamlDocument>> yaml_to_json(std::string_view text, const YamlLimits& limits) {
  if (auto documents = json_stream(without_mark(text), limits); documents && !documents->empty())
    return std::move(*documents);
  auto trees = parse_trees(text, limits);
  if (!trees) return tl::unexpected(std::move(trees.error()));
  std::vector<YamlDocument> documents;
  try {
    for (Tree& tree : *trees) {
      const auto line = tree.nodes[0].place.line + 1;
      documents.push_back({JsonWriter(tree, limits).run(), line});
    }
  } catch (const Refused& refused) {
    return refuse(refused.place, refused.problem);
  }
  return documents;
}

Result<std::string> yaml_document_to_json(std::string_view text, const YamlLimits& limits) {
  auto documents = yaml_to_json(text, limits);
  if (!documents) return tl::unexpected(std::move(documents.error()));
  if (documents->empty())
    return fail(Reason::kBadRequest, "line 1, column 1: there is no document");
  if (documents->size() > 1)
    return fail(
        Reason::kBadRequest,
        fmt::format("line {}, column 1: only one document is expected here", (*documents)[1].line));
  return std::move(documents->front().json);
}

std::optional<std::size_t> yaml_line_of(std::string_view text, std::size_t document_index,
                                        std::string_view path) {
  const auto trees = parse_trees(text, {});
  if (!trees || document_index >= trees->size()) return std::nullopt;
  const std::vector<Node>& nodes = (*trees)[document_index].nodes;
  std::size_t at = 0;
  std::size_t line = nodes[0].place.line;
  for (int steps = 0; !path.empty() && steps < 1000; ++steps) {
    // The next step: a name up to '.' or '[', or what stands in brackets.
    std::string_view step;
    if (path[0] == '[') {
      const std::size_t close = std::min(path.find(']'), path.size());
      step = path.substr(1, close - 1);
      path.remove_prefix(std::min(close + 1, path.size()));
    } else {
      if (path[0] == '.') path.remove_prefix(1);
      const std::size_t end = std::min(path.find_first_of(".["), path.size());
      step = path.substr(0, end);
      path.remove_prefix(end);
    }
    if (step.size() >= 2 && step.front() == '"' && step.back() == '"')
      step = step.substr(1, step.size() - 2);
    for (int hops = 0; nodes[at].kind == Node::Kind::kAlias && hops < 100; ++hops)
      at = nodes[at].target;
    const Node& node = nodes[at];
    std::optional<std::size_t> next;
    if (node.kind == Node::Kind::kList) {
      std::size_t index = 0;
      const auto read = std::from_chars(step.data(), step.data() + step.size(), index);
      if (read.ec == std::errc{} && index < node.children.size()) next = node.children[index];
      if (next) line = nodes[*next].place.line;
    } else if (node.kind == Node::Kind::kMap) {
      for (std::size_t i = 0; i + 1 < node.children.size() && !next; i += 2)
        if (nodes[node.children[i]].text == step) {
          next = node.children[i + 1];
          line = nodes[node.children[i]].place.line;
        }
    }
    if (!next) break;
    at = *next;
  }
  return line + 1;
}

}  // namespace berth::json

// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/list_run.h"

#include <functional>
#include <utility>

#include <fmt/format.h>

#include "apiserver/store/continue_token.h"

namespace berth::apiserver {

using kube::Object;
using kube::Revision;

namespace {

constexpr std::size_t kRemembered = 256;

// What "field=value" asks for; "" where it asks for nothing, or for no value.
std::string required(const Selector& selector, std::string_view field) {
  return selector.fields.required(field).value_or("");
}

}  // namespace

Walk walk_of(const Table& table, const Range& range, const Selector& selector) {
  Walk walk;
  const std::string ns = range.ns.empty() ? required(selector, "metadata.namespace") : range.ns;
  const std::string name = range.name.empty() ? required(selector, "metadata.name") : range.name;
  const bool namespaced = kube::kind_of(table.kind()).namespaced;
  if (!name.empty() && (!ns.empty() || !namespaced))
    walk.key = KeyRef(namespaced ? ns : "", name).text();
  else if (namespaced && !ns.empty())
    walk.prefix = ns + "/";
  if (!range.index.empty()) {
    walk.index = table.index_of(range.index);
    BERTH_CHECK(walk.index.has_value(), "only declared indexes are asked for");
    walk.value = range.value;
    walk.by_range = true;
    return walk;
  }
  if (!walk.key.empty() || selector.fields.everything()) return walk;
  for (const kube::FieldSelector::Term& term : selector.fields.terms()) {
    // Objects without a value are in no index.
    if (!term.equal || term.value.empty()) continue;
    if (const auto index = table.index_of(term.field)) {
      walk.index = index;
      walk.value = term.value;
      return walk;
    }
  }
  return walk;
}

bool in_walk(const Table& table, const Walk& walk, std::string_view key, const Object& object) {
  if (!walk.key.empty() && key != walk.key) return false;
  if (!key.starts_with(walk.prefix)) return false;
  return !walk.by_range || table.has_value(object, *walk.index, walk.value);
}

ListRun::ListRun(const Store& store, const Table* table, ListSpec spec)
    : store_(&store), table_(table), spec_(std::move(spec)) {
  newest_ = spec_.plan.exactly == 0;
  if (table_ != nullptr) walk_ = walk_of(*table_, spec_.range, spec_.selector);
  page_.revision = spec_.plan.exactly;
  if (newest_) page_.revision = store.published();
  rewind();
}

void ListRun::rewind() {
  page_.items.clear();
  last_.clear();
  at_ = walk_.prefix;
  if (spec_.plan.start.empty()) return;
  const std::string start = spec_.range.ns.empty()
                                ? spec_.plan.start
                                : fmt::format("{}/{}", spec_.range.ns, spec_.plan.start);
  at_ = std::max(at_, start);
}

tl::expected<bool, ListFailure> ListRun::step(std::size_t visits) {
  if (table_ == nullptr) {
    finish(false);
    return true;
  }
  if (page_.revision < table_->floor()) {
    if (!newest_) return tl::unexpected(expired());
    page_.revision = store_->published();
    rewind();
  }
  if (!walk_.key.empty()) {
    const Entry* entry = walk_.key >= at_ ? table_->find(walk_.key) : nullptr;
    if (entry != nullptr) visit(*entry);
    finish(false);
    return true;
  }
  if (walk_.index) {
    const Table::Members* members = table_->members(*walk_.index, walk_.value);
    if (members == nullptr) {
      finish(false);
      return true;
    }
    Entry from{.key = at_};
    return walk(members->lower_bound(&from), members->end(), visits,
                [](const auto& at) -> const Entry& { return *at->first; });
  }
  return walk(table_->entries().lower_bound(at_), table_->entries().end(), visits,
              [](const auto& at) -> const Entry& { return at->second; });
}

template <class Iterator, class EntryOf>
bool ListRun::walk(Iterator from, Iterator end, std::size_t visits, EntryOf&& entry_of) {
  for (; from != end; ++from) {
    const Entry& entry = entry_of(from);
    if (!entry.key.starts_with(walk_.prefix)) break;
    if (visits-- == 0) {
      at_ = entry.key;
      return false;
    }
    if (!visit(entry)) {
      finish(true);
      return true;
    }
  }
  finish(false);
  return true;
}

bool ListRun::visit(const Entry& entry) {
  const Version* version = entry.versions.at(page_.revision);
  if (version == nullptr || !version->object.valid()) return true;
  if (spec_.plan.limit > 0 && page_.items.size() >= spec_.plan.limit) return false;
  last_ = entry.key;
  if (walk_.by_range && !table_->has_value(version->object, *walk_.index, walk_.value)) return true;
  if (spec_.selector.matches(version->object)) page_.items.push_back(version->object);
  return true;
}

void ListRun::finish(bool more) {
  if (!more) return;
  // k8s 1.36: from right after the last key, which the real store writes as that key and a zero.
  std::string start = last_ + '\0';
  if (!spec_.range.ns.empty()) start.erase(0, spec_.range.ns.size() + 1);
  page_.continue_token = ContinueToken{static_cast<std::int64_t>(page_.revision), start}.text();
  if (!spec_.selector.everything() || walk_.by_range) return;
  page_.remaining = count_rest();
  const Store::Remembered note{memo_key(start), *page_.remaining};
  if (store_->remembered_.size() < kRemembered)
    store_->remembered_.push_back(note);
  else
    store_->remembered_[store_->next_remembered_++ % kRemembered] = note;
}

// Counting keys takes a walk over all of them. Nearly always the number is known: the first page is
// of the newest state, and those after it follow one that was remembered.
std::int64_t ListRun::count_rest() const {
  const auto here = static_cast<std::int64_t>(page_.items.size());
  if (spec_.plan.start.empty()) {
    if (page_.revision == store_->published())
      return static_cast<std::int64_t>(spec_.range.ns.empty() ? table_->live()
                                                              : table_->live_in(spec_.range.ns)) -
             here;
  } else {
    const std::uint64_t list = memo_key(spec_.plan.start);
    for (const Store::Remembered& note : store_->remembered_)
      if (note.list == list) return note.remaining - here;
  }
  std::int64_t rest = 0;
  for (auto at = table_->entries().upper_bound(last_);
       at != table_->entries().end() && at->first.starts_with(walk_.prefix); ++at) {
    const Version* version = at->second.versions.at(page_.revision);
    if (version != nullptr && version->object.valid()) ++rest;
  }
  return rest;
}

std::uint64_t ListRun::memo_key(std::string_view start) const {
  return std::hash<std::string>()(fmt::format("{}:{}:{}:{}", static_cast<int>(spec_.kind),
                                              page_.revision, spec_.range.ns, start));
}

ListFailure ListRun::expired() const {
  if (!spec_.plan.continued)
    return {.error = {.reason = Reason::kExpired,
                      .message = "The resourceVersion for the provided list is too old."}};
  return {.error = {.reason = Reason::kExpired,
                    .message = "The provided continue parameter is too old to display a consistent "
                               "list result. You can start a new list without the continue "
                               "parameter, or use the continue token in this response to retrieve "
                               "the remainder of the results. Continuing with the provided token "
                               "results in an inconsistent list - objects that were created, "
                               "modified, or deleted between the time the first chunk was returned "
                               "and now may show up in the list."},
          .fresh_token = ContinueToken{-1, spec_.plan.start}.text()};
}

tl::expected<ListRun, ListFailure> Store::begin_list(ListSpec spec) const {
  const Revision asked = std::max(spec.plan.exactly, spec.plan.at_least);
  if (asked > published_)
    return tl::unexpected(ListFailure{.error = too_large_revision(asked, published_)});
  const Revision at = spec.plan.exactly;
  ListRun run(*this, find_table(spec.kind), std::move(spec));
  if (at != 0 && at < floor(run.spec_.kind)) return tl::unexpected(run.expired());
  return run;
}

tl::expected<Page, ListFailure> Store::list(ListSpec spec) const {
  auto run = begin_list(std::move(spec));
  if (!run) return tl::unexpected(std::move(run.error()));
  if (const auto done = run->step(static_cast<std::size_t>(-1)); !done)
    return tl::unexpected(done.error());
  return run->take();
}

}  // namespace berth::apiserver

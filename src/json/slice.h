// SPDX-License-Identifier: Apache-2.0
// One value inside bytes that are known to be good JSON (they went through Cursor once). Look-ups
// scan; nothing is built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "json/cursor.h"

namespace berth::json {

// A view: cheap to copy, valid as long as the bytes. Bytes that are not good JSON give wrong
// answers but are never read past their end. Immutable. A missing member is an absent slice, on
// which every look-up is absent again, so paths can be written without checks:
// pod["spec"]["nodeName"].text().
class Slice {
 public:
  Slice() = default;
  explicit Slice(std::string_view good_json);  // leading and trailing white space allowed

  bool present() const { return !raw_.empty(); }
  explicit operator bool() const { return present(); }
  std::string_view raw() const { return raw_; }

  bool is_null() const;  // present and null
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_number() const;
  bool is_bool() const;

  Slice operator[](
      std::string_view key) const;  // the last member of that name wins, as in Go's decoder
  Slice operator[](std::size_t index) const;
  std::size_t size() const;  // members or elements; 0 for everything else

  std::string text() const;  // a string's value; "" when absent or of another type
  std::string_view text(
      std::string& scratch) const;  // the same without a copy where there are no escapes
  std::optional<std::int64_t> integer()
      const;  // exact; also 1.0 and 1e3 when they are whole and fit
  std::optional<double> number() const;
  bool boolean(bool otherwise = false) const;
  bool equals(std::string_view text) const;  // a string with this value?

  // for (auto [key, value] : pod["metadata"]["labels"].members())  /  for (Slice c :
  // pod["spec"]["containers"].elements())
  class Members;
  class Elements;
  Members members() const;
  Elements elements() const;

 private:
  std::string_view raw_;
};

// Forward iteration in document order. Keys are unescaped; a key is valid until the iterator moves
// on or dies.
class Slice::Members {
 public:
  class iterator {
   public:
    struct value_type {
      std::string_view key;
      Slice value;
    };
    value_type operator*() const {
      return {escaped_ ? std::string_view(scratch_) : raw_key_, value_};
    }
    iterator& operator++() {
      advance();
      return *this;
    }
    bool operator!=(std::nullptr_t) const { return !end_; }

   private:
    friend class Members;
    void advance();
    std::string_view rest_;
    std::string_view raw_key_;
    std::string scratch_;  // the key, when it has escapes
    Slice value_;
    bool escaped_ = false;
    bool end_ = true;
  };
  iterator begin() const;
  std::nullptr_t end() const { return nullptr; }

 private:
  friend class Slice;
  std::string_view raw_;
};

class Slice::Elements {
 public:
  class iterator {
   public:
    Slice operator*() const { return value_; }
    iterator& operator++() {
      advance();
      return *this;
    }
    bool operator!=(std::nullptr_t) const { return !end_; }

   private:
    friend class Elements;
    void advance();
    std::string_view rest_;
    Slice value_;
    bool end_ = true;
  };
  iterator begin() const;
  std::nullptr_t end() const { return nullptr; }

 private:
  friend class Slice;
  std::string_view raw_;
};

// A JSON number's value as a double, as Go's ParseFloat rounds it; nothing when it is too large.
std::optional<double> parse_double(std::string_view number);

}  // namespace berth::json

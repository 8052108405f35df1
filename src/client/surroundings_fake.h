// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "client/surroundings.h"

namespace berth::client {

// Files, variables and programs that exist only in a test. Thread-safe.
class FakeSurroundings {
 public:
  FakeSurroundings& file(const std::string& path, std::string text) {
    const std::lock_guard lock(all_->mutex);
    all_->files[path] = std::move(text);
    return *this;
  }
  FakeSurroundings& no_file(const std::string& path) {
    const std::lock_guard lock(all_->mutex);
    all_->files.erase(path);
    return *this;
  }
  FakeSurroundings& env(const std::string& name, std::string value) {
    all_->variables[name] = std::move(value);
    return *this;
  }
  FakeSurroundings& program(const std::string& name, std::string path) {
    all_->programs[name] = std::move(path);
    return *this;
  }
  Surroundings get() const {
    return {.read_file = [all = all_](const std::string& path) -> Result<std::string> {
              const std::lock_guard lock(all->mutex);
              const auto found = all->files.find(path);
              if (found == all->files.end()) return fail(Reason::kNotFound, "no such file");
              return found->second;
            },
            .env =
                [all = all_](const char* name) {
                  const auto found = all->variables.find(name);
                  return found == all->variables.end() ? "" : found->second;
                },
            .find_program = [all = all_](const std::string& name) -> std::optional<std::string> {
              const auto found = all->programs.find(name);
              if (found == all->programs.end()) return std::nullopt;
              return found->second;
            },
            .directory = "/srv"};
  }

 private:
  struct All {
    std::mutex mutex;
    std::map<std::string, std::string> files, variables, programs;
  };
  std::shared_ptr<All> all_ = std::make_shared<All>();
};

}  // namespace berth::client

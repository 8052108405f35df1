// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/nearest.h"
#include "cli/version.h"

namespace berth::cli {

// BadRequest is this folder's mark for bad usage: nothing below the command line answers a command
// with it directly.
Error usage_error(std::string message) {
  return Error{.reason = Reason::kBadRequest, .message = std::move(message)};
}

struct Command::Impl {
  std::string name, summary;
  std::vector<std::string> examples;
  std::vector<std::function<void(CLI::App&)>> describe;
  std::function<Result<int>(Context&)> run;
};

Command::Command(std::string name, std::string summary) : impl_(std::make_unique<Impl>()) {
  impl_->name = std::move(name);
  impl_->summary = std::move(summary);
}
Command::Command(Command&&) noexcept = default;
Command& Command::operator=(Command&&) noexcept = default;
Command::~Command() = default;

const std::string& Command::name() const { return impl_->name; }
const std::string& Command::summary() const { return impl_->summary; }

Command& Command::positional(const std::string& name, std::string* target,
                             const std::string& help) {
  impl_->describe.push_back(
      [=](CLI::App& app) { app.add_option(name, *target, help)->required(); });
  return *this;
}

Command& Command::optional_positional(const std::string& name, std::string* target,
                                      const std::string& help) {
  impl_->describe.push_back([=](CLI::App& app) { app.add_option(name, *target, help); });
  return *this;
}

Command& Command::flag(const std::string& names, bool* target, const std::string& help) {
  impl_->describe.push_back([=](CLI::App& app) { app.add_flag(names, *target, help); });
  return *this;
}

namespace {

template <class T>
std::function<void(CLI::App&)> option(const std::string& names, T* target, const std::string& help,
                                      const std::string& value) {
  return [=](CLI::App& app) { app.add_option(names, *target, help)->type_name(value); };
}

}  // namespace

Command& Command::flag(const std::string& names, std::string* target, const std::string& help,
                       const std::string& value) {
  impl_->describe.push_back(option(names, target, help, value));
  return *this;
}

Command& Command::flag(const std::string& names, std::vector<std::string>* target,
                       const std::string& help, const std::string& value) {
  impl_->describe.push_back([=](CLI::App& app) {
    app.add_option(names, *target, help)
        ->type_name(value)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  });
  return *this;
}

Command& Command::flag(const std::string& names, std::int64_t* target, const std::string& help,
                       const std::string& value) {
  impl_->describe.push_back(option(names, target, help, value));
  return *this;
}

namespace {

CLI::Option* one_of(CLI::Option* option, const std::vector<std::string>& words) {
  return option->check([=](const std::string& given) {
    if (std::find(words.begin(), words.end(), given) != words.end()) return std::string();
    return fmt::format("'{}' is not one of: {}", given, fmt::join(words, ", "));
  });
}

}  // namespace

Command& Command::choice(const std::string& names, std::string* target,
                         const std::vector<std::string>& words, const std::string& help) {
  impl_->describe.push_back([=](CLI::App& app) {
    one_of(app.add_option(names, *target, help), words)
        ->type_name(fmt::format("{}", fmt::join(words, "|")));
  });
  return *this;
}

Command& Command::positional_choice(const std::string& name, std::string* target,
                                    const std::vector<std::string>& words,
                                    const std::string& help) {
  impl_->describe.push_back([=](CLI::App& app) {
    one_of(app.add_option(name, *target, fmt::format("{}: {}", help, fmt::join(words, ", "))),
           words)
        ->required();
  });
  return *this;
}

Command& Command::example(std::string line) {
  impl_->examples.push_back(std::move(line));
  return *this;
}

Command& Command::run(std::function<Result<int>(Context&)> run) {
  impl_->run = std::move(run);
  return *this;
}

#define BERTH_COMMAND(name) Command name();
#include "cli/commands.def"
#undef BERTH_COMMAND

namespace {

std::vector<Command> all_commands() {
  std::vector<Command> commands;
#define BERTH_COMMAND(name) commands.push_back(name());
#include "cli/commands.def"
#undef BERTH_COMMAND
  return commands;
}

void print_overview(const std::vector<Command>& commands, std::ostream& out) {
  out << "Berth: a Kubernetes scheduling suite.\n\nUsage: berth COMMAND [OPTIONS]\n\nCommands:\n";
  for (const Command& command : commands)
    out << fmt::format("  {:<14}{}\n", command.name(), command.summary());
  out << "\n'berth COMMAND --help' shows a command's options and an example.\n";
}

// Names the first flag that does not exist and the nearest one that does; else what CLI11 says.
std::string unexpected_argument(const CLI::App& app, const std::string& otherwise) {
  const std::vector<std::string> given = app.remaining();
  const auto wrong = std::find_if(given.begin(), given.end(),
                                  [](const std::string& word) { return word.starts_with('-'); });
  if (wrong == given.end()) return otherwise;
  const std::string flag = wrong->substr(0, wrong->find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string_view near = nearest(flag, names);
  return fmt::format("there is no flag {}{}", flag,
                     near.empty() ? "" : fmt::format(", maybe you meant {}", near));
}

int run_command(Command& command, std::vector<std::string> arguments, Context& context) {
  Command::Impl& impl = command.impl();
  CLI::App app(impl.summary, "berth " + impl.name);
  for (const auto& describe : impl.describe) describe(app);
  if (!impl.examples.empty())
    app.footer(fmt::format("Examples:\n  {}", fmt::join(impl.examples, "\n  ")));
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    context.out << app.help();
    return kExitOk;
  } catch (const CLI::ExtrasError& error) {
    context.err << fmt::format("berth {}: {}; try 'berth {} --help'\n", impl.name,
                               unexpected_argument(app, error.what()), impl.name);
    return kExitUsage;
  } catch (const CLI::ParseError& error) {
    context.err << fmt::format("berth {}: {}; try 'berth {} --help'\n", impl.name, error.what(),
                               impl.name);
    return kExitUsage;
  }
  const Result<int> result = impl.run(context);
  if (result) return *result;
  context.err << fmt::format("berth {}: {}\n", impl.name, result.error().message);
  return result.error().reason == Reason::kBadRequest ? kExitUsage : kExitFailed;
}

}  // namespace

int run(const std::vector<std::string>& arguments, Context& context) {
  std::vector<Command> commands = all_commands();
  if (arguments.empty()) {
    print_overview(commands, context.err);
    return kExitUsage;
  }
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h" || first == "help") {
    print_overview(commands, context.out);
    return kExitOk;
  }
  if (first == "--version") {
    context.out << "berth " << kVersion << "\n";
    return kExitOk;
  }
  for (Command& command : commands)
    if (command.name() == first)
      return run_command(command, {arguments.begin() + 1, arguments.end()}, context);

  std::vector<std::string_view> names;
  names.reserve(commands.size());
  for (const Command& command : commands) names.push_back(command.name());
  const std::string_view near = nearest(first, names);
  context.err << fmt::format("berth: there is no command '{}'{}; 'berth --help' lists them\n",
                             first,
                             near.empty() ? "" : fmt::format(", maybe you meant '{}'", near));
  return kExitUsage;
}

}  // namespace berth::cli

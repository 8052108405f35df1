// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "simulate/report.h"

namespace berth::simulate {
namespace {

constexpr double kWidth = 960, kLeft = 70, kRight = 20;

// Colours that people who see few of them tell apart (Okabe and Ito).
std::string_view colour_of(Variant setup) {
  switch (setup) {
    case Variant::kNone:
      return "#999999";
    case Variant::kPlain:
      return "#56b4e9";
    case Variant::kStock:
      return "#d55e00";
    case Variant::kExtender:
      return "#e69f00";
    case Variant::kOwn:
      return "#0072b2";
    case Variant::kPacked:
      return "#009e73";
  }
  return "";
}

std::string text_at(double x, double y, std::string_view text, std::string_view more = "") {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" {}>{}</text>)"
                     "\n",
                     x, y, more, text);
}

// A number above which no curve goes, and that is easy to read.
double ceiling_of(double most) {
  double step = 1e-6;
  while (step * 10 < most) step *= 10;
  for (const double factor : {1.0, 2.0, 5.0, 10.0})
    if (most <= factor * step) return factor * step;
  return most;
}

using Curve = std::vector<double> Outcome::*;

std::string curves(std::span<const Outcome> outcomes, Curve curve, double top, double height,
                   double most, std::string_view title, std::string_view unit, double days) {
  std::string svg = text_at(kLeft, top - 12, title, R"(class="title")");
  const double width = kWidth - kLeft - kRight;
  for (int i = 0; i <= 4; ++i) {
    const double y = top + height - height * i / 4;
    svg += fmt::format(R"(<line x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}" class="grid"/>)"
                       "\n",
                       kLeft, y, kWidth - kRight, y);
    svg += text_at(kLeft - 6, y + 4, fmt::format("{:.4g}{}", most * i / 4, unit),
                   R"(text-anchor="end")");
  }
  for (double day = 0; day <= days + 1e-9; day += days > 3 ? 1 : 0.25)
    svg += text_at(kLeft + width * day / days, top + height + 16, fmt::format("{:g} d", day),
                   R"(text-anchor="middle")");
  for (const Outcome& each : outcomes) {
    const std::vector<double>& values = each.*curve;
    std::string points;
    for (std::size_t i = 0; i < values.size(); ++i)
      points += fmt::format(
          "{:.1f},{:.1f} ",
          kLeft + width * static_cast<double>(i + 1) / static_cast<double>(values.size()),
          top + height - height * std::min(values[i], most) / most);
    svg += fmt::format(R"(<polyline points="{}" stroke="{}"/>)"
                       "\n",
                       points, colour_of(each.setup));
  }
  return svg;
}

std::string bars(std::span<const Outcome> outcomes, double left, double top, double width,
                 std::string_view title, double (*value)(const Outcome&), std::string_view unit) {
  std::string svg = text_at(left, top - 12, title, R"(class="title")");
  double most = 0;
  for (const Outcome& each : outcomes) most = std::max(most, value(each));
  double y = top;
  for (const Outcome& each : outcomes) {
    const double length = most > 0 ? (width - 60) * value(each) / most : 0;
    svg += fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="14" fill="{}"/>)"
                       "\n",
                       left, y, length, colour_of(each.setup));
    svg += text_at(left + length + 5, y + 11, fmt::format("{:.4g}{}", value(each), unit));
    y += 20;
  }
  return svg;
}

}  // namespace

std::string plot(const Scenario& scenario, std::span<const Outcome> outcomes) {
  constexpr double kHeight = 640;
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" font-family="sans-serif" font-size="12">
<style>polyline{{fill:none;stroke-width:2}} .grid{{stroke:#ddd}} .title{{font-size:14px;font-weight:bold}} text{{fill:#333}}</style>
<rect width="100%" height="100%" fill="#fff"/>
)",
      kWidth, kHeight);
  double x = kLeft;
  for (const Outcome& each : outcomes) {
    svg += fmt::format(R"(<rect x="{}" y="14" width="12" height="12" fill="{}"/>)"
                       "\n",
                       x, colour_of(each.setup));
    svg += text_at(x + 17, 24, title_of(each.setup));
    x += 150;
  }
  const double days = std::chrono::duration<double>(scenario.length).count() / 86'400;
  double most = 0;
  for (const Outcome& each : outcomes)
    if (!each.lost_over_time.empty()) most = std::max(most, each.lost_over_time.back());
  svg += curves(outcomes, &Outcome::lost_over_time, 70, 190, ceiling_of(std::max(most, 1e-6)),
                "Work lost, core-hours", "", days);
  svg += curves(outcomes, &Outcome::utilisation_over_time, 330, 130, 1, "Cores in use, of all", "",
                days);
  const double third = (kWidth - kLeft - kRight) / 3;
  svg += bars(
      outcomes, kLeft, 530, third, "Ordinary pods: wait, p99",
      [](const Outcome& o) { return std::chrono::duration<double>(o.wait_p99).count(); }, " s");
  svg += bars(
      outcomes, kLeft + third, 530, third, "Goodput of scavengers",
      [](const Outcome& o) { return 100 * o.goodput(); }, " %");
  svg += bars(
      outcomes, kLeft + 2 * third, 530, third, "Interruptions a job",
      [](const Outcome& o) { return o.interruptions_a_job(); }, "");
  return svg + "</svg>\n";
}

}  // namespace berth::simulate

// SPDX-License-Identifier: MIT
#include "bench/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

namespace bench {
namespace {

std::string number(double v) {
  char text[64];
  const double size = std::fabs(v);
  const int decimals = size >= 1000 || v == std::floor(v) ? 0 : size >= 100 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f", decimals, v);
  return text;
}

std::string json_number(double v) {
  char text[64];
  std::snprintf(text, sizeof text, "%.6g", v);
  return text;
}

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

std::string left(std::string s, std::size_t width) {
  s.resize(std::max(width, s.size()), ' ');
  return s;
}
std::string right(const std::string& s, std::size_t width) {
  return std::string(width > s.size() ? width - s.size() : 0, ' ') + s;
}

}  // namespace

void print_table(std::ostream& out, const Facts& machine, const Results& results) {
  for (const auto& [key, value] : machine) out << left(key, 12) << ' ' << value << '\n';
  std::size_t width = 8;
  for (const Row& r : results.rows()) width = std::max(width, r.workload.size());
  out << '\n'
      << left("workload", width) << right("unit", 7) << right("median", 12) << right("min", 12) << right("max", 12)
      << right("runs", 6) << '\n'
      << std::string(width + 49, '-') << '\n';
  for (const Row& r : results.rows()) {
    if (r.samples.empty()) continue;
    out << left(r.workload, width) << right(r.unit, 7) << right(number(r.median()), 12) << right(number(r.min()), 12)
        << right(number(r.max()), 12) << right(std::to_string(r.samples.size()), 6) << '\n';
  }
}

int print_bars(std::ostream& out, const std::string& group, const Results& results) {
  int missed = 0;
  bool headed = false;
  for (const Bar& bar : registry().bars) {
    if (group != bar.group) continue;
    if (!headed) out << "\nbars\n";
    headed = true;
    const std::optional<double> value = bar.value(results, Taken::typical);
    const std::optional<double> quiet = bar.value(results, Taken::quietest);
    const char* verdict = "skip";
    if (value) verdict = (bar.at_most ? *value <= bar.limit : *value >= bar.limit) ? "pass" : "MISS";
    if (verdict[0] == 'M') ++missed;
    out << "  " << verdict << "  " << left(bar.text, 62) << (bar.at_most ? "<= " : ">= ") << right(number(bar.limit), 6)
        << ' ' << left(bar.unit, 6)
        << (value ? "is " + number(*value) + ", at best " + number(quiet.value_or(0)) : "not measured") << '\n';
  }
  return missed;
}

std::string to_json(const Facts& machine, const Results& results) {
  std::string out = "{\"machine\": {";
  for (std::size_t i = 0; i < machine.size(); ++i)
    out += (i ? ", " : "") + quoted(machine[i].first) + ": " + quoted(machine[i].second);
  out += "},\n \"rows\": [";
  const char* separator = "\n  ";
  for (const Row& r : results.rows()) {
    if (r.samples.empty()) continue;
    out += separator;
    out += "{\"workload\": " + quoted(r.workload) + ", \"unit\": " + quoted(r.unit) +
           ", \"median\": " + json_number(r.median()) + ", \"min\": " + json_number(r.min()) +
           ", \"max\": " + json_number(r.max()) + ", \"runs\": " + std::to_string(r.samples.size()) + "}";
    separator = ",\n  ";
  }
  return out + "\n]}\n";
}

}  // namespace bench

// Events are dropped as they are read, so a long trace takes little more memory than its spans.
#include "tandem/cli/report/profile_rows.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "tandem/cli/json.h"
#include "tandem/core/error.h"

namespace tandem::cli {
namespace {

struct Span {
  std::size_t name;
  double begin, length;  // microseconds
};

struct Trace {
  std::map<std::string, std::size_t> numbers;
  std::vector<std::string> names;
  std::map<int64_t, std::string> tracks;
  std::map<int64_t, std::vector<Span>> spans;

  void add(const nlohmann::json& event) {
    if (!event.contains("ph") || !event.contains("tid") || !event["tid"].is_number_integer()) return;
    const auto track = event["tid"].get<int64_t>();
    const auto name = event.find("name");
    if (name == event.end() || !name->is_string()) return;
    if (event["ph"] == "M" && *name == "thread_name") {
      if (event.contains("args") && event["args"].is_object() && event["args"].contains("name") &&
          event["args"]["name"].is_string())
        tracks[track] = event["args"]["name"].get<std::string>();
      return;
    }
    if (event["ph"] != "X" || !event.contains("ts") || !event.contains("dur")) return;
    if (!event["ts"].is_number() || !event["dur"].is_number()) return;
    const auto [it, is_new] = numbers.try_emplace(name->get<std::string>(), names.size());
    if (is_new) names.push_back(it->first);
    spans[track].push_back({it->second, event["ts"].get<double>(), event["dur"].get<double>()});
  }
};

Trace parse(const std::string& text) {
  Trace trace;
  bool has_events = false;
  // Depth 1: the document; 2: the list of events; 3: what an event holds.
  const auto keep = [&](int depth, nlohmann::json::parse_event_t what, nlohmann::json& value) {
    if (what == nlohmann::json::parse_event_t::key && depth == 1 && value == "traceEvents") has_events = true;
    if (depth > 6) return false;
    if (what != nlohmann::json::parse_event_t::object_end || depth != 2) return true;
    trace.add(value);
    return false;
  };
  try {
    [[maybe_unused]] const auto rest = nlohmann::json::parse(text, keep);
  } catch (const nlohmann::json::exception& error) {
    fail("invalid JSON: ", reason_of(error));
  }
  check(has_events, "not a profile");
  return trace;
}

// Spans of a track nest.
std::vector<ProfileRow> rows_of(std::vector<Span> spans, const std::vector<std::string>& names) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.begin != b.begin ? a.begin < b.begin : a.length > b.length; });
  struct Open {
    ProfileRow row;
    int open = 0;
  };
  std::unordered_map<std::size_t, Open> by_name;
  std::vector<const Span*> open;
  constexpr double kRounding = 1e-3;
  for (const Span& span : spans) {
    while (!open.empty() && span.begin >= open.back()->begin + open.back()->length - kRounding) {
      --by_name[open.back()->name].open;
      open.pop_back();
    }
    Open& here = by_name[span.name];
    ++here.row.calls;
    here.row.own += span.length / 1e3;
    if (here.open++ == 0) here.row.total += span.length / 1e3;  // recursion counts once
    if (!open.empty()) by_name[open.back()->name].row.own -= span.length / 1e3;
    open.push_back(&span);
  }
  std::vector<ProfileRow> rows;
  for (auto& item : by_name) {
    item.second.row.name = names[item.first];
    rows.push_back(std::move(item.second.row));
  }
  std::sort(rows.begin(), rows.end(),
            [](const ProfileRow& a, const ProfileRow& b) { return a.own != b.own ? a.own > b.own : a.name < b.name; });
  return rows;
}

}  // namespace

std::vector<ProfileTrack> profile_tracks(const std::string& text, std::size_t max_rows) {
  const Trace trace = parse(text);
  std::vector<ProfileTrack> out;
  for (const auto& item : trace.spans) {
    const auto name = trace.tracks.find(item.first);
    ProfileTrack track{.name = name == trace.tracks.end() ? concat("thread ", item.first) : name->second,
                       .rows = rows_of(item.second, trace.names)};
    for (const ProfileRow& row : track.rows) track.own += row.own;
    if (track.rows.size() > max_rows) track.rows.resize(max_rows);
    out.push_back(std::move(track));
  }
  std::sort(out.begin(), out.end(), [](const ProfileTrack& a, const ProfileTrack& b) { return a.own > b.own; });
  return out;
}

}  // namespace tandem::cli

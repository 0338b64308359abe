#include "tandem/cli/report/run_record.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "tandem/cli/json.h"
#include "tandem/cli/options.h"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::uintmax_t kMaxBytes = 256 << 20;

std::string name_of(const fs::path& folder, int components) {
  std::error_code error;
  fs::path path = fs::absolute(folder, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  fs::path name = path.filename();
  for (int i = 1; i < components && path.has_relative_path(); ++i) {
    path = path.parent_path();
    name = path.filename() / name;
  }
  return name.empty() ? folder.string() : name.string();
}

void flatten(const Json& json, const std::string& prefix, std::vector<std::pair<std::string, std::string>>& out) {
  for (const auto& item : json.items()) {
    const std::string key = prefix + item.key();
    if (item.value().is_object())
      flatten(item.value(), key + ".", out);
    else
      out.emplace_back(key, item.value().is_string() ? item.value().get<std::string>() : json_text(item.value()));
  }
}

std::vector<Json> lines_of(const std::string& path) {
  const std::string text = read_text(path, kMaxBytes);
  std::vector<Json> lines;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      lines.push_back(parse_json(line));
      check(lines.back().is_object(), "expected an object");
    } catch (const Error& error) {
      throw UsageError(concat(path, ", line ", number, ": ", error.what()));
    }
  }
  return lines;
}

// The figures of a text are of its validation part, under the names that those of test images have.
void rename_figures_of_text(RunRecord& run) {
  for (Json& line : run.lines) {
    Json renamed = Json::object();
    for (const auto& item : line.items()) {
      std::string name = item.key();
      if (name.starts_with("test_")) name = "validation_" + name.substr(5);
      if (name == "images_per_second") name = "examples_per_second";
      renamed[name] = item.value();
    }
    line = std::move(renamed);
  }
}

}  // namespace

std::string read_text(const std::string& path, std::uintmax_t max_bytes) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) throw UsageError(concat(path, ": ", error.message()));
  if (size > max_bytes) throw UsageError(concat(path, ": has ", size, " bytes; the limit is ", max_bytes));
  std::ifstream file(path, std::ios::binary);
  std::string text(size, '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (!file) throw UsageError(concat(path, ": cannot be read: ", std::strerror(errno)));
  return text;
}

std::string RunRecord::text(const char* key) const { return text_or_empty(config, key); }

int64_t RunRecord::number(const char* key) const {
  const auto it = config.find(key);
  return it != config.end() && it->is_number_integer() ? it->get<int64_t>() : -1;
}

double RunRecord::figure(const Json& line, const std::string& name) {
  const auto it = line.find(name);
  return it != line.end() && it->is_number() ? it->get<double>() : std::nan("");
}

std::vector<std::string> RunRecord::figures() const {
  std::vector<std::string> out;
  std::set<std::string> seen{"epoch", "step", "processes"};
  for (const Json& line : lines)
    for (const auto& item : line.items())
      if (item.value().is_number() && seen.insert(item.key()).second) out.push_back(item.key());
  return out;
}

std::size_t RunRecord::best_line() const {
  const bool of_text = config.contains("text");
  for (const std::string name : {"validation_accuracy", "test_accuracy", "validation_loss", "test_loss"}) {
    const bool loss = name.ends_with("loss");
    if (of_text && !loss) continue;
    std::size_t best = lines.size();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const double now = figure(lines[i], name);
      if (!std::isfinite(now)) continue;
      const double before = best < lines.size() ? figure(lines[best], name) : now;
      if (best == lines.size() || (loss ? now < before : now > before)) best = i;
    }
    if (best < lines.size()) return best;
  }
  return lines.size();
}

bool RunRecord::stopped_early() const { return !lines.empty() && lines.back().contains("stopped_early"); }

std::string RunRecord::axis() const {
  for (const char* name : {"epoch", "step"})
    if (!lines.empty() &&
        std::all_of(lines.begin(), lines.end(), [&](const Json& line) { return std::isfinite(figure(line, name)); }))
      return name;
  return lines.empty() ? "epoch" : "line";
}

std::vector<std::pair<std::string, std::string>> RunRecord::entries() const {
  std::vector<std::pair<std::string, std::string>> out;
  flatten(config, "", out);
  return out;
}

bool is_no_run(const std::string& path) {
  std::error_code error;
  const fs::path folder(path);
  return fs::exists(folder, error) && !fs::exists(folder / "config.json", error) &&
         !fs::exists(folder / "metrics.jsonl", error);
}

RunRecord read_run_record(const std::string& folder) {
  const std::string config = (fs::path(folder) / "config.json").string();
  const std::string metrics = (fs::path(folder) / "metrics.jsonl").string();
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw UsageError(concat(folder, error && error.value() != ENOENT ? ": " + error.message() : ": no such folder"));
  const bool has_config = fs::exists(config, error), has_metrics = fs::exists(metrics, error);
  if (!has_config && !has_metrics)
    throw UsageError(concat(folder, ": does not contain a run: config.json and metrics.jsonl are missing"));
  RunRecord run{.folder = folder, .name = name_of(folder, 1), .config = Json::object(), .lines = {}};
  if (has_metrics) run.lines = lines_of(metrics);
  if (!has_config) return run;
  try {
    run.config = parse_json(read_text(config, kMaxBytes));
    check(run.config.is_object(), "expected an object");
  } catch (const UsageError&) {
    throw;
  } catch (const Error& failure) {
    throw UsageError(concat(config, ": ", failure.what()));
  }
  if (run.config.contains("text")) rename_figures_of_text(run);
  return run;
}

void distinguish(std::vector<RunRecord>& runs) {
  for (int components = 2; components <= 8; ++components) {
    std::multiset<std::string> names;
    for (const RunRecord& run : runs) names.insert(run.name);
    for (RunRecord& run : runs)
      if (names.count(run.name) > 1) run.name = name_of(run.folder, components);
  }
}

}  // namespace tandem::cli

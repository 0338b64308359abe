// tandem report: a page about one run or several.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <map>
#include <tuple>

#include "tandem/cli/commands/add_options.h"
#include "tandem/cli/device_list.h"
#include "tandem/cli/json.h"
#include "tandem/cli/message.h"
#include "tandem/cli/options.h"
#include "tandem/cli/report/page.h"
#include "tandem/cli/train/run_folder.h"
#include "tandem/core/base/atomic_file.h"
#include "tandem/core/version.h"

namespace tandem::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> folders;
  std::string out;   ///< empty: report.html in the folder of the first run
  std::string data;  ///< empty: the runs'
  std::string device;
  int threads = 0;
};

namespace fs = std::filesystem;

// The run's profile, which TANDEM_PROFILE wrote to its folder.
void add_profile(ReportedRun& run) {
  constexpr std::uintmax_t kMaxBytes = 512 << 20;
  constexpr std::size_t kMaxRows = 15;
  std::error_code error;
  for (const char* name : {"profile.json", "trace.json"}) {
    const std::string path = (fs::path(run.record.folder) / name).string();
    if (!fs::is_regular_file(path, error)) continue;
    run.profile_file = name;
    try {
      run.profile = profile_tracks(read_text(path, kMaxBytes), kMaxRows);
    } catch (const Error& failure) {
      run.profile_problem = one_line(failure.what());
    }
    return;
  }
}

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02d-%02d %02d:%02d", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                parts.tm_hour, parts.tm_min);
  return text;
}

// The runs among the given paths. Several may come from a pattern such as runs/*, which also matches what is no run.
std::vector<RunRecord> records_of(const std::vector<std::string>& paths) {
  std::vector<RunRecord> records;
  std::vector<std::string> others;
  for (const std::string& path : paths)
    if (paths.size() > 1 && is_no_run(path))
      others.push_back(path);
    else
      records.push_back(read_run_record(path));
  require(!records.empty(), "none of these contains a run (config.json or metrics.jsonl): ", join(others, ", "));
  if (!others.empty()) print_error("note", concat("left out, because no run is in it: ", join(others, ", ")));
  distinguish(records);
  return records;
}

int report_command(const ReportOptions& o) {
  use_threads(o.threads);
  const Device device = use_device(o.device);
  std::vector<RunRecord> records = records_of(o.folders);
  const std::string path = o.out.empty() ? (fs::path(records.front().folder) / "report.html").string() : o.out;
  try {
    check_writable(path);
  } catch (const Error& error) {
    refuse(o.out.empty() ? "" : "--out ", error.what());
  }
  std::map<std::tuple<std::string, int64_t, bool>, LoadedData> loaded;  // runs often share their data
  const TestData load = [&](const std::string& name, const RunConfig& c) -> const LoadedData& {
    const std::tuple key(name, c.input[1], c.skip_broken);
    auto found = loaded.find(key);
    if (found == loaded.end()) {
      const LoadOptions options{.image_size = c.input[1], .train = false, .skip_broken = c.skip_broken};
      found = loaded.emplace(key, load_data(name, options)).first;
      print_skipped(found->second);
    }
    return found->second;
  };
  std::vector<ReportedRun> runs;
  for (RunRecord& record : records) {
    ReportedRun run{.record = std::move(record)};
    run.evaluation = evaluate_run(run.record, o.data, device, load);
    add_profile(run);
    if (!run.evaluation.missing.empty() && o.data.empty())
      std::printf("%s: no predictions: %s\n", printable(run.record.name).c_str(),
                  printable(run.evaluation.missing).c_str());
    runs.push_back(std::move(run));
  }
  const auto is_missing = [](const ReportedRun& run) { return !run.evaluation.missing.empty(); };
  require(o.data.empty() || !std::ranges::all_of(runs, is_missing), "--data ", o.data, ": ",
          runs.front().evaluation.missing);
  write_file_atomically(path, report_page(runs, concat("Written on ", now(), " by tandem ", TANDEM_VERSION, ".")));
  std::printf("report   %s\n", printable(path).c_str());
  return 0;
}

}  // namespace

Command add_report(CLI::App& app) {
  static ReportOptions o;
  CLI::App* c = app.add_subcommand("report",
                                   "write a page about runs: curves over each other, differences of configuration, "
                                   "confusion matrix, worst "
                                   "mistakes, and the profile if a run's folder has one (profile.json or trace.json)");
  add_text(c, "RUN", o.folders, "", "folders of the runs; of several, those without a run are left out")->required();
  add_text(c, "--out", o.out, kFileType, "HTML file to write; default: report.html in the folder of the first run");
  add_text(c, "--data", o.data, kDataType, "data set for the predictions instead of the runs'");
  add_device(c, o.device);
  add_known(c, "--threads", o.threads, kThreads, "CPU threads; 0: all cores");
  c->footer(
      "Examples:\n"
      "  tandem report runs/first\n"
      "  tandem report runs/*               # one page about all of them\n"
      "  tandem report runs/first runs/second --out comparison.html");
  return [](const CommandLine&) { return report_command(o); };
}

}  // namespace tandem::cli

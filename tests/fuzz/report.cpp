// The page of `tandem report`: a run's config.json, metrics.jsonl and profile.json, separated by zero bytes.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tandem/cli/report/page.h"
#include "tandem/core/error.h"
#include "tandem/tests/fuzz/fuzz.h"
#include "tandem/tests/fuzz/memory_folder.h"

bool tandem::fuzz::accepts(const uint8_t* data, std::size_t size) {
  static const test::TempFolder folder = memory_folder();
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::array<std::string_view, 3> files;
  for (std::string_view& file : files) {
    file = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(file.size() + 1, rest.size()));
  }
  test::write_file(folder / "config.json", std::string(files[0]));
  test::write_file(folder / "metrics.jsonl", std::string(files[1]));
  bool valid = true;
  try {
    cli::ReportedRun run{.record = cli::read_run_record(folder.path())};
    run.profile_file = "profile.json";
    try {
      run.profile = cli::profile_tracks(std::string(files[2]), 15);
    } catch (const Error& error) {  // the page says why there is no profile
      run.profile_problem = error.what();
      valid = false;
    }
    // Whatever the files hold, it closes no element of the page.
    const std::string page = cli::report_page({run, run}, "Written by a test.");
    const auto count = [&page](std::string_view text) {
      std::size_t found = 0;
      for (std::size_t at = 0; (at = page.find(text, at)) != std::string::npos; at += text.size()) ++found;
      return found;
    };
    if (count("<script") != 2 || count("</script") != 2 || count("<!--") != 0) std::abort();
    return valid;
  } catch (const Error&) {
    return false;
  }
}

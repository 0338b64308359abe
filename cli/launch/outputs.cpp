// The outputs of tandem launch, and its own messages among them.
#include <poll.h>

#include <filesystem>

#include "tandem/cli/launch/launcher.h"
#include "tandem/cli/message.h"

namespace tandem::cli {

LaunchOutputs::LaunchOutputs(const LaunchPlace& place, const LaunchOptions& options) : caller(options.caller) {
  const std::string& folder = options.log_dir;
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require(!error, "--log-dir ", folder, ": cannot be created: ", error.message());
  for (int i = 0; i < place.local_size; ++i)
    for (const char* kind : {".out", ".err"})
      logs.push_back(std::make_unique<RankLog>(
          (std::filesystem::path(folder) / concat("rank_", place.first_rank() + i, kind)).string()));
}

void LaunchOutputs::say(const std::string& text) { err.add(caller + ": " + printable(one_line(text)) + "\n"); }

void LaunchOutputs::flush(LaunchSignals& signals) {
  const int stops = signals.stops();
  while (!out.empty() || !err.empty()) {
    pollfd waiting[3] = {{signals.fd(), POLLIN, 0},
                         {out.empty() ? -1 : out.fd(), POLLOUT, 0},
                         {err.empty() ? -1 : err.fd(), POLLOUT, 0}};
    ::poll(waiting, 3, 1000);
    out.write_some();
    err.write_some();
    signals.read();
    if (signals.stops() != stops) return;
  }
}

}  // namespace tandem::cli

// The profile of a run as a table: which operations took the time.
#pragma once
#include <string>
#include <vector>

namespace tandem::cli {

struct ProfileRow {
  std::string name;
  int64_t calls = 0;
  double total = 0, own = 0;  ///< milliseconds; own: without nested spans
};

struct ProfileTrack {
  std::string name;              ///< "main", "cuda:0 stream", …
  std::vector<ProfileRow> rows;  ///< the most expensive first
  double own = 0;
};

/// The tracks of a Chrome trace as TANDEM_PROFILE writes it, the busiest first, each with its `max_rows` most
/// expensive rows. Throws Error if the text is not one.
std::vector<ProfileTrack> profile_tracks(const std::string& trace, std::size_t max_rows);

}  // namespace tandem::cli

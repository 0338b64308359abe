// What a scenario must leave as it was: memory of tensors, open files, threads, and the files in its folder.
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace tandem::faults {

/// Names of files and folders below `folder`, with contents.
using Files = std::map<std::string, std::string>;
inline constexpr const char* kFolder = "a folder";
Files files_in(const std::string& folder);
void clear_folder(const std::string& folder);
/// Replaces all that is in `folder`.
void put_files(const std::string& folder, const Files& files);

struct State {
  int64_t tensor_bytes = 0;
  int files = 0, threads = 0;
};
State current_state();
/// Waits up to ten seconds for ending threads. Returns how the state now differs from `before`, or "".
std::string difference_from(const State& before, bool with_threads);

/// Which file in `now` is neither as in `before` nor as in `after`; "" if none is. `appends`: it may be as in `after` in
/// part.
std::string stray_file(const Files& now, const Files& before, const Files& after, bool appends);

}  // namespace tandem::faults

// The chain of hashes through metrics.jsonl. Each line has, as "chain", the SHA-256 of the chain before and of all else
// in the line; the chain begins with what determines the run. So no line can be changed, removed or added without
// changing all chains from there on. Recomputed chains are found by computing the run again.
#pragma once
#include <string>
#include <vector>

#include "tandem/cli/train/run_folder.h"

namespace tandem::cli {

/// Sets the chain of the last line.
void extend_chain(const RunConfig& config, std::vector<Json>& history);
/// The number, from 1, of the first line whose chain does not follow from the lines before; 0 if there is none. Lines of
/// versions without hashes count, but have none to compare.
std::size_t first_broken_link(const RunConfig& config, const std::vector<Json>& history);

/// Whether a line records the state after its epoch.
bool has_hashes(const Json& line);

}  // namespace tandem::cli

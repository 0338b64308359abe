// What the files of a run's folder say, whatever was trained: any configuration, and lines of any figures.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tandem/cli/train/recipe.h"

namespace tandem::cli {

struct RunRecord {
  std::string folder;       ///< as given
  std::string name;         ///< for display: the last component of the folder
  Json config;              ///< config.json: an object, perhaps empty
  std::vector<Json> lines;  ///< metrics.jsonl: objects; of a text, with "validation_" for "test_" in the names

  /// A text entry of the configuration, or "".
  std::string text(const char* key) const;
  /// A whole number of the configuration or, if it has none, -1.
  int64_t number(const char* key) const;
  /// The line's figure of this name; NaN if it has none.
  static double figure(const Json& line, const std::string& name);
  /// The names of all figures, in order of appearance, without what only places a line (epoch, step, processes).
  std::vector<std::string> figures() const;
  /// The number of the best line, by validation accuracy, or test accuracy, or loss (of a text, only by loss); the first
  /// of equal ones, or the number of lines if there is no such figure. Of the tool's own runs, that of best_epoch in
  /// early_stopping.h; other programs' files have any figures.
  std::size_t best_line() const;
  /// Whether the run's model is that of its best line (--keep best), not of its last.
  bool keeps_best() const { return text("keep") == "best"; }
  /// Whether the run has ended before its last epoch because nothing had improved (--patience).
  bool stopped_early() const;
  /// What the curves are drawn over: "epoch", "step" or, if the lines have neither, "line".
  std::string axis() const;
  /// The entries of the configuration, those of nested objects as "outer.inner", and their values as text.
  std::vector<std::pair<std::string, std::string>> entries() const;
};

/// Reads config.json and metrics.jsonl; one of them may be missing, as of a run that has just started. Throws
/// UsageError that names the file, and the line, if the folder does not exist, has neither file,
/// or has a file that cannot be read.
RunRecord read_run_record(const std::string& folder);
/// Whether `path` exists and is anything but a folder with one of the two files.
bool is_no_run(const std::string& path);
/// Makes the names differ, by more components of the folders.
void distinguish(std::vector<RunRecord>& runs);
/// The content of a file. Throws UsageError if it cannot be read or has more than `max_bytes`.
std::string read_text(const std::string& path, std::uintmax_t max_bytes);

}  // namespace tandem::cli

// Options that several sources use, and the exception for invalid requests.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/error.h"

namespace tandem::cli {

/// A usage error: one line on standard error, exit code 2.
class UsageError : public Error {
  using Error::Error;
};
/// Throws UsageError with the concatenated text.
template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw UsageError(concat(parts...));
}
/// The same unless `good`.
template <class... Parts>
void require(bool good, const Parts&... parts) {
  if (!good) refuse(parts...);
}

/// Pixels of a side of image files, unless others are asked for: of published models, and of the tool's own, which would
/// have millions of weights in one layer, and not learn with its rates.
inline constexpr int64_t kImageSize = 224, kSmallImageSize = 32;
inline constexpr int64_t kMaxShards = 4096, kMaxEpochs = 1'000'000'000, kMaxAccumulated = 1'000'000;
inline constexpr double kMaxValidation = 0.9;  ///< share of the data

struct CommandLine {
  std::vector<std::string> words;    ///< after the program's name
  std::vector<std::string> given;    ///< names of the command's options among them, without dashes
  std::vector<std::string> program;  ///< of launch: the program to start, and its arguments
  bool has(const char* option) const { return std::ranges::count(given, option) > 0; }
};

/// Options of models of texts.
struct TextOptions {
  std::string tokenizer;  ///< char, or a folder with vocab.json and merges.txt; empty: the weights', else char
  std::optional<int64_t> layers, heads, width, context, steps;
  std::optional<double> dropout;
};

/// Recipe options as given on the command line.
struct RecipeOptions {
  std::string name;  ///< empty: the usual one, see make_recipe
  std::optional<std::string> optimizer, schedule, init, augment, decay, freeze, keep, precision;
  std::optional<int64_t> batch_size, accumulate, patience;
  std::optional<double> lr, momentum, weight_decay, label_smoothing, warmup, clip, ema;
};

struct TrainOptions {
  std::string model = "lenet";
  std::string data = "fashion-mnist";
  std::vector<std::string> devices;  ///< empty: the best available
  std::string root;                  ///< empty: the first
  int64_t shards = 0;                ///< 0: one piece per device
  bool fully_sharded = false;        ///< each process keeps a slice of the model
  int64_t epochs = 10;
  std::optional<int64_t> image_size{};  ///< to which image files are resized
  bool skip_broken = false;             ///< leave out image files that cannot be read
  std::optional<double> validation{};   ///< share of the data that is only evaluated
  TextOptions text{};
  RecipeOptions recipe;
  uint64_t seed = 0;
  int threads = 0;  ///< 0: all cores
  int workers = 0;
  double save_every = 60;   ///< seconds between checkpoints within an epoch
  bool keep_going = false;  ///< with losses and weights that are not finite
  bool verbose = false;     ///< say what fusion has done to the step
  int64_t hash_steps = 0;   ///< steps after which the hash of the state is recorded; 0: only after epochs
  std::string out;          ///< empty: runs/<model>-<data>-<n>
  std::string resume;
  std::string reproducible;  ///< as TANDEM_REPRODUCIBLE; empty: the run's, or the environment's
  std::string weights;       ///< a file of weights to start from
  std::string key;           ///< of the state dict in it, if it is a .pt file with more
  int processes = 0;         ///< 0: this one, or those that a launcher has started
  /// Folder of event files; empty: the run's.
  std::optional<std::string> tensorboard{};
  CommandLine line{};
};

struct CompareOptions {
  std::string model = "lenet";
  std::string data = "fashion-mnist";
  std::vector<std::string> devices;  ///< one list of devices per element
  std::string scaling = "strong";    ///< or weak, or both
  int64_t epochs = 3;
  int64_t images = 0;  ///< training images used; 0: all
  RecipeOptions recipe;
  std::optional<int64_t> shards{};
  uint64_t seed = 0;
  int threads = 0;  ///< per CPU device; 0: the cores divided by the largest number of CPU devices in a list
  int workers = 0;
  std::string out;               ///< empty: runs/compare-<n>
  std::vector<int> processes{};  ///< one run for each element
  CommandLine line{};
};

struct LaunchOptions {
  std::string ranks = "1";  ///< per node: a number, auto, cpu or gpu
  int nodes = 1;
  std::optional<int> node_rank;
  std::string rdzv;  ///< HOST:PORT
  int max_restarts = 0;
  double grace = 10;    ///< seconds between SIGTERM and SIGKILL
  std::string log_dir;  ///< empty: none
  bool prefix = true;
  /// Rank 0 writes to this process's streams, gets its signals, and what it returns counts.
  bool as_one_program = false;
  std::string caller = "tandem launch";  ///< in messages
  std::vector<std::string> command;
};

/// Starts the ranks and returns their exit code, and throws what it reports.
int launch(const LaunchOptions& options);

}  // namespace tandem::cli

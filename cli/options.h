// What the commands were asked to do, and the error of a request that cannot be meant.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/cli/recipe.h"
#include "tandem/core/device.h"

namespace tandem::cli {

/// A mistake of the caller: one line on the error stream, exit code 2.
class UsageError : public Error {
  using Error::Error;
};

inline constexpr int64_t kMostShards = 4096;

struct TrainOptions {
  std::string model = "lenet";
  std::string data = "fashion-mnist";
  std::vector<std::string> devices;  ///< empty: the best present
  std::string root;                  ///< empty: the first
  int64_t shards = 0;                ///< 0: a piece a device
  int64_t epochs = 10;
  RecipeOptions recipe;
  uint64_t seed = 0;
  int threads = 0;  ///< 0: all cores
  int workers = 0;
  double save_every = 60;  ///< seconds between checkpoints within an epoch
  std::string out;         ///< empty: runs/<model>-<data>, numbered
  std::string resume;
  std::vector<std::string> given;  ///< names of the options on the command line
};

struct CompareOptions {
  std::string model = "lenet";
  std::string data = "fashion-mnist";
  std::vector<std::string> devices;  ///< a list each
  std::string scaling = "strong";    ///< or weak, or both
  int64_t epochs = 3;
  int64_t images = 0;  ///< training images used; 0: all
  RecipeOptions recipe;
  int64_t shards = 0;
  uint64_t seed = 0;
  int threads = 0;  ///< of a logical CPU device; 0: the cores shared out
  int workers = 0;
  std::string out;  ///< empty: runs/compare, numbered
};

struct EvalOptions {
  std::string folder;
  std::string data;  ///< empty: that of the run
  std::string device;
  int64_t batch_size = 1000;
  int threads = 0;
  bool json = false;
};

struct PredictOptions {
  std::string folder;
  std::vector<std::string> images;
  std::string device;
  int top = 3;
  bool invert = false;  ///< dark on light pictures; the data sets are light on dark
};

struct SummaryOptions {
  std::string model = "lenet";
  std::vector<int64_t> input{1, 28, 28};
  int64_t classes = 10;
  int64_t batch_size = 1;
};

int train_command(const TrainOptions& options);
int compare_command(const CompareOptions& options);
int eval_command(const EvalOptions& options);
int predict_command(const PredictOptions& options);
int summary_command(const SummaryOptions& options);
int devices_command();

/// "cuda:0" where there is one, else "cpu:0".
std::string best_device();
/// The device of that name. Throws UsageError when there is none.
Device use_device(const std::string& name);
/// Signals that ask for an end are kept in stop_signal; the second ends the process.
void install_handlers();
/// Throws UsageError when so many cannot be started.
void check_workers(int workers);
/// Sets the number of CPU threads. Throws UsageError when it is impossible.
void use_threads(int threads);

}  // namespace tandem::cli

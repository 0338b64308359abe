// Trains one run, on one device or several and in one process or several: steps, metrics, checkpoints. It can stop
// after any step without losing work. Of several processes only the first writes and prints.
#pragma once
#include <functional>
#include <optional>

#include "tandem/cli/draw/progress.h"
#include "tandem/cli/train/batches.h"
#include "tandem/cli/train/sharded_run.h"
#include "tandem/cli/train/state_hash.h"
#include "tandem/cli/train/tensorboard_log.h"

namespace tandem::cli {

struct TrainerOptions {
  Placement placement;
  int workers = 0;
  double save_every = 60;   ///< seconds
  bool keep_going = false;  ///< also with losses and weights that are not finite
  std::string weights{};    ///< weights that a new run starts from: a file, or for texts also a folder
  std::string key{};        ///< of the state dict in a .pt file with more
  bool verbose = false;     ///< say once what fusion has done to the step
  std::string folder{};     ///< set by run()
};

class Trainer {
 public:
  /// Continues from checkpoint.progress with the checkpoint's parameters, or starts a new run if it has none.
  /// `data` is on the root, or on the host if it is too large for the root.
  Trainer(const TrainerOptions& options, Checkpoint checkpoint, ImageSetPair data, const Terminal& terminal);
  /// Trains until the last epoch, until recipe.patience has ended or until stop_signal, in an existing folder. Returns
  /// true when the run is complete. Every process calls it and returns after the same step;
  /// the first one's folder counts.
  bool run(const std::string& folder);
  /// Trains one more epoch; false if a signal has ended it. Before run() nothing is written, and only the progress is
  /// shown. Every process calls it.
  bool next_epoch();
  /// Of the parameters, not of their moving average. It waits for the devices. Of a fully sharded model, every process
  /// calls these, and the first one's results count.
  StateHash hash() const;
  std::string model_hash() const;
  /// Of the state after the last epoch, on the first process.
  const StateHash& last_hash() const { return last_hash_; }
  /// What run() notifies of each step and epoch; it must outlive the run.
  void observe(TensorboardLog* log) { log_ = log; }
  const RunConfig& config() const { return checkpoint_.config; }
  const Progress& progress() const { return checkpoint_.progress; }
  /// The batches of an epoch.
  int64_t batches() const;
  nn::Sequential& model() { return model_; }
  /// The model, if each process keeps a slice of it; else null.
  const distributed::FullyShardedDataParallelBase* sharded() const { return stepper_->sharded(); }
  /// All values of parameters, and those that train.
  std::pair<int64_t, int64_t> parameter_counts() const;
  /// Gives the model the values that count as the run's result: of the best epoch, or the moving average. Training
  /// cannot go on afterwards.
  void take_result();

 private:
  /// The results of an epoch.
  struct Scores {
    Score test;
    std::optional<Score> validation;
    std::optional<Score> without_average;  ///< test; of the model itself, if its average is evaluated
  };
  void check_last_batch() const;
  void load_weights();
  void restore();
  bool leads() const { return options_.placement.team.leads(); }
  /// Whether this process calls what gathers a model that may be fully sharded.
  bool takes_part() const { return leads() || sharded() != nullptr; }
  bool writes() const { return leads() && !options_.folder.empty(); }
  bool epoch();
  std::vector<Tensor> next(Batches& loader) const;
  void end_epoch();
  Json figures(const Scores& scores) const;
  void keep(const Scores& scores);
  /// Adds the hashes to the last line of the history.
  void record_hashes();
  /// The learning rate of the step that uses this batch of the present epoch.
  double rate_of(int64_t batch) const;
  /// The examples in the batches of an epoch.
  int64_t examples() const;
  /// 1, or the tokens in a window.
  int64_t labels_per_example() const { return data_.train.labels.numel() / data_.train.labels.size(0); }
  void show(int64_t batches, double begun);
  /// Says what fusion has done to the step, if it was captured.
  void tell_fused();
  /// Notes the sum of the losses so far. It synchronises with the device.
  void add_point();
  /// Throw Error if the run has diverged, unless it is to keep going. The first process may see it before the others,
  /// whose exchange with it then ends.
  void check_losses();
  void check_weights();
  [[noreturn]] void diverged(const std::string& problem);
  /// A later save follows: one that fails is not the end of the run.
  enum class Later : bool { kNo, kYes };
  bool save(Later later = Later::kNo);
  bool save_to(const std::string& folder, Later later = Later::kNo);
  void write_files(Later later = Later::kNo);
  /// Calls `write`, which replaces files as a whole. Returns whether it has succeeded.
  bool written(Later later, const std::function<void()>& write);
  template <class F>
  void guarded(F&& write);
  /// Copies the sums on the device to the progress, on all processes.
  void collect();

  TrainerOptions options_;
  Checkpoint checkpoint_;
  ImageSetPair data_;
  Terminal terminal_;
  ProgressBar bar_;
  std::unique_ptr<distributed::ShardedConstruction> construction_;  // while the model is built
  nn::Sequential model_;
  std::unique_ptr<Stepper> stepper_;
  optional<Stream> side_;  // copies batches to the device if the data set is not there
  TensorboardLog* log_ = nullptr;
  std::optional<OrderedDict<std::string, Tensor>> best_;  // the model's state after the best epoch
  int64_t first_batch_ = 0;                // of the epoch's batches, that the stepper has seen since its start()
  optional<int64_t> not_finite_at_start_;  // values, when run() first saves: a network of an ONNX file may have a mask
  double saved_at_ = 0;
  bool fused_told_ = false;
  StateHash last_hash_;
  std::string saved_;  // the position of the last checkpoint
};

}  // namespace tandem::cli

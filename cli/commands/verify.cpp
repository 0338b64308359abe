// tandem verify: checks the files of a run against each other, computes the run again, and compares the bits. It writes
// nothing, and takes no lock.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>

#include "tandem/cli/commands/add_options.h"
#include "tandem/cli/data/find_data.h"
#include "tandem/cli/json.h"
#include "tandem/cli/launch/many_processes.h"
#include "tandem/cli/message.h"
#include "tandem/cli/report/run_record.h"
#include "tandem/cli/signals.h"
#include "tandem/cli/train/hash_chain.h"
#include "tandem/cli/train/preparation.h"
#include "tandem/cli/train/trainer.h"
#include "tandem/core/reproducible.h"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::uintmax_t kMaxBytes = 256 << 20;

struct VerifyOptions {
  TrainOptions train;        ///< `resume` is the run's folder
  std::set<int64_t> epochs;  ///< none: all
};

std::string text_of(const Json& line, const char* key) { return get_entry<std::string>(line, key); }

// ---- the files ----------------------------------------------------------------------------------------------------

void check_metrics(const std::string& path, const std::vector<Json>& history) {
  const std::string text = read_text(path, kMaxBytes);
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    check(number < history.size(), path, ": line ", number + 1, " is not in the checkpoint's record");
    check(text.compare(at, end - at, json_text(history[number])) == 0, path, ": line ", number + 1,
          " differs from the checkpoint's record");
    at = end + 1;
  }
  check(number == history.size(), path, ": has ", counted(static_cast<int64_t>(number), "line", "lines"),
        ", but the checkpoint records ", counted(static_cast<int64_t>(history.size()), "epoch", "epochs"));
}

void check_config(const std::string& path, const RunConfig& config) {
  const std::string text = read_text(path, kMaxBytes), recorded = config_text(config);
  if (text == recorded) return;
  Json found;
  try {
    found = parse_json(text);
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  }
  check(found.is_object(), path, ": expected an object");
  const Json wanted = parse_json(recorded);
  for (const auto& item : wanted.items())
    check(found.contains(item.key()) && found[item.key()] == item.value(), path, ": \"", item.key(),
          "\" differs from the checkpoint's record");
  fail(path, ": differs from the checkpoint's record");
}

// `line`: of the epoch after which the state was saved.
void check_state(const std::string& path, const StateHash& now, const Json& line) {
  if (now.sum == text_of(line, "state_sha256")) return;
  const std::string tensor = first_difference(now, text_of(line, "tensor_hashes"));
  fail(path, ": ", tensor.empty() ? "the optimizer's state" : tensor, " is not what epoch ",
       get_entry<int64_t>(line, "epoch"), " ended with");
}

// Of a fully sharded run this waits until processes have loaded the tensors.
void check_state(const std::string& path, const Checkpoint& checkpoint) {
  if (checkpoint.tensors.empty())
    check_state(path, state_hash(checkpoint.model, checkpoint.optimizer), checkpoint.progress.history.back());
}

// The epochs to compute again.
std::set<int64_t> chosen(const VerifyOptions& o, const std::vector<Json>& history) {
  const auto count = static_cast<int64_t>(history.size());
  const std::string& run = o.train.resume;
  std::set<int64_t> epochs = o.epochs;
  if (epochs.empty())
    for (int64_t epoch = 1; epoch <= count; ++epoch) epochs.insert(epoch);
  require(!epochs.empty(), run, ": no epoch has been completed, so there is nothing to verify");
  require(*epochs.rbegin() <= count, "--epochs ", *epochs.rbegin(), ": the run has completed only ",
          counted(count, "epoch", "epochs"));
  for (const int64_t epoch : epochs)
    require(has_hashes(history[static_cast<std::size_t>(epoch - 1)]), run, ": epoch ", epoch,
            " has no hashes: an older version of tandem has computed it, so it cannot be verified");
  return epochs;
}

// The run's state, after all that needs no computation has been checked.
Checkpoint checked(const VerifyOptions& o, std::set<int64_t>& epochs) {
  const std::string& run = o.train.resume;
  try {
    check_checkpoint(run);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  Checkpoint checkpoint = load_checkpoint(run);
  find_onnx_file(run, checkpoint.config);
  const std::vector<Json>& history = checkpoint.progress.history;
  epochs = chosen(o, history);
  const std::string metrics = (fs::path(run) / "metrics.jsonl").string();
  check_metrics(metrics, history);
  check_config((fs::path(run) / "config.json").string(), checkpoint.config);
  const std::size_t broken = first_broken_link(checkpoint.config, history);
  check(broken == 0, metrics, ": line ", broken, " does not fit into the chain of hashes: it was changed",
        broken == 1 ? ", or the configuration was" : "");
  const Progress& p = checkpoint.progress;
  check(p.epoch == static_cast<int64_t>(history.size()), checkpoint_path(run), ": records ",
        counted(static_cast<int64_t>(history.size()), "epoch", "epochs"), " after ", place_of(p));
  if (p.batch == 0 && has_hashes(history.back())) check_state(checkpoint_path(run), checkpoint);
  return checkpoint;
}

// ---- computing again ----------------------------------------------------------------------------------------------

class Verification {
 public:
  Verification(const VerifyOptions& o, const Team& team) : o_(o), team_(team) {}
  /// Returns the exit code.
  int run();

 private:
  void announce() const;
  /// The epoch, before `epoch`, of the last checkpoint that has been kept; 0: the start.
  int64_t kept_before(int64_t epoch) const;
  Checkpoint kept_after(int64_t epoch) const;
  void start(int64_t after);
  /// Loads a state, and compares that of a fully sharded run with its record.
  void load(Checkpoint begin);
  bool compare(int64_t epoch);
  /// What differs from the record; "" if nothing does.
  std::string difference(const Json& was) const;
  std::string difference_of_steps(const Json& now, const Json& was) const;
  void explain(const Json& was) const;

  const VerifyOptions& o_;
  const Team& team_;
  const Terminal terminal_ = detect_terminal();
  Prepared p_;
  std::vector<Json> history_;  // as recorded
  std::set<int64_t> epochs_;
  std::optional<Trainer> trainer_;
};

void Verification::announce() const {
  const RunConfig& c = p_.checkpoint.config;
  std::printf("run      %s: %s on %s, %s, seed %llu\n", printable(o_.train.resume).c_str(), c.model.c_str(),
              printable(data_label(c)).c_str(),
              counted(static_cast<int64_t>(history_.size()), "epoch", "epochs").c_str(),
              static_cast<unsigned long long>(c.seed));
  std::printf("files    checkpoint.safetensors, metrics.jsonl and config.json agree; the chain of hashes is whole\n");
  std::printf("device   %s, %s%s\n", described(p_.placement).c_str(), describe_devices(p_.placement.devices).c_str(),
              reproducible() == Reproducible::kStrict ? ", reproducible: strict" : "");
  std::fflush(stdout);
}

int64_t Verification::kept_before(int64_t epoch) const {
  std::error_code error;
  int64_t last = epoch - 1;
  while (last > 0 && !fs::exists(checkpoint_path(epoch_folder(o_.train.resume, last)), error)) --last;
  return last;
}

Checkpoint Verification::kept_after(int64_t epoch) const {
  const std::string folder = epoch_folder(o_.train.resume, epoch);
  Checkpoint checkpoint = load_checkpoint(folder);
  const Progress& p = checkpoint.progress;
  check(p.epoch == epoch && p.batch == 0 &&
            std::equal(p.history.begin(), p.history.end(), history_.begin(),
                       history_.begin() + static_cast<std::ptrdiff_t>(epoch)),
        checkpoint_path(folder), ": is not the checkpoint of this run after epoch ", epoch);
  check(has_hashes(p.history.back()), checkpoint_path(folder), ": epoch ", epoch, " has no hashes");
  check_state(checkpoint_path(folder), checkpoint);
  checkpoint.config = p_.checkpoint.config;
  return checkpoint;
}

void Verification::load(Checkpoint begin) {
  trainer_.reset();
  manual_seed(begin.config.seed);  // of a new model, whatever has been loaded before
  const TrainOptions& o = o_.train;
  const std::string tensors = begin.tensors;
  const Json line = tensors.empty() ? Json() : begin.progress.history.back();
  try {
    trainer_.emplace(TrainerOptions{.placement = p_.placement,
                                    .workers = o.workers,
                                    .save_every = std::numeric_limits<double>::infinity(),
                                    .keep_going = true,
                                    .weights = o.weights,
                                    .key = o.key},
                     std::move(begin), p_.data, terminal_);
  } catch (const UsageError& error) {
    if (tensors.empty()) throw;
    fail(error.what());
  }
  if (line.is_null() || !has_hashes(line)) return;
  const StateHash now = trainer_->hash();
  if (team_.leads()) check_state(tensors, now, line);
}

void Verification::start(int64_t after) {
  const TrainOptions& o = o_.train;
  Checkpoint begin;
  begin.config = p_.checkpoint.config;
  if (after > 0) begin = kept_after(after);
  load(std::move(begin));
  const std::string& recorded = p_.checkpoint.config.start_sha256;
  if (after > 0 || recorded.empty() || !(team_.leads() || trainer_->sharded() != nullptr)) return;
  if (const std::string now = trainer_->model_hash(); !team_.leads() || now == recorded) return;
  check(o.weights.empty(), "--weights ", o.weights, ": are not what the run was started from");
  fail(o.resume, ": was not started from the parameters of its seed; if it was started with --weights, name them");
}

std::string Verification::difference_of_steps(const Json& now, const Json& was) const {
  const int64_t every = p_.checkpoint.config.hash_steps;
  if (every == 0 || !was.contains("step_hashes")) return "";
  const std::string a = text_of(now, "step_hashes"), b = text_of(was, "step_hashes");
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a.compare(at, kStepDigits, b, at, kStepDigits) == 0) at += kStepDigits;
  if (at >= a.size() && at >= b.size()) return "; not yet at the last step that is recorded";
  return concat("; first at step ", (static_cast<int64_t>(at / kStepDigits) + 1) * every, " (of those recorded",
                every > 1 ? concat(", one in ", every) : "", ")");
}

std::string Verification::difference(const Json& was) const {
  const Json now = parse_json(json_text(trainer_->progress().history.back()));  // as if read from a file
  if (text_of(now, "state_sha256") != text_of(was, "state_sha256")) {
    const std::string tensor = first_difference(trainer_->last_hash(), text_of(was, "tensor_hashes"));
    return (tensor.empty() ? "in what the optimizer counts" : "first in tensor " + tensor) +
           difference_of_steps(now, was);
  }
  const std::set<std::string> other{"seconds",      "images_per_second", "tokens_per_second",
                                    "device",       "processes",         "chain",
                                    "within_epoch",    // whose places depend on processes and earlier stops
                                    "stopped_early"};  // follows from the others
  for (const Json& line : {was, now})
    for (const auto& item : line.items()) {
      const std::string& key = item.key();
      if (other.count(key) == 0 && !(was.contains(key) && now.contains(key) && was[key] == now[key]))
        return concat("the state has the same bits, but \"", key, "\" is not what was recorded");
    }
  return "";
}

// Why the bits may differ although nobody has changed anything.
void Verification::explain(const Json& was) const {
  const std::string device = text_of(was, "device"), own = names_of(p_.placement.devices);
  const auto processes = get_entry<int64_t>(was, "processes");
  if (device == own && (processes == team_.size() || p_.placement.shards > 0)) return;
  std::printf(
      "note     computed on %s in %s, now on %s in %lld; bits depend on the kind of device unless both runs are "
      "--reproducible strict and, without --shards, on the number of devices and processes\n",
      printable(device).c_str(), counted(processes, "process", "processes").c_str(), own.c_str(),
      static_cast<long long>(team_.size()));
}

bool Verification::compare(int64_t epoch) {
  const Json& was = history_[static_cast<std::size_t>(epoch - 1)];
  const std::string text = difference(was);
  std::printf("epoch %lld: %s\n", static_cast<long long>(epoch),
              text.empty() ? "same bits" : printable("differs; " + text).c_str());
  std::fflush(stdout);
  return text.empty();
}

int Verification::run() {
  Checkpoint end;  // of a fully sharded run
  p_ = prepare(o_.train, team_, [&] {
    Checkpoint recorded = checked(o_, epochs_), begin;
    history_ = recorded.progress.history;
    begin.config = recorded.config;
    if (!recorded.tensors.empty() && recorded.progress.batch == 0) end = std::move(recorded);
    if (o_.train.line.has("data"))
      begin.config.data = begin.config.text ? lasting_text_name(o_.train.data) : lasting_name(o_.train.data);
    return begin;
  });
  const DeviceGuard guard(p_.placement.root);
  if (!team_.several()) install_handlers();
  if (!end.tensors.empty()) {
    end.config = p_.checkpoint.config;
    team_.together([&] { load(std::move(end)); });
    trainer_.reset();
  }
  if (team_.leads()) announce();
  const bool from_start =
      o_.epochs.empty() || std::ranges::any_of(epochs_, [&](int64_t epoch) { return kept_before(epoch) == 0; });
  require(from_start || o_.train.weights.empty(), "--weights ", o_.train.weights,
          ": these epochs start from kept checkpoints; leave it out");
  int64_t different = 0;
  const Json* last = nullptr;  // that differs
  for (const int64_t epoch : epochs_) {
    const int64_t from = o_.epochs.empty() ? 0 : kept_before(epoch);
    if (!trainer_ || trainer_->progress().epoch < from) team_.together([&] { start(from); });
    while (trainer_->progress().epoch < epoch)
      if (!trainer_->next_epoch()) return 128 + stop_signal;
    team_.together([&] {
      if (!team_.leads() || compare(epoch)) return;
      ++different;
      last = &history_[static_cast<std::size_t>(epoch - 1)];
    });
  }
  if (last != nullptr) explain(*last);
  return team_.sum(static_cast<double>(different)) > 0 ? 1 : 0;
}

int verify_command(const VerifyOptions& o) {
  const TrainOptions& t = o.train;
  require(t.key.empty() || !t.weights.empty(), "--key: names a state dict in the file of --weights");
  return run_in_team("verify", t, [&](const Team& team) { return Verification(o, team).run(); });
}

void add_verify_options(CLI::App* c, VerifyOptions& o) {
  TrainOptions& t = o.train;
  add_text(c, "RUN", t.resume, kFolderType, "folder of the run")->required();
  add_numbers(c, "--epochs", o.epochs, Range<int64_t>{1, kMaxEpochs},
              "only these epochs, such as 3,7, each from the last checkpoint before it that --keep all has kept; "
              "default: all, from the start")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_text(c, "--data", t.data, kDataType, "where the run's data is now; default: where it was");
  add_text(c, "--weights", t.weights, kFileType, "the weights that the run was started from");
  add_key(c, t.key);
  add_text(c, "--devices", t.devices, kDeviceType, "devices to use; default: those of the run's last session")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_text(c, "--root", t.root, kDeviceType,
           "device that keeps the parameters if there are several; default: as in the run");
  add_reproducible(c, t);
  add_number(c, "--processes", t.processes, Range<int>{1, 4096},
             "processes that compute together; the bits are the same if the run has --shards, which it has if it was "
             "trained in several; a fully sharded run without needs as many as it was trained in");
  add_known(c, "--threads", t.threads, kThreads, "CPU threads, of all --processes together; 0: all cores");
  add_known(c, "--workers", t.workers, {0, 256}, "threads that load batches ahead, in each process");
}

}  // namespace

Command add_verify(CLI::App& app) {
  static VerifyOptions o;
  CLI::App* c = app.add_subcommand("verify",
                                   "compute a run again and compare the bits of each epoch with the recorded hashes; "
                                   "before, the run's files are compared with each other. Nothing is written. The exit "
                                   "code is 1 if something differs");
  add_verify_options(c, o);
  c->footer(
      "Examples:\n"
      "  tandem verify runs/first\n"
      "  tandem verify runs/first --epochs 3,7 --threads 2");
  return [](const CommandLine& line) {
    o.train.line = line;
    return verify_command(o);
  };
}

}  // namespace tandem::cli

// Writes what TensorBoard shows of a training: curves, images, histograms and texts, like PyTorch's
// torch.utils.tensorboard.SummaryWriter.
//
//   tensorboard::SummaryWriter writer("runs/first");
//   writer.add_scalar("train/loss", loss.item<double>(), step);      // $ tensorboard --logdir runs
//
// Each event is passed to the system at once: a process that is killed loses at most the one that it was writing. A
// writer never appends to an existing file. Threads may share it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::tensorboard {

struct SummaryWriterOptions {
  /// For a run that continues: what earlier files of the folder have at this step and later ones is no longer shown.
  optional<int64_t> purge_step = nullopt;
  std::string filename_suffix{};
};

class SummaryWriter {
 public:
  /// Creates the folder, if it is missing, and a file in it. Throws Error if that fails,
  /// as do all functions below that write.
  explicit SummaryWriter(const std::string& log_dir, const SummaryWriterOptions& options = {});
  /// Closes the files.
  ~SummaryWriter();
  SummaryWriter(const SummaryWriter&) = delete;
  SummaryWriter& operator=(const SummaryWriter&) = delete;

  /// Tags group by what precedes the first '/'. `walltime`: seconds since 1970; default: now.
  void add_scalar(const std::string& tag, double value, int64_t global_step = 0, optional<double> walltime = nullopt);
  /// `value`: a tensor with one element.
  void add_scalar(const std::string& tag, const Tensor& value, int64_t global_step = 0,
                  optional<double> walltime = nullopt);
  /// Several curves in one plot, each in its own folder below log_dir: `main_tag`_NAME.
  void add_scalars(const std::string& main_tag, const std::vector<std::pair<std::string, double>>& values,
                   int64_t global_step = 0, optional<double> walltime = nullopt);
  /// The finite values of a real tensor of any shape. Writes nothing if there is none.
  void add_histogram(const std::string& tag, const Tensor& values, int64_t global_step = 0,
                     optional<double> walltime = nullopt);
  /// `image`: uint8, or floating point from 0 to 1 (other values are clamped); with 1 or 3 channels, and with
  /// dimensions as `dataformats` says: CHW, HWC or HW. Throws Error on others.
  void add_image(const std::string& tag, const Tensor& image, int64_t global_step = 0,
                 optional<double> walltime = nullopt, const std::string& dataformats = "CHW");
  /// The same for several images (NCHW or NHWC), as one picture with eight in a row.
  void add_images(const std::string& tag, const Tensor& images, int64_t global_step = 0,
                  optional<double> walltime = nullopt, const std::string& dataformats = "NCHW");
  /// `text` may be Markdown.
  void add_text(const std::string& tag, const std::string& text, int64_t global_step = 0,
                optional<double> walltime = nullopt);

  /// Waits until all events are on the disk.
  void flush();
  /// Flushes and closes the files. A later event begins a new one.
  void close();
  const std::string& log_dir() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::tensorboard

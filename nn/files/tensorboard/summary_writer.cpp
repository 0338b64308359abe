// The messages are those of TensorFlow's event.proto, summary.proto and tensor.proto; the numbers are their fields'.
#include "tandem/nn/files/tensorboard/summary_writer.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <set>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/error.h"
#include "tandem/datasets/vision/image_file.h"
#include "tandem/nn/files/tensorboard/event_file.h"
#include "tandem/nn/files/tensorboard/histogram.h"
#include "tandem/nn/files/tensorboard/message.h"

namespace tandem::tensorboard {
namespace {

double now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

Message event(int64_t step, optional<double> walltime) {
  Message out;
  out.real(1, walltime ? *walltime : now());
  if (step != 0) out.integer(2, step);
  return out;
}

// uint8 [C, H, W] with 1 or 3 channels.
Tensor as_bytes(const Tensor& image) {
  if (image.dtype() == kByte) return image;
  check(image.is_floating_point(), "add_image: expected uint8 or floating point, got ", image);
  return nan_to_num(image.to(kDouble)).mul(255).round().clamp(0, 255).to(kByte);
}

Tensor with_channels_first(const Tensor& image, const std::string& format) {
  check(format == "CHW" || format == "HWC" || format == "HW", "add_image: dataformats '", format,
        "'; expected CHW, HWC or HW");
  check(image.dim() == static_cast<int64_t>(format.size()), "add_image: dataformats ", format, ", got ", image);
  if (format == "HW") return image.unsqueeze(0);
  return format == "HWC" ? image.permute({2, 0, 1}) : image;
}

// [C, rows x H, up to 8 x W]; black where the last row is not full.
Tensor grid(const Tensor& images) {
  const int64_t count = images.size(0), height = images.size(2), width = images.size(3);
  const int64_t columns = std::min<int64_t>(count, 8), rows = (count + columns - 1) / columns;
  Tensor out = zeros({images.size(1), rows * height, columns * width},
                     TensorOptions(kByte).device(optional<Device>(images.device())));
  for (int64_t i = 0; i < count; ++i)
    out.narrow(1, i / columns * height, height).narrow(2, i % columns * width, width).copy_(images[i]);
  return out;
}

Message image_message(const Tensor& image) {
  check(image.size(0) == 1 || image.size(0) == 3, "add_image: expected 1 or 3 channels, got ", image);
  Message out;
  out.integer(1, image.size(1)).integer(2, image.size(2)).integer(3, image.size(0));
  out.text(4, vision::encode_png(image));
  return out;
}

}  // namespace

struct SummaryWriter::Impl {
  std::string folder;
  SummaryWriterOptions options;
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<EventFile>> files;  // by folder
  std::set<std::string> purged;

  EventFile& file_in(const std::string& where) {
    if (const auto found = files.find(where); found != files.end()) return *found->second;
    auto file = std::make_unique<EventFile>(where, options.filename_suffix);
    const bool purge = options.purge_step && !purged.contains(where);
    file->append(event(purge ? *options.purge_step : 0, nullopt).text(3, "brain.Event:2").bytes());
    if (purge) {
      Message session;
      session.integer(1, 1);  // START
      file->append(event(*options.purge_step, nullopt).message(7, session).bytes());
      purged.insert(where);
    }
    return *(files[where] = std::move(file));
  }

  void add(const std::string& where, int64_t step, optional<double> walltime, const Message& value) {
    Message summary;
    summary.message(1, value);
    const std::lock_guard lock(mutex);
    file_in(where).append(event(step, walltime).message(5, summary).bytes());
  }
};

SummaryWriter::SummaryWriter(const std::string& log_dir, const SummaryWriterOptions& options)
    : impl_(new Impl{.folder = log_dir, .options = options}) {
  check(!log_dir.empty(), "SummaryWriter: the folder's name is empty");
  impl_->file_in(log_dir);
}

SummaryWriter::~SummaryWriter() = default;

void SummaryWriter::add_scalar(const std::string& tag, double value, int64_t step, optional<double> walltime) {
  impl_->add(impl_->folder, step, walltime, Message().text(1, tag).single(2, value));
}

void SummaryWriter::add_scalar(const std::string& tag, const Tensor& value, int64_t step, optional<double> walltime) {
  check(value.numel() == 1, "add_scalar: expected one value, got ", value);
  add_scalar(tag, value.detach().to(kDouble).item<double>(), step, walltime);
}

void SummaryWriter::add_scalars(const std::string& main_tag, const std::vector<std::pair<std::string, double>>& values,
                                int64_t step, optional<double> walltime) {
  const double time = walltime ? *walltime : now();
  for (const auto& item : values) {
    std::string name = main_tag + "_" + item.first;
    for (char& c : name)
      if (c == '/') c = '_';
    impl_->add(impl_->folder + "/" + name, step, time, Message().text(1, main_tag).single(2, item.second));
  }
}

void SummaryWriter::add_histogram(const std::string& tag, const Tensor& values, int64_t step,
                                  optional<double> walltime) {
  const Histogram h = histogram_of(values);
  if (h.count == 0) return;
  Message message;
  message.real(1, h.min).real(2, h.max).real(3, h.count).real(4, h.sum).real(5, h.sum_squares);
  message.reals(6, h.limits).reals(7, h.counts);
  impl_->add(impl_->folder, step, walltime, Message().text(1, tag).message(5, message));
}

void SummaryWriter::add_image(const std::string& tag, const Tensor& image, int64_t step, optional<double> walltime,
                              const std::string& dataformats) {
  NoGradGuard guard;
  const Tensor bytes = as_bytes(with_channels_first(image.detach(), dataformats));
  impl_->add(impl_->folder, step, walltime, Message().text(1, tag).message(4, image_message(bytes)));
}

void SummaryWriter::add_images(const std::string& tag, const Tensor& images, int64_t step, optional<double> walltime,
                               const std::string& dataformats) {
  NoGradGuard guard;
  check(dataformats == "NCHW" || dataformats == "NHWC", "add_images: dataformats '", dataformats,
        "'; expected NCHW or NHWC");
  check(images.dim() == 4 && images.size(0) > 0, "add_images: dataformats ", dataformats, ", got ", images);
  const Tensor first = dataformats == "NHWC" ? images.detach().permute({0, 3, 1, 2}) : images.detach();
  impl_->add(impl_->folder, step, walltime, Message().text(1, tag).message(4, image_message(grid(as_bytes(first)))));
}

void SummaryWriter::add_text(const std::string& tag, const std::string& text, int64_t step, optional<double> walltime) {
  constexpr int kString = 7;  // DT_STRING
  Message plugin, metadata, dim, shape, tensor;
  plugin.text(1, "text");
  metadata.message(1, plugin);
  dim.integer(1, 1);
  shape.message(2, dim);
  tensor.integer(1, kString).message(2, shape).text(8, text);
  impl_->add(impl_->folder, step, walltime,
             Message().text(1, tag + "/text_summary").message(8, tensor).message(9, metadata));
}

void SummaryWriter::flush() {
  const std::lock_guard lock(impl_->mutex);
  for (const auto& item : impl_->files) item.second->sync();
}

void SummaryWriter::close() {
  flush();
  const std::lock_guard lock(impl_->mutex);
  impl_->files.clear();
}

const std::string& SummaryWriter::log_dir() const { return impl_->folder; }

}  // namespace tandem::tensorboard

// An example is its labels, one byte each, and the three planes of the image.
#include "tandem/datasets/vision/cifar.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "tandem/core/error.h"
#include "tandem/datasets/gz_input.h"
#include "tandem/datasets/tensor_dataset.h"

namespace tandem::vision::datasets {

struct CIFARBase::Format {
  const char* folder;  // of the published archive
  std::vector<const char*> train, test;
  const char *names, *coarse_names;  // files; coarse_names may be nullptr
  int64_t classes, coarse_classes;   // 0: no coarse labels
};

namespace {

constexpr std::size_t kPixels = 3 * 32 * 32;
constexpr uint64_t kMaxBytes = uint64_t{1} << 30;  // the published files have 154 MB at most

std::string folder_of(const std::string& root, const char* folder, const char* file) {
  std::error_code ignored;
  for (const std::string& candidate : {root, root + "/" + folder})
    if (std::filesystem::exists(candidate + "/" + file, ignored)) return candidate;
  fail("CIFAR: no ", file, " in ", root, " or ", root, "/", folder,
       "; unpack the archive with the binary version there");
}

std::string content_of(const std::string& path) {
  data::GzInput input(path);
  check(!input.is_gzip() && input.file_bytes() <= kMaxBytes, path, ": expected a plain file of at most ", kMaxBytes,
        " bytes");
  std::string out(input.file_bytes(), '\0');
  out.resize(input.read(out.data(), out.size()));
  return out;
}

// The lines of a file, which must be `count`; none if there is no file.
std::vector<std::string> names_in(const std::string& path, int64_t count) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  std::vector<std::string> names(1);
  for (const char c : content_of(path)) {
    if (c == '\n')
      names.emplace_back();
    else if (c != '\r')
      names.back() += c;
  }
  names.erase(std::remove(names.begin(), names.end(), ""), names.end());
  check(static_cast<int64_t>(names.size()) == count, path, ": ", names.size(), " names of classes, expected ", count);
  return names;
}

void check_label(uint8_t label, int64_t classes, const std::string& path, std::size_t example) {
  check(label < classes, path, ": example ", example, " has label ", int{label}, ", expected at most ", classes - 1);
}

}  // namespace

CIFARBase::CIFARBase(const std::string& root, Mode mode, const Format& format) : train_(mode == Mode::kTrain) {
  const auto& files = train_ ? format.train : format.test;
  const std::string folder = folder_of(root, format.folder, files[0]);
  const std::size_t labels = format.coarse_classes == 0 ? 1 : 2, bytes = labels + kPixels;
  std::vector<std::string> contents;
  std::size_t count = 0;
  for (const char* file : files) {
    contents.push_back(content_of(folder + "/" + file));
    check(!contents.back().empty() && contents.back().size() % bytes == 0, folder, "/", file, ": ",
          contents.back().size(), " bytes, expected a multiple of ", bytes);
    count += contents.back().size() / bytes;
  }
  const auto examples = static_cast<int64_t>(count);
  images_ = empty_raw({examples, 3, 32, 32}, kByte, Device(kCPU, 0));
  targets_ = empty_raw({examples}, kLong, Device(kCPU, 0));
  if (labels == 2) coarse_targets_ = empty_raw({examples}, kLong, Device(kCPU, 0));
  uint8_t* pixels = images_.data_ptr<uint8_t>();
  std::size_t at = 0;
  for (std::size_t f = 0; f < files.size(); ++f) {
    const std::string path = folder + "/" + files[f];
    for (std::size_t i = 0; i < contents[f].size() / bytes; ++i, ++at, pixels += kPixels) {
      const auto* example = reinterpret_cast<const uint8_t*>(contents[f].data()) + i * bytes;
      check_label(example[labels - 1], format.classes, path, i);
      targets_.data_ptr<int64_t>()[at] = example[labels - 1];
      if (labels == 2) {
        check_label(example[0], format.coarse_classes, path, i);
        coarse_targets_.data_ptr<int64_t>()[at] = example[0];
      }
      std::memcpy(pixels, example + labels, kPixels);
    }
  }
  classes_ = names_in(folder + "/" + format.names, format.classes);
  if (labels == 2) coarse_classes_ = names_in(folder + "/" + format.coarse_names, format.coarse_classes);
}

data::Example<> CIFARBase::get(size_t index) {
  return {data::datasets::detail::row(images_, index), data::datasets::detail::row(targets_, index)};
}

data::Example<> CIFARBase::get_stacked(ArrayRef<size_t> indices) const {
  return {data::datasets::detail::gather_rows(images_, indices),
          data::datasets::detail::gather_rows(targets_, indices)};
}

CIFAR10::CIFAR10(const std::string& root, Mode mode)
    : CIFARBase(root, mode,
                {"cifar-10-batches-bin",
                 {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
                 {"test_batch.bin"},
                 "batches.meta.txt",
                 nullptr,
                 10,
                 0}) {}

CIFAR100::CIFAR100(const std::string& root, Mode mode)
    : CIFARBase(root, mode,
                {"cifar-100-binary",
                 {"train.bin"},
                 {"test.bin"},
                 "fine_label_names.txt",
                 "coarse_label_names.txt",
                 100,
                 20}) {}

}  // namespace tandem::vision::datasets

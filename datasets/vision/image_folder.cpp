// Lists the files once; they are read when their examples are asked for.
#include "tandem/datasets/vision/image_folder.h"

#include <algorithm>
#include <filesystem>

#include "tandem/core/error.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/datasets/vision/check_image.h"

namespace tandem::vision::datasets {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

std::vector<std::string> subfolders(const std::string& root) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.is_directory() && !is_hidden(entry.path())) out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

// Sorted by folder, then by name.
std::vector<std::string> images_below(const fs::path& folder) {
  constexpr int kMaxLevels = 32;  // links can make a circle
  std::vector<std::pair<std::string, std::string>> found;
  const auto links = fs::directory_options::follow_directory_symlink;
  for (auto at = fs::recursive_directory_iterator(folder, links); at != fs::recursive_directory_iterator(); ++at) {
    check(at.depth() < kMaxLevels, "ImageFolder: ", at->path().string(), ": folders are nested more than ", kMaxLevels,
          " deep");
    if (is_hidden(at->path()))
      at.disable_recursion_pending();
    else if (has_image_ending(at->path().native()) && at->is_regular_file())
      found.emplace_back(at->path().parent_path().string(), at->path().filename().string());
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (const auto& [parent, name] : found) out.push_back((fs::path(parent) / name).string());
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxNames = 10;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kMaxNames; ++i) out += "\n    " + names[i];
  if (names.size() > kMaxNames) out += "\n    and " + std::to_string(names.size() - kMaxNames) + " more";
  return out;
}

}  // namespace

std::shared_ptr<const ImageFolder::Files> ImageFolder::list(const std::string& root, bool allow_empty) try {
  auto files = std::make_shared<Files>();
  files->classes = subfolders(root);
  check(!files->classes.empty(), "ImageFolder: ", root, ": no subfolders; expected one for each class");
  std::vector<std::string> empty;
  for (std::size_t k = 0; k < files->classes.size(); ++k) {
    const std::vector<std::string> images = images_below(fs::path(root) / files->classes[k]);
    if (images.empty()) empty.push_back(files->classes[k]);
    for (const std::string& path : images) files->samples.emplace_back(path, static_cast<int64_t>(k));
  }
  check(empty.empty() || allow_empty, "ImageFolder: ", root,
        ": classes without .jpg, .jpeg or .png files:", listed(empty));
  return files;
} catch (const fs::filesystem_error& error) {
  fail("ImageFolder: ", error.path1().string(), ": ", error.code().message());
}

ImageFolder::ImageFolder(const std::string& root, const ImageFolderOptions& options)
    : files_(list(root, options.allow_empty)), decoding_(options.decoding) {}

ImageFolder::ImageFolder(const std::string& root, const transforms::Compose& transform,
                         const ImageFolderOptions& options)
    : ImageFolder(root, options) {
  transform_ = std::make_shared<const transforms::Compose>(transform);
}

data::Example<> ImageFolder::get(size_t index) {
  check_index(index < files_->samples.size(), "ImageFolder: index ", index, " is out of range for ",
              files_->samples.size(), " images");
  const auto& [path, target] = files_->samples[index];
  Tensor image = read_image(path, decoding_);
  if (transform_) {
    RandomStream random = RandomStream::of_next_sample();
    image = detail::naming(path, [&] { return transform_->transformed(image, random); });
  }
  Tensor label = empty_raw({}, kLong, Device(kCPU, 0));
  *label.data_ptr<int64_t>() = target;
  return {image, label};
}

Tensor ImageFolder::targets() const {
  Tensor out = empty_raw({static_cast<int64_t>(files_->samples.size())}, kLong, Device(kCPU, 0));
  std::transform(files_->samples.begin(), files_->samples.end(), out.data_ptr<int64_t>(),
                 [](const auto& sample) { return sample.second; });
  return out;
}

std::vector<std::string> ImageFolder::errors() const {
  const auto count = static_cast<int64_t>(files_->samples.size());
  std::vector<std::string> errors(files_->samples.size());
  parallel_for(count, 1, [&](int64_t first, int64_t last) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) try {
        read_image(files_->samples[i].first, decoding_);
      } catch (const Error& error) {
        if (detail::is_out_of_memory(error)) throw;
        errors[i] = error.what();
      }
  });
  return errors;
}

std::vector<std::string> ImageFolder::find_broken_files() const {
  std::vector<std::string> out = errors();
  out.erase(std::remove(out.begin(), out.end(), ""), out.end());
  return out;
}

std::vector<std::string> ImageFolder::remove_broken_files() {
  const std::vector<std::string> all = errors();
  std::vector<std::string> out;
  std::vector<const std::string*> lost(files_->classes.size());  // an error in each class
  std::vector<bool> found(files_->classes.size());               // whether it has an image
  auto left = std::make_shared<Files>(Files{files_->classes, {}});
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto target = static_cast<std::size_t>(files_->samples[i].second);
    if (all[i].empty()) {
      left->samples.push_back(files_->samples[i]);
      found[target] = true;
    } else {
      out.push_back(all[i]);
      lost[target] = &all[i];
    }
  }
  for (std::size_t k = 0; k < lost.size(); ++k)
    if (lost[k] != nullptr && !found[k])
      fail("ImageFolder: no image of class ", files_->classes[k], " can be read; ", *lost[k]);
  files_ = std::move(left);
  return out;
}

}  // namespace tandem::vision::datasets

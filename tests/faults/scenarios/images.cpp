// Files of images.
#include <filesystem>

#include "tandem/datasets/vision/image_file.h"
#include "tandem/datasets/vision/image_folder.h"
#include "tandem/tandem.h"
#include "tandem/tests/faults/scenario.h"

namespace tandem::faults {
namespace {

Tensor picture(int64_t shade) { return ((arange(3 * 20 * 16) * 7 + shade).remainder(256)).view({3, 20, 16}).to(kByte); }

void write_pictures(const std::string& folder, int64_t shade) {
  vision::write_png(picture(shade), folder + "/a.png");
  if (vision::has_jpeg()) vision::write_jpeg(picture(shade), folder + "/b.jpg");
}

void write_classes(const std::string& folder) {
  for (const std::string name : {"cat", "dog"}) {
    std::filesystem::create_directory(folder + "/" + name);
    write_pictures(folder + "/" + name, name == "cat" ? 3 : 90);
  }
}

void image_folder(const std::string& folder, Sum& sum) {
  vision::datasets::ImageFolder set(folder);
  for (std::size_t i = 0; i < set.size(); ++i) sum.add(set.get(i).data);
  for (const std::string& error : set.find_broken_files()) fail(error);
}

std::vector<Kind> and_threads(std::vector<Kind> kinds) {
  kinds.push_back(Kind::kThread);
  return kinds;
}

const AddScenarios added({
    {.name = "write_images",
     .kinds = kWriting,
     .run = [](const std::string& folder, Sum&) { write_pictures(folder, 2); },
     .prepare = [](const std::string& folder) { write_pictures(folder, 1); }},
    {.name = "image_folder", .kinds = and_threads(kReading), .run = image_folder, .prepare = write_classes},
});

}  // namespace
}  // namespace tandem::faults

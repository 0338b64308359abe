// ImageFolder and CIFAR: what they read, what they refuse, and both in the loaders.
#include "tandem/datasets/vision/image_folder.h"

#include <doctest/doctest.h>

#include "tandem/autograd/ops.h"
#include "tandem/datasets/data.h"
#include "tandem/datasets/vision/cifar.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::test;
using namespace tandem::vision;
using namespace tandem::vision::datasets;
using namespace tandem::vision::transforms;
using doctest::Contains;
namespace fs = std::filesystem;

namespace {

Tensor noise(int64_t height, int64_t width, uint64_t seed) {
  return (rand({3, height, width}, Generator(seed)) * 256).to(kByte);
}

// Two classes: cat with 5 images, two of them in subfolders, and dog with 3; other and hidden files beside them.
struct Pets {
  TempFolder folder;
  Pets() {
    const char* names[] = {"dog/b.PNG", "dog/a.png",   "dog/c.png",   "cat/z.png",
                           "cat/a.png", "cat/m/y.png", "cat/m/x.png", "cat/k.png"};
    for (uint64_t i = 0; i < 8; ++i) {
      const fs::path path = folder / names[i];
      fs::create_directories(path.parent_path());
      write_png(noise(10 + static_cast<int64_t>(i), 12, i), path.string());
    }
    for (const char* hidden : {".checkpoints/a.png", "cat/.thumbnails/a.png", "dog/._a.png"}) {
      fs::create_directories(fs::path(folder / hidden).parent_path());
      write_file(folder / hidden, "");
    }
    write_file(folder / "dog/notes.txt", "");
    write_file(folder / "readme.png", "");
  }
  std::string path() const { return folder.path(); }
};

// `count` examples; example i has label i % classes and pixels i + plane.
std::string cifar_file(int count, int classes, int first, bool coarse) {
  std::string out;
  for (int i = first; i < first + count; ++i) {
    if (coarse) out += static_cast<char>(i % 20);
    out += static_cast<char>(i % classes);
    for (int c = 0; c < 3; ++c) out += std::string(1024, static_cast<char>(i + c));
  }
  return out;
}

struct Cifar10Files {
  TempFolder folder;
  explicit Cifar10Files(const std::string& below = "") {
    fs::create_directories(folder / below);
    for (int k = 0; k < 5; ++k)
      write_file(folder / below + "/data_batch_" + std::to_string(k + 1) + ".bin", cifar_file(4, 10, 4 * k, false));
    write_file(folder / below + "/test_batch.bin", cifar_file(3, 10, 100, false));
    write_file(folder / below + "/batches.meta.txt",
               "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n");
  }
};

template <class Loader>
std::vector<Tensor> batches_of(Loader& loader) {
  std::vector<Tensor> out;
  for (auto& batch : loader) out.push_back(batch.data);
  return out;
}

}  // namespace

TEST_CASE("ImageFolder lists the classes and their files in order") {
  const Pets pets;
  ImageFolder set(pets.path());
  CHECK(set.classes() == std::vector<std::string>{"cat", "dog"});
  std::vector<std::string> names;
  for (const auto& [path, target] : set.samples())
    names.push_back(fs::path(path).lexically_relative(pets.path()).string() + " " + std::to_string(target));
  CHECK(names == std::vector<std::string>{"cat/a.png 0", "cat/k.png 0", "cat/z.png 0", "cat/m/x.png 0", "cat/m/y.png 0",
                                          "dog/a.png 1", "dog/b.PNG 1", "dog/c.png 1"});
  CHECK(set.size() == 8u);
  CHECK(set.targets().equal(tensor({0, 0, 0, 0, 0, 1, 1, 1}, kLong)));
  const auto example = set.get(6);
  CHECK(example.data.equal(noise(10, 12, 0)));
  CHECK(example.target.dim() == 0);
  CHECK(example.target.item<int64_t>() == 1);
  CHECK_THROWS_AS(set.get(8), IndexError);
  CHECK(set.find_broken_files().empty());
}

TEST_CASE("ImageFolder: empty classes, broken files, wrong folders") {
  const Pets pets;
  fs::create_directories(pets.folder / "horse");
  fs::create_directories(pets.folder / "bird");
  write_file(pets.folder / "bird/a.gif", "");
  CHECK(error_of([&] { ImageFolder set(pets.path()); }) ==
        "ImageFolder: " + pets.path() + ": classes without .jpg, .jpeg or .png files:\n    bird\n    horse");
  CHECK(ImageFolder(pets.path(), {.allow_empty = true}).classes().size() == 4);
  fs::remove_all(pets.folder / "horse");
  fs::remove_all(pets.folder / "bird");
  write_file(pets.folder / "cat/broken.png", "GIF89a");
  write_file(pets.folder / "dog/zero.jpg", "");
  ImageFolder set(pets.path());
  const auto broken = set.find_broken_files();
  REQUIRE(broken.size() == 2);
  CHECK(broken[0] == pets.path() + "/cat/broken.png: another kind of file; expected a PNG or JPEG image");
  CHECK(broken[1] == pets.path() + "/dog/zero.jpg: the file is empty; expected a PNG or JPEG image");
  CHECK_THROWS_WITH_AS(set.get(1), Contains("cat/broken.png: another kind of file"), Error);
  ImageFolder good = set;
  CHECK(good.remove_broken_files() == broken);
  CHECK(good.size() == 8u);
  CHECK(set.size() == 10u);
  CHECK(good.targets().equal(tensor({0, 0, 0, 0, 0, 1, 1, 1}, kLong)));
  CHECK(good.remove_broken_files().empty());
  fs::create_directories(pets.folder / "fish");
  write_file(pets.folder / "fish/a.png", "");
  ImageFolder lost(pets.path(), {.allow_empty = true});
  CHECK(error_of([&] { lost.remove_broken_files(); }) ==
        "ImageFolder: no image of class fish can be read; " + pets.path() +
            "/fish/a.png: the file is empty; expected a PNG or JPEG image");
  CHECK(lost.size() == 11u);
  // What a transform throws names the file, too.
  CHECK_THROWS_WITH_AS(ImageFolder(pets.path(), Compose({RandomCrop(10000)})).get(0),
                       Contains("cat/a.png: RandomCrop: 10000 x 10000 pixels of an image"), Error);
  CHECK_THROWS_WITH_AS(ImageFolder(pets.path() + "/dog"), Contains("no subfolders; expected one for each class"),
                       Error);
  CHECK_THROWS_WITH_AS(ImageFolder(pets.path() + "/none"), Contains("/none: No such file or directory"), Error);
  // Folders that link to each other have no end.
  fs::create_directory_symlink(pets.path(), pets.folder / "dog/up");
  CHECK_THROWS_AS(ImageFolder(pets.path()), Error);
}

TEST_CASE("ImageFolder in the loaders: batches do not depend on the workers") {
  const Pets pets;
  const Compose transform(
      {RandomResizedCrop(8), RandomHorizontalFlip(), ColorJitter(0.3, 0.3, 0.3, 0.1), ConvertImageDtype()});
  const auto run = [&](size_t workers, uint64_t seed, bool mapped) {
    const auto options = data::DataLoaderOptions(3).workers(workers).seed(seed);
    if (!mapped) {
      auto loader =
          data::make_data_loader(ImageFolder(pets.path(), transform).map(data::transforms::Stack<>()), options);
      return cat(batches_of(*loader));
    }
    auto loader =
        data::make_data_loader(ImageFolder(pets.path()).map(transform).map(data::transforms::Stack<>()), options);
    return cat(batches_of(*loader));
  };
  const Tensor alone = run(0, 1, false);
  CHECK(alone.sizes() == IntArrayRef({8, 3, 8, 8}));
  CHECK(alone.dtype() == kFloat);
  for (const size_t workers : {1, 2, 4}) CHECK(alone.equal(run(workers, 1, false)));
  CHECK(alone.equal(run(2, 1, true)));
  CHECK(!alone.equal(run(2, 2, false)));
  data::DataLoader plain(ImageFolder(pets.path(), Compose({Resize(ImageSize{5, 7})})),
                         {.batch_size = 4, .num_workers = 2});
  std::vector<Tensor> targets;
  for (auto& batch : plain) {
    CHECK(batch.data.sizes() == IntArrayRef({4, 3, 5, 7}));
    targets.push_back(batch.target);
  }
  CHECK(cat(targets).equal(ImageFolder(pets.path()).targets()));
}

TEST_CASE("ImageFolder: a broken file in a worker is named, and the loop can go on") {
  const Pets pets;
  write_file(pets.folder / "cat/broken.png", "GIF89a");
  data::DataLoader loader(ImageFolder(pets.path(), Compose({Resize(ImageSize{4, 4})})),
                          {.batch_size = 3, .num_workers = 2});
  CHECK_THROWS_WITH_AS(batches_of(loader), Contains("cat/broken.png: another kind of file"), Error);
}

TEST_CASE("CIFAR-10") {
  for (const char* below : {"", "cifar-10-batches-bin"}) {
    const Cifar10Files files(below);
    CIFAR10 train(files.folder.path()), test(files.folder.path(), CIFAR10::Mode::kTest);
    CHECK(train.size() == 20u);
    CHECK(train.is_train());
    CHECK(test.size() == 3u);
    CHECK(!test.is_train());
    CHECK(train.images().sizes() == IntArrayRef({20, 3, 32, 32}));
    CHECK(train.targets().equal(arange(20, kLong) % 10));
    CHECK(train.classes().size() == 10);
    CHECK(train.classes()[3] == "cat");
    const auto example = train.get(13);
    CHECK(example.target.item<int64_t>() == 3);
    for (int64_t c = 0; c < 3; ++c) CHECK(example.data[c].equal(full({32, 32}, 13 + c, kByte)));
    CHECK_THROWS_AS(train.get(20), IndexError);
  }
}

TEST_CASE("CIFAR-10 in the loaders") {
  const Cifar10Files files;
  CIFAR10 set(files.folder.path());
  auto stacked = data::make_data_loader<data::samplers::SequentialSampler>(set.map(data::transforms::Stack<>()), 8);
  CHECK(cat(batches_of(*stacked)).equal(set.images()));
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
      set.map(Compose({RandomCrop(32, 4), ConvertImageDtype()})).map(data::transforms::Stack<>()),
      data::DataLoaderOptions(8).workers(2).seed(1));
  CHECK(cat(batches_of(*loader)).sizes() == IntArrayRef({20, 3, 32, 32}));
  data::BatchLoader fast({set.images(), set.targets()}, {.batch_size = 20, .pixels = PixelScale()});
  CHECK(fast.next()->at(0).equal(set.images().to(kFloat).div(255)));
}

TEST_CASE("CIFAR-100 has fine and coarse labels") {
  TempFolder folder;
  write_file(folder / "train.bin", cifar_file(150, 100, 0, true));
  write_file(folder / "test.bin", cifar_file(2, 100, 0, true));
  std::string coarse;
  for (int i = 0; i < 20; ++i) coarse += "group" + std::to_string(i) + "\r\n";
  write_file(folder / "coarse_label_names.txt", coarse);
  CIFAR100 set(folder.path());
  CHECK(set.targets().equal(arange(150, kLong) % 100));
  CHECK(set.coarse_targets().equal(arange(150, kLong) % 20));
  CHECK(set.classes().empty());
  CHECK(set.coarse_classes()[19] == "group19");
}

TEST_CASE("CIFAR: broken files are refused") {
  const auto refusal = [](const std::function<void(const TempFolder&)>& damage) {
    const Cifar10Files files;
    damage(files.folder);
    return error_of([&] { CIFAR10 set(files.folder.path()); });
  };
  CHECK(refusal([](const TempFolder& f) {
          write_file(f / "data_batch_3.bin", cifar_file(2, 10, 0, false) + "x");
        }).find("data_batch_3.bin: 6147 bytes, expected a multiple of 3073") != std::string::npos);
  CHECK(refusal([](const TempFolder& f) {
          write_file(f / "data_batch_5.bin", "");
        }).find("data_batch_5.bin: 0 bytes") != std::string::npos);
  for (const char* file : {"data_batch_1.bin", "data_batch_5.bin", "batches.meta.txt"})
    CHECK(refusal([&](const TempFolder& f) {
            write_file(f / file, "\x1f\x8b\b");
          }).find(std::string(file) + ": expected a plain file") != std::string::npos);
  CHECK(refusal([](const TempFolder& f) {
          write_file(f / "data_batch_2.bin", cifar_file(12, 11, 0, false));
        }).find("data_batch_2.bin: example 10 has label 10, expected at most 9") != std::string::npos);
  CHECK(refusal([](const TempFolder& f) { fs::remove(f / "data_batch_4.bin"); }).find("data_batch_4.bin") !=
        std::string::npos);
  CHECK(refusal([](const TempFolder& f) { fs::remove(f / "data_batch_1.bin"); }).find("no data_batch_1.bin in ") !=
        std::string::npos);
  CHECK(refusal([](const TempFolder& f) {
          write_file(f / "batches.meta.txt", "a\nb\n");
        }).find("2 names of classes, expected 10") != std::string::npos);
}

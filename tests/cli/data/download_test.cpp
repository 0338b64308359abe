// Downloads from a local server: complete, resumed, interrupted, wrong, missing, too long.
#include "tandem/cli/data/download.h"

#include <doctest/doctest.h>

#include <array>
#include <filesystem>

#include "tandem/cli/data/sha256.h"
#include "tandem/core/error.h"
#include "tandem/tests/cli/data/http_server.h"
#include "tandem/tests/datasets/gzip_bytes.h"
#include "tandem/tests/environment.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::cli;
using namespace tandem::test;
using doctest::Contains;

namespace {

// A server with a data set of four small files, and the folder to which it is downloaded.
struct Scene {
  HttpServer server;
  TempFolder root;
  std::string folder = root / "cache/toy";
  std::array<std::string, 4> content, packed;
  std::array<std::string, 4> sums;
  std::array<std::string, 4> names{"a", "b", "c", "d"};
  KnownDataset dataset{};
  Environment url{"TANDEM_DATA_URL", server.url() + "/"};
  Environment no_proxy{"no_proxy", "127.0.0.1"};

  Scene() {
    dataset.name = "toy";
    for (std::size_t i = 0; i < 4; ++i) {
      for (unsigned k = 0; k < 20000; ++k)
        content[i] += static_cast<char>((k * k * (static_cast<unsigned>(i) + 3)) >> 5 & 0xFF);
      packed[i] = gzip_bytes(content[i]);
      Sha256 sum;
      sum.update(content[i].data(), content[i].size());
      sums[i] = sum.hex_digest();
      dataset.files[i] = {names[i].c_str(), static_cast<int64_t>(content[i].size()), sums[i].c_str()};
      server.files["/toy/" + names[i] + ".gz"] = packed[i];
    }
  }
  std::string path(int i) const { return folder + "/" + names[static_cast<std::size_t>(i)] + ".gz"; }
  void download() {
    download_dataset(dataset, folder, [](const DownloadProgress&) {});
  }
  void check_complete() {
    for (int i = 0; i < 4; ++i) CHECK(read_file(path(i)) == packed[static_cast<std::size_t>(i)]);
    int entries = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++entries;
    CHECK(entries == 4);
  }
};

}  // namespace

TEST_CASE("a complete download is not repeated") {
  Scene scene;
  int64_t last = 0, total = 0;
  download_dataset(scene.dataset, scene.folder, [&](const DownloadProgress& progress) {
    if (progress.file == "a.gz" && progress.total > 0) last = progress.done, total = progress.total;
  });
  scene.check_complete();
  CHECK(last == static_cast<int64_t>(scene.packed[0].size()));
  CHECK(total == last);
  CHECK(scene.server.requests() == std::vector<std::string>{"/toy/a.gz", "/toy/b.gz", "/toy/c.gz", "/toy/d.gz"});
  std::filesystem::remove(scene.path(2));
  scene.download();
  scene.check_complete();
  CHECK(scene.server.requests().size() == 5);
}

TEST_CASE("a partial file of an earlier run is resumed") {
  Scene scene;
  std::filesystem::create_directories(scene.folder);
  write_file(scene.path(0) + ".part", scene.packed[0].substr(0, 1000));
  scene.download();
  scene.check_complete();
  CHECK(scene.server.requests()[0] == "/toy/a.gz 1000");
}

TEST_CASE("a server without range support sends the whole file again") {
  Scene scene;
  scene.server.ranges = false;
  std::filesystem::create_directories(scene.folder);
  write_file(scene.path(0) + ".part", scene.packed[0].substr(0, 1000));
  scene.download();
  scene.check_complete();
}

TEST_CASE("a complete partial file is only verified") {
  Scene scene;
  std::filesystem::create_directories(scene.folder);
  write_file(scene.path(1) + ".part", scene.packed[1]);
  scene.download();
  scene.check_complete();
}

TEST_CASE("a partial file with wrong content is fetched again") {
  Scene scene;
  std::filesystem::create_directories(scene.folder);
  write_file(scene.path(0) + ".part", std::string(1000, 'x'));
  write_file(scene.path(1) + ".part", std::string(300000, 'x'));
  scene.download();
  scene.check_complete();
}

TEST_CASE("broken connections are resumed as long as there is progress") {
  Scene scene;
  const int quarter = static_cast<int>(scene.packed[0].size()) / 4 + 1;
  scene.server.cut_after = quarter;
  scene.server.cuts_left = 3;
  scene.download();
  scene.check_complete();
  CHECK(scene.server.requests()[1] == "/toy/a.gz " + std::to_string(quarter));
}

TEST_CASE("a permanently broken connection keeps the partial file") {
  Scene scene;
  scene.server.cut_after = 10;
  const std::string text = error_of([&] { scene.download(); });
  CHECK(text.find("/toy/a.gz: ") != std::string::npos);
  CHECK(text.find("bytes are kept; the next run resumes from there") != std::string::npos);
  CHECK(std::filesystem::file_size(scene.path(0) + ".part") == 100);
  CHECK_FALSE(std::filesystem::exists(scene.path(0)));
  scene.server.cut_after = -1;
  scene.download();
  scene.check_complete();
}

TEST_CASE("a wrong checksum is refused and no file is left") {
  Scene scene;
  scene.server.files["/toy/a.gz"] = gzip_bytes(scene.content[1]);
  const std::string text = error_of([&] { scene.download(); });
  CHECK(text == "a.gz\n      " + scene.server.url() + "/toy/a.gz: wrong checksum: SHA-256 " + scene.sums[1] +
                    ", expected " + scene.sums[0]);
  CHECK(std::filesystem::is_empty(scene.folder));
}

TEST_CASE("files that are too long, compressed or decompressed, are stopped") {
  Scene scene;
  scene.server.files["/toy/a.gz"] = std::string(5 << 20, 'x');
  CHECK_THROWS_WITH_AS(scene.download(), Contains("longer than the 85536 bytes that this file can have"), Error);
  scene.server.files["/toy/a.gz"] = gzip_bytes(std::string(5 << 20, 'x'));
  CHECK_THROWS_WITH_AS(scene.download(), Contains("longer than the expected 20000 bytes"), Error);
  CHECK(std::filesystem::is_empty(scene.folder));
}

TEST_CASE("404, no server, a folder that cannot be created") {
  Scene scene;
  scene.server.files.clear();
  CHECK_THROWS_WITH_AS(scene.download(), Contains("/toy/a.gz: The requested URL returned error: 404"), Error);
  {
    Environment url("TANDEM_DATA_URL", "http://127.0.0.1:1");
    CHECK_THROWS_WITH_AS(scene.download(), Contains("http://127.0.0.1:1/toy/a.gz: Failed to connect"), Error);
  }
  {
    Environment url("TANDEM_DATA_URL", "file:///etc");
    CHECK_THROWS_WITH_AS(scene.download(), Contains("file:///etc/toy/a.gz: "), Error);
  }
  write_file(scene.root / "plain", "x");
  scene.folder = scene.root / "plain/x";
  CHECK_THROWS_WITH_AS(scene.download(), Contains("cannot create the folder"), Error);
}

TEST_CASE("the second URL is tried when the first fails") {
  Scene scene;
  Environment url("TANDEM_DATA_URL", nullptr);
  const std::string bad = scene.server.url() + "/nowhere", good = scene.server.url() + "/toy";
  scene.dataset.urls = {bad.c_str(), good.c_str()};
  scene.download();
  scene.check_complete();
}

TEST_CASE("a callback that throws stops the download and keeps the partial file") {
  Scene scene;
  struct Stop {};
  CHECK_THROWS_AS(download_dataset(scene.dataset, scene.folder,
                                   [](const DownloadProgress& progress) {
                                     if (progress.done > 0) throw Stop{};
                                   }),
                  Stop);
  CHECK_FALSE(std::filesystem::exists(scene.path(0)));
  scene.download();
  scene.check_complete();
}

// A user's program that writes an event file: links tandem_tensorboard, too.
#include <tandem/nn/files/tensorboard/summary_writer.h>

#include <stdlib.h>

#include <cstdio>
#include <filesystem>

int main() {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "events-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  tandem::tensorboard::SummaryWriter(folder).add_scalar("loss", 1.5, 1);
  std::printf("%d event file\n", static_cast<int>(std::distance(fs::directory_iterator(folder), {})));
  fs::remove_all(folder);
}

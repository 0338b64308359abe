// Reads /proc/self and folders.
#include "tandem/tests/faults/state.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tandem/core/error.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/tests/temp_folder.h"

namespace tandem::faults {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDevices = 4;

std::string content_of(const fs::path& path) {
  std::string content(fs::file_size(path), '\0');
  std::ifstream(path, std::ios::binary).read(content.data(), static_cast<std::streamsize>(content.size()));
  return content;
}

}  // namespace

Files files_in(const std::string& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder).string();
    files[name] = entry.is_directory() ? kFolder : content_of(entry.path());
  }
  return files;
}

void clear_folder(const std::string& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) fs::remove_all(entry.path());
}

void put_files(const std::string& folder, const Files& files) {
  clear_folder(folder);
  for (const auto& [name, content] : files)  // a folder comes before what is in it
    if (content == kFolder)
      fs::create_directory(folder + "/" + name);
    else
      test::write_file(folder + "/" + name, content);
}

State current_state() {
  State state;
  for (int i = 0; i < kMaxDevices; ++i) state.tensor_bytes += memory_stats(Device(kCPU, i)).current_bytes;
  state.files = test::TempFolder::entries_of("/proc/self/fd");
  state.threads = test::TempFolder::entries_of("/proc/self/task");
  return state;
}

std::string difference_from(const State& before, bool with_threads) {
  State now;
  for (int tries = 0; tries < 1000; ++tries) {
    now = current_state();
    if (now.tensor_bytes == before.tensor_bytes && now.files == before.files &&
        (!with_threads || now.threads == before.threads))
      return "";
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::string text;
  if (now.tensor_bytes != before.tensor_bytes)
    text += concat("tensors of ", now.tensor_bytes - before.tensor_bytes, " bytes are left; ");
  if (now.files != before.files) text += concat(now.files - before.files, " more open files; ");
  if (with_threads && now.threads != before.threads) text += concat(now.threads - before.threads, " more threads; ");
  return text;
}

std::string stray_file(const Files& now, const Files& before, const Files& after, bool appends) {
  for (const auto& [name, content] : now) {
    const auto old = before.find(name), done = after.find(name);
    if (old != before.end() && content == old->second) continue;
    if (done != after.end() && (content == done->second || (appends && done->second.starts_with(content)))) continue;
    return concat(name,
                  old == before.end() && done == after.end() ? " is left" : " is neither the old nor the new file");
  }
  for (const auto& [name, content] : before)
    if (!now.contains(name) && after.contains(name)) return name + " is gone";
  return "";
}

}  // namespace tandem::faults

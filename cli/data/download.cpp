// download_dataset with libcurl. A partial file is only ever appended to. Errors in it are found when its checksum is
// verified, and then it is fetched once more from the start. Unlike an AtomicFile it survives a killed process.
#include "tandem/cli/data/download.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <utility>

#include "tandem/cli/data/sha256.h"
#include "tandem/core/base/atomic_file.h"
#include "tandem/core/base/descriptor.h"
#include "tandem/core/error.h"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using data::KnownFile;
constexpr int kAttempts = 10;
constexpr int64_t kGzipOverhead = 1 << 16;

// NAME.gz.part, open for appending and locked.
class PartFile {
 public:
  explicit PartFile(std::string path) : path_(std::move(path)) {
    do {  // While we waited for the lock, another process may have removed or renamed the file.
      fd_ =
          tandem::detail::Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666));
      check(fd_.get() >= 0, "cannot write ", path_, ": ", std::strerror(errno));
      struct stat status {};
      check(::fstat(fd_.get(), &status) == 0 && S_ISREG(status.st_mode), "cannot write ", path_,
            ": not a regular file");
      while (::flock(fd_.get(), LOCK_EX) != 0 && errno == EINTR) {
      }
    } while (!fd_.is_file(path_));
  }

  const std::string& path() const { return path_; }
  int64_t size() const { return static_cast<int64_t>(::lseek(fd_.get(), 0, SEEK_END)); }
  void clear() { check(::ftruncate(fd_.get(), 0) == 0, "cannot write ", path_, ": ", std::strerror(errno)); }
  bool append(const char* data, std::size_t bytes) {
    while (bytes > 0) {
      const ssize_t written = ::write(fd_.get(), data, bytes);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      data += written;
      bytes -= static_cast<std::size_t>(written);
    }
    return true;
  }
  void rename_to(const std::string& target) {
    check(flush_to_disk(fd_.get()) == 0 && std::rename(path_.c_str(), target.c_str()) == 0, "cannot write ", target,
          ": ", std::strerror(errno));
  }

 private:
  std::string path_;
  tandem::detail::Descriptor fd_;
};

// One transfer, seen by libcurl's callbacks.
struct Transfer {
  PartFile& part;
  std::string_view file;
  int64_t start;
  int64_t max_bytes;
  OnDownloadProgress on_progress;
  std::string trouble{};
  std::exception_ptr thrown{};
};

std::size_t on_data(char* data, std::size_t one, std::size_t bytes, void* user) {
  Transfer& t = *static_cast<Transfer*>(user);
  bytes *= one;
  if (t.part.size() + static_cast<int64_t>(bytes) > t.max_bytes) {
    t.trouble = concat("longer than the ", t.max_bytes, " bytes that this file can have");
    return 0;
  }
  if (!t.part.append(data, bytes)) {
    t.trouble = concat("cannot write ", t.part.path(), ": ", std::strerror(errno));
    return 0;
  }
  return bytes;
}

int on_transfer(void* user, curl_off_t total, curl_off_t done, curl_off_t, curl_off_t) {
  Transfer& t = *static_cast<Transfer*>(user);
  try {
    t.on_progress({t.file, t.start + done, total > 0 ? t.start + total : -1});
    return 0;
  } catch (...) {
    t.thrown = std::current_exception();
    return 1;
  }
}

using Curl = std::unique_ptr<CURL, void (*)(CURL*)>;

void set_options(CURL* curl, const std::string& url, Transfer& transfer, char* message) {
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "tandem");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 15L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 100L);  // gives up below 100 bytes per second …
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 30L);    // … for 30 seconds
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_transfer);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(transfer.start));
}

struct Outcome {
  CURLcode code;
  std::string trouble;  // "" if the transfer succeeded
};

Outcome transfer_once(const std::string& url, Transfer& transfer) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  check(started == CURLE_OK, "libcurl: initialisation failed");
  Curl curl(curl_easy_init(), curl_easy_cleanup);
  check(curl != nullptr, "libcurl: initialisation failed");
  char message[CURL_ERROR_SIZE] = "";
  set_options(curl.get(), url, transfer, message);
  const CURLcode code = curl_easy_perform(curl.get());
  if (transfer.thrown) std::rethrow_exception(transfer.thrown);
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  // 416: the server has nothing after what we have. The file is complete or wrong; its checksum decides.
  if (code == CURLE_OK || (status == 416 && transfer.start > 0)) return {code, ""};
  if (!transfer.trouble.empty()) return {code, transfer.trouble};
  return {code, message[0] != '\0' ? message : curl_easy_strerror(code)};
}

// "" if the part is the complete file, else what is wrong with it.
std::string wrong_content(const PartFile& part, const KnownFile& file) {
  try {
    const std::string sum = sha256_of_content(part.path(), file.bytes);
    return sum == file.sha256 ? "" : concat("wrong checksum: SHA-256 ", sum, ", expected ", file.sha256);
  } catch (const Error& error) {
    return error.what();
  }
}

// Retries one URL until it succeeds or makes no more progress. Returns "" or the reason.
std::string fetch_from(const std::string& url, PartFile& part, const KnownFile& file, OnDownloadProgress on_progress) {
  const std::string name = std::string(file.name) + ".gz";
  std::string trouble;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Transfer transfer{part, name, part.size(), file.bytes + kGzipOverhead, on_progress};
    const Outcome outcome = transfer_once(url, transfer);
    trouble = outcome.trouble;
    if (trouble.empty()) {
      trouble = wrong_content(part, file);
      if (trouble.empty()) return "";
      part.clear();
      if (transfer.start == 0) return trouble;
    } else if (outcome.code == CURLE_RANGE_ERROR || !transfer.trouble.empty()) {
      // The server cannot resume, or the part cannot be the beginning of this file.
      part.clear();
      if (transfer.start == 0) return trouble;
    } else if (part.size() == transfer.start) {
      return trouble;
    }
  }
  return trouble;
}

void fetch_file(const std::vector<std::string>& urls, const std::string& folder, const KnownFile& file,
                OnDownloadProgress on_progress) {
  const std::string target = follow_links(folder + "/" + file.name + ".gz");
  PartFile part(target + ".part");
  if (fs::exists(target)) {  // another process was faster
    ::unlink(part.path().c_str());
    return;
  }
  std::string troubles;
  for (const std::string& base : urls) {
    const std::string url = base + "/" + file.name + ".gz";
    const std::string trouble = fetch_from(url, part, file, on_progress);
    if (trouble.empty()) return part.rename_to(target);
    troubles += concat("\n      ", url, ": ", trouble);
  }
  if (part.size() == 0)
    ::unlink(part.path().c_str());
  else
    troubles += concat("\n      ", part.size(), " bytes are kept; the next run resumes from there");
  fail(file.name, ".gz", troubles);
}

}  // namespace

std::vector<std::string> download_urls(const KnownDataset& dataset) {
  if (const char* base = std::getenv("TANDEM_DATA_URL"); base != nullptr && *base != '\0') {
    std::string url = base;
    while (url.ends_with('/')) url.pop_back();
    return {url + "/" + dataset.name};
  }
  return {dataset.urls.begin(), dataset.urls.end()};
}

void download_dataset(const KnownDataset& dataset, const std::string& folder, OnDownloadProgress on_progress) {
  std::error_code error;
  fs::create_directories(folder, error);
  check(!error, "cannot create the folder ", folder, ": ", error.message());
  const std::vector<std::string> urls = download_urls(dataset);
  for (const KnownFile& file : dataset.files)
    if (!fs::exists(folder + "/" + file.name + ".gz")) fetch_file(urls, folder, file, on_progress);
}

}  // namespace tandem::cli

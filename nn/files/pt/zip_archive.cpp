// Zip archives through libzip.
#include "tandem/nn/files/pt/zip_archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tandem/core/error.h"
#include "tandem/nn/files/safetensors.h"

namespace tandem::serialize::pt {
namespace {

std::string text_of(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

std::string text_of(zip_error_t* error) {
  std::string text = zip_error_strerror(error);
  zip_error_fini(error);
  return text;
}

bool ignores_sums() {
  const char* value = std::getenv(kIgnoreSums);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

}  // namespace

ZipReader::ZipReader(zip* archive, uint64_t bytes, std::string file)
    : archive_(archive, zip_discard), file_bytes_(bytes), file_(std::move(file)) {}

ZipReader ZipReader::open(const std::string& path) {
  const int fd =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // O_NONBLOCK: do not wait for a pipe
  check(fd >= 0, path, ": cannot be opened: ", std::strerror(errno));
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    fail(path, ": is not a regular file");
  }
  int code = 0;
  zip* archive = zip_fdopen(fd, ZIP_CHECKCONS, &code);  // takes fd over if it succeeds
  if (archive == nullptr) {
    ::close(fd);
    fail(path, ": is not a zip archive, as PyTorch writes since version 1.6: ", text_of(code));
  }
  return {archive, static_cast<uint64_t>(info.st_size), path};
}

ZipReader ZipReader::of_memory(const void* data, std::size_t bytes, const std::string& name) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(data, bytes, 0, &error);
  check(source != nullptr, name, ": ", text_of(&error));
  zip* archive = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
  if (archive == nullptr) {
    zip_source_free(source);
    fail(name, ": is not a zip archive, as PyTorch writes since version 1.6: ", text_of(&error));
  }
  zip_error_fini(&error);
  return {archive, bytes, name};
}

std::vector<std::string> ZipReader::names() const {
  std::vector<std::string> out;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive_.get(), 0); ++i) {
    const char* name = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
    check(name != nullptr, file_, ": entry ", i, " has no name");
    out.emplace_back(name);
  }
  return out;
}

bool ZipReader::find(const std::string& name, Entry& entry) {
  const zip_int64_t index = zip_name_locate(archive_.get(), name.c_str(), ZIP_FL_ENC_RAW);
  if (index < 0) return false;
  zip_stat_t stat;
  zip_stat_init(&stat);
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  check(zip_stat_index(archive_.get(), static_cast<zip_uint64_t>(index), 0, &stat) == 0 &&
            (stat.valid & kNeeded) == kNeeded,
        file_, ": entry ", name, " is not described");
  check(stat.comp_method == ZIP_CM_STORE, file_, ": entry ", name,
        " is compressed; PyTorch stores entries uncompressed");
  check(stat.encryption_method == ZIP_EM_NONE, file_, ": entry ", name, " is encrypted");
  check(stat.size == stat.comp_size && stat.size <= file_bytes_, file_, ": entry ", name, " would have ",
        stat.size, " bytes, the file has ", file_bytes_);
  found_bytes_ += stat.size;  // cannot overflow: it was at most file_bytes_
  check(found_bytes_ <= file_bytes_, file_, ": entries overlap: together they are longer than the file");
  entry = {static_cast<uint64_t>(index), stat.size};
  return true;
}

void ZipReader::read(const Entry& entry, void* to) const {
  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
      zip_fopen_index(archive_.get(), entry.index, 0), zip_fclose);
  check(file != nullptr, file_, ": entry ", entry.index, " cannot be read: ", zip_strerror(archive_.get()));
  char* at = static_cast<char*>(to);
  for (uint64_t left = entry.bytes; left != 0;) {
    const zip_int64_t got = zip_fread(file.get(), at, std::min<uint64_t>(left, uint64_t{1} << 30));
    check(got > 0, file_, ": entry ", entry.index,
          " cannot be read: ", got < 0 ? zip_file_strerror(file.get()) : "it has become shorter");
    at += got;
    left -= static_cast<uint64_t>(got);
  }
  char end = 0;  // the checksum is compared at the end
  if (zip_fread(file.get(), &end, 1) == 0 || ignores_sums()) return;
  fail(file_, ": entry ", entry.index, " is damaged: ", zip_file_strerror(file.get()), " (", kIgnoreSums,
       "=1 ignores checksums)");
}

std::string ZipReader::text(const Entry& entry) const {
  std::string out(entry.bytes, '\0');
  read(entry, out.data());
  return out;
}

struct ZipWriter::Archive {
  zip_source_t* bytes = nullptr;
  zip_t* archive = nullptr;
};

ZipWriter::ZipWriter() : archive_(std::make_unique<Archive>()) {
  zip_error_t error;
  zip_error_init(&error);
  archive_->bytes = zip_source_buffer_create(nullptr, 0, 0, &error);
  check(archive_->bytes != nullptr, "pt: ", text_of(&error));
  zip_source_keep(archive_->bytes);  // finish() reads it after the archive is closed
  archive_->archive = zip_open_from_source(archive_->bytes, ZIP_TRUNCATE, &error);
  if (archive_->archive == nullptr) {
    zip_source_free(archive_->bytes);
    zip_source_free(archive_->bytes);
    fail("pt: ", text_of(&error));
  }
  zip_error_fini(&error);
}
ZipWriter::~ZipWriter() {
  if (archive_->archive != nullptr) zip_discard(archive_->archive);
  zip_source_free(archive_->bytes);
}

void ZipWriter::add(const std::string& name, const void* data, std::size_t bytes) {
  zip_t* archive = archive_->archive;
  zip_source_t* source = zip_source_buffer(archive, data, bytes, 0);
  check(source != nullptr, "pt: ", zip_strerror(archive));
  const zip_int64_t index = zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    fail("pt: ", zip_strerror(archive));
  }
  const auto at = static_cast<zip_uint64_t>(index);
  check(zip_set_file_compression(archive, at, ZIP_CM_STORE, 0) == 0, "pt: ", zip_strerror(archive));
  check(zip_file_set_mtime(archive, at, 0, 0) == 0,
        "pt: ", zip_strerror(archive));  // the same bytes every time
}

std::string ZipWriter::finish() {
  check(zip_close(archive_->archive) == 0,
        "pt: the archive could not be written: ", zip_strerror(archive_->archive));
  archive_->archive = nullptr;
  zip_source_t* source = archive_->bytes;
  zip_stat_t stat;
  zip_stat_init(&stat);
  check(zip_source_stat(source, &stat) == 0 && (stat.valid & ZIP_STAT_SIZE) != 0 &&
            zip_source_open(source) == 0,
        "pt: the archive cannot be read back");
  std::string out(stat.size, '\0');
  const zip_int64_t got = zip_source_read(source, out.data(), out.size());
  zip_source_close(source);
  check(got == static_cast<zip_int64_t>(out.size()), "pt: the archive cannot be read back");
  return out;
}

}  // namespace tandem::serialize::pt

// Zip archives through libzip.
#include "tandem/nn/files/pt/zip_archive.h"

#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "tandem/core/base/atomic_file.h"
#include "tandem/core/error.h"
#include "tandem/nn/files/byte_source.h"
#include "tandem/nn/files/safetensors.h"
#include "tandem/nn/files/safetensors_sums.h"

namespace tandem::serialize::pt {
namespace {

constexpr const char* kEmpty = ": is not a zip archive: it is empty";
constexpr uint64_t kMaxInflated = 1032;  // how many times as long deflated data can become

std::string text_of(zip_error_t* error) {
  std::string text = zip_error_strerror(error);
  zip_error_fini(error);
  return text;
}
std::string text_of(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  return text_of(&error);
}

class FileSink final : public ZipSink {
 public:
  explicit FileSink(AtomicFile& file) : file_(file) {}
  void append(const void* data, std::size_t bytes) override { file_.write(data, bytes); }
  void overwrite(uint64_t offset, const void* data, std::size_t bytes) override {
    file_.overwrite(offset, data, bytes);
  }

 private:
  AtomicFile& file_;
};

}  // namespace

ZipReader::ZipReader(zip* archive, uint64_t bytes, std::string file)
    : archive_(archive, zip_discard), file_bytes_(bytes), file_(std::move(file)) {}

ZipReader ZipReader::open(const std::string& path) {
  std::string name = path;  // copied before there is an archive, which nothing owns until it is returned
  const auto [fd, bytes] = open_regular(path);
  if (bytes == 0) {  // to libzip, an archive without entries
    ::close(fd);
    fail(path, kEmpty);
  }
  int code = 0;
  zip* archive = zip_fdopen(fd, ZIP_CHECKCONS, &code);  // takes fd over if it succeeds
  if (archive == nullptr) {
    ::close(fd);
    if (const char* kind = mistaken_kind(*open_file(path))) fail(path, ": is not a .pt file, but ", kind);
    fail(path, ": is not a zip archive, as PyTorch writes since version 1.6 and numpy.savez: ", text_of(code));
  }
  return {archive, bytes, std::move(name)};
}

ZipReader ZipReader::of_memory(const void* data, std::size_t bytes, const std::string& name) {
  check(bytes != 0, name, kEmpty);
  std::string copy = name;
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(data, bytes, 0, &error);
  check(source != nullptr, name, ": ", text_of(&error));
  zip* archive = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
  if (archive == nullptr) {
    zip_source_free(source);
    fail(name, ": is not a zip archive, as PyTorch writes since version 1.6 and numpy.savez: ", text_of(&error));
  }
  zip_error_fini(&error);
  return {archive, bytes, std::move(copy)};
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

bool ZipReader::find(const std::string& name, Entry& entry, bool deflated) {
  const zip_int64_t index = zip_name_locate(archive_.get(), name.c_str(), ZIP_FL_ENC_RAW);
  if (index < 0) return false;
  zip_stat_t stat;
  zip_stat_init(&stat);
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  check(zip_stat_index(archive_.get(), static_cast<zip_uint64_t>(index), 0, &stat) == 0 &&
            (stat.valid & kNeeded) == kNeeded,
        file_, ": entry ", name, " is not described");
  const bool stored = stat.comp_method == ZIP_CM_STORE;
  check(stored || (deflated && stat.comp_method == ZIP_CM_DEFLATE), file_, ": entry ", name, " is compressed",
        deflated ? " in another way than by deflation" : "; PyTorch stores entries uncompressed");
  check(stat.encryption_method == ZIP_EM_NONE, file_, ": entry ", name, " is encrypted");
  check(stat.comp_size <= file_bytes_ &&
            (stored ? stat.size == stat.comp_size : stat.size / kMaxInflated <= stat.comp_size),
        file_, ": entry ", name, " would have ", stat.size, " bytes, the file has ", file_bytes_);
  found_bytes_ += stat.comp_size;  // cannot overflow: it was at most file_bytes_
  check(found_bytes_ <= file_bytes_, file_, ": entries overlap: together they are longer than the file");
  entry = {static_cast<uint64_t>(index), stat.size};
  return true;
}

ZipReader::Parts::Parts(const ZipReader& zip, const Entry& entry)
    : zip_(zip), entry_(entry), file_(zip_fopen_index(zip.archive_.get(), entry.index, 0), zip_fclose) {
  check(file_ != nullptr, zip.file_, ": entry ", entry.index, " cannot be read: ", zip_strerror(zip.archive_.get()));
}

void ZipReader::Parts::read(void* to, uint64_t bytes) {
  char* at = static_cast<char*>(to);
  while (bytes != 0) {
    const zip_int64_t got = zip_fread(file_.get(), at, std::min<uint64_t>(bytes, uint64_t{1} << 30));
    check(got > 0, zip_.file_, ": entry ", entry_.index,
          " cannot be read: ", got < 0 ? zip_file_strerror(file_.get()) : "it has become shorter");
    at += got;
    bytes -= static_cast<uint64_t>(got);
  }
}

void ZipReader::Parts::finish() {
  char end = 0;  // the checksum is compared at the end
  const zip_int64_t got = zip_fread(file_.get(), &end, 1);
  if (got == 0 || (got < 0 && ignores_sums())) return;
  check(got < 0, zip_.file_, ": entry ", entry_.index, " is longer than the archive says");
  fail(zip_.file_, ": entry ", entry_.index, " is damaged: ", zip_file_strerror(file_.get()), " (", kIgnoreSums,
       "=1 ignores checksums)");
}

void ZipReader::read(const Entry& entry, void* to) const {
  Parts parts(*this, entry);
  parts.read(to, entry.bytes);
  parts.finish();
}

std::string ZipReader::text(const Entry& entry) const {
  std::string out(entry.bytes, '\0');
  read(entry, out.data());
  return out;
}

// What libzip writes to: a source with a function that carries out its commands. libzip writes in small steps and goes
// back to the header of each entry once it knows its checksum; steps at the end are gathered.
struct ZipWriter::Output {
  explicit Output(ZipSink& to) : sink(to) { pending.reserve(kPending); }

  static zip_int64_t call(void* self, void* data, zip_uint64_t bytes, zip_source_cmd_t command) {
    auto& out = *static_cast<Output*>(self);
    try {
      return out.run(data, bytes, command);
    } catch (...) {  // libzip is C: finish() throws it again
      out.thrown = std::current_exception();
      zip_error_set(&out.error, ZIP_ER_WRITE, 0);
      return -1;
    }
  }

  zip_int64_t run(void* data, zip_uint64_t bytes, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
                                              ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
                                              ZIP_SOURCE_BEGIN_WRITE, ZIP_SOURCE_COMMIT_WRITE,
                                              ZIP_SOURCE_ROLLBACK_WRITE, ZIP_SOURCE_WRITE, ZIP_SOURCE_SEEK_WRITE,
                                              ZIP_SOURCE_TELL_WRITE, ZIP_SOURCE_REMOVE, -1);
      case ZIP_SOURCE_WRITE:
        write(static_cast<const char*>(data), bytes);
        return static_cast<zip_int64_t>(bytes);
      case ZIP_SOURCE_SEEK_WRITE: {
        const zip_int64_t to = zip_source_seek_compute_offset(at, end, data, bytes, &error);
        if (to >= 0) at = static_cast<uint64_t>(to);
        return to < 0 ? -1 : 0;
      }
      case ZIP_SOURCE_TELL_WRITE:
        return static_cast<zip_int64_t>(at);
      case ZIP_SOURCE_COMMIT_WRITE:
        flush();
        return 0;
      case ZIP_SOURCE_STAT: {  // of an archive that does not exist yet
        zip_stat_init(static_cast<zip_stat_t*>(data));
        zip_error_set(&error, ZIP_ER_READ, ENOENT);
        return -1;
      }
      case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&error, data, bytes);
      case ZIP_SOURCE_BEGIN_WRITE:
      case ZIP_SOURCE_ROLLBACK_WRITE:
      case ZIP_SOURCE_REMOVE:
      case ZIP_SOURCE_FREE:
        return 0;
      default:
        zip_error_set(&error, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
  }

  void write(const char* data, uint64_t bytes) {
    if (at < end) {  // headers
      const uint64_t count = std::min(bytes, end - at);
      if (at + count > end - pending.size()) flush();
      sink.overwrite(at, data, count);
      at += count;
      data += count;
      bytes -= count;
    }
    if (pending.size() + bytes > kPending) flush();
    if (bytes > kPending)
      sink.append(data, bytes);
    else
      pending.append(data, bytes);
    at += bytes;
    end = std::max(end, at);
  }
  void flush() {
    if (!pending.empty()) sink.append(pending.data(), pending.size());
    pending.clear();
  }

  static constexpr std::size_t kPending = std::size_t{1} << 18;
  ZipSink& sink;
  std::string pending{};  // the end of what was written
  uint64_t at = 0, end = 0;
  zip_error_t error{};
  std::exception_ptr thrown{};
};

void ZipBytes::overwrite(uint64_t offset, const void* data, std::size_t bytes) {
  std::memcpy(text.data() + offset, data, bytes);
}

ZipWriter::ZipWriter(ZipSink& sink) : output_(std::make_unique<Output>(sink)) {
  zip_error_t error;
  zip_error_init(&error);
  zip_error_init(&output_->error);
  zip_source_t* source = zip_source_function_create(Output::call, output_.get(), &error);
  check(source != nullptr, "zip: ", text_of(&error));
  archive_ = zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &error);
  if (archive_ == nullptr) {
    zip_source_free(source);
    fail("zip: ", text_of(&error));
  }
  zip_error_fini(&error);
}
ZipWriter::~ZipWriter() {
  if (archive_ != nullptr) zip_discard(archive_);
  zip_error_fini(&output_->error);
}

void ZipWriter::add(const std::string& name, const void* data, std::size_t bytes) {
  add(name, {{static_cast<const char*>(data), bytes}}, false);
}

void ZipWriter::add(const std::string& name, const std::vector<std::string_view>& parts, bool deflated) {
  std::vector<zip_buffer_fragment_t> fragments;
  for (const std::string_view part : parts) {  // libzip only reads them
    auto* data = reinterpret_cast<zip_uint8_t*>(const_cast<char*>(part.data()));
    if (!part.empty()) fragments.push_back({data, part.size()});
  }
  zip_source_t* source = zip_source_buffer_fragment(archive_, fragments.data(), fragments.size(), 0);
  check(source != nullptr, "zip: ", zip_strerror(archive_));
  const zip_int64_t index = zip_file_add(archive_, name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    fail("zip: entry ", name, ": ", zip_strerror(archive_));
  }
  const auto at = static_cast<zip_uint64_t>(index);
  check(zip_set_file_compression(archive_, at, deflated ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) == 0,
        "zip: ", zip_strerror(archive_));
  // The same bytes every time, in every time zone: 0:00 on January 1, 1980.
  check(zip_file_set_dostime(archive_, at, 0, 1 << 5 | 1, 0) == 0, "zip: ", zip_strerror(archive_));
}

void ZipWriter::finish() {
  if (zip_close(archive_) != 0) {
    if (output_->thrown) std::rethrow_exception(output_->thrown);
    fail("the zip archive could not be written: ", zip_strerror(archive_));
  }
  archive_ = nullptr;
}

void write_zip_file(const std::string& path, const std::function<void(ZipSink&)>& write) {
  AtomicFile file(path);
  if (file.is_atomic()) {
    FileSink sink(file);
    write(sink);
  } else {  // a pipe cannot go back to the headers
    ZipBytes bytes;
    write(bytes);
    file.write(bytes.text);
  }
  file.commit();
}

}  // namespace tandem::serialize::pt

// A store in a file: every process reads the records that were appended since it last looked. Only a process that
// holds the lock reads or writes, so an incomplete record is one whose writer was killed, and the next one to hold the
// lock removes it.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <system_error>
#include <utility>

#include "tandem/core/base/fork.h"
#include "tandem/parallel/distributed/socket.h"
#include "tandem/parallel/distributed/store_log.h"
#include "tandem/parallel/distributed/store_state.h"

namespace tandem::distributed {

using detail::Answer;
using detail::Backoff;
using detail::Deadline;
using detail::Operation;
using detail::Request;
using detail::Status;

namespace {

// The file as one process sees it.
struct View {
  detail::Descriptor file;
  uint64_t offset = 0;  // everything before has been read
  detail::KeyValues values;
};

class FileState final : public StoreState {
 public:
  explicit FileState(std::string path) : StoreState("FileStore"), path_(std::move(path)) {
    check(!path_.empty(), "FileStore: no path given");
  }

  std::string place() const override { return " from " + path_; }

  Answer ask(const Request& request, Milliseconds timeout) override {
    if (request.operation == Operation::kGet) return get(request, timeout);
    if (request.operation == Operation::kCheck)
      return current(timeout, [&](const detail::KeyValues& values) {
        return Answer{Status::kOk, values.first_missing(request.keys) == request.keys.size()};
      });
    return locked(timeout, [&](detail::KeyValues& values) {
      const auto set = [&](std::string_view key, std::string_view value) {
        values.check_fits(key, value);
        append({detail::Record::Action::kSet, key, value});
        values.set(key, value);
      };
      const auto erase = [&](std::string_view key) {
        if (values.find(key) == nullptr) return false;
        append({detail::Record::Action::kErase, key});
        return values.erase(key);
      };
      const int64_t number = execute(request, values, set, erase);
      const bool has_text = request.operation == Operation::kCompareSet && number != 0;
      return Answer{Status::kOk, number, has_text ? *values.find(request.keys[0]) : ""};
    });
  }

 private:
  Answer get(const Request& request, Milliseconds timeout) {
    const Deadline deadline(Milliseconds(request.number));
    for (Backoff backoff;; backoff.sleep(deadline)) {
      const bool last = deadline.over();
      Answer answer = current(timeout, [&](const detail::KeyValues& values) {
        const detail::Value value = values.find(request.keys[0]);
        return value != nullptr ? Answer{Status::kOk, 0, *value} : Answer{Status::kTimeout};
      });
      if (last || answer.status == Status::kOk) return answer;
    }
  }

  [[noreturn]] void fail_with(const std::string& what) const {
    throw DistributedError("FileStore: " + path_ + ": " + what);
  }
  [[noreturn]] void fail_with_errno(const char* what) const {
    fail_with(std::string(what) + ": " + std::generic_category().message(errno));
  }

  // A forked child opens the file again: it would share the parent's lock, and the view may have been changing.
  void open() {
    if (view_ != nullptr && process_ == tandem::detail::this_process()) return;
    if (View* parents = view_.release()) parents->file = detail::Descriptor();
    auto fresh = std::make_unique<View>();
    fresh->file = detail::Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666));
    if (!fresh->file) fail_with_errno("cannot open it");
    struct stat status {};
    if (::fstat(fresh->file.get(), &status) != 0) fail_with_errno("cannot open it");
    if (!S_ISREG(status.st_mode)) fail_with("is not a regular file");
    view_ = std::move(fresh);
    process_ = tandem::detail::this_process();
  }

  void lock(const Deadline& deadline, Milliseconds timeout) const {
    for (Backoff backoff; ::flock(view_->file.get(), LOCK_EX | LOCK_NB) != 0;) {
      if (errno != EWOULDBLOCK && errno != EINTR) fail_with_errno("cannot lock it");
      if (deadline.over())
        fail_with(concat("another process has held the lock for ", 1e-3 * static_cast<double>(timeout.count()),
                         " s; it may be stopped"));
      backoff.sleep(deadline);
    }
  }

  uint64_t size() const {
    struct stat status {};
    if (::fstat(view_->file.get(), &status) != 0) fail_with_errno("cannot read its size");
    if (status.st_nlink == 0) fail_with("the file has been removed while it was in use");
    return static_cast<uint64_t>(status.st_size);
  }

  // Calls job(values) with the lock held, after reading what is new.
  template <class Job>
  Answer locked(Milliseconds timeout, const Job& job) {
    const std::lock_guard guard(mutex_);
    open();
    lock(Deadline(timeout), timeout);
    const int fd = view_->file.get();
    struct Unlock {  // even if a child of a fork shares the descriptor
      int fd;
      ~Unlock() { ::flock(fd, LOCK_UN); }
    } unlock{fd};
    read_new();
    return job(view_->values);
  }

  // Calls job(values) after reading what is new; takes the lock only if there is something.
  template <class Job>
  Answer current(Milliseconds timeout, const Job& job) {
    {
      const std::lock_guard guard(mutex_);
      open();
      if (view_->offset > 0 && size() == view_->offset) return job(view_->values);
    }
    return locked(timeout, job);
  }

  void begin_file() {
    const std::string begin = read_at(0, detail::kLogMagic.size());
    if (!detail::kLogMagic.starts_with(begin))
      fail_with("was not written by a FileStore; remove it or choose another path_");
    if (begin.size() < detail::kLogMagic.size()) write_at(0, detail::kLogMagic);
    view_->offset = detail::kLogMagic.size();
  }

  void read_new() {
    if (view_->offset == 0) begin_file();
    const uint64_t end = size();
    if (end < view_->offset) fail_with("the file has been cut while it was in use");
    while (view_->offset < end) {
      const std::string bytes = read_at(view_->offset, 2 * detail::kMaxRecord);
      std::size_t used = 0;
      try {
        detail::Record record;
        while (const std::size_t more = detail::parse_record(detail::bytes_of(bytes).subspan(used), record)) {
          if (record.action == detail::Record::Action::kSet)
            view_->values.set(record.key, record.value);
          else
            view_->values.erase(record.key);
          used += more;
          view_->offset += more;
        }
      } catch (const DistributedError&) {
        throw;
      } catch (const Error& e) {
        fail_with(concat("is damaged at byte ", view_->offset, " (", e.what(), "); remove it and start the job again"));
      }
      if (used == 0) return truncate(view_->offset);
    }
  }

  std::string read_at(uint64_t offset, std::size_t bytes) const {
    const uint64_t end = size();
    std::string out(std::min<uint64_t>(bytes, end > offset ? end - offset : 0), '\0');
    for (std::size_t done = 0; done < out.size();) {
      const ssize_t got =
          ::pread(view_->file.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_with_errno("cannot read it");
      if (got == 0) fail_with("the file has been cut while it was in use");
      done += static_cast<std::size_t>(got);
    }
    return out;
  }

  void write_at(uint64_t offset, std::string_view bytes) const {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t now =
          ::pwrite(view_->file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
      if (now < 0 && errno == EINTR) continue;
      if (now <= 0) {
        const int error_number = errno;
        truncate(offset);
        errno = error_number;
        fail_with_errno("cannot write to it");
      }
      done += static_cast<std::size_t>(now);
    }
  }

  void truncate(uint64_t to) const {
    while (::ftruncate(view_->file.get(), static_cast<off_t>(to)) != 0)
      if (errno != EINTR) fail_with_errno("cannot remove an incomplete record");
  }

  void append(const detail::Record& record) {
    const std::string bytes = encode(record);
    write_at(view_->offset, bytes);
    view_->offset += bytes.size();
  }

  const std::string path_;
  tandem::detail::ForkMutex mutex_;  // one thread at a time uses the view
  uint32_t process_ = 0;
  std::unique_ptr<View> view_;
};

}  // namespace

FileStore::FileStore(std::string path) : BuiltInStore(std::make_unique<FileState>(std::move(path))) { check({}); }

}  // namespace tandem::distributed

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
#include <optional>
#include <system_error>
#include <utility>

#include "tandem/core/base/fork.h"
#include "tandem/parallel/distributed/key_values.h"
#include "tandem/parallel/distributed/socket.h"
#include "tandem/parallel/distributed/store.h"
#include "tandem/parallel/distributed/store_log.h"

namespace tandem::distributed {

using detail::Backoff;
using detail::Deadline;

namespace {

// The file as one process sees it.
struct View {
  detail::Descriptor file;
  uint64_t offset = 0;  // everything before has been read
  detail::KeyValues values;
};

}  // namespace

struct FileStore::State {
  explicit State(std::string name) : path(std::move(name)) {}
  // Calls job(values) with the lock held, after reading what is new.
  template <class Job>
  auto locked(Milliseconds timeout, const Job& job);
  // Calls job(values) after reading what is new; takes the lock only if there is something.
  template <class Job>
  auto current(Milliseconds timeout, const Job& job);
  void append(const detail::Record& record);
  void set(std::string_view key, std::string_view value) {
    view->values.check_fits(key, value);
    append({detail::Record::Action::kSet, key, value});
    view->values.set(key, value);
  }

  const std::string path;

 private:
  void open();
  void lock(const Deadline& deadline, Milliseconds timeout) const;
  uint64_t size() const;
  void begin_file();
  void read_new();
  std::string read_at(uint64_t offset, std::size_t bytes) const;
  void write_at(uint64_t offset, std::string_view bytes) const;
  void truncate(uint64_t to) const;
  [[noreturn]] void fail_with(const std::string& what) const {
    throw DistributedError("FileStore: " + path + ": " + what);
  }
  [[noreturn]] void fail_with_errno(const char* what) const {
    fail_with(std::string(what) + ": " + std::generic_category().message(errno));
  }

  tandem::detail::ForkMutex mutex;  // one thread at a time uses the view
  uint32_t process = 0;
  std::unique_ptr<View> view;
};

// A forked child opens the file again: it would share the parent's lock, and the view may have been changing.
void FileStore::State::open() {
  if (view != nullptr && process == tandem::detail::this_process()) return;
  if (View* parents = view.release()) parents->file = detail::Descriptor();
  auto fresh = std::make_unique<View>();
  fresh->file = detail::Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666));
  if (!fresh->file) fail_with_errno("cannot open it");
  struct stat status {};
  if (::fstat(fresh->file.get(), &status) != 0) fail_with_errno("cannot open it");
  if (!S_ISREG(status.st_mode)) fail_with("is not a regular file");
  view = std::move(fresh);
  process = tandem::detail::this_process();
}

void FileStore::State::lock(const Deadline& deadline, Milliseconds timeout) const {
  for (Backoff backoff; ::flock(view->file.get(), LOCK_EX | LOCK_NB) != 0;) {
    if (errno != EWOULDBLOCK && errno != EINTR) fail_with_errno("cannot lock it");
    if (deadline.over())
      fail_with(concat("another process has held the lock for ", 1e-3 * static_cast<double>(timeout.count()),
                       " s; it may be stopped"));
    backoff.sleep(deadline);
  }
}

uint64_t FileStore::State::size() const {
  struct stat status {};
  if (::fstat(view->file.get(), &status) != 0) fail_with_errno("cannot read its size");
  if (status.st_nlink == 0) fail_with("the file has been removed while it was in use");
  return static_cast<uint64_t>(status.st_size);
}

template <class Job>
auto FileStore::State::locked(Milliseconds timeout, const Job& job) {
  const std::lock_guard guard(mutex);
  open();
  lock(Deadline(timeout), timeout);
  const int fd = view->file.get();
  struct Unlock {  // even if a child of a fork shares the descriptor
    int fd;
    ~Unlock() { ::flock(fd, LOCK_UN); }
  } unlock{fd};
  read_new();
  return job(view->values);
}

template <class Job>
auto FileStore::State::current(Milliseconds timeout, const Job& job) {
  {
    const std::lock_guard guard(mutex);
    open();
    if (view->offset > 0 && size() == view->offset) return job(view->values);
  }
  return locked(timeout, job);
}

void FileStore::State::begin_file() {
  const std::string begin = read_at(0, detail::kLogMagic.size());
  if (!detail::kLogMagic.starts_with(begin))
    fail_with("was not written by a FileStore; remove it or choose another path");
  if (begin.size() < detail::kLogMagic.size()) write_at(0, detail::kLogMagic);
  view->offset = detail::kLogMagic.size();
}

void FileStore::State::read_new() {
  if (view->offset == 0) begin_file();
  const uint64_t end = size();
  if (end < view->offset) fail_with("the file has been cut while it was in use");
  while (view->offset < end) {
    const std::string bytes = read_at(view->offset, 2 * detail::kMaxRecord);
    std::size_t used = 0;
    try {
      detail::Record record;
      while (const std::size_t more = detail::parse_record(detail::bytes_of(bytes).subspan(used), record)) {
        if (record.action == detail::Record::Action::kSet)
          view->values.set(record.key, record.value);
        else
          view->values.erase(record.key);
        used += more;
        view->offset += more;
      }
    } catch (const DistributedError&) {
      throw;
    } catch (const Error& e) {
      fail_with(concat("is damaged at byte ", view->offset, " (", e.what(), "); remove it and start the job again"));
    }
    if (used == 0) return truncate(view->offset);
  }
}

std::string FileStore::State::read_at(uint64_t offset, std::size_t bytes) const {
  const uint64_t end = size();
  std::string out(std::min<uint64_t>(bytes, end > offset ? end - offset : 0), '\0');
  for (std::size_t done = 0; done < out.size();) {
    const ssize_t got =
        ::pread(view->file.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_errno("cannot read it");
    if (got == 0) fail_with("the file has been cut while it was in use");
    done += static_cast<std::size_t>(got);
  }
  return out;
}

void FileStore::State::write_at(uint64_t offset, std::string_view bytes) const {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t now =
        ::pwrite(view->file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
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

void FileStore::State::truncate(uint64_t to) const {
  while (::ftruncate(view->file.get(), static_cast<off_t>(to)) != 0)
    if (errno != EINTR) fail_with_errno("cannot remove an incomplete record");
}

void FileStore::State::append(const detail::Record& record) {
  const std::string bytes = encode(record);
  write_at(view->offset, bytes);
  view->offset += bytes.size();
}

FileStore::FileStore(std::string path) {
  tandem::check(!path.empty(), "FileStore: no path given");
  state_ = std::make_unique<State>(std::move(path));
  state_->locked(timeout(), [](const detail::KeyValues&) { return 0; });
}
FileStore::~FileStore() = default;

void FileStore::set(const std::string& key, std::string_view value) {
  detail::check_key("FileStore::set", key);
  detail::check_value("FileStore::set", value);
  state_->locked(timeout(), [&](detail::KeyValues&) { return state_->set(key, value); });
}

std::string FileStore::get(const std::string& key, Milliseconds timeout) {
  detail::check_key("FileStore::get", key);
  const Deadline deadline(timeout);
  for (Backoff backoff;; backoff.sleep(deadline)) {
    const bool last = deadline.over();
    auto found = state_->current(this->timeout(), [&](const detail::KeyValues& values) {
      const detail::Value value = values.find(key);
      return value != nullptr ? std::optional(*value) : std::nullopt;
    });
    if (found) return *std::move(found);
    if (last) detail::fail_waiting("FileStore::get from " + state_->path, key, timeout.count());
  }
}

int64_t FileStore::add(const std::string& key, int64_t amount) {
  detail::check_key("FileStore::add", key);
  return state_->locked(timeout(), [&](const detail::KeyValues& values) {
    const int64_t sum = values.sum(key, amount);
    state_->set(key, std::to_string(sum));
    return sum;
  });
}

bool FileStore::check(const std::vector<std::string>& keys) {
  detail::check_keys("FileStore::check", keys);
  return state_->current(timeout(),
                         [&](const detail::KeyValues& values) { return values.first_missing(keys) == keys.size(); });
}

std::string FileStore::compare_set(const std::string& key, std::string_view expected, std::string_view desired) {
  detail::check_key("FileStore::compare_set", key);
  detail::check_value("FileStore::compare_set", expected);
  detail::check_value("FileStore::compare_set", desired);
  return state_->locked(timeout(), [&](const detail::KeyValues& values) {
    if (values.equals(key, expected)) state_->set(key, desired);
    const detail::Value now = values.find(key);
    return now != nullptr ? *now : std::string(expected);
  });
}

bool FileStore::delete_key(const std::string& key) {
  detail::check_key("FileStore::delete_key", key);
  return state_->locked(timeout(), [&](detail::KeyValues& values) {
    if (values.find(key) == nullptr) return false;
    state_->append({detail::Record::Action::kErase, key});
    return values.erase(key);
  });
}

}  // namespace tandem::distributed

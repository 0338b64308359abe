// Stores: where the processes of a job find each other. A store maps keys to byte strings that every process
// of the job can read and write. Names follow torch.distributed.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/error.h"

namespace tandem::distributed {

using Milliseconds = std::chrono::milliseconds;

/// Processes or engines could not communicate: a rank failed, did not answer in time, or did something else.
class DistributedError : public Error {
 public:
  using Error::Error;
  bool is_shared() const noexcept override { return true; }  // all calls of a failed group throw its first error
};

/// Keys of at most 1 KiB, values of at most 1 MiB, at most 256 MiB altogether. Every function may be called from
/// several threads at a time. It throws Error for a key or a value that is too long, and DistributedError if the
/// store is full or cannot be reached.
class Store {
 public:
  static constexpr std::size_t kMaxKey = 1 << 10, kMaxValue = 1 << 20;
  static constexpr Milliseconds kDefaultTimeout{30'000};

  virtual ~Store();

  virtual void set(const std::string& key, std::string_view value) = 0;
  /// The value; waits until the key exists. Throws DistributedError that names the key after `timeout`.
  virtual std::string get(const std::string& key, Milliseconds timeout) = 0;
  std::string get(const std::string& key) { return get(key, timeout()); }
  /// Adds to the decimal number stored under the key (0 if there is none) and returns the sum. Throws Error if
  /// the value is not a number or the sum is not an int64.
  virtual int64_t add(const std::string& key, int64_t amount) = 0;
  /// Whether all keys exist.
  virtual bool check(const std::vector<std::string>& keys) = 0;
  /// Returns once all keys exist. Throws DistributedError that names the first missing key after `timeout`.
  virtual void wait(const std::vector<std::string>& keys, Milliseconds timeout);
  void wait(const std::vector<std::string>& keys) { wait(keys, timeout()); }
  /// Sets the value to `desired` if it equals `expected`, or if the key is absent and `expected` is empty.
  /// Returns the value that the key then has (`expected` if the key is absent still).
  virtual std::string compare_set(const std::string& key, std::string_view expected, std::string_view desired) = 0;
  /// Returns whether the key existed.
  virtual bool delete_key(const std::string& key) = 0;

  /// The host that serves the store; "" if none does.
  virtual std::string host() const { return {}; }
  /// How long get() and wait() wait by default.
  virtual Milliseconds timeout() const { return timeout_; }
  virtual void set_timeout(Milliseconds timeout) { timeout_ = timeout; }

 private:
  std::atomic<Milliseconds> timeout_ = kDefaultTimeout;
};

struct StoreState;

/// What HashStore, FileStore and TCPStore have in common.
class BuiltInStore : public Store {
 public:
  ~BuiltInStore() override;
  void set(const std::string& key, std::string_view value) override;
  using Store::get;
  std::string get(const std::string& key, Milliseconds timeout) override;
  int64_t add(const std::string& key, int64_t amount) override;
  bool check(const std::vector<std::string>& keys) override;
  using Store::wait;
  void wait(const std::vector<std::string>& keys, Milliseconds timeout) override;
  std::string compare_set(const std::string& key, std::string_view expected, std::string_view desired) override;
  bool delete_key(const std::string& key) override;

 protected:
  explicit BuiltInStore(std::unique_ptr<StoreState> state);
  const std::unique_ptr<StoreState> state_;
};

/// Within one process: its threads act as ranks, mostly in tests. A forked child must make its own.
class HashStore final : public BuiltInStore {
 public:
  HashStore();
};

/// A file that all processes can reach (on one machine, or on a shared file system with working locks). The
/// file is a log, guarded by flock; it must be empty or absent when a job starts. A forked child may go on using
/// the store.
class FileStore final : public BuiltInStore {
 public:
  /// Throws DistributedError if the file cannot be opened or was not written by a FileStore.
  explicit FileStore(std::string path);
  using Store::wait;
  void wait(const std::vector<std::string>& keys, Milliseconds timeout) override { Store::wait(keys, timeout); }
};

struct TCPStoreOptions {
  uint16_t port = 29500;   ///< 0 with is_server: any free port; see TCPStore::port()
  bool is_server = false;  ///< whether this process holds the data
  /// Ranks of another job are refused: client and server must have the same key. At most 256 bytes.
  std::string job_key = {};
  /// The address that the server listens on. "0.0.0.0" or "::" listens on every interface.
  std::string bind_address = "127.0.0.1";
  Milliseconds timeout = Store::kDefaultTimeout;  ///< also how long a client tries to connect
};

/// One process (usually rank 0, or `tandem launch`) serves the others over TCP. Nothing is encrypted. The data is
/// gone, and calls of the others fail, once the server's TCPStore has been destroyed. A forked child must make its own.
class TCPStore final : public BuiltInStore {
 public:
  /// Connects to host:port, after starting the server if this process is to have it. Throws DistributedError
  /// when the port is taken, the host is unknown, nothing answers in time, or the job key is refused.
  TCPStore(std::string host, TCPStoreOptions options = {});
  uint16_t port() const;
  std::string host() const override;
};

/// Another store's keys under "PREFIX/".
class PrefixStore final : public Store {
 public:
  PrefixStore(std::string prefix, std::shared_ptr<Store> store);
  ~PrefixStore() override;
  void set(const std::string& key, std::string_view value) override;
  using Store::get;
  std::string get(const std::string& key, Milliseconds timeout) override;
  int64_t add(const std::string& key, int64_t amount) override;
  bool check(const std::vector<std::string>& keys) override;
  using Store::wait;
  void wait(const std::vector<std::string>& keys, Milliseconds timeout) override;
  std::string compare_set(const std::string& key, std::string_view expected, std::string_view desired) override;
  bool delete_key(const std::string& key) override;
  std::string host() const override { return store_->host(); }
  Milliseconds timeout() const override { return store_->timeout(); }
  void set_timeout(Milliseconds timeout) override { store_->set_timeout(timeout); }
  const std::shared_ptr<Store>& underlying() const { return store_; }

 private:
  std::string prefix_;
  std::shared_ptr<Store> store_;
};

}  // namespace tandem::distributed

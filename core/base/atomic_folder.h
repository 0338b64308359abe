// AtomicFolder: writes a folder so that it appears under its name complete or not at all.
//
// The files go to a new folder beside it, .NAME.new. commit() exchanges both in one step and removes the old one. On a
// file system that cannot exchange, a crash may leave the old one as .NAME.old, which readable_folder() finds.
#pragma once
#include <string>

namespace tandem {

class AtomicFolder {
 public:
  /// Makes the new folder, and removes or restores what a process that was killed has left. Symbolic links at the end of
  /// `path` are followed. Throws Error, for example if the folder around it is missing. No other process may be writing
  /// this folder.
  explicit AtomicFolder(const std::string& path);
  /// Removes the new folder unless it was committed.
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  /// Call once, after the files have been flushed to disk. If it throws Error, the old folder is still in place, or, if
  /// the file system fails even then, in .NAME.old. `can_exchange` is false to do as on file systems that cannot.
  void commit(bool can_exchange = true);

 private:
  std::string target_, new_;
};

/// The folder in which the files of `path` are written. Other processes ask it for the same name.
std::string new_folder_of(const std::string& path);
/// `path`, or the old folder if a crash has left only that.
std::string readable_folder(const std::string& path);

}  // namespace tandem

// One object per type and thread, usable even while the thread or the process is ending.
//
// The object is freed after all thread_local objects of the thread; one requested later still is freed in
// another round. The main thread's object is not freed at exit(), where static objects still need it. Unlike
// a thread_local object with a destructor, it is created without the dynamic linker's lock, which dlclose()
// holds while it waits for threads.
#pragma once

namespace tandem::detail {

struct ThreadObject {
  void (*free)(ThreadObject* object) = nullptr;
  ThreadObject* next = nullptr;
};
/// Frees `object` when the calling thread ends; the object registered last is freed first.
void free_with_thread(ThreadObject* object) noexcept;

/// The calling thread's T. There is one per type, so T should be local to one source file.
template <class T>
T& of_thread() {
  struct Holder : ThreadObject {
    T value;
  };
  static constinit thread_local Holder* own = nullptr;
  if (own != nullptr) [[likely]]
    return own->value;
  own = new Holder;
  own->free = [](ThreadObject* object) {
    own = nullptr;
    delete static_cast<Holder*>(object);
  };
  free_with_thread(own);
  return own->value;
}

}  // namespace tandem::detail

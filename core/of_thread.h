// One object of a type for each thread, whatever part of the thread's or the process's end asks for it.
//
// It is freed behind all thread_local objects of the thread; one that is asked for still later is freed in
// another round. The main thread's is not freed at exit(), where static objects still need it. Unlike
// thread_local objects with destructors, it is made without the dynamic linker's lock, which dlclose() holds
// while it waits for threads.
#pragma once

namespace tandem::detail {

struct ThreadObject {
  void (*free)(ThreadObject* object) = nullptr;
  ThreadObject* next = nullptr;
};
/// Frees `object` when the calling thread ends; the last that was given first.
void free_with_thread(ThreadObject* object) noexcept;

/// The calling thread's own T, which belongs to one source file: the object is the type's.
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

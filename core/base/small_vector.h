// SmallVector: stores up to N elements inline, more on the heap.
#pragma once
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

#include "tandem/core/base/array_ref.h"

namespace tandem {

template <class T, std::size_t N = 6>
class SmallVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;
  SmallVector() = default;
  explicit SmallVector(std::size_t count) { resize(count); }
  SmallVector(std::size_t count, const T& value) { resize(count, value); }
  SmallVector(std::initializer_list<T> list) { append(list.begin(), list.end()); }
  explicit SmallVector(ArrayRef<T> list) { append(list.begin(), list.end()); }
  template <std::input_iterator I>
  SmallVector(I begin, I end) {
    append(begin, end);
  }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      free();
      take(other);
    }
    return *this;
  }
  SmallVector(const SmallVector& other) {
    reserve(other.size_);
    for (const T& x : other) push_back(x);
  }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  ~SmallVector() { free(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  operator ArrayRef<T>() const { return {data_, size_}; }
  std::vector<T> vec() const { return {begin(), end()}; }
  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

  void push_back(T value) {
    if (size_ == capacity_) reserve(2 * capacity_);
    new (data_ + size_) T(std::move(value));
    ++size_;
  }
  void resize(std::size_t count) {
    reserve(count);
    while (size_ < count) new (data_ + size_++) T();
    while (size_ > count) data_[--size_].~T();
  }
  void resize(std::size_t count, const T& value) {
    reserve(count);
    while (size_ < count) push_back(value);
    while (size_ > count) pop_back();
  }
  void clear() { resize(0); }
  void pop_back() { data_[--size_].~T(); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    push_back(T(std::forward<Args>(args)...));
    return back();
  }
  template <std::input_iterator I>
  void append(I begin, I end) {
    for (; begin != end; ++begin) push_back(*begin);
  }
  void append(std::initializer_list<T> list) { append(list.begin(), list.end()); }
  template <std::input_iterator I>
  void assign(I begin, I end) {
    clear();
    append(begin, end);
  }
  void insert(const T* place, T value) {
    const auto at = place - data_;
    push_back(std::move(value));
    std::rotate(data_ + at, data_ + size_ - 1, data_ + size_);
  }
  void erase(const T* place) {
    T* at = data_ + (place - data_);
    std::move(at + 1, data_ + size_, at);
    pop_back();
  }
  void reserve(std::size_t count) {
    if (count <= capacity_) return;
    T* bigger = static_cast<T*>(::operator new(count * sizeof(T)));
    std::uninitialized_move_n(data_, size_, bigger);
    std::destroy_n(data_, size_);
    if (data_ != inline_data()) ::operator delete(data_);
    data_ = bigger;
    capacity_ = count;
  }

 private:
  T* inline_data() { return reinterpret_cast<T*>(place_); }
  void take(SmallVector& other) {
    if (other.data_ != other.inline_data()) {
      data_ = std::exchange(other.data_, other.inline_data());
      capacity_ = std::exchange(other.capacity_, N);
      size_ = std::exchange(other.size_, 0);
    } else {
      std::uninitialized_move_n(other.data_, other.size_, data_);
      size_ = other.size_;
      other.clear();
    }
  }
  void free() {
    std::destroy_n(data_, size_);
    if (data_ != inline_data()) ::operator delete(data_);
    data_ = inline_data();
    size_ = 0;
    capacity_ = N;
  }

  T* data_ = inline_data();
  std::size_t size_ = 0, capacity_ = N;
  alignas(T) std::byte place_[N * sizeof(T)];
};

}  // namespace tandem

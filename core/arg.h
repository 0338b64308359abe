// TANDEM_ARG: a builder option: `Conv2dOptions(1, 20, 3).stride(2)` sets it, `options.stride()` reads it.
#pragma once
#include <utility>

#include "tandem/core/base/cpp20.h"

#define TANDEM_ARG(T, name)                       \
 public:                                          \
  auto name(const T& value)->decltype(*this) {    \
    this->name##_ = value;                        \
    return *this;                                 \
  }                                               \
  auto name(T&& value)->decltype(*this) {         \
    this->name##_ = std::move(value);             \
    return *this;                                 \
  }                                               \
  const T& name() const { return this->name##_; } \
  T& name() { return this->name##_; }             \
                                                  \
 private:                                         \
  T name##_ /* NOLINT */

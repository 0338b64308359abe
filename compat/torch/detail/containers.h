// Printing of standard containers, which LibTorch's headers bring: elements separated by blanks, at most 100 of them.
//
// The functions are in namespace std because argument-dependent lookup has to find them from every namespace.
#pragma once
#include <map>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

namespace c10 {
template <class Iterator>
void PrintSequence(std::ostream& out, Iterator begin, Iterator end) {
  for (int i = 0; begin != end && i < 100; ++begin, ++i) {
    if (i > 0) out << ' ';
    out << *begin;
  }
  if (begin != end) out << " ...";
}
}  // namespace c10

namespace std {
template <class First, class Second>
ostream& operator<<(ostream& out, const pair<First, Second>& both) {
  return out << '(' << both.first << ", " << both.second << ')';
}
template <class... Types>
ostream& operator<<(ostream& out, const vector<Types...>& elements) {
  c10::PrintSequence(out, elements.begin(), elements.end());
  return out;
}
template <class... Types>
ostream& operator<<(ostream& out, const map<Types...>& elements) {
  c10::PrintSequence(out, elements.begin(), elements.end());
  return out;
}
template <class... Types>
ostream& operator<<(ostream& out, const set<Types...>& elements) {
  c10::PrintSequence(out, elements.begin(), elements.end());
  return out;
}
}  // namespace std

// SPDX-License-Identifier: MIT
// What: looking at an exception object through its exception_ptr, and what is kept beside it: the errors that happened
// at the same time. They belong to the object, so they are there whoever handles it, on whatever thread, however late,
// and go when the last reference to it goes.
// Invariants
//   [BES-1] An object with an entry has our destructor in its header; the entry keeps its own. The header is that of
//           libstdc++ (Itanium C++ ABI, level II).
//   [BES-2] What is kept never reaches back to its object: such a ring of references would never go.
// Threads: any; entries under one lock. Who asks holds a reference, so the object and its entry stay meanwhile.
// Rejected: a place in the thread or the fiber that handles the error: a handler may wait, come back elsewhere, handle
// other errors in between, and hand the object to another task.
#pragma once

#include <cstring>
#include <exception>
#include <typeinfo>
#include <vector>

namespace weft::inline v0::detail {

inline void* thrown_object(const std::exception_ptr& thrown) {
  static_assert(sizeof thrown == sizeof(void*));
  void* object;
  std::memcpy(&object, static_cast<const void*>(&thrown), sizeof object);
  return object;
}

// The object, if it is exactly a T; else null.
template <class T>
const T* thrown_as(const std::exception_ptr& thrown) {
  if (thrown == nullptr || *thrown.__cxa_exception_type() != typeid(T)) return nullptr;
  return static_cast<const T*>(thrown_object(thrown));
}

// Adds to what is kept beside `first`; nothing twice. Without memory for it they are dropped: `first` goes on.
void keep_beside(const std::exception_ptr& first, const std::vector<std::exception_ptr>& others) noexcept;
std::vector<std::exception_ptr> kept_beside(const std::exception_ptr& first);

}  // namespace weft::inline v0::detail
